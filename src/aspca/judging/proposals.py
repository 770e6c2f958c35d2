"""What a column would have to be for a rule to hold: what it can be, in its own steps, to the digits that are known.

A value that nobody could have meant is no proposal: a column that is never negative is not proposed to be, unless zero
will do, and none is proposed to be far beyond all that was seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.preparation.transforms import TRANSFORMS
from aspca.rules.table import RuleTable
from aspca.subspace.space import ScaledSpace

Value = float | str | None
_CONTINUOUS = 16
# A proposal is written to this share of what the rule leaves open.
_FINE = 0.2
# Proposals are no farther from the mean than so many times the farthest value learned from, or than the cell is now.
_FAR = 3.0
# A proposal on the very limit would be judged by rounding.
_CLEARLY = 1.0 - 1e-9
# Where a column has no steps, what it is in a normal row is written to this share of its deviation.
_SHOWN = 0.001


@dataclass(frozen=True, eq=False)
class Proposals:
    """Values that rules ask for.

    Attributes
    ----------
    space : ScaledSpace
    table : RuleTable
    limits : ndarray of shape (m,) or None
        The size of the deviation, in the scaled space, above which each rule is broken.
    """

    space: ScaledSpace
    table: RuleTable
    limits: Floats | None

    def wanted(self, rule: int, feature: int, value: float, deviation: float) -> float | None:
        """The value of a feature, now `value`, for which the rule, now off by `deviation`, would hold; None: no such.

        In the units of the feature, before a logarithm is taken back.
        """
        loading = float(self.table.loadings[feature, rule])
        per_unit = float(self.space.scale[feature]) / loading
        exact = value - deviation * per_unit
        found = self._in_steps(rule, feature, exact)
        if self.space.nonnegative[feature] and found < 0.0:
            # Zero may be near enough.
            found = 0.0
        if self._too_far(feature, found, value):
            return None
        # A step of the column may be more than the rule takes.
        limit = math.inf if self.limits is None else float(self.limits[rule])
        return found if abs((found - exact) / per_unit) <= limit * _CLEARLY else None

    def _too_far(self, feature: int, found: float, value: float) -> bool:
        if self.space.peaks is None:
            return False
        mean, deviation = float(self.space.mean[feature]), float(self.space.deviations[feature])
        farthest = math.sqrt(float(self.space.peaks[feature])) * deviation
        # A cell that is missing is nowhere.
        now = 0.0 if math.isnan(value) else abs(value - mean)
        return abs(found - mean) > max(_FAR * farthest, now)

    def original(self, feature: int, value: float | None, rule: int) -> Value:
        """A value of the feature in the terms of its column, no finer than the rule knows it."""
        origin = self.space.features[feature]
        if value is None or origin.kind == "level":
            return None
        found = origin.original(value)
        if origin.kind in TRANSFORMS and isinstance(found, float):
            # What the rule leaves open of the logarithm, as a share of the value itself.
            open_share = self._left_open(rule, feature)
            upper = origin.original(value + open_share)
            width = abs(upper - found) if isinstance(upper, float) else abs(found) * open_share
            return _rounded(found, _FINE * width)
        return found

    def _in_steps(self, rule: int, feature: int, value: float) -> float:
        decimals = int(self.space.decimals[feature])
        if decimals < _CONTINUOUS:
            return round(value, decimals) + 0.0
        if self.space.features[feature].kind in TRANSFORMS:
            return value
        return _rounded(value, _FINE * self._left_open(rule, feature))

    def _left_open(self, rule: int, feature: int) -> float:
        """How far the feature may be off without the rule showing it, in its own units: the rule's spread."""
        loading = abs(float(self.table.loadings[feature, rule]))
        return float(np.sqrt(self.table.variances[rule])) * float(self.space.scale[feature]) / loading


def rounded(value: float, decimals: int, deviation: float) -> float:
    """A value in the steps of its column, or, where that has none, to a thousandth of its deviation."""
    return round(value, decimals) + 0.0 if decimals < _CONTINUOUS else _rounded(value, _SHOWN * deviation)


def _rounded(value: float, step: float) -> float:
    """A value to the power of ten below `step`."""
    if not (step > 0.0 and math.isfinite(step) and math.isfinite(value)):
        return value
    digits = -math.floor(math.log10(step))
    return round(value, digits) + 0.0 if -300 < digits < 300 else value
