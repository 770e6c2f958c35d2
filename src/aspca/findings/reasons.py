"""What a row breaks, what stands out in it and which of its cells are wrong: rules and columns beside a row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aspca.escaping import name_text
from aspca.findings.explained import ExplainedRows
from aspca.findings.values import Value, round_estimate, round_in_column, to_column_value, value_text
from aspca.identities import Identity
from aspca.linalg.arrays import round_for_ranking
from aspca.rules.wording import shorten_number

# Where a row breaks no rule and at least this share of its score lies outside of them, no rule is the reason; beside
# broken rules what lies outside is told from the other share on.
MOSTLY, ALSO = 0.5, 0.2
# Rules, and columns that stand out, are told until they make up this share of the score, so many at most.
TOLD, AT_MOST = 0.8, 3
# A column is beyond its range from so many deviations on.
_BEYOND = 2.0

WrongCell = tuple[str, Value, Value]  # a column, what it is, and what it should be


@dataclass(frozen=True)
class Violation:
    """A rule that a row breaks, or is off."""

    rule: int  # its number, from 0
    text: str
    broken: bool  # whether it is beyond its own limit
    contribution: float  # its part of the score
    share: float  # that as a share of the whole
    deviation: float | None  # in the rule's own units; None where values are missing
    size: float  # how far the two sides differ, in the numbers of the text
    side: str | None  # for a rule about one feature, where that is: high or low
    off: str  # both in words, as in ``0.5 too high`` or ``a factor of 3``
    spreads: float | None  # the same in spreads of the rule; None for a rule that held exactly
    # Per column in the text, what it is, and what it would have to be for the rule to hold: numbers, dates or
    # categories as texts, None where it is missing or no one value would do. Most to blame first.
    needed: dict[str, tuple[Value, Value]]


@dataclass(frozen=True)
class Cell:
    """A column of a row."""

    column: str
    value: Value  # numbers, or texts for dates and categories; None where it is missing
    mean: float | None  # in the rows learned from, as is `deviation`; None for what is no plain number
    deviation: float | None
    # What the other columns of the row let expect, where it is within its own range and more unusual beside them than
    # by itself.
    expected: float | None = None

    @property
    def usual(self) -> str:
        """What was to be expected, in words; empty where that is no number."""
        if self.expected is not None and self.deviation is not None:
            return f"about {shorten_number(self.expected, self.deviation)} expected from the other columns"
        return f"usually {self.usual_range}" if self.usual_range else ""

    @property
    def usual_range(self) -> str:
        """Where its values lie; empty where they are no numbers."""
        return "" if self.mean is None or self.deviation is None else show_range(self.mean, self.deviation)

    @property
    def text(self) -> str:
        """In a few words."""
        is_now = f"{name_text(self.column)} is {value_text(self.value)}"
        return f"{is_now} ({self.usual})" if self.usual else is_now


def show_range(mean: float, deviation: float) -> str:
    """Where the values of a column usually lie."""
    return f"{shorten_number(mean, deviation)} ± {shorten_number(deviation, deviation)}"


# ---- rules


def rank_rules(why: ExplainedRows, i: int) -> list[int]:
    """The rules, those that make up most of a row's score first."""
    order = np.argsort(-round_for_ranking(why.rule_contributions[i]), kind="stable")
    return [int(rule) for rule in order]


def select_rules(why: ExplainedRows, i: int) -> tuple[list[int], bool]:
    """The rules to tell of a row, those that matter most first, and whether what lies outside of them is told too.

    The rules that it breaks; where small deviations add up, those that add most; where it keeps its rules, none.
    """
    order = rank_rules(why, i)
    told = [rule for rule in order if why.broken[i, rule]]
    outside = compute_outside_share(why, i) >= (ALSO if told else MOSTLY)
    # What adds nothing is no reason, if there is another.
    adding = [rule for rule in order if why.rule_contributions[i, rule] > 0.0] or order
    return (told if told or outside else adding[:2]), outside


def compute_outside_share(why: ExplainedRows, i: int) -> float:
    """The share of a row's score that lies outside the rules; all of it where nothing is said against the row."""
    score = float(why.scores[i])
    return float(why.outside[i]) / score if score > 0.0 else 1.0


def make_violation(why: ExplainedRows, i: int, number: int) -> Violation:
    """What a row is off by at a rule, and what would be normal."""
    rule = why.rules[number]
    deviation = float(why.deviations[i, number])
    shown = rule.shown_terms
    side, size = None, abs(deviation)
    if not isinstance(rule, Identity):
        size *= abs(rule.equation.unit)
        if shown.size == 1:
            side = "high" if deviation * rule.coefficients[shown[0]] > 0 else "low"
    blame = why.feature_contributions[i]
    needed = find_needed_values(why, i, number)
    features = {why.original.features[j].column: j for j in why.shown_features(number).tolist()}
    return Violation(
        rule=number,
        text=str(rule),
        broken=bool(why.broken[i, number]),
        contribution=float(why.rule_contributions[i, number]),
        share=float(why.shares[i, number]),
        deviation=None if np.isnan(deviation) else deviation,
        size=size,
        side=side,
        off=rule.off_by(deviation),
        spreads=None if rule.exact else abs(deviation) / rule.spread,
        needed={column: needed[column] for column in sorted(needed, key=lambda name: -blame[features[name]])},
    )


def find_needed_values(why: ExplainedRows, i: int, rule: int) -> dict[str, tuple[Value, Value]]:
    """Per column in a rule's text, what it is in a row, and what it would have to be for the rule to hold."""
    wanted, original = why.needed_at(i, rule), why.original
    features = {original.features[j].column: j for j in why.shown_features(rule).tolist()}
    return {column: (original.value(i, j), wanted[column]) for column, j in features.items()}


# ---- columns


def select_outlying_columns(why: ExplainedRows, i: int) -> list[int]:
    """The features that a row's score is put down to, one per column: the first, and others beyond their range."""
    parts, space = why.feature_contributions[i], why.model.space
    order = np.argsort(-round_for_ranking(parts), kind="stable")
    reached = np.cumsum(parts[order]) / max(float(parts.sum()), 1e-300)
    order = order[: min(int(np.searchsorted(reached, TOLD)) + 1, AT_MOST)]
    off = np.abs(why.values[i] - space.mean) > _BEYOND * space.deviations
    chosen = why.original.distinct([int(j) for k, j in enumerate(order) if k == 0 or off[j]])
    return [int(j) for j in chosen]


def make_cell(why: ExplainedRows, i: int, feature: int) -> Cell:
    """A column that stands out, and what was to be expected of it."""
    origin, space = why.original.features[feature], why.model.space
    if origin.kind != "number":
        return Cell(origin.column, why.original.value(i, feature), None, None)
    mean, deviation, expected = float(space.mean[feature]), float(space.deviations[feature]), None
    evidence, within = why.model.evidence, abs(float(why.values[i, feature]) - mean) <= _BEYOND * deviation
    if within and evidence is not None and feature in evidence.columns:
        row, k = why.values[[i]].copy(), int(np.searchsorted(evidence.columns, feature))
        cells = evidence.cells(row)
        row[0, feature] = np.nan
        found = float(evidence.expect(row)[0, feature])
        if cells.conditionals[0, k] < cells.ranges[0, k] and not np.isnan(found):
            expected = round_estimate(found, int(space.decimals[feature]), deviation)
    return Cell(origin.column, why.original.value(i, feature), mean, deviation, expected)


def find_repaired_value(why: ExplainedRows, i: int, j: int) -> Value:
    """What a feature is in the nearest row that obeys every rule, in its column and its decimals; None for a category,
    where another might do as well, and for a lifted column, of which each feature is moved by itself."""
    feature, space = why.original.features[j], why.model.space
    if feature.kind == "level" or why.proposals.siblings(j):
        return None
    value = float(why.repaired[i, j])
    if feature.kind == "number":
        return round_in_column(value, int(space.decimals[j]), float(space.deviations[j]))
    found = feature.original(value)
    return float(f"{found:.6g}") if isinstance(found, float) else found


def find_wrong_cells(why: ExplainedRows, i: int) -> list[list[WrongCell]]:
    """The cells of a row that are wrong, and others that are as likely; the first are none where no change would do."""
    repair = why.repairs.get(i)
    if repair is not None:
        options = [(repair.cells, repair.values), *repair.ties]
    else:
        options = [((j,), (value,)) for j, value in [why.likely_wrong[i]]] if i in why.likely_wrong else []
    features = why.original.features
    return [
        [
            (features[j].column, why.original.value(i, j), to_column_value(features[j], value))
            for j, value in zip(cells, values, strict=True)
        ]
        for cells, values in options
    ]
