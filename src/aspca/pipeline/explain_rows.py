"""Single rows of a table explained."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

import numpy as np

from aspca.findings.finding import Finding
from aspca.model.model import Model
from aspca.pipeline.judged_rows import JudgedRows, group_bad_cells, join_rows, judge_batch
from aspca.pipeline.outcome import make_findings
from aspca.pipeline.passes import Watcher, read_features
from aspca.tables.errors import RequestError, join_names
from aspca.tables.keys import Keys
from aspca.tables.table import Batch, Table

_WHOLE = re.compile(r"[0-9]{1,18}")


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
        if row % 10_000 == 9_999:
            watcher.advance(10_000)
    return [_choose_row(text, places[_squeeze(text)], numbers, table, keys) for text in wanted]


def _choose_row(text: str, places: list[int], numbers: bool, table: Table, keys: Keys) -> int:
    columns = join_names([repr(name) for name in keys.ids])
    if len(places) > 1:
        told = join_names([str(row) for row in places])
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
    return re.sub(r",\s+", ",", name.strip())


def explain_rows(model: Model, table: Table, rows: Sequence[int], keys: Keys, watcher: Watcher) -> list[Finding]:
    """The rows with these numbers, in the order asked for; the table is read as far as the last of them."""
    watcher.stage("Reading", table.count())
    wanted, found = set(rows), dict[int, JudgedRows]()
    cells, bad = keys.cells(table), group_bad_cells(model, table)
    n = 0
    for batch in read_features(table, model.preparation):
        beside = list(islice(cells, len(batch.values)))
        for row in sorted(wanted & set(range(batch.start, batch.start + len(batch.values)))):
            i = row - batch.start
            alone = Batch(row, batch.values[i : i + 1])
            found[row] = judge_batch(model, table, alone, np.array([row]), bad, keys, [beside[i]])
        n += len(batch.values)
        watcher.advance(len(batch.values))
        if len(found) == len(wanted):
            break
    absent = [row for row in rows if row not in found]
    if absent:
        raise RequestError(f"--row: {table.description} has {n} rows, numbered from 0, so there is no row {absent[0]}.")
    judged = join_rows([found[row] for row in rows])
    return list(make_findings(judged, judged.explained(model, named=True)))
