"""Why rows are anomalies, in two texts each, for tables of scores: the rules that they break, and what would mend them.

The same rules, order and values that a `Finding` gives; made for many rows at once, and without an explanation.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from aspca.findings.reasons import MOSTLY
from aspca.findings.values import Proposals, Value, shown_features, to_column_value
from aspca.identities.identity import write_number
from aspca.identities.localize import localize
from aspca.linalg.arrays import Floats, Ints, round_for_ranking
from aspca.model.judgement import Judgement

if TYPE_CHECKING:
    from aspca.model.model import Model

Texts = list[str | None]


class ShortReasons:
    """The two texts for rows of one model."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._proposals = Proposals.of(model)
        self._shown = [shown_features(model, rule).tolist() for rule in range(len(model.rules))]
        self._texts = [str(rule) for rule in model.rules]
        self._names = [json.dumps(feature.column, ensure_ascii=False) for feature in model.space.features]

    def of(self, values: Floats, judgement: Judgement) -> tuple[Texts, Texts]:
        """For rows (n, p) and what was judged of them: their broken rules, and values that would mend the worst.

        Returns
        -------
        broken : list of n texts
            Sentences of rules, that with the largest part of the score first; None where none is broken.
        proposed : list of n texts
            JSON: for a row that violates an identity, the wrong cells and what they should be; a list where others are
            as likely. Else an object for the first of these rules, or where none is broken the one with the largest
            part, what each of its columns would have to be, the others as they are, for it to hold. None where no value
            would do, and for a row that keeps its rules and is unusual outside of them.
        """
        n = len(judgement)
        if not self._texts or not n:
            return [None] * n, [None] * n
        order = np.argsort(-round_for_ranking(judgement.contributions), axis=1, kind="stable")
        broken = np.take_along_axis(judgement.broken, order, axis=1)
        outside = np.divide(judgement.outside, judgement.scores, out=np.ones(n), where=judgement.scores > 0.0)
        first = order[np.arange(n), broken.argmax(axis=1)]
        proposed = self._propose(values, judgement, np.where(~broken.any(axis=1) & (outside >= MOSTLY), -1, first))
        for repair in localize(self._model.identities, values):
            options = [(repair.cells, repair.values), *repair.ties] if repair.cells else []
            told = [text for one in options if (text := self._object(*one)) is not None]
            proposed[repair.row] = f"[{', '.join(told)}]" if len(told) > 1 else told[0] if told else None
        counts, rules = np.count_nonzero(broken, axis=1).tolist(), iter(order[broken].tolist())

        # Rows that break the same rules share one text.
        @lru_cache(maxsize=1024)
        def sentence(several: tuple[int, ...]) -> str:
            return "; ".join(self._texts[rule] for rule in several)

        return [sentence(tuple(next(rules) for _ in range(count))) if count else None for count in counts], proposed

    def _propose(self, values: Floats, judgement: Judgement, told: Ints) -> Texts:
        """What would mend the relation `told` (n,; -1: none) of each row; of identities repairs say more."""
        made: Texts = [None] * len(told)
        # Rule by rule: their columns are the same for all rows.
        for rule in np.unique(told[told >= self._model.n_identities]).tolist():
            rows, relation = np.flatnonzero(told == rule), rule - self._model.n_identities
            columns = [
                self._propose_column(relation, j, values[rows, j], judgement.deviations[rows, rule])
                for j in self._shown[rule]
            ]
            for row, cells in zip(rows.tolist(), zip(*columns, strict=True), strict=False):
                known = [cell for cell in cells if cell is not None]
                made[row] = f"{{{', '.join(known)}}}" if known else None
        return made

    def _propose_column(self, relation: int, feature: int, values: Floats, deviations: Floats) -> Texts:
        """What a column would have to be in some rows for a rule to hold, with its name, as in ``"A": 0.5``."""
        name = self._names[feature]
        wanted = self._proposals.wanted(relation, feature, values, deviations).tolist()
        if self._model.space.features[feature].kind == "number":
            return [f"{name}: {_number(value)}" if math.isfinite(value) else None for value in wanted]
        cells = [_as_json(self._proposals.original(feature, value, relation)) for value in wanted]
        return [None if cell is None else f"{name}: {cell}" for cell in cells]

    def _object(self, features: Sequence[int], values: Sequence[float]) -> str | None:
        """Cells and what they should be; None where one of them has no value."""
        origins = [self._model.space.features[feature] for feature in features]
        texts = [_as_json(to_column_value(origin, value)) for origin, value in zip(origins, values, strict=True)]
        cells = [f"{self._names[j]}: {text}" for j, text in zip(features, texts, strict=True) if text is not None]
        return "{" + ", ".join(cells) + "}" if len(cells) == len(texts) else None


def _as_json(value: Value) -> str | None:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return write_number(value) if value is not None and math.isfinite(value) else None


def _number(value: float) -> str:
    """`write_number`, which only whole numbers need."""
    text = repr(value)
    return write_number(value) if text.endswith(".0") else text
