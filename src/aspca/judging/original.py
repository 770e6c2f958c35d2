"""Rows of features in the terms of the table's own columns: dates written out, categories by name, no logarithms."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from aspca.harmless import level_text
from aspca.judging.proposals import Value
from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.preparation.feature import Feature
from aspca.rules.sentence import number_text, short_float

UNKNOWN = "(not seen before)"
# Digits that somebody may have written.
_WRITTEN = 12


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

    def value(self, row: int, feature: int) -> Value:
        """The cell of the feature's column; None where it is missing, `UNKNOWN` for a category nobody knew."""
        origin = self.features[feature]
        if self.filled is not None and self.filled[row, feature]:
            return None
        if origin.kind != "level":
            return origin.original(float(self.values[row, feature]))
        levels = self._levels[origin.column]
        if np.isnan(self.values[row, levels[0]]):
            return None
        return next((self.features[j].level for j in levels if self.values[row, j] == 1.0), UNKNOWN)

    def distinct(self, features: Iterable[int]) -> Ints:
        """Of these features the first of each column."""
        first: dict[str, int] = {}
        for feature in features:
            first.setdefault(self.features[feature].column, int(feature))
        return np.array(list(first.values()), dtype=np.intp)


def value_text(value: Value, beside: Value = None) -> str:
    """A cell in a sentence, with enough digits to be told from the value it stands beside.

    As it stands in the file, so that it can be searched for; but nobody wrote seventeen digits.
    """
    if value is None or value == UNKNOWN:
        return value or "missing"
    if isinstance(value, str):
        return level_text(value)
    written = number_text(value)
    if sum(map(str.isdigit, written)) <= _WRITTEN:
        return written
    shortened = float(f"{value:.6g}")
    if isinstance(beside, float) and value != beside:
        # Two digits of the difference.
        shortened = min(shortened, short_float(value, beside), key=lambda one: abs(one - value))
    return number_text(shortened)
