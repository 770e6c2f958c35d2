"""Damaged or unfit Parquet and Arrow files, and paths that lead nowhere: one sentence each."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aspca.pipeline.fit import moments_of
from aspca.pipeline.passes import Silent
from aspca.preparation import Preparation
from aspca.tables import SourceError, open_source
from aspca.tables.errors import JobError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
feather = pytest.importorskip("pyarrow.feather")

GOOD = pa.table({"a": [1.0, 2.0], "b": [3, 4]})
NO_PARQUET = "this is not a Parquet file, or it is damaged or cut short; copy or write it anew."
NO_ARROW = "this is not an Arrow file, or it is damaged or cut short; copy or write it anew."
CUT = "this Parquet file is cut short, for it does not end with PAR1; copy or write it anew."
NO_ROWS = "the file has columns but no rows; it must hold at least one row."


def as_parquet(table: Any) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()


def as_feather(table: Any) -> bytes:
    buffer = io.BytesIO()
    feather.write_feather(table, buffer)
    return buffer.getvalue()


TWICE = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
CASES: list[tuple[str, bytes, str]] = [
    ("cut.parquet", as_parquet(GOOD)[:-20], CUT),
    ("stub.parquet", b"PAR", "this is not a Parquet file, for it does not begin with PAR1; check its format."),
    ("middle.parquet", as_parquet(GOOD)[:4] + b"\xff" * 60 + as_parquet(GOOD)[64:], NO_PARQUET),
    ("footer.parquet", b"PAR1" + b"\0" * 40 + b"\xff\xff\xff\x7fPAR1", NO_PARQUET),
    ("text.parquet", b"a,b\n1,2\n", "this is not a Parquet file, for it does not begin with PAR1; check its format."),
    ("rowless.parquet", as_parquet(GOOD.slice(0, 0)), NO_ROWS),
    ("empty.parquet", as_parquet(pa.table({})), "the file has no columns; it must have at least one."),
    ("cut.feather", as_feather(GOOD)[:-30], NO_ARROW),
    ("stub.arrow", as_feather(GOOD)[:200], NO_ARROW),
    ("text.feather", b"hello, this is no Arrow file", NO_ARROW),
    (
        "old.feather",
        b"FEA1" + b"\0" * 20,
        "this is a Feather file of version 1; write it anew as version 2 or as Parquet.",
    ),
    ("rowless.feather", as_feather(GOOD.slice(0, 0)), NO_ROWS),
]


@pytest.mark.parametrize("written", [as_parquet, as_feather])
def test_repeated_names_are_made_unique(tmp_path: Path, written: Callable[[pa.Table], bytes]) -> None:
    path = tmp_path / "twice"
    path.write_bytes(written(TWICE))
    with open_source([str(path)]) as source:
        assert [batch.values.tolist() for batch in source.batches(["a_2", "a"])] == [[[2.0, 1.0]]]
        assert source.remarks == (f"{path}: names of columns occur more than once: 'a' in column 2 becomes 'a_2'.",)


@pytest.mark.parametrize(("name", "content", "sentence"), CASES, ids=[case[0] for case in CASES])
def test_refused_when_opened(tmp_path: Path, name: str, content: bytes, sentence: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(SourceError) as caught:
        open_source([str(path)])
    assert str(caught.value) == f"{path}: {sentence}"


NOT_NUMBERS: list[tuple[str, bytes, str]] = [
    (
        "quoted.parquet",
        as_parquet(pa.table({"a": ["1", "2"]})),
        "column 'a' holds text, in row 0 for example '1'; numbers, dates or truth values are needed, "
        "so leave the column out.",
    ),
    (
        "text.parquet",
        as_parquet(pa.table({"a": ["x", "y"]})),
        "column 'a' holds text, in row 0 for example 'x'; numbers, dates or truth values are needed, "
        "so leave the column out.",
    ),
    (
        "categories.feather",
        as_feather(pa.table({"a": pa.array(["x", "y"]).dictionary_encode()})),
        "column 'a' holds text, in row 0 for example 'x'; numbers, dates or truth values are needed, "
        "so leave the column out.",
    ),
    (
        "nulls.parquet",
        as_parquet(pa.table({"a": pa.nulls(3), "b": [1, 2, 3]})),
        "column 'a' has no values at all; leave it out.",
    ),
    (
        "infinite.parquet",
        as_parquet(pa.table({"a": [1.0, -np.inf]})),
        "row 1 has the value -inf in column 'a'; all values must be finite float64 numbers, so correct or remove it.",
    ),
    (
        "missing.parquet",
        as_parquet(pa.table({"a": [1.0, None, np.nan]})),
        "row 1 has no value in column 'a' (2 of 3 rows lack one); "
        "fill missing values, leave out their rows or the column, or learn the rules with --allow-missing.",
    ),
    (
        "large.parquet",
        as_parquet(pa.table({"a": [1.0, 1e200]})),
        "row 1 has the value 1e+200 in column 'a'; values must lie within +-1e+150, so correct it, rescale the column, "
        "or leave it out with --ignore.",
    ),
]


@pytest.mark.parametrize(("name", "content", "sentence"), NOT_NUMBERS, ids=[case[0] for case in NOT_NUMBERS])
def test_refused_as_moments(tmp_path: Path, name: str, content: bytes, sentence: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with open_source([str(path)]) as source, pytest.raises((SourceError, JobError)) as caught:
        moments_of(source, Preparation.identity(["a"]), Silent())
    assert str(caught.value) == f"{path}: {sentence}"


def refusal(*paths: Path | str) -> str:
    with pytest.raises(SourceError) as caught:
        open_source([str(path) for path in paths])
    return str(caught.value)


def test_paths(tmp_path: Path) -> None:
    directory = "this is a directory without Parquet files; name a file in it, or a glob such as *.csv."
    assert refusal(tmp_path) == f"{tmp_path}: {directory}"
    assert refusal(tmp_path / "no.csv") == f"{tmp_path}/no.csv: there is no such file; check the path."
    assert refusal(tmp_path / "*.csv") == f"{tmp_path}/*.csv: no file matches this pattern; check the path."
    assert refusal("a\0b") == "a\\x00b: the path holds a NUL character; give the path of a file."
    assert refusal("/dev/null") == "/dev/null: this is a device, not a file; name a file."
    assert refusal("-", "-") == "Standard input (-) is given twice; it can be read only once."
    assert refusal("x" * 5000).endswith("there is no such file; check the path.")
    (tmp_path / "link.csv").symlink_to(tmp_path / "gone")
    assert refusal(tmp_path / "link.csv").endswith("this link points to a file that is not there; check the path.")
    with pytest.raises(SourceError, match="No file is given"):
        open_source([])


def test_no_permission_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("a\n1\n")

    def refuse(*args: object, **kwargs: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(SourceError) as caught:
        open_source([str(path)])
    assert str(caught.value) == f"{path}: there is no permission to read this file; change its mode or its owner."


def test_files_with_other_columns(tmp_path: Path) -> None:
    one, two, three = (tmp_path / name for name in ("1.csv", "2.csv", "3.csv"))
    one.write_text("a,b\n1,2\n")
    two.write_text("a,c\n1,2\n")
    three.write_text("b,extra,a\n1,2,3\n")
    same = "all files need the same columns."
    assert refusal(one, two) == f"{two}: this file lacks the column 'b', which the first file has ({one}); {same}"
    assert (
        refusal(one, three) == f"{three}: this file has the column 'extra', which the first file lacks ({one}); {same}"
    )


def test_files_with_other_kinds(tmp_path: Path) -> None:
    one, two = tmp_path / "1.csv", tmp_path / "2.csv"
    one.write_text("a,b\n1,2\n")
    two.write_text("a,b\n2020-01-01,x\n")
    with open_source([str(one), str(two)]) as source:
        assert [(column.kind, column.remark) for column in source.columns] == [
            ("text", f"1 of 2 cells are not a date, the first '1' in {one}, row 0 (line 2)"),
            ("text", f"1 of 2 cells are not a number, the first 'x' in {two}, row 0 (line 2)"),
        ]
    two = tmp_path / "2.parquet"
    two.write_bytes(as_parquet(pa.table({"a": pa.array([18262], pa.date32()), "b": ["x"]})))
    with open_source([str(one), str(two)]) as source:
        assert [column.kind for column in source.columns] == ["text", "text"]
        assert source.columns[0].remark == f"number in {one}, date in {two}"
        with pytest.raises(SourceError) as caught:
            source.batches(["a"])
        assert str(caught.value) == (
            f"{one}: column 'a' is not of one kind in all files (number in {one}, date in {two}); "
            "write it the same way in all."
        )
        with pytest.raises(SourceError, match=r"2\.parquet: column 'b' holds text, in row 0 for example 'x'"):
            source.batches(["b"])


def test_without_duckdb_or_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, arrow = tmp_path / "a.csv", tmp_path / "a.feather"
    text.write_text("a\n1\n")
    arrow.write_bytes(as_feather(GOOD))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert refusal(arrow) == (
        f"{arrow}: reading Arrow files needs pyarrow, which is not installed; run: pip install pyarrow."
    )
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert refusal(text) == "Reading files needs DuckDB, which is not installed; run: pip install 'aspca[cli]'."


def test_wrong_requests(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n")
    source = open_source([str(path)])
    requests: list[tuple[Callable[[], object], str]] = [
        (lambda: source.batches(["z"]), "there is no column 'z'; the columns are 'a' and 'b'."),
        (lambda: source.cells(["z"]), "there is no column 'z'; the columns are 'a' and 'b'."),
        (lambda: source.batches([]), "no columns are named; give a list of at least one column."),
        (lambda: source.batches("a"), "no columns are named; give a list of at least one column."),
        (lambda: source.batches(["a"], 0), "a batch must have at least 1 row, not 0."),
    ]
    for request, sentence in requests:
        with pytest.raises(SourceError) as caught:
            request()
        assert str(caught.value) == f"{path}: {sentence}"
    source.close()
    source.close()
    with pytest.raises(SourceError, match="the source is closed; open it again"):
        source.batches(["a"])
