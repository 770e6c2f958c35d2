"""Damaged Arrow and Parquet files are read or refused in one sentence; no signal ends the process that reads them.

Thirty here, and two hundred with `make test-long`: see damaged_tables.py.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from aspca.tables import SourceError, open_source
from unit.tables.damaged_tables import pages

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
feather = pytest.importorskip("pyarrow.feather")


# By steps of 27 all files and all damages come up.
@pytest.mark.parametrize(("first", "count", "step"), [(0, 30, 27), pytest.param(0, 200, 1, marks=pytest.mark.long)])
def test_damage_is_a_sentence(tmp_path: Path, first: int, count: int, step: int) -> None:
    script = Path(__file__).with_name("damaged_tables.py")
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path), str(first), str(count), str(step)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, (lines[-1:], done.stderr)
    assert len(lines) == count
    said = [line.split(" ", 2)[2] for line in lines]
    assert "misread" not in said
    for name, sentence in zip((line.split()[1] for line in lines), said, strict=True):
        assert sentence == "read" or (sentence.startswith(str(tmp_path / name)) and sentence.endswith("."))
    assert sum(sentence != "read" for sentence in said) > count // 2


WORDS = [f"word {number}" for number in range(500)]


@pytest.mark.parametrize("offset", [-1, -(2**31), 10**6, 2**31 - 1, 0])
def test_an_offset_out_of_its_batch(tmp_path: Path, offset: int) -> None:
    """The least there is to such a file: one number of the places where words begin."""
    path = tmp_path / "words.arrow"
    feather.write_feather(pa.table({"a": np.arange(500.0), "words": WORDS}), path, compression="uncompressed")
    data = bytearray(path.read_bytes())
    places = np.cumsum([0, *map(len, WORDS)]).astype("<i4").tobytes()
    start = data.index(places)
    data[start + 400 : start + 404] = np.array([offset], dtype="<i4").tobytes()
    path.write_bytes(data)
    with pytest.raises(SourceError, match="this is not an Arrow file, or it is damaged"):
        open_source([str(path)])


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_every_byte_under_a_checksum(tmp_path: Path, version: str) -> None:
    path = tmp_path / "t.parquet"
    table = pa.table({"a": np.arange(40.0), "words": WORDS[:40]})
    pq.write_table(table, path, compression="none", write_page_checksum=True, data_page_version=version)
    whole = path.read_bytes()
    with open_source([str(path)]) as source:
        assert source.count() == 40
    for page in pages(whole):
        assert page.checksum
        for place in (page.start, page.start + page.size // 2, page.start + page.size - 1):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
            with pytest.raises(SourceError, match="this is not a Parquet file, or it is damaged"):
                open_source([str(path)])


def cut_short(path: Path) -> None:
    os.truncate(path, 1000)


def written_over(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2] + bytes(len(data) - len(data) // 2))
    os.utime(path, ns=(1, 1))


def put_in_its_place(path: Path) -> None:
    path.with_suffix(".new").write_bytes(path.read_bytes())
    os.replace(path.with_suffix(".new"), path)


def removed(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("change", [cut_short, written_over, put_in_its_place, removed])
@pytest.mark.parametrize("kind", ["arrow", "parquet", "csv"])
def test_a_file_that_changes_while_it_is_read(tmp_path: Path, kind: str, change: object) -> None:
    """Cut short, a mapped file ends a process with SIGBUS."""
    path = tmp_path / f"t.{kind}"
    table = pa.table({"a": np.arange(3000.0), "words": [WORDS[i % 500] for i in range(3000)]})
    if kind == "arrow":
        feather.write_feather(table, path, compression="uncompressed", chunksize=100)
    elif kind == "parquet":
        pq.write_table(table, path, row_group_size=100)
    else:
        table.to_pandas().to_csv(path, index=False)
    with open_source([str(path)]) as source:
        rows = source.cells(["a", "words"], 10)
        next(rows)
        change(path)
        with pytest.raises(SourceError) as caught:
            list(rows)
        if kind == "csv":
            # Its numbers are kept as they were.
            assert sum(len(batch.values) for batch in source.batches(["a"])) == 3000
        else:
            with pytest.raises(SourceError):
                list(source.batches(["a"]))
    assert str(caught.value).startswith(f"{path}: ")


def test_a_file_that_grows_while_it_is_opened(tmp_path: Path) -> None:
    path, stop = tmp_path / "live.csv", threading.Event()
    path.write_text("a,b\n" + "1,2\n" * 1000)

    def grow() -> None:
        while not stop.wait(0.0005):
            with path.open("a") as stream:
                stream.write("3,4\n")

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        with pytest.raises(SourceError, match="was changed while it was read"):
            open_source([str(path)])
    finally:
        stop.set()
        writer.join()
