"""Everything of the data that fitting needs: weight, mean, scatter, minimum and maximum."""

from aspca.moments.completion import Completion
from aspca.moments.incomplete import IncompleteMoments
from aspca.moments.moments import Moments

__all__ = ["Completion", "IncompleteMoments", "Moments"]
