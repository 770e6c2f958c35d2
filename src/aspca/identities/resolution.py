"""In which steps the values of a column are written: decimals, significant digits, or float32.

A cell stands for an interval: half a unit of its last digit to either side. What such intervals allow of an equation
is its tolerance (`formula`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aspca.linalg.arrays import Bools, Floats, Ints

# Beyond so many decimals, or significant digits, values are continuous.
CONTINUOUS, ALL_DIGITS = 16, 17
# Nearly all values are written so: up to 3 % may be wrong cells (benchmarks/identities.py spoils up to 5 % of the rows,
# one cell each, so that no column has more).
_NEARLY_ALL = 0.97
# Columns of fewer steps are coarse; as many levels as a rounded relation must tell apart (`accept`).
FEW_STEPS = 200
# Two half units: of the value, and of what it was computed from.
_SINGLE = 2.0**-23


@dataclass(frozen=True)
class Resolution:
    """How a column is written."""

    decimals: int  # In which nearly all of its values are given; 2 for cents, -3 for thousands, 16: no such number.
    significant: int  # The same for significant digits; 17: no such number.
    single: bool  # Whether its values are float32.
    # Whether it has few steps from its lowest to its highest values: years, counts, grades. What is near such a value
    # is no evidence, since any smooth curve is.
    coarse: bool = False

    @classmethod
    def of(cls, values: Floats) -> Resolution:
        """Of values (n,), NaN where missing."""
        # Zero is written in any way.
        found, counts = np.unique(values[np.isfinite(values) & (values != 0.0)], return_counts=True)
        if found.size == 0:
            return cls(CONTINUOUS, ALL_DIGITS, False, True)
        if found.size > 2:
            # A column of one value and a few logarithms: the logarithms tell.
            counts[np.argmax(counts)] = 0
        weights, sizes = counts / counts.sum(), np.abs(found)
        with np.errstate(all="ignore"):
            mantissas = sizes / 10.0 ** _exponents(sizes)

        def fits(numbers: Floats, digits: int) -> bool:
            with np.errstate(all="ignore"):
                off = np.abs(numbers - np.round(numbers, digits))
            # Within a few roundings of a short decimal.
            return bool(weights[off <= 4e-15 * np.maximum(numbers, 1e-300)].sum() >= _NEARLY_ALL)

        decimals = next((d for d in range(-6, CONTINUOUS) if fits(sizes, d)), CONTINUOUS)
        significant = next((d + 1 for d in range(ALL_DIGITS - 1) if fits(mantissas, d)), ALL_DIGITS)
        single = False
        # float32 has nine significant digits at most.
        if significant > 9:
            with np.errstate(over="ignore"):
                off = np.abs(found.astype(np.float32).astype(np.float64) - found)
            single = bool(weights[off <= 1e-12 * sizes].sum() >= _NEARLY_ALL)
        low, high = np.quantile(np.repeat(found, np.maximum(counts, 1)), (0.05, 0.95))
        # Large values have all the digits that the decimals leave them, or they are written in so many digits.
        largest = float(np.quantile(sizes, 0.95))
        if decimals <= 0 or significant > _exponents(np.array([largest]))[0] + decimals - 1:
            significant = ALL_DIGITS
        return cls(decimals, significant, single, bool(high - low < FEW_STEPS * 10.0 ** -float(decimals)))

    def half_steps(self, values: Floats) -> Floats:
        """Half a unit of the last digit of each value (n,)."""
        sizes = np.abs(np.where(np.isfinite(values), values, 0.0))
        if self.single:
            return np.asarray(_SINGLE * sizes)
        step = 10.0 ** -float(self.decimals)
        largest = float(sizes.max(initial=0.0))
        if 10.0 ** (_exponents(np.array([largest]))[0] + 1 - self.significant) <= step:
            return np.full(sizes.shape, 0.5 * step)
        return np.asarray(0.5 * np.maximum(step, 10.0 ** (_exponents(sizes) + 1 - self.significant)))

    @property
    def is_short(self) -> bool:
        """Whether its values are decimals that people write: whole numbers, cents, a few digits more."""
        return not self.single and self.decimals <= 6

    def rounded(self, value: float) -> float:
        """A value as the column would write it."""
        if not np.isfinite(value) or value == 0.0:
            return value
        if self.single:
            return float(np.float32(value))
        digits = self.significant - 1 - int(_exponents(np.array([abs(value)]))[0])
        return round(value, min(self.decimals, digits, CONTINUOUS - 1)) + 0.0


def _exponents(sizes: Floats) -> Floats:
    """The power of ten of each size (n,)."""
    return np.asarray(np.floor(np.log10(np.where(sizes > 0.0, sizes, 1e-300)) + 1e-12))


@dataclass(frozen=True, eq=False)
class Cells:
    """Rows (n, p), half a unit of the last digit of every cell (n, p), and which columns (p,) are coarse."""

    X: Floats
    steps: Floats
    coarse: Bools

    @classmethod
    def of(cls, X: Floats, resolutions: tuple[Resolution, ...], used: Sequence[int] | None = None) -> Cells:
        """Of rows whose columns are written so; of `used` columns only where nobody looks at the others."""
        steps = np.zeros(X.shape)
        for j in range(X.shape[1]) if used is None else used:
            steps[:, j] = resolutions[j].half_steps(X[:, j])
        return cls(X, steps, np.array([one.coarse for one in resolutions], dtype=np.bool_))

    def only(self, rows: Ints | Bools) -> Cells:
        return Cells(self.X[rows], self.steps[rows], self.coarse)


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows that identities are searched in."""

    cells: Cells  # NaN where a value is missing.
    resolutions: tuple[Resolution, ...]
    ranks: Ints  # (p,) Which column stands on the left where nothing else decides: the least.

    @classmethod
    def of(cls, X: Floats, ranks: Ints) -> Sample:
        resolutions = tuple(Resolution.of(column) for column in X.T)
        return cls(Cells.of(X, resolutions), resolutions, ranks)

    @property
    def X(self) -> Floats:
        """The rows (n, p)."""
        return self.cells.X

    def __len__(self) -> int:
        return len(self.cells.X)
