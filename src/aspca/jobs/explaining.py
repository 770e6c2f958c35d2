"""Single rows of a table explained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from aspca.engines.source import Batch
from aspca.jobs.errors import RequestError
from aspca.jobs.preparing import refuse_values
from aspca.jobs.progress import Watcher
from aspca.jobs.tables import TableSource, cells_beside, prepared
from aspca.judging.explanation import Explanation
from aspca.judging.model import Model
from aspca.judging.proposals import Value
from aspca.linalg.arrays import Floats
from aspca.preparation.feature import Feature


@dataclass(frozen=True)
class RuleShare:
    """A rule's part of a score: its number (from 0), text, part, share of the whole, deviation in its own units (None
    where values are missing), and whether it is broken."""

    rule: int
    text: str
    contribution: float
    share: float
    deviation: float | None
    broken: bool


@dataclass(frozen=True)
class FeatureShare:
    """A column's part of a score, its value, and that in the nearest row that obeys every rule.

    Numbers, or texts for dates and categories; None where it is missing, or no one category would do.
    """

    feature: str
    contribution: float
    value: Value
    repaired: Value


@dataclass(frozen=True)
class Reason:
    """Why one row scores what it scores: `rules` and `outside` add up to the score, as do `features`; largest first.

    `outside` is the part that lies outside the rules. `share_of_rules` is below one where values are missing: the other
    rules could not be computed.
    """

    row: int
    name: str | None
    text: str
    score: float
    limit: float | None
    outside: float
    share_of_rules: float
    rules: tuple[RuleShare, ...]
    features: tuple[FeatureShare, ...]

    def document(self) -> dict[str, Any]:
        """As plain values."""
        whole = {
            key: getattr(self, key) for key in ("row", "name", "text", "score", "limit", "outside", "share_of_rules")
        }
        return {
            **whole,
            "rules": [vars(share) for share in self.rules],
            "features": [vars(share) for share in self.features],
        }


def explained(
    model: Model, table: TableSource, rows: Sequence[int], name: str | None, watcher: Watcher
) -> list[Reason]:
    """The rows with these numbers, in the order asked for; the table is read as far as the last of them."""
    watcher.stage("Reading", table.count())
    wanted, reasons = set(rows), {}
    beside = None if name is None else cells_beside(table, name)
    n = 0
    for batch in prepared(table, model.preparation).batches(model.names):
        names = None if beside is None else list(islice(beside, len(batch.values)))
        for row in sorted(wanted & set(range(batch.start, batch.start + len(batch.values)))):
            i = row - batch.start
            alone = Batch(row, batch.values[i : i + 1])
            refuse_values(table, alone, model.names, gaps=model.allows_gaps)
            reasons[row] = _reason(model, alone.values, row, None if names is None else str(names[i]))
        n += len(batch.values)
        watcher.advance(len(batch.values))
        if len(reasons) == len(wanted):
            break
    absent = [row for row in rows if row not in reasons]
    if absent:
        raise RequestError(f"--row: {table.description} has {n} rows, numbered from 0, so there is no row {absent[0]}.")
    return [reasons[row] for row in rows]


def _reason(model: Model, values: Floats, row: int, name: str | None) -> Reason:
    why = model.explain(values, [row if name is None else name])
    by_rule = np.argsort(-why.rule_contributions[0], kind="stable")
    original = why.original
    parts: dict[str, float] = {}
    for feature, part in zip(original.features, why.feature_contributions[0].tolist(), strict=True):
        parts[feature.column] = parts.get(feature.column, 0.0) + part
    columns = [(j, original.features[j].column) for j in original.distinct(range(len(why.names))).tolist()]
    return Reason(
        row=row,
        name=name,
        text=why[0].text,
        score=float(why.scores[0]),
        limit=why.threshold,
        outside=float(why.outside[0]),
        share_of_rules=float(why.share_of_rules[0]),
        rules=tuple(_rule_share(why, int(rule)) for rule in by_rule if _known(why, int(rule))),
        features=tuple(
            FeatureShare(
                column, parts[column], original.value(0, j), _wanted(original.features[j], float(why.repaired[0, j]))
            )
            for j, column in sorted(columns, key=lambda pair: -parts[pair[1]])
        ),
    )


def _known(why: Explanation, rule: int) -> bool:
    """Whether a rule could be computed, or has a part in the score all the same."""
    return not np.isnan(why.deviations[0, rule]) or bool(why.rule_contributions[0, rule] > 0.0)


def _rule_share(why: Explanation, rule: int) -> RuleShare:
    deviation = float(why.deviations[0, rule])
    return RuleShare(
        rule=rule,
        text=str(why.rules[rule]),
        contribution=float(why.rule_contributions[0, rule]),
        share=float(why.shares[0, rule]),
        deviation=None if np.isnan(deviation) else deviation,
        broken=bool(why.broken[0, rule]),
    )


def _wanted(feature: Feature, value: float) -> Value:
    """A value that a feature should have, in its column; None for a category, where another might do as well."""
    return None if feature.kind == "level" else feature.original(value)
