"""Everything of the data that fitting needs: weight, mean, scatter, minimum and maximum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aspca.moments.moments import Moments

if TYPE_CHECKING:
    from aspca.moments.incomplete import Completion, IncompleteMoments

__all__ = ["Completion", "IncompleteMoments", "Moments"]


def __getattr__(name: str) -> object:
    # What estimates moments of rows with gaps is loaded when it is first used.
    if name in __all__:
        from aspca.moments import incomplete

        return getattr(incomplete, name)
    raise AttributeError(f"module 'aspca.moments' has no attribute {name!r}")
