"""Moments of the rows and cells that are not gross: for files that hold the very errors that are looked for."""

from aspca.robust.passes import Aside, RobustMoments, robust_moments

__all__ = ["Aside", "RobustMoments", "robust_moments"]
