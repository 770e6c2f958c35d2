"""A table whose columns changed since the fit: the right result, or one sentence, in every kind of source."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
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
from aspca import ASPCA
from aspca.pipeline.passes import read_features, refuse_values
from aspca.pipeline.sources import open_table
from aspca.tables.column_checks import refuse_unfit
from aspca.tables.errors import JobError
from aspca.tables.request import ReadOptions

RNG = np.random.default_rng(2)
A = np.round(RNG.normal(size=300) * 64) / 64
FRAME = pd.DataFrame(
    {"a": A, "b": 2 * A + np.round(RNG.normal(size=300)) / 64, "c": np.round(RNG.normal(size=300) * 64)}
)


def parquet_folder(frame: pd.DataFrame, folder: Path) -> Any:
    for part in (0, 1):
        (folder / f"part={part}").mkdir(parents=True)
        rows = frame.iloc[150 * part : 150 * (part + 1)]
        pq.write_table(pa.Table.from_pandas(rows, preserve_index=False), folder / f"part={part}" / "x.parquet")
    return [str(folder)]


def sqlite_file(frame: pd.DataFrame, folder: Path) -> Any:
    folder.mkdir()
    with sqlite3.connect(folder / "x") as database:
        frame.to_sql("t", database, index=False)
    database.close()
    return [str(folder / "x")]


def relation(frame: pd.DataFrame, folder: Path) -> Any:
    connection = duckdb.connect()
    connection.register("held", pa.Table.from_pandas(frame, preserve_index=False))
    return connection.sql("SELECT * FROM held")


def csv(frame: pd.DataFrame, folder: Path) -> Any:
    folder.mkdir()
    frame.to_csv(folder / "x.csv", index=False)
    return [str(folder / "x.csv")]


Made = Callable[[pd.DataFrame, Path], Any]
KINDS: dict[str, Made] = {
    "pandas": lambda frame, folder: frame,
    "lazy polars": lambda frame, folder: pl.from_pandas(frame).lazy(),
    "pyarrow stream": lambda frame, folder: pa.Table.from_pandas(frame, preserve_index=False).to_reader(),
    "pyarrow dataset": lambda frame, folder: ds.dataset(pa.Table.from_pandas(frame, preserve_index=False)),
    "duckdb relation": relation,
    "parquet folder": parquet_folder,
    "sqlite file": sqlite_file,
    "csv": csv,
}
# Text that holds numbers is text where columns have types, and numbers where only cells have.
BY_CELLS = ("sqlite file", "csv")


def scores(model: ASPCA, source: Any) -> np.ndarray:
    """As `aspca score` does."""
    stored = model.model_
    with open_table(source, ReadOptions(), "the table") as table:
        refuse_unfit(table, stored)
        found = []
        for batch in read_features(table, stored.preparation):
            refuse_values(table, batch, stored.preparation)
            found.append(stored.judge(batch.values).scores)
    return np.concatenate(found)


@pytest.fixture(scope="module")
def model() -> ASPCA:
    return aspca.fit_source(FRAME)


SAME: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "as it was": lambda frame: frame,
    "others beside": lambda frame: frame.assign(more=1.0, text="x"),
    "another order": lambda frame: frame[["c", "b", "a"]],
    "whole numbers": lambda frame: frame.astype({"c": "int32"}),
    "single precision": lambda frame: frame.astype({"a": "float32"}),
}


@pytest.mark.parametrize("change", SAME)
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_scores(kind: str, change: str, model: ASPCA, tmp_path: Path) -> None:
    found = scores(model, KINDS[kind](SAME[change](FRAME), tmp_path / "table"))
    np.testing.assert_array_equal(found, model.model_.judge(FRAME.to_numpy()).scores)


WRONG: dict[str, tuple[Callable[[pd.DataFrame], pd.DataFrame], str]] = {
    "gone": (lambda frame: frame.drop(columns="b"), "has no column 'b', which the rules of the model need"),
    "renamed": (lambda frame: frame.rename(columns={"b": "B"}), "has no column 'b', which the rules of the model need"),
    "words": (
        lambda frame: frame.assign(b=["x", "y"] * 150),
        "Column 'b' of .* holds text .*but the rules of the model",
    ),
    "dates": (lambda frame: frame.assign(b=pd.Timestamp("2024-01-31")), "Column 'b' of .* holds dates"),
    "emptied": (lambda frame: frame.assign(b=np.nan), "values are missing .* in column 'b'"),
    "gaps": (
        lambda frame: frame.assign(b=frame["b"].where(frame.index > 2)),
        r"values are missing .* in column 'b' \(3\)",
    ),
}


@pytest.mark.parametrize("change", WRONG)
@pytest.mark.parametrize("kind", KINDS)
def test_one_sentence(kind: str, change: str, model: ASPCA, tmp_path: Path) -> None:
    changed, sentence = WRONG[change]
    with pytest.raises(JobError, match=sentence) as caught:
        scores(model, KINDS[kind](changed(FRAME), tmp_path / "table"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_written_as_text(kind: str, model: ASPCA, tmp_path: Path) -> None:
    source = KINDS[kind](FRAME.assign(b=FRAME["b"].map(repr)), tmp_path / "table")
    if kind in BY_CELLS:
        np.testing.assert_array_equal(scores(model, source), model.model_.judge(FRAME.to_numpy()).scores)
    else:
        with pytest.raises(JobError, match=r"Column 'b' of .* holds text, but the rules of the model need"):
            scores(model, source)


def test_columns_of_an_array_are_known_by_their_places(tmp_path: Path) -> None:
    rows = FRAME.to_numpy()
    model = aspca.fit_source(rows)
    for name, array in {"less": rows[:, :2], "more": np.column_stack([rows, rows[:, :1]])}.items():
        np.save(tmp_path / f"{name}.npy", array)
        source = np.load(tmp_path / f"{name}.npy", mmap_mode="r")
        if name == "less":
            with pytest.raises(JobError, match="has no column 'x2'"):
                scores(model, source)
        else:
            np.testing.assert_array_equal(scores(model, source), model.model_.judge(rows).scores)
