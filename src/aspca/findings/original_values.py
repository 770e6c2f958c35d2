"""Rows of features in the terms of the table's own columns: dates written out, categories by name, no logarithms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from aspca.escaping import level_text
from aspca.findings.proposals import Value
from aspca.identities.wording import number_text
from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.preparation.feature import FUNCTIONS, Feature

UNKNOWN = "(not seen before)"
# As many as a logarithm keeps of any number.
_DIGITS = 12
# And as many as are shown of a number that has more.
_SHOWN = 6


@dataclass(frozen=True, eq=False)
class Original:
    """What the rows are in the table.

    Attributes
    ----------
    features : tuple of p Feature
    values : ndarray of shape (n, p)
        Of the features; NaN where missing.
    filled : ndarray of shape (n, p) or None
        Which values are missing in the table all the same: they were filled in for the model.
    """

    features: tuple[Feature, ...]
    values: Floats
    filled: Bools | None = None

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
        return distinct_columns(self.features, features)


def distinct_columns(known: Sequence[Feature], features: Iterable[int]) -> Ints:
    """Of some features, by their positions among all that are known, the first of each column."""
    first: dict[str, int] = {}
    for feature in features:
        first.setdefault(known[feature].column, int(feature))
    return np.array(list(first.values()), dtype=np.intp)


def value_text(value: Value) -> str:
    """A cell in a sentence: a number in the fewest digits that are exact, to be searched for in the file.

    Of a number of more digits than anyone writes by hand the first ones, which are found as well, and not rounded ones.
    """
    if value is None or value == UNKNOWN:
        return value or "missing"
    if isinstance(value, str):
        return level_text(value)
    return _begun(number_text(value))


def _begun(text: str) -> str:
    whole, _, decimals = text.partition(".")
    more = len((whole + decimals).lstrip("-0")) - _SHOWN
    if "e" in text or not decimals or more <= _DIGITS - _SHOWN:
        return text
    return f"{whole}.{decimals[: max(len(decimals) - more, 1)]}…"
