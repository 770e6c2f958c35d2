"""What a column would have to be for a rule to hold: what it can be, in its own steps, to the digits that are known.

A value that nobody could have meant is no proposal: a column that is never negative is not proposed to be, unless zero
will do, and none is proposed to be far beyond all that was seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from aspca.linalg.arrays import Floats, Ints
from aspca.moments.space import ScaledSpace
from aspca.preparation.feature import FUNCTIONS
from aspca.rules.table import RuleTable

Value = float | str | None
_CONTINUOUS = 16
# A proposal is written to this share of what the rule leaves open.
_FINE = 0.2
# Proposals are no farther from the mean than so many times the reach of values learned from, or than the cell is now.
_FAR = 2.0
# A proposal on the very limit would be judged by rounding.
_CLEARLY = 1.0 - 1e-9
# Where a column has no steps, what it is in a normal row is written to this share of its deviation; what is only
# estimated is written to this share in any column.
_SHOWN, _ABOUT = 0.001, 0.1


@dataclass(frozen=True, eq=False)
class Proposals:
    """Values that rules ask for.

    Attributes
    ----------
    space : ScaledSpace
    table : RuleTable
    limits : ndarray of shape (m,)
        The size of the deviation, in the scaled space, above which each rule is broken.
    """

    space: ScaledSpace
    table: RuleTable
    limits: Floats

    def wanted(self, rule: int, feature: int, value: float, deviation: float) -> float | None:
        """The value of a feature, now `value`, for which the rule, now off by `deviation`, would hold; None: no such.

        In the units of the feature, before a logarithm is taken back.
        """
        if self._ambiguous(rule, feature):
            return None
        loading = float(self.table.loadings[feature, rule])
        per_unit = float(self.space.scale[feature]) / loading
        exact = value - deviation * per_unit
        found = self._in_steps(rule, feature, exact)
        if self.space.nonnegative[feature] and found < 0.0:
            # Zero may be near enough.
            found = 0.0
        if too_far(self.space, feature, found, value):
            return None
        # A step of the column may be more than the rule takes.
        limit = float(self.limits[rule])
        return found if abs((found - exact) / per_unit) <= limit * _CLEARLY else None

    def wanted_by_all(self, rules: Ints, features: Ints, values: Floats, deviations: Floats) -> Floats:
        """`wanted` of many cells (n,), NaN where there is no such value or the rule is not known."""
        found = np.full(len(rules), np.nan)
        # Rule by rule and feature by feature: all else is the same for all of their cells.
        keys = rules * len(self.space.scale) + features
        order = np.argsort(keys, kind="stable")
        order = order[~np.isnan(deviations[order])]
        pairs, starts = np.unique(keys[order], return_index=True)
        for pair, start, end in zip(pairs.tolist(), starts.tolist(), [*starts[1:].tolist(), len(order)], strict=False):
            rule, feature = divmod(pair, len(self.space.scale))
            those = order[start:end]
            found[those] = self.wanted_of_one(rule, feature, values[those], deviations[those])
        return found

    def wanted_of_one(self, rule: int, feature: int, values: Floats, deviations: Floats) -> Floats:
        """The same of one rule and feature for many rows (n,): what `wanted` does, step by step."""
        if self._ambiguous(rule, feature):
            return np.full(len(values), np.nan)
        per_unit = float(self.space.scale[feature]) / float(self.table.loadings[feature, rule])
        exact = values - deviations * per_unit
        digits = self._digits(rule, feature)
        # NumPy rounds products, Python decimals.
        found = exact if digits is None else _all_to(exact, digits)
        if self.space.nonnegative[feature]:
            found = np.where(found < 0.0, 0.0, found)
        limit = float(self.limits[rule])
        right = np.abs((found - exact) / per_unit) <= limit * _CLEARLY
        mean, farthest = float(self.space.mean[feature]), float(self.space.reaches[feature])
        now = np.nan_to_num(np.abs(values - mean), nan=0.0, posinf=np.inf)
        right &= ~(np.abs(found - mean) > np.maximum(_FAR * farthest, now))
        return np.where(right, found, np.nan)

    def original(self, feature: int, value: float | None, rule: int) -> Value:
        """A value of the feature in the terms of its column, no finer than the rule knows it."""
        origin = self.space.features[feature]
        if value is None or origin.kind == "level":
            return None
        found = origin.original(value)
        if origin.kind in FUNCTIONS and isinstance(found, float):
            # What the rule leaves open of the logarithm, as a share of the value itself.
            open_share = self._left_open(rule, feature)
            upper = origin.original(value + open_share)
            width = abs(upper - found) if isinstance(upper, float) else abs(found) * open_share
            return (
                self._in_steps_of_column(feature, found, width)
                if self.beside(feature)
                else _rounded(found, _FINE * width)
            )
        return found

    @cached_property
    def _lifted(self) -> dict[str, list[int]]:
        """The features of each column that has lifts, the column itself first."""
        found: dict[str, list[int]] = {}
        for j, feature in enumerate(self.space.features):
            if feature.kind != "level":
                found.setdefault(feature.column, []).append(j)
        return {column: features for column, features in found.items() if len(features) > 1}

    def beside(self, feature: int) -> list[int]:
        """The other features of a lifted column."""
        return [j for j in self._lifted.get(self.space.features[feature].column, ()) if j != feature]

    def _ambiguous(self, rule: int, feature: int) -> bool:
        """Whether a rule leaves open what a lifted column would be: it has more of its features, or both signs do."""
        beside = self.beside(feature)
        if any(self.table.loadings[j, rule] for j in beside):
            return True
        return bool(beside) and self.space.features[feature].kind == "square" and not self.space.nonnegative[beside[0]]

    def _in_steps_of_column(self, feature: int, value: float, width: float) -> float | None:
        """A value of a lifted column that is off by at most `width`; None where its steps are too large for that."""
        decimals = int(self.space.decimals[self.beside(feature)[0]])
        if decimals >= _CONTINUOUS:
            return _rounded(value, _FINE * width)
        found = _to(value, decimals)
        return found if abs(found - value) <= width else None

    def _in_steps(self, rule: int, feature: int, value: float) -> float:
        digits = self._digits(rule, feature)
        return value if digits is None else _to(value, digits)

    def _digits(self, rule: int, feature: int) -> int | None:
        """To how many decimals a feature is proposed; None: as it comes."""
        decimals = int(self.space.decimals[feature])
        if decimals < _CONTINUOUS:
            return decimals
        if self.space.features[feature].kind in FUNCTIONS:
            return None
        return _digits_for(_FINE * self._left_open(rule, feature))

    def _left_open(self, rule: int, feature: int) -> float:
        """How far the feature may be off without the rule showing it, in its own units: the rule's spread."""
        loading = abs(float(self.table.loadings[feature, rule]))
        return float(np.sqrt(self.table.variances[rule])) * float(self.space.scale[feature]) / loading


def too_far(space: ScaledSpace, feature: int, found: float, value: float) -> bool:
    """Whether a proposal is beyond all that was seen, and no nearer than what stands there now."""
    mean = float(space.mean[feature])
    # A cell that is missing is nowhere.
    now = 0.0 if math.isnan(value) else abs(value - mean)
    return abs(found - mean) > max(_FAR * float(space.reaches[feature]), now)


def rounded(value: float, decimals: int, deviation: float) -> float:
    """A value in the steps of its column, or, where that has none, to a thousandth of its deviation."""
    return round(value, decimals) + 0.0 if decimals < _CONTINUOUS else _rounded(value, _SHOWN * deviation)


def round_estimate(value: float, decimals: int, deviation: float) -> float:
    """A value that is only estimated: to a tenth of its column's deviation, and in the steps of the column."""
    about = _rounded(value, _ABOUT * deviation)
    return round(about, decimals) + 0.0 if decimals < _CONTINUOUS else about


def _rounded(value: float, step: float) -> float:
    """A value to the power of ten below `step`."""
    digits = _digits_for(step)
    return value if digits is None else _to(value, digits)


def _digits_for(step: float) -> int | None:
    """The decimals of the power of ten below `step`; None where there is none to speak of."""
    if not (step > 0.0 and math.isfinite(step)):
        return None
    digits = -math.floor(math.log10(step))
    return digits if -300 < digits < 300 else None


def _all_to(values: Floats, digits: int) -> Floats:
    """`_to` of many values (n,)."""
    if np.isfinite(values).all():
        return np.array([round(value, digits) for value in values.tolist()]) + 0.0
    return np.array([_to(value, digits) for value in values.tolist()])


def _to(value: float, digits: int) -> float:
    return round(value, digits) + 0.0 if math.isfinite(value) else value
