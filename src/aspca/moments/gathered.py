"""Moments as gatherings: what passes over rows take together most often."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aspca.linalg.arrays import Floats, Ints
from aspca.moments.incomplete import IncompleteMoments
from aspca.moments.moments import Moments


@dataclass(eq=False)
class MomentsOf:
    """The moments of rows; `decimals` and `names` as in `Moments.from_array`."""

    moments: Moments
    decimals: bool = False
    names: Sequence[str] | None = None

    @classmethod
    def nothing(cls, p: int, *, decimals: bool = False, names: Sequence[str] | None = None) -> MomentsOf:
        """Of no rows of p columns."""
        return cls(Moments.empty(p), decimals, names)

    def add(self, rows: Floats, numbers: Ints) -> None:
        self.moments = self.moments.update(rows, decimals=self.decimals, names=self.names)

    def merge(self, later: MomentsOf) -> None:
        self.moments = self.moments.merge(later.moments)


@dataclass(eq=False)
class IncompleteMomentsOf:
    """The moments of rows with gaps."""

    moments: IncompleteMoments

    @classmethod
    def nothing(cls, p: int) -> IncompleteMomentsOf:
        """Of no rows of p columns."""
        return cls(IncompleteMoments.empty(p))

    def add(self, rows: Floats, numbers: Ints) -> None:
        self.moments = self.moments.update(rows)

    def merge(self, later: IncompleteMomentsOf) -> None:
        self.moments = self.moments.merge(later.moments)
