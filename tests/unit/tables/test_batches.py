"""Batches of any size hold the same rows in the same order, and give the moments of the whole table."""

from __future__ import annotations

import gc
import io
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from aspca.pipeline.fit import moments_of
from aspca.pipeline.passes import Silent
from aspca.preparation import Preparation
from aspca.tables import Source, SourceError, open_source
from aspca.tables.errors import JobError

HOSTILE = [
    'a"b',
    "c'; DROP TABLE x; --",
    "new\nline",
    "naïve 🦆",
    "c0",
    "C0",
    "SELECT",
    "?",
    "{c}",
    "$1",
    "\\",
    "%s",
    "n",
    "*",
    ")",
]


@pytest.fixture(scope="module")
def table() -> np.ndarray:
    rng = np.random.default_rng(5)
    return rng.normal(size=(5000, 4)) * [1, 1e-6, 1e6, 1] + [0, 1e4, 0, -3]


@pytest.fixture(scope="module")
def path(table: np.ndarray, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("batches") / "table.csv"
    rows = "".join(f"{','.join(map(repr, row))},r{index}\n" for index, row in enumerate(table.tolist()))
    path.write_text("a,b,c,d,id\n" + rows)
    return path


@pytest.mark.parametrize("size", [1, 3, 2048, 2049, 70000])
def test_rows_in_order(table: np.ndarray, path: Path, size: int) -> None:
    with open_source([str(path), str(path)]) as source:
        at = 0
        # Two readers side by side: cells and numbers of the same rows.
        cells = (row for rows in source.cells(["id"], 17) for row in rows)
        for batch in source.batches(["a", "b", "c", "d"], size):
            assert batch.start == at
            assert 1 <= len(batch.values) <= size
            rows = np.arange(at, at + len(batch.values)) % len(table)
            np.testing.assert_array_equal(batch.values, table[rows])
            assert [next(cells)[0] for _ in rows] == [f"r{row}" for row in rows]
            at += len(rows)
        assert at == source.count() == 2 * len(table)
        assert source.description == "2 files"
        assert source.locate(0) == source.locate(len(table)) == f"{path}: row 0 (line 2)"
        assert source.locate(2 * len(table) - 1) == f"{path}: row {len(table) - 1} (line {len(table) + 1})"


def test_files_in_any_order_of_columns(tmp_path: Path) -> None:
    (tmp_path / "2.csv").write_text("b;a\n4;3\n")
    (tmp_path / "1.csv").write_text("a,b\n1,2\n")
    (tmp_path / "3.jsonl").write_text('{"b": null, "a": 5}\n')
    with open_source([str(tmp_path / "*")]) as source:
        assert [(c.name, c.kind, c.n_missing) for c in source.columns] == [("a", "number", 0), ("b", "number", 1)]
        values = np.concatenate([batch.values for batch in source.batches(["a", "b"])])
        with pytest.raises(
            JobError, match=r"3\.jsonl: row 0 \(line 1\) has no value in column 'b' \(1 of 3 rows lack one\)"
        ):
            moments_of(source, Preparation.identity(["b"]), Silent())
    np.testing.assert_array_equal(values, [[1, 2], [3, 4], [5, np.nan]])


@pytest.mark.parametrize("suffix", ["csv", "parquet", "feather", "jsonl"])
def test_hostile_names(tmp_path: Path, suffix: str) -> None:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({name: [float(index), index + 0.5] for index, name in enumerate(HOSTILE)})
    for folder in ("plain", "it's; a [*] {b} 100% ünï \n x=1"):
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / f"a?b*[c]'\"; --.{suffix}"
        decoy = tmp_path / folder / f"aXbYc'\"; --.{suffix}"
        decoy.write_text("decoy\n1\n")
        if suffix == "csv":
            frame.to_csv(path, index=False)
        elif suffix == "parquet":
            frame.to_parquet(path)
        elif suffix == "feather":
            frame.to_feather(path)
        else:
            frame.to_json(path, orient="records", lines=True)
        with open_source([str(path)]) as source:
            assert [column.name for column in source.columns] == HOSTILE
            (batch,) = source.batches(HOSTILE[::-1])
            np.testing.assert_array_equal(batch.values, frame.to_numpy()[:, ::-1])
            with pytest.raises(SourceError) as caught:
                source.batches(["no\n\x1b such"])
        assert len(str(caught.value).splitlines()) == 1
        assert str(caught.value).isprintable()


class Piped:
    """Standard input that holds these bytes."""

    def __init__(self, content: bytes) -> None:
        self.buffer, self.closed = io.BytesIO(content), False


def test_standard_input(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "stdin", Piped(b"a,b\nx,2\ny,4\n"))
    with open_source(["-"]) as source:
        assert source.description == "standard input"
        assert [batch.values.tolist() for batch in source.batches(["b"])] == [[[2.0], [4.0]]]
        assert [batch.values.tolist() for batch in source.batches(["b"])] == [[[2.0], [4.0]]]
        with pytest.raises(
            SourceError, match=r"^standard input: column 'a' holds text, in row 0 \(line 2\) for example 'x'"
        ):
            source.batches(["a"])
    monkeypatch.setattr(sys, "stdin", Piped(b""))
    with pytest.raises(SourceError, match=r"^standard input: the file is empty"):
        open_source(["-"])
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(SourceError, match=r"^Standard input is closed"):
        open_source(["-"])


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    good.write_bytes("a\n1\n2\n".encode("utf-16"))
    bad.write_bytes("a,b\n1\n".encode("utf-16"))
    with open_source([str(good)]) as source:
        assert list(scratch.iterdir())
        next(iter(source.batches(["a"], 1)))
    assert not list(scratch.iterdir())
    with pytest.raises(SourceError):
        open_source([str(good), str(bad)])
    assert not list(scratch.iterdir())
    forgotten: Source | None = open_source([str(good)])
    assert forgotten is not None
    forgotten = None
    gc.collect()
    assert not list(scratch.iterdir())


def test_file_that_goes_away(tmp_path: Path) -> None:
    path = tmp_path / "gone.csv"
    path.write_text("a\n1\n")
    with open_source([str(path)]) as source:
        path.unlink()
        # Its numbers are known by then, its cells are not.
        assert [batch.values.tolist() for batch in source.batches(["a"])] == [[[1.0]]]
        with pytest.raises(SourceError, match="the file is not there any more; leave it in place while it is read"):
            list(source.cells(["a"]))
