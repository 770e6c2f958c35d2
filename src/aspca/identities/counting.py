"""One pass that counts how many rows satisfy each identity: larger than memory, in any order and parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aspca.identities.candidate import count
from aspca.identities.formula import Formula
from aspca.identities.resolution import Cells, Resolution
from aspca.identities.sampling import LeastRows, RowHash
from aspca.linalg.arrays import Floats, Ints
from aspca.moments.accumulator import Rows

# So many violations of an identity are looked at for a pattern.
_SHOWN = 400
# Rows evaluated at once: what is computed of them stays in the cache.
_AT_ONCE = 4096


@dataclass(eq=False)
class Counts:
    """How many rows satisfy, violate and nearly satisfy each identity (k,), and some of those that violate it."""

    stays_here: ClassVar[tuple[str, ...]] = ("formulas", "tiers", "resolutions", "hashes")

    formulas: tuple[Formula, ...]
    tiers: tuple[int, ...]
    resolutions: tuple[Resolution, ...]
    hashes: RowHash
    n_kept: Ints
    n_broken: Ints
    n_nearly: Ints
    broken: list[LeastRows]

    @classmethod
    def nothing(
        cls,
        formulas: tuple[Formula, ...],
        tiers: tuple[int, ...],
        resolutions: tuple[Resolution, ...],
        hashes: RowHash,
    ) -> Counts:
        """Of no rows."""
        zeros = np.zeros(len(formulas), dtype=np.intp)
        several = [LeastRows(hashes, _SHOWN) for _ in formulas]
        return cls(formulas, tiers, resolutions, hashes, zeros, zeros.copy(), zeros.copy(), several)

    def add(self, rows: Floats, numbers: Ints) -> None:
        for start in range(0, len(rows), _AT_ONCE):
            some = np.asarray(rows[start : start + _AT_ONCE], dtype=np.float64)
            for k, (formula, tier) in enumerate(zip(self.formulas, self.tiers, strict=True)):
                residual = formula.residual(some)
                # Most rows satisfy it to the last digits, and need not be asked how they are rounded.
                exact = np.abs(residual) <= formula.noise(some)
                others = some[~exact & ~np.isnan(residual)]
                self.n_kept[k] += int(exact.sum())
                if len(others):
                    found = count(formula, Cells.of(others, self.resolutions, formula.columns), tier)
                    self.n_kept[k] += int(found.kept.sum())
                    self.n_nearly[k] += int(found.nearly.sum())
                    self.n_broken[k] += int(found.broken.sum())
                    self.broken[k].add(others[found.broken], numbers)

    def merge(self, later: Counts) -> None:
        self.n_kept = self.n_kept + later.n_kept
        self.n_broken = self.n_broken + later.n_broken
        self.n_nearly = self.n_nearly + later.n_nearly
        for mine, following in zip(self.broken, later.broken, strict=True):
            mine.merge(following)


def count_rows(
    rows: Rows,
    formulas: tuple[Formula, ...],
    tiers: tuple[int, ...],
    resolutions: tuple[Resolution, ...],
    hashes: RowHash,
) -> Counts:
    """The counts of all rows."""
    return rows.reduce(lambda: Counts.nothing(formulas, tiers, resolutions, hashes))
