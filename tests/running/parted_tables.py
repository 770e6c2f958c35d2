"""A table with something of everything, and what must hold of it wherever its rows are."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from aspca.moments.moments import Moments
from aspca.tables.arrow_table import ArrowReading, open_arrow
from aspca.tables.errors import SourceError
from aspca.tables.parted import PartedTable
from aspca.tables.source import Source

NUMBERS = ["offset", "gaps", "whole", "single", "money", "truth", "day", "moment"]


def table_of_everything(n_rows: int = 400) -> pa.Table:
    """Numbers with gaps and NaN, truth values, dates, decimals, text, long integers, a column without values."""
    rng = np.random.default_rng(7)
    gaps = [None if k % 7 == 0 else float("nan") if k % 11 == 0 else x for k, x in enumerate(rng.normal(size=n_rows))]
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(int(k)) for k in rng.integers(0, 900, n_rows)]
    moments = [
        datetime.datetime(2020, 1, 1) + datetime.timedelta(seconds=int(k)) for k in rng.integers(0, 9**9, n_rows)
    ]
    return pa.table(
        {
            "offset": pa.array(1e8 + rng.normal(size=n_rows)),
            "gaps": pa.array(gaps, pa.float64()),
            "whole": pa.array(rng.integers(-50, 50, n_rows), pa.int32()),
            "single": pa.array(rng.normal(size=n_rows).astype(np.float32)),
            "money": pa.array([Decimal(int(k)) / 100 for k in rng.integers(0, 10**6, n_rows)], pa.decimal128(12, 2)),
            "truth": pa.array([None if k == 5 else bool(x) for k, x in enumerate(rng.random(n_rows) > 0.3)]),
            "day": pa.array(days, pa.date32()),
            "moment": pa.array(moments, pa.timestamp("us")),
            "text": pa.array([None if k % 13 == 0 else f"t{k % 3} ü" for k in range(n_rows)]),
            "long": pa.array([2**53 + 1 + 2 * k for k in range(n_rows)], pa.int64()),
            "nothing": pa.array([None] * n_rows, pa.float64()),
        }
    )


def read_here(table: pa.Table, label: str = "frame") -> Source:
    """The same rows as one table in this process."""

    def read(names: Any) -> Any:
        return iter(table.to_batches())

    return open_arrow(ArrowReading(label, table.schema, read, lambda error: SourceError(str(error))))


def refuse_unlike(table: PartedTable, here: Source) -> None:
    """Assert that a table says the same of every cell as that of the same rows in this process."""
    assert table.columns == here.columns
    assert table.remarks == here.remarks
    assert table.count() == here.count()
    assert table.locate(3) == here.locate(3)
    numbers = [column.name for column in here.columns if column.kind != "text"]
    everything = [column.name for column in here.columns]
    size = 37
    for ours, theirs in zip(table.batches(numbers, size), here.batches(numbers, size), strict=True):
        assert ours.start == theirs.start
        np.testing.assert_array_equal(ours.values, theirs.values)
    assert [row for rows in table.cells(everything, size) for row in rows] == [
        row for rows in here.cells(everything) for row in rows
    ]
    some = [0, 7, 8, here.count() - 1]
    assert table.take(everything, some) == here.take(everything, some)
    # The same on the workers: chunks in their order, each with the number of its first row.
    starts, values = table.reduce(gathered(numbers), joining(), numbers)
    together = np.concatenate([batch.values for batch in here.batches(numbers)])
    np.testing.assert_array_equal(np.concatenate(values), together)
    assert starts == np.cumsum([0, *(len(part) for part in values[:-1])]).tolist()


def gathered(names: list[str]) -> Callable[[Any, int], Any]:
    """A task for `each`: where a chunk begins, and all its numbers. Made here so that workers need not import tests."""

    def task(part: Any, start: int) -> Any:
        import numpy

        return [start], [numpy.concatenate([batch.values for batch in part.batches(names, 11)])]

    return task


def joining() -> Callable[[Any, Any], Any]:
    """Merges what `gathered` gives."""

    def merge(before: Any, later: Any) -> Any:
        return before[0] + later[0], before[1] + later[1]

    return merge


def doubling() -> Callable[[Any, int], Any]:
    """A function for `mapped`: the number of each row, and twice its value in column a."""

    def doubled(part: Any, start: int) -> Any:
        import numpy
        import pyarrow

        for batch in part.batches(["a"]):
            rows = start + batch.start + numpy.arange(len(batch.values))
            yield pyarrow.RecordBatch.from_pydict({"row": rows, "twice": 2 * batch.values[:, 0]})

    return doubled


DOUBLED = pa.schema([("row", pa.int64()), ("twice", pa.float64())])


def moments_of(names: list[str]) -> Callable[[Any, int], Moments]:
    """A task for `each`: moments."""

    def task(part: Any, start: int) -> Any:
        from aspca.moments.moments import Moments

        found = Moments.empty(len(names))
        for batch in part.batches(names):
            found = found.update(batch.values)
        return found

    return task


def refuse_other_moments(moments: Moments, rows: np.ndarray) -> None:
    """Assert that moments are those of NumPy in two passes, entry by entry, within 1e-12 of sqrt(S_ii S_jj)."""
    mean = rows.mean(axis=0)
    mean = mean + (rows - mean).mean(axis=0)
    scatter = (rows - mean).T @ (rows - mean)
    size = np.sqrt(np.diag(scatter))
    assert moments.n_rows == len(rows)
    assert (np.abs(moments.scatter - scatter) <= 1e-12 * np.outer(size, size)).all()
    assert (np.abs(moments.mean - mean) <= 1e-12 * np.maximum(np.abs(mean), size)).all()
    np.testing.assert_array_equal(moments.minimum, rows.min(axis=0))
    np.testing.assert_array_equal(moments.maximum, rows.max(axis=0))


def cuts(rng: np.random.Generator, n_rows: int, parts: int) -> list[slice]:
    """So many parts at random, some of them without rows."""
    edges = [0, *sorted(rng.integers(0, n_rows + 1, parts - 1).tolist()), n_rows]
    return [slice(one, other) for one, other in pairwise(edges)]


def related_rows(n_rows: int = 3000) -> np.ndarray:
    """Six columns: an exact total at a large offset, a relation that holds but for noise, and gross cells."""
    rng = np.random.default_rng(11)
    a, b, c, d = rng.normal(size=(4, n_rows))
    rows = np.column_stack([a + 1e8, b, a + b, c, d, c - d + 0.01 * rng.normal(size=n_rows)])
    gross = rng.choice(n_rows, n_rows // 100, replace=False)
    rows[gross, rng.integers(0, 6, gross.size)] += rng.normal(size=gross.size) * 30
    return rows


def refuse_other_fit(frame: Any, rows: np.ndarray, columns: list[str]) -> None:
    """Assert that a robust fit of a frame is that of the same rows here: rules, scores and verdicts."""
    import aspca

    table = pa.table(dict(zip(columns, rows.T, strict=True)))
    here = aspca.fit_source(table, robust=True)
    there = aspca.fit_source(frame, robust=True)
    assert [str(rule) for rule in there.rules_] == [str(rule) for rule in here.rules_]
    assert len(here.rules_) >= 2
    ours, theirs = here.score_samples(table), there.score_samples(table)
    assert (np.abs(ours - theirs) <= 1e-9 * np.maximum(abs(here.offset_), np.abs(ours))).all()
    np.testing.assert_array_equal(there.predict(table), here.predict(table))
