"""Cells in the terms of the table's own columns: what they are, and what they would have to be for a rule to hold.

A value that nobody could have meant is no proposal: a column that is never negative is not proposed to be, unless zero
will do, and none is proposed to be far beyond all that was seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from aspca.escaping import level_text
from aspca.identities.identity import write_number
from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.moments.space import ScaledSpace
from aspca.preparation.feature import FUNCTIONS, Feature
from aspca.rules.table import RuleTable

if TYPE_CHECKING:
    from aspca.model.model import Model

Value = float | str | None
UNKNOWN = "(not seen before)"
# As many digits as a logarithm keeps of any number.
_DIGITS = 12
_CONTINUOUS = 16
# A proposal is written to this share of what the rule leaves open.
_FINE = 0.2
# Proposals are no farther from the mean than so many times the reach of values learned from, or than the cell is now.
_FAR = 2.0
# A proposal on the very limit would be judged by rounding.
_CLEARLY = 1.0 - 1e-9


@dataclass(frozen=True, eq=False)
class Original:
    """What rows of features are in the table: dates written out, categories by name, no logarithms."""

    features: tuple[Feature, ...]
    values: Floats  # (n, p), NaN where missing
    filled: Bools | None = None  # (n, p): what is missing in the table all the same, and was filled in for the model

    @cached_property
    def plain(self) -> bool:
        """Whether every feature is a column as it is."""
        return all(feature.kind == "number" for feature in self.features)

    @cached_property
    def _levels(self) -> dict[str, list[int]]:
        """The features of each column with one per category."""
        found: dict[str, list[int]] = {}
        for j, feature in enumerate(self.features):
            if feature.kind == "level":
                found.setdefault(feature.column, []).append(j)
        return found

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """The features that are columns as they are."""
        return {feature.column: j for j, feature in enumerate(self.features) if feature.kind == "number"}

    def value(self, row: int, feature: int) -> Value:
        """The cell of the feature's column; None where it is missing, `UNKNOWN` for a category nobody knew."""
        # What is lifted stands beside the column itself.
        feature = self._numbers.get(self.features[feature].column, feature)
        origin = self.features[feature]
        if self.filled is not None and self.filled[row, feature]:
            return None
        if origin.kind != "level":
            value = origin.original(float(self.values[row, feature]))
            if origin.kind in FUNCTIONS and isinstance(value, float):
                # There and back again the last digits are those of a rounding.
                return float(f"{value:.{_DIGITS}g}")
            return value
        levels = self._levels[origin.column]
        if np.isnan(self.values[row, levels[0]]):
            return None
        return next((self.features[j].level for j in levels if self.values[row, j] == 1.0), UNKNOWN)

    def distinct(self, features: Iterable[int]) -> Ints:
        """Of these features the first of each column."""
        return select_distinct(self.features, features)


def select_distinct(known: Sequence[Feature], features: Iterable[int]) -> Ints:
    """Of some features, by their positions among all that are known, the first of each column."""
    first: dict[str, int] = {}
    for feature in features:
        first.setdefault(known[feature].column, int(feature))
    return np.array(list(first.values()), dtype=np.intp)


def shown_features(model: Model, rule: int) -> Ints:
    """Positions of the features in a rule's text, one per column: what is too small for it needs no repair."""
    return select_distinct(model.space.features, model.rule_columns(rule)[model.rules[rule].shown_terms].tolist())


def value_text(value: Value) -> str:
    """A cell in a sentence: a number in the fewest digits that are exact, to be searched for in the file.

    Of a number of more digits than anyone writes by hand the first six, which are found as well, and not rounded ones.
    """
    if value is None or value == UNKNOWN:
        return value or "missing"
    if isinstance(value, str):
        return level_text(value)
    text = write_number(value)
    whole, _, decimals = text.partition(".")
    more = len((whole + decimals).lstrip("-0")) - 6
    if "e" in text or not decimals or more <= _DIGITS - 6:
        return text
    return f"{whole}.{decimals[: max(len(decimals) - more, 1)]}…"


def format_values(now: Value, wanted: Value) -> tuple[str, str]:
    """Two values, with as many digits as it takes to tell them apart."""
    texts = value_text(now), value_text(wanted)
    if isinstance(now, float) and isinstance(wanted, float) and now != wanted:
        short = [text.removesuffix("…") for text in texts]
        if short[0].startswith(short[1]) or short[1].startswith(short[0]):
            return write_number(now), write_number(wanted)
    return texts


def to_column_value(feature: Feature, value: float) -> Value:
    """A value of a feature in the terms of its column; None where there is none."""
    return None if np.isnan(value) or feature.kind == "level" else feature.original(value)


# ---- what would do


@dataclass(frozen=True, eq=False)
class Proposals:
    """Values that the relations of a model ask for."""

    space: ScaledSpace
    table: RuleTable
    limits: Floats  # (m,), the size of the deviation, in the scaled space, above which each is broken

    @classmethod
    def of(cls, model: Model) -> Proposals:
        return cls(model.space, model.table, np.sqrt(model.thresholds.rules))

    def wanted(self, rule: int, feature: int, values: Floats, deviations: Floats) -> Floats:
        """For many rows (n,) the value of a feature, now `values`, for which the rule, now off by `deviations`, would
        hold; NaN where there is none. In the units of the feature, before a logarithm is taken back."""
        if self._is_ambiguous(rule, feature):
            return np.full(len(values), np.nan)
        per_unit = float(self.space.scale[feature]) / float(self.table.loadings[feature, rule])
        with np.errstate(over="ignore", invalid="ignore"):
            exact = values - deviations * per_unit
            digits = self._digits(rule, feature)
            found = exact if digits is None else _round_all(exact, digits)
            if self.space.nonnegative[feature]:
                # Zero may be near enough.
                found = np.where(found < 0.0, 0.0, found)
            # A step of the column may be more than the rule takes.
            right = np.abs((found - exact) / per_unit) <= float(self.limits[rule]) * _CLEARLY
            return np.where(right & ~_is_too_far(self.space, feature, found, values), found, np.nan)

    def original(self, feature: int, value: float, rule: int) -> Value:
        """A value of the feature in the terms of its column, no finer than the rule knows it; NaN: None."""
        origin = self.space.features[feature]
        found = to_column_value(origin, value)
        if origin.kind not in FUNCTIONS or not isinstance(found, float):
            return found
        # What the rule leaves open of the logarithm, as a share of the value itself.
        open_share = self._left_open(rule, feature)
        upper = origin.original(value + open_share)
        width = abs(upper - found) if isinstance(upper, float) else abs(found) * open_share
        lifted = self.siblings(feature)
        decimals = int(self.space.decimals[lifted[0]]) if lifted else _CONTINUOUS
        if decimals >= _CONTINUOUS:
            return _round_to_step(found, _FINE * width)
        # None where the steps of a lifted column are too large.
        stepped = _round(found, decimals)
        return stepped if abs(stepped - found) <= width else None

    @cached_property
    def _lifted(self) -> dict[str, list[int]]:
        """The features of each column that has lifts, the column itself first."""
        found: dict[str, list[int]] = {}
        for j, feature in enumerate(self.space.features):
            if feature.kind != "level":
                found.setdefault(feature.column, []).append(j)
        return {column: features for column, features in found.items() if len(features) > 1}

    def siblings(self, feature: int) -> list[int]:
        """The other features of a lifted column."""
        return [j for j in self._lifted.get(self.space.features[feature].column, ()) if j != feature]

    def _is_ambiguous(self, rule: int, feature: int) -> bool:
        """Whether a rule leaves open what a lifted column would be: it has more of its features, or both signs do."""
        siblings = self.siblings(feature)
        if any(self.table.loadings[j, rule] for j in siblings):
            return True
        square = self.space.features[feature].kind == "square"
        return bool(siblings) and square and not self.space.nonnegative[siblings[0]]

    def _digits(self, rule: int, feature: int) -> int | None:
        """To how many decimals a feature is proposed; None: as it comes."""
        decimals = int(self.space.decimals[feature])
        if decimals < _CONTINUOUS:
            return decimals
        if self.space.features[feature].kind in FUNCTIONS:
            return None
        return _decimals_of(_FINE * self._left_open(rule, feature))

    def _left_open(self, rule: int, feature: int) -> float:
        """How far the feature may be off without the rule showing it, in its own units: the rule's spread."""
        loading = abs(float(self.table.loadings[feature, rule]))
        return float(np.sqrt(self.table.variances[rule])) * float(self.space.scale[feature]) / loading


def solve_identity(model: Model, identity: int, feature: int, row: Floats) -> Value:
    """What a column of a row (p,) would have to be for an identity to be satisfied, in the terms of its column.

    None where no value would do that the column can have: in its steps, not below zero where it never was, and not far
    beyond all that was seen.
    """
    rule, space = model.identities.identities[identity], model.space
    value = float(rule.solve(row[None], feature)[0])
    changed = row.copy()
    changed[feature] = value
    with np.errstate(invalid="ignore"):
        right = bool((np.abs(rule.multiples(changed[None])) <= 1.0)[0])
        far = _is_too_far(space, feature, np.array([value]), row[[feature]])[0]
    if not right or (space.nonnegative[feature] and value < 0.0) or far:
        return None
    return to_column_value(space.features[feature], value)


def _is_too_far(space: ScaledSpace, feature: int, found: Floats, values: Floats) -> Bools:
    """Which proposals (n,) are beyond all that was seen, and no nearer than what stands there now."""
    mean = float(space.mean[feature])
    # A cell that is missing is nowhere.
    now = np.nan_to_num(np.abs(values - mean), nan=0.0, posinf=np.inf)
    return np.asarray(np.abs(found - mean) > np.maximum(_FAR * float(space.reaches[feature]), now))


# ---- rounding


def round_in_column(value: float, decimals: int, deviation: float) -> float:
    """A value in the steps of its column, or, where that has none, to a thousandth of its deviation."""
    return round(value, decimals) + 0.0 if decimals < _CONTINUOUS else _round_to_step(value, 0.001 * deviation)


def round_estimate(value: float, decimals: int, deviation: float) -> float:
    """A value that is only estimated: to a tenth of its column's deviation, and in the steps of the column."""
    about = _round_to_step(value, 0.1 * deviation)
    return round(about, decimals) + 0.0 if decimals < _CONTINUOUS else about


def _round_to_step(value: float, step: float) -> float:
    """A value to the power of ten below `step`."""
    digits = _decimals_of(step)
    return value if digits is None else _round(value, digits)


def _decimals_of(step: float) -> int | None:
    """The decimals of the power of ten below `step`; None where there is none to speak of."""
    if not (step > 0.0 and math.isfinite(step)):
        return None
    digits = -math.floor(math.log10(step))
    return digits if -300 < digits < 300 else None


def _round_all(values: Floats, digits: int) -> Floats:
    """Many values (n,): NumPy rounds products, Python decimals."""
    return np.array([_round(value, digits) for value in values.tolist()])


def _round(value: float, digits: int) -> float:
    return round(value, digits) + 0.0 if math.isfinite(value) else value
