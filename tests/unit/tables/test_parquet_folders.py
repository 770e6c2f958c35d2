"""Folders of Parquet files: one table, in one order, with the columns that names of folders give."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aspca.tables import SourceError, open_source
from aspca.tables.paths import expand

pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")


def written(folder: Path, inside: str, **columns: Any) -> Path:
    path = folder / inside
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return path


def refusal(folder: Path) -> str:
    with pytest.raises(SourceError) as caught:
        open_source([str(folder)]).close()
    assert str(caught.value).startswith(f"{folder}")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_names_of_folders_are_columns(tmp_path: Path) -> None:
    """Whole numbers, numbers, dates and texts by all of their values; what Hive calls missing is missing."""
    parts = [
        ("n=1/x=0.5/day=2024-01-31/site=a%2Fb%3D1", 1.0),
        ("n=02/x=-3/day=2024-02-01/site=7", 2.0),
        ("n=10/x=1e3/day=2023-12-31/site=__HIVE_DEFAULT_PARTITION__", 3.0),
    ]
    for inside, value in parts:
        written(tmp_path, f"{inside}/part.parquet", a=[value])
    with open_source([str(tmp_path)]) as source:
        assert source.description == str(tmp_path)
        kinds = {column.name: column.kind for column in source.columns}
        assert kinds == {"a": "number", "n": "number", "x": "number", "day": "date", "site": "text"}
        # In the order of their paths, in which "n=02" comes first and "n=1" before "n=10".
        rows = [row for part in source.cells(["a", "n", "x", "day", "site"]) for row in part]
        assert rows == [
            (2.0, 2, -3.0, "2024-02-01", "7"),
            (1.0, 1, 0.5, "2024-01-31", "a/b=1"),
            (3.0, 10, 1000.0, "2023-12-31", None),
        ]
        numbers = np.concatenate([batch.values for batch in source.batches(["day", "n"])])
        days = [datetime.datetime(2024, 2, 1), datetime.datetime(2024, 1, 31), datetime.datetime(2023, 12, 31)]
        assert numbers[:, 0].tolist() == [day.replace(tzinfo=datetime.UTC).timestamp() for day in days]
        assert [column.n_missing for column in source.columns] == [0, 0, 0, 0, 1]


def test_notes_and_empty_files_are_passed_over(tmp_path: Path) -> None:
    written(tmp_path, "b.parquet", a=[2.0])
    written(tmp_path, "a.parquet", a=pa.array([], pa.float64()))
    written(tmp_path, "_metadata", a=[9.0])
    written(tmp_path, "_temporary/x.parquet", a=[9.0])
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".b.parquet.crc").write_bytes(b"x")
    with open_source([str(tmp_path)]) as source:
        assert [batch.values.tolist() for batch in source.batches(["a"])] == [[[2.0]]]


def test_a_column_of_the_file_is_the_folders(tmp_path: Path) -> None:
    written(tmp_path, "k=5/x.parquet", k=[5, 5], a=[1.0, 2.0])
    with open_source([str(tmp_path)]) as source:
        assert [column.name for column in source.columns] == ["a", "k"]
        assert [batch.values.tolist() for batch in source.batches(["k", "a"])] == [[[5.0, 1.0], [5.0, 2.0]]]


def test_hostile_names_are_names(tmp_path: Path) -> None:
    written(tmp_path, "c0; DROP TABLE x --=') OR 1=1/x.parquet", a=[1.0])
    with open_source([str(tmp_path)]) as source:
        assert [column.name for column in source.columns] == ["a", "c0; DROP TABLE x --"]
        assert list(source.cells(["c0; DROP TABLE x --"])) == [[("') OR 1=1",)]]


def test_what_is_no_such_folder_is_said(tmp_path: Path) -> None:
    assert "a directory without Parquet files" in refusal(tmp_path)
    (tmp_path / "notes.txt").write_text("x")
    assert "glob such as *.txt" in refusal(tmp_path)
    written(tmp_path, "a.parquet", a=[1.0])
    assert "'notes.txt' is none" in refusal(tmp_path)
    (tmp_path / "notes.txt").unlink()
    written(tmp_path, "k=1/b.parquet", a=[1.0])
    assert "name other columns than those of" in refusal(tmp_path)
    (tmp_path / "a.parquet").unlink()
    written(tmp_path, "k=2/b.parquet", b=[1.0])
    assert "lacks the column 'a'" in refusal(tmp_path)


def test_all_files_of_a_folder_are_inputs(tmp_path: Path) -> None:
    made = [written(tmp_path, f"k={k}/x.parquet", a=[1.0]) for k in (1, 2)]
    assert [one.path for one in expand([str(tmp_path)])] == made


def test_a_folder_without_any_row_is_said(tmp_path: Path) -> None:
    written(tmp_path, "a.parquet", a=pa.array([], pa.float64()))
    assert "no rows" in refusal(tmp_path)
