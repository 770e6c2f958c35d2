"""What a source is: each kind is opened as what it is, and what is none is refused in one sentence."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import aspca
from aspca.pipeline.sources import open_table
from aspca.tables.memory import MemoryTable
from aspca.tables.request import ReadOptions

RNG = np.random.default_rng(0)
A = RNG.normal(size=400)
FRAME = pd.DataFrame(
    {
        "host": [f"web-{row}" for row in range(400)],
        "a": A,
        "b": 2 * A + 0.01 * RNG.normal(size=400),
        "c": RNG.normal(size=400),
    }
)


def test_results_are_of_the_library_that_the_table_is_of() -> None:
    table = pa.Table.from_pandas(FRAME)
    for source, library in ((FRAME, "pandas"), (pl.from_pandas(FRAME).lazy(), "polars"), (table, "pyarrow")):
        assert aspca.detect(source, id="host").library == library


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ({"a": [1]}, "it is of type dict; pandas.DataFrame(X) makes it one"),
        (3, "it is of type int"),
        (pl.Series([1.0, 2.0]), "it is a series"),
        (pa.array([1.0]), "Reshape your data"),
        (pa.table({"a": pa.array([], pa.float64())}), "no rows"),
        (pa.table([[1.0], [2.0]], names=["a", "a"]), "the name 'a' is given to columns 1 and 2"),
        (pl.LazyFrame({"a": [1]}).select("b"), "reading it failed ("),
        (pl.LazyFrame({"a": ["x"]}).select(pl.col("a").cast(pl.Float64)), "reading it failed ("),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_is_no_table_is_said(source: Any, sentence: str) -> None:
    with pytest.raises(aspca.JobError) as caught:
        aspca.fit_source(source)
    assert sentence in str(caught.value)
    assert str(caught.value).startswith("the table")
    assert "\n" not in str(caught.value)


def test_a_connection_is_no_table() -> None:
    with duckdb.connect() as connection, pytest.raises(aspca.JobError, match="this is a connection of DuckDB and no"):
        aspca.fit_source(connection)


def test_options_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    csv = tmp_path / "t.csv"
    FRAME.to_csv(csv, index=False)
    FRAME.to_parquet(parquet := tmp_path / "t.parquet")
    for source, options, sentence in (
        (parquet, {"engine": "dask", "decimal": ","}, "decimal has no meaning for engine dask"),
        (FRAME, {"query": "SELECT 1"}, "query is for databases, not for a table in memory"),
        (FRAME, {"engine": "dask"}, "engine is for Parquet files and folders, not for a table in memory"),
        (csv, {"engine": "dask"}, "engine dask reads Parquet files and folders, and this is none; write the table as"),
        ("-", {"engine": "spark"}, "write the table as Parquet first"),
        ("postgresql://u:secret@h/d", {"engine": "spark"}, "write the table as Parquet first"),
        (csv, {"engine": "flink"}, "The engine must be one of dask, spark"),
        (csv, {"query": "SELECT 1"}, "query is for databases"),
        (csv, {"query": "SELECT 1", "table": "t"}, "exclude each other"),
        (["postgresql://u:secret@h/d", csv], {}, "postgresql://u:***@h/d: a database is read alone"),
        ("mysql://u:secret@h/d", {}, "mysql://u:***@h/d: addresses of this kind are not read"),
        ("u:secret@h password=secret", {}, "there is no such file"),
    ):
        with pytest.raises(aspca.JobError) as caught:
            aspca.fit_source(source, **options)
        assert sentence in str(caught.value)
        assert "password=secret" not in str(caught.value)
        assert "u:secret@h/d" not in str(caught.value)


def test_rows_that_change_between_passes_are_refused() -> None:
    """Chance in a lazy frame, and an order that is none."""
    rows = pl.LazyFrame({"a": A, "b": A + 0.01 * RNG.normal(size=400)})
    changing = rows.with_columns(c=pl.int_range(400).shuffle().cast(pl.Float64))
    with pytest.raises(
        aspca.JobError, match=r"^the table: its rows (changed between two passes|come in another order)"
    ):
        aspca.fit_source(changing)
    mixed = rows.map_batches(lambda frame: frame.sample(fraction=1.0, shuffle=True))
    with pytest.raises(aspca.JobError, match="another order in each pass, but several passes are needed; sort it by"):
        aspca.fit_source(mixed)
    count = iter(range(1000))
    growing = rows.map_batches(lambda frame: pl.concat([frame, frame.head(next(count))]))
    with pytest.raises(aspca.JobError, match="its rows changed between two passes"):
        aspca.fit_source(growing)


def test_a_stream_is_kept_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with open_table(pa.Table.from_pandas(FRAME).to_reader(), ReadOptions(), "t") as table:
        kept = list(tmp_path.rglob("stream.arrow"))
        assert len(kept) == 1
        assert table.count() == 400
    assert list(tmp_path.iterdir()) == []

    # And where it cannot be read to its end.
    def broken() -> Any:
        yield pa.record_batch({"a": [1.0]})
        raise ValueError("the line was cut")

    reader = pa.RecordBatchReader.from_batches(pa.schema({"a": pa.float64()}), broken())
    with pytest.raises(aspca.JobError, match="the line was cut"):
        aspca.fit_source(reader)
    assert list(tmp_path.iterdir()) == []


def test_a_table_is_taken_as_it_is() -> None:
    table = MemoryTable("mine", {})
    with open_table(table, ReadOptions(), "other") as same:
        assert same is table


MEASURED = """
import resource, sys
import numpy as np
import aspca, aspca.estimators.stored
from aspca import ASPCA
import polars, pyarrow.dataset as ds
a = np.random.default_rng(0).normal(size=1000)
small = polars.DataFrame({"a": a, "b": 2 * a}).lazy()
aspca.fit_source(small); aspca.fit_source(ds.dataset(small.collect().to_arrow()))
base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
kind, path = sys.argv[1:]
if kind == "map":
    source = np.load(path, mmap_mode="r")
elif kind == "lazy":
    source = polars.scan_parquet(path)
else:
    source = ds.dataset(path) if kind == "dataset" else ds.dataset(path).scanner(batch_size=20000).to_reader()
print(len(aspca.fit_source(source).rules_), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base)
"""


@pytest.mark.long
@pytest.mark.parametrize("kind", ["map", "lazy", "dataset", "stream"])
def test_memory_is_bounded(kind: str, tmp_path: Path) -> None:
    """Of 480 MB of numbers at most half are in memory at any time, but for what libraries keep for themselves."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3_000_000, 20))
    rows[:, 1] = 2 * rows[:, 0]
    path = tmp_path / ("rows.npy" if kind == "map" else "rows.parquet")
    if kind == "map":
        np.save(path, rows)
    else:
        pq.write_table(pa.table({f"c{k}": column for k, column in enumerate(rows.T)}), path, row_group_size=50_000)
    done = subprocess.run([sys.executable, "-c", MEASURED, kind, str(path)], capture_output=True, text=True, check=True)
    rules, grown = map(int, done.stdout.split())
    assert rules > 0
    assert grown * 1024 < rows.nbytes / 2


def test_datasets_with_filters_folders_and_parts(tmp_path: Path) -> None:
    table = pa.table({"a": np.arange(10.0), "k": ["x", "y"] * 5})
    ds.write_dataset(table, tmp_path, format="parquet", partitioning=["k"], partitioning_flavor="hive")
    whole = ds.dataset(tmp_path, partitioning="hive")
    for source, expected in (
        (whole, [0, 2, 4, 6, 8, 1, 3, 5, 7, 9]),
        (whole.filter(ds.field("a") > 3), [4, 6, 8, 5, 7, 9]),
        (ds.dataset([ds.dataset(table), ds.dataset(table)]), [*range(10), *range(10)]),
    ):
        with open_table(source, ReadOptions(), "t") as found:
            cells = [row for part in found.cells(["a", "k"]) for row in part]
        assert cells == [(float(value), "y" if value % 2 else "x") for value in expected]
