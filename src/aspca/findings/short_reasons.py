"""Why rows are anomalies, in two texts each, for tables of scores: the rules that they break, and what would mend them.

The same rules, order and values that an `Explanation` gives; made for many rows at once, and without loading one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from aspca.findings.original_values import distinct_columns
from aspca.findings.proposals import Proposals, Value, too_far
from aspca.identities import Repair
from aspca.identities.localize import localize
from aspca.identities.wording import number_text
from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.linalg.ranking import round_for_ranking
from aspca.model.judgement import Judgement
from aspca.preparation.feature import Feature
from aspca.rules.sentence import shown_terms

if TYPE_CHECKING:
    from aspca.model.model import Model

# Where a row breaks no rule and at least this share of its score lies outside of them, no rule is the reason.
MOSTLY = 0.5
_BETWEEN = "; "
_NO_RULE = -1


def proposals_of(model: Model) -> Proposals:
    """What columns would have to be for the rules of a model to hold."""
    return Proposals(model.space, model.table, np.sqrt(model.thresholds.rules))


def shown_features(model: Model, rule: int) -> Ints:
    """Positions of the features in a rule's text, one per column: what is too small for it needs no repair."""
    used = model.rule_columns(rule)
    return distinct_columns(model.space.features, (int(used[k]) for k in shown_terms(model.rules[rule])))


def solved_value(model: Model, identity: int, feature: int, row: Floats) -> Value:
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
    if not right or (space.nonnegative[feature] and value < 0.0) or too_far(space, feature, value, float(row[feature])):
        return None
    return in_column(space.features[feature], value)


def in_column(feature: Feature, value: float) -> Value:
    """A value of a feature in the terms of its column; None where there is none."""
    return None if np.isnan(value) or feature.kind == "level" else feature.original(value)


class ShortReasons:
    """The two texts for rows of one model."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._proposals = proposals_of(model)
        self._shown = [shown_features(model, rule) for rule in range(len(model.rules))]
        self._texts = [str(rule) for rule in model.rules]
        self._names = [json.dumps(feature.column, ensure_ascii=False) for feature in model.space.features]
        self._plain = [feature.kind == "number" for feature in model.space.features]

    def of(self, values: Floats, judgement: Judgement) -> tuple[list[str | None], list[str | None]]:
        """For rows (n, p) and what was judged of them: their broken rules, and values that would mend the worst.

        Returns
        -------
        broken : list of n texts
            Sentences of rules, that with the largest part of the score first; None where none is broken.
        proposed : list of n texts
            JSON: for a row that violates an identity, the wrong cells and what they should be. Else an object for the
            first of these rules, or where none is broken the one with the largest part, what each of its columns would
            have to be, the others as they are, for it to hold. None where no value would do, and for a row that keeps
            its rules and is unusual outside of them.
        """
        if not self._texts or not len(judgement):
            return [None] * len(judgement), [None] * len(judgement)
        order = np.argsort(-round_for_ranking(judgement.contributions), axis=1, kind="stable")
        broken = np.take_along_axis(judgement.broken, order, axis=1)
        objects = self._objects(values, judgement, _told(judgement, order, broken))
        for repair in localize(self._model.identities, values):
            objects[repair.row] = self._repaired(repair)
        return self._sentences(order, broken), objects

    def _repaired(self, repair: Repair) -> str | None:
        """What the wrong cells of a row should be: an object, or where others are as likely a list of several; None
        where no change of a few cells would do."""
        options = [(repair.cells, repair.values), *repair.ties] if repair.cells else []
        told = [text for cells, values in options if (text := self._one_repair(cells, values)) is not None]
        if len(told) < 2:
            return told[0] if told else None
        return "[" + ", ".join(told) + "]"

    def _one_repair(self, columns: Sequence[int], values: Sequence[float]) -> str | None:
        cells = []
        for feature, value in zip(columns, values, strict=True):
            found = in_column(self._model.space.features[feature], value)
            if found is None:
                return None
            text = json.dumps(found, ensure_ascii=False) if isinstance(found, str) else number_text(found)
            cells.append(f"{self._names[feature]}: {text}")
        return "{" + ", ".join(cells) + "}"

    def _sentences(self, order: Ints, broken: Bools) -> list[str | None]:
        counts = np.count_nonzero(broken, axis=1).tolist()
        rules = iter(order[broken].tolist())

        # Rows that break the same rules share one text.
        @lru_cache(maxsize=1024)
        def sentence(several: tuple[int, ...]) -> str:
            return _BETWEEN.join(self._texts[rule] for rule in several)

        return [sentence(tuple(next(rules) for _ in range(count))) if count else None for count in counts]

    def _objects(self, values: Floats, judgement: Judgement, told: Ints) -> list[str | None]:
        made: list[str | None] = [None] * len(judgement)
        # Rule by rule: their columns are the same for all rows.
        for rule in np.unique(told[told != _NO_RULE]).tolist():
            rows = np.flatnonzero(told == rule)
            deviations = judgement.deviations[rows, rule]
            if rule < self._model.n_identities:
                # Repairs say more.
                continue
            relation = rule - self._model.n_identities
            columns = [self._cells(relation, j, values[rows, j], deviations) for j in self._shown[rule].tolist()]
            for row, cells in zip(rows.tolist(), zip(*columns, strict=True), strict=False):
                known = [cell for cell in cells if cell is not None]
                if known:
                    made[row] = "{" + ", ".join(known) + "}"
        return made

    def _cells(self, rule: int, feature: int, values: Floats, deviations: Floats) -> list[str | None]:
        """What a column would have to be in some rows for a rule to hold, with its name, as in ``"A": 0.5``."""
        name = self._names[feature]
        found = self._proposals.wanted_of_one(rule, feature, values, deviations)
        wanted = np.where(np.isfinite(found), found, np.nan).tolist()
        if self._plain[feature]:
            return [f"{name}: {_number(value)}" if value == value else None for value in wanted]
        texts = [self._in_column(rule, feature, value) if math.isfinite(value) else None for value in wanted]
        return [None if text is None else f"{name}: {text}" for text in texts]

    def _in_column(self, rule: int, feature: int, value: float) -> str | None:
        """A value in the terms of its column, as JSON; None where it has none."""
        found: Value = self._proposals.original(feature, value, rule)
        if isinstance(found, str):
            return json.dumps(found, ensure_ascii=False)
        return number_text(found) if found is not None and math.isfinite(found) else None


def _number(value: float) -> str:
    """`number_text`, which only whole numbers need."""
    text = repr(value)
    return number_text(value) if text[-2:] == ".0" else text


def _told(judgement: Judgement, order: Ints, broken: Bools) -> Ints:
    """The rule of each row (n,) that values are proposed for, -1 for none: see `breaks.told_rules`."""
    any_broken = broken.any(axis=1)
    first = np.take_along_axis(order, broken.argmax(axis=1)[:, None], axis=1)[:, 0]
    outside = np.divide(judgement.outside, judgement.scores, out=np.ones(len(judgement)), where=judgement.scores > 0.0)
    return np.where(any_broken, first, np.where(outside >= MOSTLY, _NO_RULE, order[:, 0]))
