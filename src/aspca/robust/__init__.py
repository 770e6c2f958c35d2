"""Moments of the rows and cells that are not gross: for files that hold the very errors that are looked for.

What sets them aside is loaded when it is first used: a model that was stored only tells what was.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from aspca.robust.aside import MOST_SHOWN, Aside, GrossCells, Repeated

if TYPE_CHECKING:
    from aspca.robust.gapped import robust_gaps
    from aspca.robust.passes import RobustMoments, robust_moments

__all__ = ["MOST_SHOWN", "Aside", "GrossCells", "Repeated", "RobustMoments", "robust_gaps", "robust_moments"]

_HOME = {
    "RobustMoments": "aspca.robust.passes",
    "robust_gaps": "aspca.robust.gapped",
    "robust_moments": "aspca.robust.passes",
}


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'aspca.robust' has no attribute {name!r}")
