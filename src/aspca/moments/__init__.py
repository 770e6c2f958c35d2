"""Everything of the data that fitting needs: weight, mean, scatter, minimum and maximum.

What estimates them from rows with gaps is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from aspca.moments.moments import Moments

if TYPE_CHECKING:
    from aspca.moments.completion import Completion
    from aspca.moments.incomplete import IncompleteMoments

__all__ = ["Completion", "IncompleteMoments", "Moments"]

_HOME = {"Completion": "aspca.moments.completion", "IncompleteMoments": "aspca.moments.incomplete"}


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'aspca.moments' has no attribute {name!r}")
