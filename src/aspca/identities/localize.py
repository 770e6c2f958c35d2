"""Which cells are wrong where identities are violated, and what they should be (Fellegi and Holt 1976).

The fewest cells whose change satisfies every violated identity and violates no other. Of several such sets the one
whose cells are the least plausible as they are, and the most plausible as they would be; what is about as likely is
reported as a tie.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from aspca.identities.accept import is_slip
from aspca.identities.identity import Identities
from aspca.linalg.arrays import Bools, Floats, Ints

# log10: a value that undoes a typical slip of the pen is 100 times likelier; what is within a factor of 3 is a tie.
_SLIP, _TIE = 2.0, 0.5
# At most so many cells of a row are changed, among at most so many columns.
_MOST_CELLS, _MOST_COLUMNS = 2, 30


# Cells, and what they should be.
_Option = tuple[tuple[int, ...], tuple[float, ...]]


@dataclass(frozen=True)
class Repair:
    """What is wrong in a row."""

    row: int  # Its position.
    cells: tuple[int, ...]  # Columns of the wrong cells; empty where no change of a few satisfies every identity.
    values: tuple[float, ...]  # What they should be, as their columns write it.
    ties: list[_Option]  # Other sets, and their values, that are about as likely.


def localize(identities: Identities, X: Floats) -> list[Repair]:
    """A repair for every row (n, p) that violates an identity which accuses."""
    multiples = identities.multiples(X)
    with np.errstate(invalid="ignore"):
        broken, kept = np.abs(multiples) > 1.0, np.abs(multiples) <= 1.0
    violating = broken & identities.accusing
    rows = np.flatnonzero(violating.any(axis=1))
    if not rows.size:
        return []
    patterns, members = np.unique(np.hstack([violating[rows], kept[rows]]), axis=0, return_inverse=True)
    repairs: list[Repair] = []
    for number, pattern in enumerate(patterns):
        mine = rows[members.ravel() == number]
        repairs += _Violations(identities, X[mine], *np.split(pattern, 2)).repairs(mine)
    return sorted(repairs, key=lambda repair: repair.row)


class _Violations:
    """Rows (m, p) that violate and satisfy the same identities."""

    def __init__(self, identities: Identities, X: Floats, violated: Bools, kept: Bools) -> None:
        self._identities, self._X = identities, X
        self._violated = [one for one, is_so in zip(identities.identities, violated, strict=True) if is_so]
        self._kept = [one for one, is_so in zip(identities.identities, kept, strict=True) if is_so]
        self._columns = sorted({j for identity in self._violated for j in identity.columns})
        quantiles = identities.quantiles
        # What is never negative is not proposed to be.
        self._nonnegative = np.zeros(X.shape[1], dtype=np.bool_) if quantiles is None else quantiles[:, 0] >= 0.0

    def repairs(self, numbers: Ints) -> Iterator[Repair]:
        """For each row, of these numbers (m,), the likeliest set of cells, its values, and the ties."""
        options: list[list[tuple[float, _Option]]] = [[] for _ in range(len(self._X))]
        for size in range(1, _MOST_CELLS + 1):
            lacking = np.array([row for row, found in enumerate(options) if not found], dtype=np.intp)
            if not lacking.size or (size > 1 and len(self._columns) > _MOST_COLUMNS):
                break
            for cells in combinations(self._columns, size):
                if all(set(cells) & set(identity.columns) for identity in self._violated):
                    self._try(cells, lacking, options)
        for row, found in zip(numbers.tolist(), options, strict=True):
            if not found:
                yield Repair(row, (), (), [((j,), (float("nan"),)) for j in self._columns])
                continue
            found.sort(key=lambda option: -round(option[0], 6))
            best, (cells, values) = found[0]
            yield Repair(row, cells, values, [option for gain, option in found[1:] if gain > best - _TIE])

    def _try(self, cells: tuple[int, ...], rows: Ints, options: list[list[tuple[float, _Option]]]) -> None:
        """Add a set of cells to the options of the rows that it repairs."""
        X = self._X[rows]
        changed = X.copy()
        for j in cells:
            others = set(cells) - {j}
            sources = [one for one in self._violated if j in one.columns and not others & set(one.columns)]
            if not sources:
                return
            source = min(sources, key=lambda one: (one.tier, len(one.columns)))
            changed[:, j] = source.solve(X, j)
        good = np.isfinite(changed[:, list(cells)]).all(axis=1)
        for j in cells:
            good &= ~((changed[:, j] < 0.0) & self._nonnegative[j])
        touched = [one for one in self._kept if set(cells) & set(one.columns)]
        for identity in (*self._violated, *touched):
            with np.errstate(invalid="ignore"):
                good &= ~(np.abs(identity.multiples(changed)) > 1.0)
        for place in np.flatnonzero(good).tolist():
            old, new = X[place, list(cells)].tolist(), changed[place, list(cells)].tolist()
            # How much likelier the new values are than the old ones (log10).
            gain = sum(
                self._surprise(j, a) - self._surprise(j, b) + _SLIP * is_slip(a, b)
                for j, a, b in zip(cells, old, new, strict=True)
            )
            options[int(rows[place])].append((gain, (cells, tuple(new))))

    def _surprise(self, column: int, value: float) -> float:
        """-log10 of how often the column goes as far; more beyond its range, and off what it would write."""
        quantiles = self._identities.quantiles
        resolution = self._identities.identities[0].resolutions[column]
        # log10: a value that its column would not write so.
        off_grid = 1.0 * bool(abs(value - resolution.rounded(value)) > 1e-9 * abs(value))
        if quantiles is None or np.isnan(quantiles[column, 0]):
            return off_grid
        ordered = quantiles[column]
        below = int(np.searchsorted(ordered, value, "right"))
        above = ordered.size - int(np.searchsorted(ordered, value))
        decile = ordered.size // 10
        width = ordered[-1 - decile] - ordered[decile] or ordered[-1] - ordered[0] or 1.0
        beyond = max(value - ordered[-1], ordered[0] - value, 0.0)
        share = (min(below, above) + 0.5) / (ordered.size + 1.0)
        return float(-np.log10(share) + np.log10(1.0 + 10.0 * beyond / width)) + off_grid


def apply_repairs(X: Floats, repairs: Sequence[Repair]) -> Floats:
    """Rows (n, p) with the likeliest repairs made."""
    found = np.array(X, dtype=np.float64)
    for repair in repairs:
        found[repair.row, list(repair.cells)] = repair.values
    return found
