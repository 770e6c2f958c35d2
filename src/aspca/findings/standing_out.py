"""The columns that stand out in a row that keeps its rules, and what was to be expected of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from aspca.escaping import name_text
from aspca.findings.original_values import value_text
from aspca.findings.proposals import Value, round_estimate
from aspca.linalg.arrays import Ints
from aspca.linalg.ranking import round_for_ranking
from aspca.rules.sentence import short_number

if TYPE_CHECKING:
    from aspca.findings.explanation import Explanation

# Columns are told until they make up this share of the score, so many at most.
_TOLD, _AT_MOST = 0.8, 3
# A column is beyond its range from so many deviations on.
_BEYOND = 2.0


@dataclass(frozen=True)
class StandsOut:
    """A column that is unusual in a row.

    Attributes
    ----------
    column : str
    value : Value
        What it is there.
    mean, deviation : float or None
        In the rows learned from; None for what is no plain number.
    expected : float or None
        What the other columns of the row let expect, where it is within its own range and more unusual beside them than
        by itself.
    """

    column: str
    value: Value
    mean: float | None
    deviation: float | None
    expected: float | None = None

    @property
    def usual(self) -> str:
        """What was to be expected, in words; empty where that is no number."""
        if self.mean is None or self.deviation is None:
            return ""
        if self.expected is not None:
            return f"about {short_number(self.expected, self.deviation)} expected from the other columns"
        return f"usually {self.usual_range}"

    @property
    def usual_range(self) -> str:
        """Where its values lie; empty where they are no numbers."""
        if self.mean is None or self.deviation is None:
            return ""
        return f"{short_number(self.mean, self.deviation)} ± {short_number(self.deviation, self.deviation)}"

    @property
    def text(self) -> str:
        """In a few words."""
        is_now = f"{name_text(self.column)} is {value_text(self.value)}"
        return f"{is_now} ({self.usual})" if self.usual else is_now


def unusual_columns(why: Explanation, i: int) -> tuple[StandsOut, ...]:
    """The columns that most of the score is put down to."""
    return tuple(_stands_out(why, i, j) for j in standing_out(why, i).tolist())


def _stands_out(why: Explanation, i: int, feature: int) -> StandsOut:
    origin, space = why.original.features[feature], why.model.space
    if origin.kind != "number":
        return StandsOut(origin.column, why.original.value(i, feature), None, None)
    mean, deviation, expected = float(space.mean[feature]), float(space.deviations[feature]), None
    evidence, within = why.model.evidence, abs(float(why.values[i, feature]) - mean) <= _BEYOND * deviation
    if within and evidence is not None and feature in evidence.columns:
        row, k = why.values[[i]].copy(), int(np.searchsorted(evidence.columns, feature))
        cells = evidence.cells(row)
        row[0, feature] = np.nan
        found = float(evidence.expect(row)[0, feature])
        if cells.conditionals[0, k] < cells.ranges[0, k] and not np.isnan(found):
            expected = round_estimate(found, int(space.decimals[feature]), deviation)
    return StandsOut(origin.column, why.original.value(i, feature), mean, deviation, expected)


def standing_out(why: Explanation, row: int) -> Ints:
    """The features that a row's score is put down to, one per column: the first, and others beyond their range."""
    blame = why.feature_contributions[row]
    order = np.argsort(-round_for_ranking(blame), kind="stable")
    reached = np.cumsum(blame[order]) / max(float(blame.sum()), 1e-300)
    order = order[: min(int(np.searchsorted(reached, _TOLD)) + 1, _AT_MOST)]
    space = why.model.space
    off = np.abs(why.values[row] - space.mean) > _BEYOND * space.deviations
    return why.original.distinct([int(j) for k, j in enumerate(order) if k == 0 or off[j]])
