"""Moments of the rows and cells that are not gross: for files that hold the very errors that are looked for."""

from aspca.robust.aside import MOST_SHOWN, Aside, GrossCells, Repeated
from aspca.robust.gapped import robust_gaps
from aspca.robust.passes import RobustMoments, robust_moments

__all__ = ["MOST_SHOWN", "Aside", "GrossCells", "Repeated", "RobustMoments", "robust_gaps", "robust_moments"]
