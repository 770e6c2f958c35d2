"""Everything of the data that fitting needs: weight, mean, scatter, minimum and maximum."""

from aspca.moments.moments import Moments

__all__ = ["Moments"]
