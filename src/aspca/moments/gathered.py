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
    weights: Floats | None = None

    @classmethod
    def nothing(
        cls, p: int, *, decimals: bool = False, names: Sequence[str] | None = None, weights: Floats | None = None
    ) -> MomentsOf:
        """Of no rows of p columns; `weights` (n,) of all rows, by their numbers."""
        return cls(Moments.empty(p), decimals, names, weights)

    def add(self, rows: Floats, numbers: Ints) -> None:
        counts = None if self.weights is None else self.weights[numbers]
        self.moments = self.moments.update(rows, counts, decimals=self.decimals, names=self.names)

    def merge(self, later: MomentsOf) -> None:
        self.moments = self.moments.merge(later.moments)


@dataclass(eq=False)
class IncompleteMomentsOf:
    """The moments of rows with gaps."""

    moments: IncompleteMoments
    weights: Floats | None = None

    @classmethod
    def nothing(cls, p: int, *, weights: Floats | None = None) -> IncompleteMomentsOf:
        """Of no rows of p columns; `weights` (n,) of all rows, by their numbers."""
        return cls(IncompleteMoments.empty(p), weights)

    def add(self, rows: Floats, numbers: Ints) -> None:
        self.moments = self.moments.update(rows, None if self.weights is None else self.weights[numbers])

    def merge(self, later: IncompleteMomentsOf) -> None:
        self.moments = self.moments.merge(later.moments)
