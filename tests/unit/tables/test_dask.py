"""Dask data frames: what cells mean, passes on two worker processes, and what happens when one of them dies."""

from __future__ import annotations

import datetime
import decimal
import os
import resource
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aspca.moments.moments import Moments
from aspca.tables.dask_table import DaskTable, read_dask
from aspca.tables.errors import SourceError, UndefinedError
from running.dask_cluster import dask_client
from running.parted_tables import (
    DOUBLED,
    cuts,
    doubling,
    joining,
    moments_of,
    read_here,
    refuse_other_moments,
    refuse_unlike,
    table_of_everything,
)

dask = pytest.importorskip("dask", reason="the extra dask is not installed")
dd = pytest.importorskip("dask.dataframe", reason="the extra dask is not installed")
pd = pytest.importorskip("pandas", reason="the extra dask is not installed")

# Dask's own, on pandas newer than it: what it says of itself is no fault of the table.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame.reset_index is deprecated")


@pytest.fixture(scope="module")
def client(dask_workers: Any) -> Iterator[Any]:
    with dask_client(dask_workers) as client:
        yield client


@pytest.fixture
def here() -> Iterator[None]:
    """Without a cluster: in this process, one task after the other."""
    with dask.config.set(scheduler="sync"):
        yield


def in_parts(frame: Any, parts: list[slice]) -> Any:
    """A pandas frame as one of Dask, cut at any rows."""
    return dd.from_map(lambda part: frame.iloc[part], parts, meta=frame.iloc[:0])


def with_arrow(table: pa.Table) -> Any:
    return table.to_pandas(types_mapper=pd.ArrowDtype)


def test_cells_mean_what_they_mean_here(client: Any) -> None:
    table = table_of_everything()
    frame = in_parts(with_arrow(table), cuts(np.random.default_rng(1), table.num_rows, 7))
    with DaskTable(frame, "frame") as parted, read_here(table) as here:
        refuse_unlike(parted, here)
        # Dask's threads are as good.
        with dask.config.set(scheduler="threads"):
            refuse_unlike(parted, here)


@pytest.mark.usefixtures("here")
def test_columns_of_objects_and_categories_are_of_one_kind_in_all_parts() -> None:
    table = table_of_everything(60)
    # pandas' own types: numbers as float64, dates, text and decimals as objects.
    frame = table.to_pandas(date_as_object=True)
    frame["text"] = frame["text"].astype(object)
    frame["kind"] = pd.Categorical(["a", "b", None] * 20)
    frame["level"] = pd.Categorical([3, 1, 2] * 20)
    frame["mixed"] = [1, "x", None] * 20
    # Its first part has no value, another none but integers.
    frame["late"] = [None] * 30 + [1] * 10 + [0.5] * 20
    frame["late"] = frame["late"].astype(object)
    wanted = table.append_column("kind", pa.array(["a", "b", None] * 20))
    wanted = wanted.append_column("level", pa.array([3, 1, 2] * 20))
    wanted = wanted.append_column("mixed", pa.array(["1", "x", None] * 20))
    wanted = wanted.append_column("late", pa.array([None] * 30 + [1.0] * 10 + [0.5] * 20))
    parts = [slice(0, 20), slice(20, 20), slice(20, 31), slice(31, 40), slice(40, 60)]
    # Or else Dask makes text of them itself.
    own = {"dataframe.convert-string": False}
    with dask.config.set(own), DaskTable(in_parts(frame, parts), "frame") as parted, read_here(wanted) as here:
        refuse_unlike(parted, here)


@pytest.mark.usefixtures("here")
def test_an_index_with_a_name_is_a_column_of_text() -> None:
    frame = pd.DataFrame({"x": np.arange(10.0), 5: np.arange(10.0) ** 2}, index=pd.Index(range(100, 110), name="id"))
    with DaskTable(dd.from_pandas(frame, npartitions=3), "frame") as table:
        assert [(column.name, column.kind) for column in table.columns] == [
            ("x", "number"),
            ("5", "number"),
            ("id", "text"),
        ]
        assert table.take(["id", "5"], [3, 9]) == [("103", 9.0), ("109", 81.0)]
        assert table.take(["id"], [4]) == [("104",)]
    with DaskTable(dd.from_pandas(frame.reset_index(drop=True), npartitions=3), "frame") as table:
        assert [column.name for column in table.columns] == ["x", "5"]


def test_a_worker_that_is_killed_in_a_pass_changes_nothing(client: Any, tmp_path: Path) -> None:
    rows = np.random.default_rng(6).normal(size=(2000, 3))
    frame = in_parts(pd.DataFrame(rows, columns=list("abc")), cuts(np.random.default_rng(0), 2000, 12))
    mark = tmp_path / "killed"
    inner = moments_of(list("abc"))

    def task(part: Any, start: int) -> Any:
        if start > 1000 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return inner(part, start)

    with DaskTable(frame, "frame") as table:
        refuse_other_moments(table.reduce(task, Moments.merge), rows)
    assert mark.exists()


def test_sentences_come_from_the_workers_as_they_were_raised(client: Any) -> None:
    frame = in_parts(pd.DataFrame({"a": np.arange(100.0)}), [slice(10 * k, 10 * k + 10) for k in range(10)])

    def task(part: Any, start: int) -> Any:
        from aspca.tables.errors import UndefinedError

        if start in (30, 70):
            raise UndefinedError(f"frame: row {start} is at fault.", "a", "log")
        return start

    def broken(part: Any, start: int) -> Any:
        return {}[start]

    with DaskTable(frame, "frame") as table:
        with pytest.raises(UndefinedError, match=r"^frame: row 30 is at fault.$") as caught:
            table.reduce(task, max)
        assert caught.value.column == "a"
        assert caught.value.__cause__ is None
        with pytest.raises(SourceError, match=r"^frame: Dask cannot read .* .KeyError: ") as caught_too:
            table.reduce(broken, max)
        assert isinstance(caught_too.value.__cause__, KeyError)


@pytest.mark.usefixtures("here")
def test_what_is_named_as_missing_is_missing_in_every_part() -> None:
    frame = in_parts(pd.DataFrame({"a": [1.0, -999.0, 3.0, -999.0], "t": list("x-y-")}), [slice(0, 3), slice(3, 4)])
    with DaskTable(frame, "frame", ("-999", "-")) as table:
        assert [column.n_missing for column in table.columns] == [2, 2]
        assert [row for rows in table.cells(["a", "t"]) for row in rows] == [
            (1.0, "x"),
            (None, None),
            (3.0, "y"),
            (None, None),
        ]
        found = table.reduce(largest(), max, ["a"])
    assert found == 3.0


def largest() -> Any:
    """A task: the largest number of a part."""

    def task(part: Any, start: int) -> float:
        values = next(iter(part.batches(["a"]))).values
        known = values[~np.isnan(values)]
        return float(known.max()) if known.size else -1.0

    return task


@pytest.mark.usefixtures("here")
def test_an_infinite_value_is_named_by_its_row_in_the_whole() -> None:
    values = np.arange(100.0)
    values[73] = np.inf
    frame = in_parts(pd.DataFrame({"a": values}), [slice(0, 50), slice(50, 60), slice(60, 100)])
    with DaskTable(frame, "frame") as table:
        for read in (lambda: list(table.batches(["a"])), lambda: table.reduce(moments_of(["a"]), Moments.merge)):
            with pytest.raises(SourceError, match=r"^frame: row 73 has the value inf in column 'a'"):
                read()


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("change", ["rows", "numbers"])
def test_rows_that_change_between_passes_are_refused(change: str) -> None:
    # Dask takes functions of one content for one: that of the other trial, too.
    now = {"rows": 10, "numbers": 0.0, "trial": change}
    meta = pd.DataFrame({"a": [0.0]}).iloc[:0]
    frame = dd.from_map(lambda k: pd.DataFrame({"a": np.arange(now["rows"]) + now["numbers"]}), [0, 1], meta=meta)
    with DaskTable(frame, "frame") as table:
        table.reduce(moments_of(["a"]), Moments.merge)
        table.reduce(moments_of(["a"]), Moments.merge)
        now[change] += 1
        with pytest.raises(SourceError, match="frame: its rows changed between passes"):
            table.reduce(moments_of(["a"]), Moments.merge)
        if change == "rows":
            with pytest.raises(SourceError, match="frame: its rows changed between passes"):
                list(table.batches(["a"]))


@pytest.mark.usefixtures("here")
def test_the_first_rows_are_there_before_all_are_read() -> None:
    read: list[int] = []

    def part(number: int) -> Any:
        read.append(number)
        return pd.DataFrame({"a": np.arange(10.0) + 10 * number})

    frame = dd.from_map(part, list(range(20)), meta=pd.DataFrame({"a": [0.0]}).iloc[:0])
    with DaskTable(frame, "frame") as table:
        read.clear()
        first = next(table.batches(["a"], 25))
        np.testing.assert_array_equal(first.values[:, 0], np.arange(25.0))
        assert set(read) <= set(range(4))
        read.clear()
        assert table.take(["a"], [155]) == [(155.0,)]
        assert read == [15]


doubled = doubling()


@pytest.mark.usefixtures("here")
def test_judged_rows_are_a_lazy_frame_or_files_of_each_part(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(size=500)
    frame = in_parts(pd.DataFrame({"a": values, "b": values}), cuts(rng, 500, 6))
    with DaskTable(frame, "frame") as table:
        lazy = table.map(DOUBLED, doubled, ["a"])
        assert isinstance(lazy, dd.DataFrame)
        found = lazy.compute()
        np.testing.assert_array_equal(found["row"], np.arange(500))
        np.testing.assert_array_equal(found["twice"], 2 * values)
        assert table.write_parquet(tmp_path / "scores", DOUBLED, doubled, ["a"]) == 500
        # Once more: the folder is replaced as a whole.
        assert table.write_parquet(tmp_path / "scores", DOUBLED, doubled, ["a"]) == 500
    written = pq.read_table(tmp_path / "scores")
    assert written.schema == DOUBLED
    np.testing.assert_array_equal(written["row"], np.arange(500))
    np.testing.assert_array_equal(written["twice"], 2 * values)
    assert os.listdir(tmp_path) == ["scores"]


@pytest.mark.usefixtures("here")
def test_files_that_cannot_be_written_leave_nothing(tmp_path: Path) -> None:
    frame = in_parts(
        pd.DataFrame({"a": np.random.default_rng(3).normal(size=40000)}), [slice(0, 100), slice(100, 40000)]
    )

    def failing(part: Any, start: int) -> Any:
        if start >= 100:
            raise SourceError("frame: row 100 is at fault.")
        yield from doubled(part, start)

    with DaskTable(frame, "frame") as table:
        with pytest.raises(SourceError, match=r"^frame: row 100 is at fault.$"):
            table.write_parquet(tmp_path / "scores", DOUBLED, failing)
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        # As a full disk does, after so many bytes.
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
        try:
            with pytest.raises(OSError, match="File too large") as caught:
                table.write_parquet(tmp_path / "scores", DOUBLED, doubled)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert caught.value.filename == str(tmp_path / "scores")
    assert os.listdir(tmp_path) == []


def test_a_worker_that_is_killed_while_writing_leaves_no_rows_twice(client: Any, tmp_path: Path) -> None:
    frame = in_parts(pd.DataFrame({"a": np.arange(600.0)}), [slice(100 * k, 100 * k + 100) for k in range(6)])
    mark = tmp_path / "killed"

    def twice(part: Any, start: int) -> Any:
        import numpy
        import pyarrow

        for batch in part.batches(["a"]):
            numbers = start + batch.start + numpy.arange(len(batch.values))
            yield pyarrow.RecordBatch.from_pydict({"row": numbers, "twice": 2 * batch.values[:, 0]})
        if start == 300 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    with DaskTable(frame, "frame") as table:
        assert table.write_parquet(tmp_path / "scores", DOUBLED, twice) == 600
    assert mark.exists()
    np.testing.assert_array_equal(pq.read_table(tmp_path / "scores")["row"], np.arange(600))
    assert sorted(os.listdir(tmp_path / "scores")) == [".aspca-output", *(f"part-{k:06d}.parquet" for k in range(6))]


@pytest.mark.usefixtures("here")
def test_a_damaged_file_is_said_in_one_sentence(tmp_path: Path) -> None:
    table = pa.table({"a": np.random.default_rng(4).normal(size=20000)})
    for name in ("0.parquet", "1.parquet"):
        pq.write_table(table, tmp_path / name, compression="zstd")
    whole = bytearray((tmp_path / "1.parquet").read_bytes())
    whole[4:40] = bytes(36)
    (tmp_path / "1.parquet").write_bytes(whole)
    frame = read_dask([str(tmp_path)])
    with pytest.raises(SourceError, match="frame: Dask cannot read or pass over the rows"):
        DaskTable(frame, "frame")


@pytest.mark.usefixtures("here")
def test_what_cannot_be_a_table_is_refused() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [[1], [2]]})
    own = {"dataframe.convert-string": False}
    with dask.config.set(own), DaskTable(dd.from_pandas(frame, npartitions=1), "frame") as table:
        assert [column.remark for column in table.columns] == ["", "it holds lists or records"]
    with pytest.raises(SourceError, match="no rows"):
        DaskTable(in_parts(frame[["a"]], [slice(0, 0)]), "frame")
    twice = pd.DataFrame(np.ones((4, 2)), columns=["a", " a"])
    with pytest.raises(SourceError, match="the name 'a' is given to columns 1 and 2"):
        DaskTable(dd.from_pandas(twice, npartitions=1), "frame")
    with DaskTable(in_parts(table_of_everything(20).to_pandas()[["text", "offset"]], [slice(0, 20)]), "frame") as table:
        with pytest.raises(SourceError, match="frame: column 'text' holds text, in row 1 for example 't1 ü'"):
            table.batches(["text"])
        with pytest.raises(SourceError, match="frame: there is no column 'x'; the columns are 'offset'"):
            table.reduce(lambda part, start: list(part.cells(["x"])), joining(), ["offset"])


@pytest.mark.usefixtures("here")
def test_types_that_only_arrow_has_are_read_or_left_out(tmp_path: Path) -> None:
    noon = datetime.datetime(2024, 1, 31, 12, tzinfo=datetime.UTC)
    columns = {
        "zoned": pa.array([noon, None], pa.timestamp("ns", "Europe/Berlin")),
        "half": pa.array([np.float16(1.5), None], pa.float16()),
        "wide": pa.array([decimal.Decimal("2.25"), None], pa.decimal256(50, 2)),
        "span": pa.array([datetime.timedelta(days=1), None], pa.duration("ns")),
        "lists": pa.array([[1], None]),
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    with DaskTable(read_dask([str(tmp_path / "t.parquet")]), "frame") as table:
        names = ["zoned", "half", "wide", "span"]
        values = np.concatenate([batch.values for batch in table.batches(names)])
        np.testing.assert_array_equal(values, [[noon.timestamp(), 1.5, 2.25, 86400.0], [np.nan] * 4])
        assert table.columns[-1].remark == "it holds lists or records"
        assert [row for rows in table.cells(["lists"]) for row in rows] == [(None,), (None,)]
