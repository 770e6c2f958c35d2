"""Spark data frames: what cells mean, passes on its workers, and what happens when tasks fail."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import aspca
from aspca.cli.main import main
from aspca.moments.moments import Moments
from aspca.tables import spark_table
from aspca.tables.errors import SourceError, UndefinedError
from aspca.tables.spark_table import SparkTable, read_spark
from running.parted_tables import (
    DOUBLED,
    cuts,
    doubling,
    moments_of,
    read_here,
    refuse_other_fit,
    refuse_other_moments,
    refuse_unlike,
    related_rows,
    table_of_everything,
)
from running.spark_session import PANDAS

pytestmark = pytest.mark.filterwarnings(f"ignore:{PANDAS}:FutureWarning")


def in_parts(spark: Any, table: pa.Table, parts: list[slice], before: Callable[[int], None] = lambda part: None) -> Any:
    """An Arrow table as a frame of Spark, cut at any rows; `before` is called on the worker of each part."""
    from pyspark.sql.pandas.types import from_arrow_schema

    pieces = [table.slice(part.start, part.stop - part.start) for part in parts]

    def rows(batches: Any) -> Any:
        from pyspark import TaskContext

        number = TaskContext.get().partitionId()
        # Spark keeps a worker only if it has read all that it was sent.
        list(batches)
        before(number)
        yield from pieces[number].to_batches()

    return spark.range(0, len(parts), 1, len(parts)).mapInArrow(rows, from_arrow_schema(table.schema))


def numbers(rows: np.ndarray) -> pa.Table:
    return pa.table({name: rows[:, place] for place, name in enumerate("abcd"[: rows.shape[1]])})


# Quickly on Dask, by the same code.
@pytest.mark.long
def test_cells_mean_what_they_mean_here(spark: Any) -> None:
    table = table_of_everything()
    # Names that Spark's grammar would read otherwise.
    named = table.rename_columns(["a.b", "g`s", *table.column_names[2:]])
    frame = in_parts(spark, table, cuts(np.random.default_rng(1), table.num_rows, 4)).toDF(*named.column_names)
    with SparkTable(frame, "frame") as parted, read_here(named) as here:
        refuse_unlike(parted, here)


def test_a_robust_fit_is_that_of_the_same_rows_here(spark: Any, tmp_path: Path) -> None:
    rows = related_rows()
    table = pa.table(dict(zip("abcdef", rows.T, strict=True)))
    for number, part in enumerate(cuts(np.random.default_rng(9), len(rows), 2)):
        pq.write_table(table.slice(part.start, part.stop - part.start), tmp_path / f"{number}.parquet")
    refuse_other_fit(spark.read.parquet(str(tmp_path)), rows, list("abcdef"))


def test_rows_stay_where_they_are_if_columns_are_left_out(spark: Any) -> None:
    rows = np.random.default_rng(8).normal(size=(500, 3))
    frame = in_parts(spark, numbers(rows), [slice(0, 500)]).repartition(3)
    with SparkTable(frame, "frame") as table:
        whole = np.concatenate([batch.values for batch in table.batches(list("abc"))])
        alone = np.concatenate([batch.values for batch in table.batches(["b"])])
    np.testing.assert_array_equal(alone[:, 0], whole[:, 1])
    np.testing.assert_array_equal(np.sort(alone[:, 0]), np.sort(rows[:, 1]))


def test_the_command_fits_a_folder_whose_partitions_cannot_be_fetched_as_a_whole(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(160_000, 20))
    rows[:, 2] = rows[:, 0] + rows[:, 1]
    (tmp_path / "readings").mkdir()
    # One partition of 26 MB: more than the session of these tests lets through.
    table = pa.table({f"x{place}": column for place, column in enumerate(rows.T)})
    pq.write_table(table, tmp_path / "readings" / "all.parquet", row_group_size=len(rows))
    model = tmp_path / "plant.json"
    code = main(["fit", str(tmp_path / "readings"), "--engine", "spark", "--model", str(model)])
    told = capsys.readouterr()
    assert (code, "x2 = x0 + x1 (exactly, all rows)" in told.out) == (0, True), told.err
    assert aspca.load(model).n_features_in_ == 20


@pytest.mark.parametrize("cells", [1 << 22, 1 << 8])
def test_rows_are_streamed_in_their_order(spark: Any, monkeypatch: pytest.MonkeyPatch, cells: int) -> None:
    # Few cells at once: through partitions of their own, on the disks of the workers.
    monkeypatch.setattr(spark_table, "MOST_CELLS", cells)
    monkeypatch.setattr(spark_table, "PIECE", 8 * 3 * 100)
    rows = np.random.default_rng(3).normal(size=(1000, 3))
    parts = [slice(0, 130), slice(130, 130), slice(130, 131), slice(131, 1000)]
    with SparkTable(in_parts(spark, numbers(rows), parts), "frame") as table:
        found = np.concatenate([batch.values for batch in table.batches(list("abc"), 150)])
        cells_found = [cell for some in table.cells(["b"], 999) for (cell,) in some]
    np.testing.assert_array_equal(found, rows)
    np.testing.assert_array_equal(cells_found, rows[:, 1])


def test_settings_of_a_session_that_is_not_ours_stay_as_they_are(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = list[str]()
    kind = type(spark.conf)
    original = kind.set
    monkeypatch.setattr(kind, "set", lambda conf, key, value: (changed.append(key), original(conf, key, value)))
    # Grouped, so that its partitions are what adaptive execution makes of them, in every pass alike.
    frame = spark.range(0, 900, 1, 3).selectExpr("id % 300 AS k", "sin(id) AS v").groupBy("k").agg({"v": "sum"})
    frame = frame.selectExpr("`sum(v)` AS a", "2 * `sum(v)` AS b", "cos(k) AS c")
    assert str(aspca.fit_source(frame).rules_[0]) == "b = 2 a (exactly, all rows)"
    assert changed == []


def test_files_are_read_in_the_session_there_is_or_refused_where_another_is_asked_for(
    spark: Any, tmp_path: Path
) -> None:
    pq.write_table(numbers(np.eye(3)), tmp_path / "a.parquet")
    paths, found = [str(tmp_path / "a.parquet")], list[Any]()
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        # In a thread of its own no session is active.
        thread = Thread(target=lambda: found.append(read_spark(paths)))
        thread.start()
        thread.join()
        assert spark.conf.get("spark.sql.session.timeZone") == "Europe/Berlin"
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert found[0].sparkSession.sparkContext is spark.sparkContext
    assert read_spark(paths, "local[2,4]").sparkSession is spark
    with pytest.raises(SourceError, match=r"^--spark-master 'spark://host:7077': a session .* at 'local\[2,4\]'; stop"):
        read_spark(paths, "spark://host:7077")


def test_lack_of_memory_is_said_as_such(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyspark

    wanted = r"^frame: Spark ran out of memory \({}\); give it more, .*, or cut the table into more partitions\.$"
    # In Java, where the plan is made: eight gigabytes at once.
    with pytest.raises(SourceError, match=wanted.format("Java heap space")):
        SparkTable(spark.sql("SELECT size(sequence(1L, 1000000000L)) AS a"), "frame")

    def before(part: int) -> None:
        raise MemoryError

    with pytest.raises(SourceError, match=wanted.format("no memory could be had")):
        SparkTable(in_parts(spark, numbers(np.eye(3)), [slice(0, 3)], before), "frame")

    # After Java's process ended: nobody can be asked any more.
    def gone(*given: Any) -> Any:
        raise ConnectionRefusedError(111, "Connection refused")

    with SparkTable(in_parts(spark, numbers(np.eye(3)), [slice(0, 3)]), "frame") as table:
        monkeypatch.setattr(type(table), "_narrow", gone)
        with pytest.raises(SourceError, match=r"^frame: Spark cannot read or pass over the rows"):
            next(table.batches(["a"]))
        ended = SimpleNamespace(proc=SimpleNamespace(poll=lambda: 52))
        monkeypatch.setattr(pyspark.SparkContext, "_gateway", ended)
        with pytest.raises(SourceError, match=wanted.format("its Java process ended for lack of it")):
            next(table.batches(["a"]))
    monkeypatch.undo()


def test_a_task_that_fails_twice_changes_nothing(spark: Any, tmp_path: Path) -> None:
    rows = np.random.default_rng(6).normal(size=(2000, 3))
    place = str(tmp_path)

    def before(part: int) -> None:
        import os

        failures = os.listdir(place)
        if "begin" in failures and part == 2 and len(failures) < 3:
            open(os.path.join(place, str(len(failures))), "x").close()
            raise RuntimeError("this worker is lost")

    frame = in_parts(spark, numbers(rows), cuts(np.random.default_rng(0), 2000, 4), before)
    with SparkTable(frame, "frame") as table:
        (tmp_path / "begin").touch()
        refuse_other_moments(table.reduce(moments_of(list("abc")), Moments.merge), rows)
        assert len(os.listdir(tmp_path)) == 3
        for left in tmp_path.iterdir():
            left.unlink()
        (tmp_path / "begin").touch()
        assert table.write_parquet(tmp_path.parent / "spark-scores", DOUBLED, doubling()) == 2000
        assert len(os.listdir(tmp_path)) == 3
    written = pq.read_table(tmp_path.parent / "spark-scores")
    np.testing.assert_array_equal(written["row"], np.arange(2000))
    np.testing.assert_array_equal(written["twice"], 2 * rows[:, 0])


# Dask says the same quickly.
@pytest.mark.long
def test_a_task_that_fails_for_good_is_one_sentence(spark: Any) -> None:
    frame = in_parts(spark, numbers(np.ones((10, 2))), [slice(0, 5), slice(5, 10)])

    def broken(part: Any, start: int) -> Any:
        return {}[start]

    def task(part: Any, start: int) -> Any:
        from aspca.tables.errors import UndefinedError

        raise UndefinedError(f"frame: row {start} is at fault.", "a", "log")

    with SparkTable(frame, "frame") as table:
        with pytest.raises(SourceError, match=r"^frame: Spark cannot read or pass over the rows") as caught:
            table.reduce(broken, max)
        assert "\n" not in str(caught.value)
        assert "KeyError" in str(caught.value)
        with pytest.raises(UndefinedError, match=r"^frame: row 0 is at fault.$") as told:
            table.reduce(task, max)
        assert (told.value.column, told.value.__cause__) == ("a", None)


def test_rows_that_change_between_passes_are_refused(spark: Any, tmp_path: Path) -> None:
    place = str(tmp_path)

    def rows(batches: Any) -> Any:
        import os

        import pyarrow

        list(batches)
        yield pyarrow.RecordBatch.from_pydict({"a": [float(len(os.listdir(place))), 1.0]})

    frame = spark.range(0, 2, 1, 2).mapInArrow(rows, "a double")
    with SparkTable(frame, "frame") as table:
        table.reduce(moments_of(["a"]), Moments.merge)
        (tmp_path / "changed").touch()
        with pytest.raises(SourceError, match="frame: its rows changed between passes"):
            table.reduce(moments_of(["a"]), Moments.merge)


def test_judged_rows_are_a_lazy_frame_or_files_or_nothing(spark: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(500, 2))
    twice = doubling()

    def failing(part: Any, start: int) -> Any:
        if start:
            raise ValueError("Row 100 is at fault.")
        yield from twice(part, start)

    with SparkTable(
        in_parts(spark, numbers(rows), [slice(0, 100), slice(100, 100), slice(100, 500)]), "frame"
    ) as table:
        lazy = table.map(DOUBLED, doubling(), ["a"])
        assert lazy.columns == ["row", "twice"]
        found = lazy.toArrow()
        with pytest.raises(ValueError, match=r"^Row 100 is at fault.$"):
            table.write_parquet(tmp_path / "scores", DOUBLED, failing)
    np.testing.assert_array_equal(found["row"], np.arange(500))
    np.testing.assert_array_equal(found["twice"], 2 * rows[:, 0])
    assert os.listdir(tmp_path) == []


def test_parquet_is_read_in_the_active_session(spark: Any, tmp_path: Path) -> None:
    table = pa.table({"a": np.arange(300.0), "site": ["x", "y"] * 150})
    pq.write_to_dataset(table, tmp_path / "folder", partition_cols=["site"])
    frame = read_spark([str(tmp_path / "folder")])
    assert frame.sparkSession is spark
    with SparkTable(frame, "folder") as parted:
        assert [(column.name, column.kind) for column in parted.columns] == [("a", "number"), ("site", "text")]
        assert sorted(row for rows in parted.cells(["a", "site"]) for row in rows) == list(
            zip(np.arange(300.0), ["x", "y"] * 150, strict=True)
        )
    with SparkTable(spark.createDataFrame([([1], 2.0)], "l array<int>, a double"), "folder") as parted:
        assert [column.remark for column in parted.columns] == ["it holds lists or records", ""]
