"""Files damaged at random give values or one sentence, never a traceback; random tables read as Python reads them."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
from pathlib import Path

import pytest

from aspca.pipeline.fit import moments_of
from aspca.pipeline.passes import Silent
from aspca.preparation import Preparation
from aspca.tables import ReadOptions, SourceError, open_source
from aspca.tables.cell_tests import EVERYWHERE
from aspca.tables.errors import JobError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
feather = pytest.importorskip("pyarrow.feather")

PIECES = [b'"', b",", b"\n", b"\r", b"\0", b";", b"\xff", b"{", b"NA", b"'"]
CELLS = [
    "1",
    "2.5",
    "-3e5",
    "x",
    "",
    "NA",
    "a,b",
    "l\nm",
    'e"e',
    " s ",
    "true",
    "2020-01-01",
    "'",
    "é",
    "?",
    "007",
    "_",
]


def good_files() -> dict[str, bytes]:
    table = pa.table({"a": [1.0, 2.0, None], "b": ["x", "y", "z"], "c": [1, 2, 3]})
    parquet, arrow = io.BytesIO(), io.BytesIO()
    pq.write_table(table, parquet)
    feather.write_feather(table, arrow)
    text = b'a,b,c\n1,2.5,x\n3,"4,5",y\n5,6,"z\nq"\n'
    lines = "".join(json.dumps(record) + "\n" for record in table.to_pylist())
    return {
        "t.csv": text,
        "t16.csv": text.decode().encode("utf-16"),
        "t.csv.gz": gzip.compress(text, mtime=0),
        "t.jsonl": lines.encode(),
        "t.parquet": parquet.getvalue(),
        "t.feather": arrow.getvalue(),
    }


def damaged(content: bytes, chance: random.Random) -> bytes:
    data = bytearray(content)
    for _ in range(chance.choice([1, 1, 2, 4, 10])):
        place = chance.randrange(len(data) + 1)
        kind = chance.randrange(4)
        if kind == 0:
            data[place : place + 1] = bytes([chance.randrange(256)])
        elif kind == 1:
            del data[place : place + chance.choice([1, 1, 5, 30])]
        elif kind == 2:
            data[place:place] = chance.choice(PIECES)
        elif chance.random() < 0.3:
            del data[place:]
    return bytes(data)


@pytest.mark.parametrize("times", [10, pytest.param(40, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", list(good_files()))
def test_damage(tmp_path: Path, name: str, times: int) -> None:
    chance, content, path = random.Random(name), good_files()[name], tmp_path / name  # noqa: S311
    for _ in range(times):
        path.write_bytes(damaged(content, chance))
        try:
            with open_source([str(path)]) as source:
                assert source.count() > 0
                names = [column.name for column in source.columns]
                assert sum(len(rows) for rows in source.cells(names, 2)) == source.count()
                assert moments_of(source, Preparation.identity(names), Silent()).n_rows == source.count()
        except (SourceError, JobError) as error:
            sentence = str(error)
            assert sentence.startswith(f"{path}: ")
            assert sentence.endswith(".")
            assert sentence.isprintable()
            assert "Error" not in sentence


@pytest.mark.parametrize("tables", [5, pytest.param(25, marks=pytest.mark.long)])
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_like_pythons_reader(tmp_path: Path, ending: str, delimiter: str, tables: int) -> None:
    chance, path = random.Random(ending + delimiter), tmp_path / "t.csv"  # noqa: S311
    # Python writes a line feed without quotes where lines end otherwise.
    choices = [cell.replace("\n", ending) if ending == "\r" else cell for cell in CELLS]
    for _ in range(tables):
        width = chance.randrange(2, 5)
        rows = [[chance.choice(choices) for _ in range(width)] for _ in range(chance.randrange(1, 8))]
        text = io.StringIO(newline="")
        csv.writer(text, delimiter=delimiter, lineterminator=ending).writerows([list("abcd"[:width]), *rows])
        path.write_text(text.getvalue(), encoding="utf-8", newline="")
        with open_source([str(path)], ReadOptions(header=True, delimiter=delimiter)) as source:
            names = [column.name for column in source.columns]
            truths = [column.kind == "boolean" for column in source.columns]
            found = [row for part in source.cells(names) for row in part]
        known = [[None if cell in EVERYWHERE else cell for cell in row] for row in rows]
        shown = [
            tuple(
                None if cell is None else cell == "true" if truth else cell
                for cell, truth in zip(row, truths, strict=True)
            )
            for row in known
        ]
        assert found == shown
