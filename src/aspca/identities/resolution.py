"""In which steps the values of a column are written: decimals, significant digits, or float32.

A cell stands for an interval: half a unit of its last digit to either side. What such intervals allow of an equation
is its tolerance (`formula`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aspca.linalg.arrays import Floats

# Beyond so many decimals, or significant digits, values are continuous.
CONTINUOUS, ALL_DIGITS = 16, 17
_LEAST_DECIMALS = -6
# A value is a short decimal if it is within a few roundings of it.
_ROUNDINGS = 4e-15
# Nearly all values are written so: up to 3 % may be wrong cells (benchmarks/identities.py spoils up to 5 % of the rows,
# one cell each, so that no column has more).
_NEARLY_ALL = 0.97
# Two half units: of the value, and of what it was computed from.
_SINGLE = 2.0**-23
# float32 has nine significant digits at most.
_SINGLE_DIGITS = 9
_SINGLE_RESIDUE = 1e-12


@dataclass(frozen=True)
class Resolution:
    """How a column is written.

    Attributes
    ----------
    decimals : int
        In which nearly all of its values are given; 2 for cents, -3 for thousands, 16: no such number.
    significant : int
        The same for significant digits; 17: no such number.
    single : bool
        Whether its values are float32.
    """

    decimals: int
    significant: int
    single: bool

    @classmethod
    def of(cls, values: Floats) -> Resolution:
        """Of values (n,), NaN where missing."""
        found, counts = np.unique(values[np.isfinite(values)], return_counts=True)
        if found.size == 0:
            return cls(0, 1, False)
        if found.size > 2:
            # A column of zeros and a few logarithms: the logarithms tell.
            counts[np.argmax(counts)] = 0
        weights, sizes = counts / counts.sum(), np.abs(found)
        mantissas = sizes / 10.0 ** _exponents(sizes)

        def fits(numbers: Floats, digits: int) -> bool:
            off = np.abs(numbers - np.round(numbers, digits))
            return bool(weights[off <= _ROUNDINGS * np.maximum(numbers, 1e-300)].sum() >= _NEARLY_ALL)

        decimals = next((d for d in range(_LEAST_DECIMALS, CONTINUOUS) if fits(sizes, d)), CONTINUOUS)
        significant = next((d + 1 for d in range(ALL_DIGITS - 1) if fits(mantissas, d)), ALL_DIGITS)
        single = False
        if significant > _SINGLE_DIGITS:
            with np.errstate(over="ignore"):
                off = np.abs(found.astype(np.float32).astype(np.float64) - found)
            single = bool(weights[off <= _SINGLE_RESIDUE * sizes].sum() >= _NEARLY_ALL)
        return cls(decimals, significant, single)

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
    def whole(self) -> bool:
        """Whether its values are whole numbers, or coarser."""
        return not self.single and self.decimals <= 0

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


def half_steps(X: Floats, resolutions: tuple[Resolution, ...]) -> Floats:
    """Half a unit of the last digit of every cell (n, p)."""
    steps = np.empty(X.shape)
    for j, resolution in enumerate(resolutions):
        steps[:, j] = resolution.half_steps(X[:, j])
    return steps
