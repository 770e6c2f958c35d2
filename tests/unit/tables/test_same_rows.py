"""Passes over what is computed anew are compared: by values, whatever the batches, and by order."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aspca.tables import SourceError
from aspca.tables.arrow_table import ArrowReading, open_arrow
from aspca.tables.same_rows import SameRows

pa = pytest.importorskip("pyarrow")

COLUMNS: dict[str, list[Any]] = {
    "x": [0.5, float("nan"), None, -0.0, 3e300],
    "n": [1, None, -(2**62), 0, 7],
    "small": pa.array([1, 2, None, -3, 4], pa.int8()),
    "yes": [True, None, False, True, True],
    "text": ["", "a", None, "bc", "äß"],
    "day": [datetime.date(2024, 1, day) for day in (1, 2, 3, 4, 5)],
    "money": [Decimal("1.50"), None, Decimal("-2.25"), Decimal("0.00"), Decimal("7.75")],
    "kind": pa.array(["u", "v", "u", None, "v"]).dictionary_encode(),
    "nothing": pa.nulls(5),
}
TABLE = pa.table(COLUMNS)


def seen(same: SameRows, table: Any, size: int, names: Sequence[str] = tuple(COLUMNS)) -> None:
    for _ in same.watched(iter(table.select(list(names)).to_batches(max_chunksize=size)), names):
        pass


@settings(max_examples=20)
@given(st.lists(st.integers(1, 5), min_size=2, max_size=4))
def test_batches_do_not_matter(sizes: list[int]) -> None:
    same = SameRows("t")
    for size in sizes:
        seen(same, TABLE, size)
        seen(same, TABLE, size, ["n", "text"])
    same.refuse_changed()


@pytest.mark.parametrize("name", [name for name in COLUMNS if name != "nothing"])
def test_every_change_of_a_cell_is_seen(name: str) -> None:
    column = TABLE[name].combine_chunks()
    values = column.to_pylist()
    for row in range(5):
        for other in {repr(value): value for value in [*values, None]}.values():
            if repr(other) == repr(values[row]):
                continue
            changed = pa.array(
                [*values[:row], other, *values[row + 1 :]], pa.string() if name == "kind" else column.type
            )
            same = SameRows("t")
            seen(same, TABLE, 5)
            seen(same, TABLE.set_column(TABLE.schema.get_field_index(name), name, changed), 2)
            with pytest.raises(SourceError, match=r"^t: its rows changed between two passes .*; write it to a file"):
                same.refuse_changed()


def test_order_and_number_of_rows() -> None:
    for name in ("x", "n", "text", "day"):
        mixed = TABLE.select([name]).take([1, 0, 2, 3, 4])
        same = SameRows("t")
        seen(same, TABLE.select([name]), 5, [name])
        seen(same, mixed, 5, [name])
        with pytest.raises(SourceError, match=r"another order in each pass, but .*; sort it by"):
            same.refuse_changed()
    same = SameRows("t")
    seen(same, TABLE, 5)
    seen(same, TABLE.slice(0, 4), 5, ["nothing"])
    with pytest.raises(SourceError, match=r"\(5, then 4 rows\)"):
        same.refuse_changed()


def test_a_pass_that_is_not_read_to_its_end_is_not_compared() -> None:
    same = SameRows("t")
    seen(same, TABLE, 5)
    for _ in same.watched(iter(TABLE.slice(1).to_batches(max_chunksize=1)), ["n"]):
        break
    same.refuse_changed()


def test_a_source_that_changes_is_refused_at_the_end_of_the_pass() -> None:
    rng = np.random.default_rng(0)
    passes = 0

    def read(names: Sequence[str]) -> Iterator[Any]:
        nonlocal passes
        passes += 1
        late = 1.0 if passes > 4 else 0.0
        yield from pa.table({"a": rows[:, 0], "b": rows[:, 1] + late}).select(list(names)).to_batches(max_chunksize=7)

    rows = rng.normal(size=(100, 2))
    schema = pa.schema({"a": pa.float64(), "b": pa.float64()})
    with open_arrow(ArrowReading("t", schema, read, lambda error: SourceError(str(error)))) as source:
        while passes < 4:
            assert sum(len(batch.values) for batch in source.batches(["a", "b"])) == 100
        list(source.batches(["a"]))
        with pytest.raises(SourceError, match=r"column 'b' holds other values"):
            list(source.cells(["b"]))


def test_what_reading_raised_is_what_is_said() -> None:
    def read(names: Sequence[str]) -> Iterator[Any]:
        yield from TABLE.select(list(names)).to_batches()
        raise ConnectionError("the line was cut")

    reading = ArrowReading("t", TABLE.schema, read, lambda error: SourceError(f"t: {type(error).__name__}: {error}."))
    with pytest.raises(SourceError, match=r"^t: ConnectionError: the line was cut\.$"):
        open_arrow(reading)
