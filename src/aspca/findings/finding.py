"""One row and all that is said of it, in numbers and in words: everything that shows an anomaly renders this record."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from aspca.findings.explained import ExplainedRows
from aspca.findings.reasons import (
    Cell,
    Violation,
    WrongCell,
    compute_outside_share,
    find_repaired_value,
    find_wrong_cells,
    make_cell,
    make_violation,
    rank_rules,
    select_outlying_columns,
    select_rules,
)
from aspca.findings.values import Value
from aspca.findings.words import describe_row, describe_wrong_cells, rate_confidence
from aspca.preparation.cell_format import BadCell
from aspca.rules.rule import AnyRule


@dataclass(frozen=True, eq=False, repr=False)
class Finding:
    """A row of an explanation and, where a table was read, who it is; printed, it is a few sentences.

    Attributes
    ----------
    explanation : Explanation
    position : int
        Where it stands among the rows explained, from 0.
    row : int
        Its number in the table, from 0.
    name : str or None
        Its own name, if columns hold one.
    keys : dict of str to str or None
        What stands in its key columns, in the table's own words: names, time, categories, label.
    category : str or None
        Whose model judged it, where there is one for each category.
    beyond : bool
        False if it is nothing but a row of a change: see `Outcome.changes`.
    label : object
        What it is called: its name, its label in a data frame, or its number.
    score : float
    times : float or None
        The score in multiples of the limit.
    verdict : {"error", "unusual", "normal"} or None
        None while the threshold waits for rows.
    p_value : float or None
        How often normal rows are as far out; None where rows are not judged by tail models.
    confidence : str or None
        Of an error, how sure it is that it is wrong: certain, very likely or likely.
    violations : tuple of Violation
        The rules that it breaks, those that matter most first. Where it breaks none, but small deviations add up, the
        rules that add most (``broken`` is False); where it keeps its rules, none. `breaks` are the first three.
    outside : float
        The share of the score that lies outside the rules.
    unusual : tuple of Cell
        The columns that stand out, where a good part of the score lies outside the rules.
    bad_cells : tuple of BadCell
        Cells that are not what their columns hold.
    repair : dict of str to pairs
        Its wrong cells by column: what they are, and what they should be.
    approximate : bool
        Whether these are what the other columns let expect, and not what an exact relation asks for.
    ties : tuple of such dicts
        Other cells that may be the wrong ones as well.
    text : str
        All of it in a few sentences.
    """

    explanation: ExplainedRows
    position: int
    row: int
    name: str | None = None
    keys: dict[str, str | None] = field(default_factory=dict)
    category: str | None = None
    beyond: bool = True

    def __repr__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Finding) and self.to_dict() == other.to_dict()

    @property
    def label(self) -> object:
        return self.explanation.index[self.position]

    # ---- the verdict

    @property
    def score(self) -> float:
        return float(self.explanation.scores[self.position])

    @property
    def anomaly(self) -> bool:
        return bool(self.explanation.anomalies[self.position])

    @property
    def verdict(self) -> str | None:
        if self.explanation.judgement.anomalies is None:
            return None
        return "normal" if not self.anomaly else "error" if self.explanation.errors[self.position] else "unusual"

    @property
    def p_value(self) -> float | None:
        p_values = self.explanation.p_values
        return None if p_values is None else float(p_values[self.position])

    @property
    def times(self) -> float | None:
        limit = self.explanation.threshold
        return None if not limit or (self.bad_cells and self.score <= limit) else self.score / limit

    @property
    def confidence(self) -> str | None:
        return rate_confidence(self.explanation, self.position) if self.verdict == "error" else None

    # ---- what it is made of

    @cached_property
    def _selected(self) -> tuple[list[int], bool]:
        return select_rules(self.explanation, self.position)

    @cached_property
    def violations(self) -> tuple[Violation, ...]:
        return tuple(make_violation(self.explanation, self.position, rule) for rule in self._selected[0])

    @property
    def breaks(self) -> tuple[Violation, ...]:
        return self.violations[:3]

    @property
    def rules(self) -> tuple[Violation, ...]:
        """All rules that could be computed, or have a part in the score all the same; the largest part first."""
        every = (make_violation(self.explanation, self.position, rule) for rule in self._ranked)
        return tuple(one for one in every if one.deviation is not None or one.contribution > 0.0)

    @property
    def broken(self) -> tuple[AnyRule, ...]:
        """The rules that it breaks, those that make up most of its score first."""
        return tuple(self.explanation.rules[k] for k in self._ranked if self.explanation.broken[self.position, k])

    @cached_property
    def _ranked(self) -> list[int]:
        return rank_rules(self.explanation, self.position)

    @property
    def breaks_a_rule(self) -> bool:
        return bool(self.explanation.broken[self.position].any())

    def needed(self, rule: int) -> dict[str, Value]:
        """What each column of a rule would need to be for it to hold, see `Explanation.needed`."""
        return self.explanation.needed_at(self.position, rule)

    @property
    def outside(self) -> float:
        return compute_outside_share(self.explanation, self.position)

    @property
    def residual(self) -> float:
        """The part of the score that lies outside the rules."""
        return float(self.explanation.outside[self.position])

    @cached_property
    def unusual(self) -> tuple[Cell, ...]:
        why, i = self.explanation, self.position
        return tuple(make_cell(why, i, j) for j in select_outlying_columns(why, i)) if self._selected[1] else ()

    @cached_property
    def _columns(self) -> dict[str, int]:
        """The first feature of each column."""
        original = self.explanation.original
        chosen = original.distinct(range(len(original.features))).tolist()
        return {original.features[j].column: j for j in chosen}

    @property
    def values(self) -> dict[str, Value]:
        """Its cells by column, as in the table."""
        original = self.explanation.original
        return {column: original.value(self.position, j) for column, j in self._columns.items()}

    @cached_property
    def contributions(self) -> dict[str, float]:
        """What each column adds to the score, the largest first."""
        parts = dict.fromkeys(self._columns, 0.0)
        features, shares = self.explanation.original.features, self.explanation.feature_contributions[self.position]
        for feature, part in zip(features, shares.tolist(), strict=True):
            parts[feature.column] += part
        return dict(sorted(parts.items(), key=lambda pair: -pair[1]))

    @property
    def repaired(self) -> dict[str, Value]:
        """By column, what it is in the nearest row that obeys every rule; None where no one value would do."""
        return {column: find_repaired_value(self.explanation, self.position, j) for column, j in self._columns.items()}

    @property
    def bad_cells(self) -> tuple[BadCell, ...]:
        return self.explanation.bad_cells(self.position)

    @cached_property
    def _wrong_cells(self) -> list[list[WrongCell]]:
        return find_wrong_cells(self.explanation, self.position)

    @property
    def repair(self) -> dict[str, tuple[Value, Value]]:
        return {column: (now, wanted) for cells in self._wrong_cells[:1] for column, now, wanted in cells}

    @property
    def ties(self) -> tuple[dict[str, tuple[Value, Value]], ...]:
        return tuple({column: (now, wanted) for column, now, wanted in cells} for cells in self._wrong_cells[1:])

    @property
    def approximate(self) -> bool:
        return bool(self._wrong_cells) and self.position not in self.explanation.repairs

    # ---- in words, and as plain values

    @cached_property
    def text(self) -> str:
        return describe_row(self.explanation, self.position)

    @property
    def wrong_cells_text(self) -> str:
        """Which of its cells are wrong, and what they should be, as a clause; empty where nobody knows."""
        return describe_wrong_cells(self.explanation, self.position)

    def to_dict(self) -> dict[str, Any]:
        """All that is said of it, as plain values."""
        names = ["row", "name", "category", "score", "times", "breaks", "outside", "unusual", "text", "keys"]
        names += ["bad_cells", "beyond", "verdict", "p_value", "confidence", "approximate", "repair", "ties"]
        of_rules = ("rule", "text", "broken", "share", "size", "side", "off", "spreads")
        return {
            **{name: getattr(self, name) for name in names},
            "breaks": [
                {
                    **{name: getattr(one, name) for name in of_rules},
                    "needed": {name: {"is": now, "needed": then} for name, (now, then) in one.needed.items()},
                }
                for one in self.breaks
            ],
            "unusual": [asdict(cell) for cell in self.unusual],
            "bad_cells": [asdict(cell) for cell in self.bad_cells],
        }
