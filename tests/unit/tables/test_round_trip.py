"""Good files of every format hold the values that pandas and pyarrow wrote, to the last bit."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aspca.tables import open_source

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

WRITERS = ["csv", "csv.gz", "tsv", "decimal", "utf16", "parquet", "feather", "arrows", "jsonl"]


@pytest.fixture(scope="module")
def frame() -> Any:
    """1,000 rows of floats of every size, integers, truth values, dates and text, with missing cells."""
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 2**64, size=4000, dtype=np.uint64).view(np.float64)
    floats = bits[np.isfinite(bits)][:1000]
    data = pd.DataFrame(
        {
            "any float": floats,
            "near": 1e10 + rng.normal(size=1000) * 1e-6,
            "count": rng.integers(-(2**53), 2**53, size=1000),
            "flag": rng.random(1000) < 0.5,
            "when": pd.Timestamp("2001-02-03") + pd.to_timedelta(rng.integers(0, 10**15, size=1000), unit="us"),
            "word": rng.choice(["x", 'y "z"', "ü,;\t|", "two\nlines"], size=1000),
        }
    )
    data.loc[::7, "near"] = np.nan
    return data


def write(frame: Any, path: Path, how: str) -> dict[str, Any]:
    if how == "csv":
        frame.to_csv(path, index=False)
    elif how == "csv.gz":
        frame.to_csv(path, index=False, compression="gzip")
    elif how == "tsv":
        frame.to_csv(path, index=False, sep="\t")
    elif how == "decimal":
        frame.to_csv(path, index=False, sep=";", decimal=",")
    elif how == "utf16":
        frame.to_csv(path, index=False, encoding="utf-16")
    elif how == "parquet":
        frame.to_parquet(path, row_group_size=100)
    elif how == "feather":
        frame.to_feather(path, chunksize=100)
    elif how == "arrows":
        table = pa.Table.from_pandas(frame)
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table, 100)
    else:
        records = frame.assign(when=frame["when"].astype(str)).replace({np.nan: None}).to_dict("records")
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return {}


@pytest.mark.parametrize("how", WRITERS)
def test_values(frame: Any, tmp_path: Path, how: str) -> None:
    path = tmp_path / f"table.{how}"
    write(frame, path, how)
    seconds = (frame["when"] - pd.Timestamp("1970-01-01")) // pd.Timedelta(microseconds=1)
    wanted = np.column_stack([frame["any float"], frame["near"], frame["count"], frame["flag"], seconds / 1e6])
    with open_source([str(path)]) as source:
        assert [column.name for column in source.columns] == list(frame.columns)
        assert [c.kind for c in source.columns] == ["number", "number", "number", "boolean", "date", "text"]
        assert [c.n_missing for c in source.columns] == frame.isna().sum().tolist()
        found = np.concatenate([batch.values for batch in source.batches(list(frame.columns[:5]), 333)])
        cells = [row for rows in source.cells(["word", "flag"], 77) for row in rows]
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))
    assert cells == list(zip(frame["word"], frame["flag"].tolist(), strict=True))


def test_text_that_is_not_numbers_stays(tmp_path: Path, parquet_bytes: Callable[..., bytes]) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(parquet_bytes({"t": ["", "NA", None], "u": pa.array([b"x", b"\xff", None])}))
    with open_source([str(path)]) as source:
        assert [(column.kind, column.n_missing) for column in source.columns] == [("text", 1), ("text", 1)]
        (rows,) = source.cells(["t", "u"])
    assert rows == [("", "x"), ("NA", "\\xFF"), (None, None)]
