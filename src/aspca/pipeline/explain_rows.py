"""Single rows of a table explained."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from aspca.findings.explanation import Explanation
from aspca.findings.proposals import Value, rounded
from aspca.linalg.arrays import Floats
from aspca.linalg.ranking import round_for_ranking
from aspca.model.model import Model
from aspca.pipeline.errors import RequestError
from aspca.pipeline.judged_rows import bad_cells_by_row, without_bad_rows
from aspca.pipeline.keys import Cells, Keys
from aspca.pipeline.passes import Watcher, refuse_values
from aspca.pipeline.tables import read_features
from aspca.preparation.cell_format import BadCell
from aspca.tables.errors import enumerated
from aspca.tables.table import Batch, Table

_WHOLE = re.compile(r"[0-9]{1,18}")
# Rows that are looked at before that is told.
_TOLD = 10_000
_COMMA = re.compile(r",\s+")


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
    keys: dict[str, str | None]
    text: str
    score: float
    limit: float | None
    outside: float
    share_of_rules: float
    rules: tuple[RuleShare, ...]
    features: tuple[FeatureShare, ...]


def find_rows(table: Table, wanted: Sequence[str], keys: Keys, watcher: Watcher) -> list[int]:
    """The numbers of the rows that are asked for, in that order: by name where columns name rows, else by number.

    Where no row has that name, a number is a row's own, unless names of rows are numbers too.

    Raises
    ------
    RequestError
        No such row, or a name that several rows have.
    """
    if not keys.ids:
        for text in wanted:
            if not _WHOLE.fullmatch(text):
                raise RequestError(
                    f"--row: {text!r} is no number of a row, which count from 0; name a column by --id to give names."
                )
        return [int(text) for text in wanted]
    places: dict[str, list[int]] = {_squeeze(text): [] for text in wanted}
    numbers = False
    watcher.stage("Looking for the rows", table.count())
    for row, cells in enumerate(keys.cells(table)):
        name = _squeeze(keys.name(cells) or "")
        numbers = numbers or _WHOLE.fullmatch(name) is not None
        if name in places:
            places[name].append(row)
        if row % _TOLD == _TOLD - 1:
            watcher.advance(_TOLD)
    return [_choose_row(text, places[_squeeze(text)], numbers, table, keys) for text in wanted]


def _choose_row(text: str, places: list[int], numbers: bool, table: Table, keys: Keys) -> int:
    columns = enumerated([repr(name) for name in keys.ids])
    if len(places) > 1:
        told = enumerated([str(row) for row in places])
        raise RequestError(
            f"--row: {text!r} names {len(places)} rows of {table.description} by {columns}: {told}; give one of these "
            "numbers without --id, or name one more column by --id."
        )
    if places:
        return places[0]
    if _WHOLE.fullmatch(text) and not numbers:
        return int(text)
    raise RequestError(
        f"--row: no row of {table.description} is called {text!r} by {columns}; leave out --id to give its number."
    )


def _squeeze(name: str) -> str:
    """A name of several parts, whether blanks follow the commas or not."""
    return _COMMA.sub(",", name.strip())


def explain_rows(model: Model, table: Table, rows: Sequence[int], keys: Keys, watcher: Watcher) -> list[Reason]:
    """The rows with these numbers, in the order asked for; the table is read as far as the last of them."""
    watcher.stage("Reading", table.count())
    wanted, reasons = set(rows), {}
    cells = keys.cells(table)
    bad = bad_cells_by_row(model, table)
    n = 0
    for batch in read_features(table, model.preparation):
        beside = list(islice(cells, len(batch.values)))
        for row in sorted(wanted & set(range(batch.start, batch.start + len(batch.values)))):
            i = row - batch.start
            values = without_bad_rows(model, batch.values[i : i + 1], np.array([row]), bad)
            alone = Batch(row, values)
            refuse_values(table, alone, model.preparation)
            reasons[row] = _reason(model, alone.values, row, keys, beside[i], bad.get(row, ()))
        n += len(batch.values)
        watcher.advance(len(batch.values))
        if len(reasons) == len(wanted):
            break
    absent = [row for row in rows if row not in reasons]
    if absent:
        raise RequestError(f"--row: {table.description} has {n} rows, numbered from 0, so there is no row {absent[0]}.")
    return [reasons[row] for row in rows]


def _reason(model: Model, values: Floats, row: int, keys: Keys, cells: Cells, bad_cells: tuple[BadCell, ...]) -> Reason:
    name = keys.name(cells)
    why = Explanation.of(model, values, [row if name is None else name])
    if bad_cells:
        why = replace(why, judgement=why.judgement.with_bad_cells([bad_cells]))
    by_rule = np.argsort(-round_for_ranking(why.rule_contributions[0]), kind="stable")
    unknown = np.isnan(why.deviations[0]) & ~(why.rule_contributions[0] > 0.0)
    original = why.original
    parts: dict[str, float] = {}
    for feature, part in zip(original.features, why.feature_contributions[0].tolist(), strict=True):
        parts[feature.column] = parts.get(feature.column, 0.0) + part
    columns = [(j, original.features[j].column) for j in original.distinct(range(len(why.names))).tolist()]
    return Reason(
        row=row,
        name=name,
        keys=keys.texts(cells),
        text=why[0].text,
        score=float(why.scores[0]),
        limit=why.threshold,
        outside=float(why.outside[0]),
        share_of_rules=float(why.share_of_rules[0]),
        # Those that could be computed, or have a part in the score all the same.
        rules=tuple(_rule_share(why, rule) for rule in by_rule[~unknown[by_rule]].tolist()),
        features=tuple(
            FeatureShare(column, parts[column], original.value(0, j), _wanted(why, j))
            for j, column in sorted(columns, key=lambda pair: -parts[pair[1]])
        ),
    )


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


def _wanted(why: Explanation, j: int) -> Value:
    """What a feature is in the nearest row that obeys every rule, in its column and its decimals; None for a category,
    where another might do as well, and for a lifted column, of which each feature is moved by itself."""
    feature, decimals = why.original.features[j], int(why.model.space.decimals[j])
    if feature.kind == "level" or why.proposals.beside(j):
        return None
    value = float(why.repaired[0, j])
    if feature.kind == "number":
        return rounded(value, decimals, float(why.model.space.deviations[j]))
    found = feature.original(value)
    return float(f"{found:.6g}") if isinstance(found, float) else found
