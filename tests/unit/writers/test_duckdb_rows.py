"""A table of a DuckDB file: whole or not at all, and nothing else in that file is touched."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from aspca.writers.duckdb_rows import duckdb_rows
from aspca.writers.fields import TABLE_MARK, Field
from aspca.writers.replaced_file import OutputError

duckdb = pytest.importorskip("duckdb")

FIELDS = (Field("row", "integer"), Field("key", "cell"), Field("anomaly", "truth"), Field("proposed", "text"))


def part(start: int, n: int = 1000) -> list:
    rows = np.arange(start, start + n)
    keys = [None if row % 7 == 0 else f"é{row}" if row % 2 else int(row) for row in rows.tolist()]
    return [rows, keys, rows % 2 == 0, [None] * (n - 1) + ['{"a": 1}']]


def write(path: Path, table: str = "scores", parts: int = 3, replace: bool = False) -> None:
    with duckdb_rows(str(path), table, FIELDS, replace=replace) as add:
        for number in range(parts):
            add(part(1000 * number))


def rows_of(path: Path, query: str) -> list[tuple]:
    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.execute(query).fetchall()


def test_what_is_written(tmp_path: Path) -> None:
    path = tmp_path / "new.duckdb"
    write(path)
    found = rows_of(path, "FROM scores ORDER BY row")
    expected = [row for number in range(3) for row in zip(*map(list, part(1000 * number)), strict=True)]
    assert found == [(int(a), None if b is None else str(b), bool(c), d) for a, b, c, d in expected]
    assert [
        kind for (kind,) in rows_of(path, "SELECT data_type FROM duckdb_columns() WHERE table_name = 'scores'")
    ] == [
        "BIGINT",
        "VARCHAR",
        "BOOLEAN",
        "VARCHAR",
    ]
    assert os.listdir(tmp_path) == ["new.duckdb"]


def test_only_its_own_table(tmp_path: Path) -> None:
    path = tmp_path / "there.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE mine AS SELECT 42 AS x; CREATE TABLE Taken AS SELECT 1 AS y")
        connection.execute("CREATE VIEW seen AS FROM mine")
    write(path)
    write(path, parts=2)
    assert rows_of(path, "SELECT count(*), min(row) FROM scores") == [(2000, 0)]
    for table, words in (("taken", "a table 'taken' that aspca did not write"), ("SEEN", "a view 'SEEN'")):
        with pytest.raises(OutputError, match=words):
            write(path, table)
    assert rows_of(path, "FROM mine") == [(42,)]
    assert rows_of(path, "FROM taken") == [(1,)]
    write(path, "taken", replace=True)
    assert rows_of(path, "SELECT count(*) FROM taken") == [(3000,)]
    odd = 'a"b; DROP TABLE mine'
    write(path, odd, parts=1)
    assert rows_of(path, "SELECT count(*) FROM duckdb_tables()") == [(4,)]
    assert [mark for (mark,) in rows_of(path, "SELECT comment FROM duckdb_tables()")].count(TABLE_MARK) == 3


def test_an_error_in_the_middle_leaves_what_was(tmp_path: Path) -> None:
    path = tmp_path / "x.duckdb"

    def broken() -> None:
        with duckdb_rows(str(path), "scores", FIELDS, replace=False) as add:
            add(part(0))
            raise KeyError("the source is gone")

    with pytest.raises(KeyError):
        broken()
    assert os.listdir(tmp_path) == []
    write(path)
    with pytest.raises(KeyError):
        broken()
    assert rows_of(path, "SELECT count(*) FROM scores") == [(3000,)]
    assert os.listdir(tmp_path) == ["x.duckdb"]


def test_no_other_file_is_taken_for_a_database(tmp_path: Path) -> None:
    path = tmp_path / "x.duckdb"
    path.write_text("important notes, longer than a header of a database")
    with pytest.raises(OutputError, match="is no DuckDB file"):
        write(path)
    assert path.read_text().startswith("important")


def test_a_database_that_is_in_use(tmp_path: Path) -> None:
    path = tmp_path / "x.duckdb"
    write(path)
    code = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with pytest.raises(OutputError, match="another program has this database open"):
            write(path)
        other.communicate("")


@pytest.fixture
def no_room() -> Iterator[None]:
    """No file may be longer than this."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("there", [False, True])
def test_no_room(there: bool, tmp_path: Path, no_room: None) -> None:
    path = tmp_path / "x.duckdb"
    if there:
        with duckdb.connect(str(path)) as connection:
            connection.execute("CREATE TABLE mine AS SELECT 42 AS x")
    resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, resource.RLIM_INFINITY))
    with pytest.raises(OSError, match=r"File too large|x\.duckdb"):
        write(path, parts=200)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    if there:
        assert rows_of(path, "FROM mine") == [(42,)]
        assert rows_of(path, "SELECT table_name FROM duckdb_tables()") == [("mine",)]
    else:
        assert os.listdir(tmp_path) == []


def test_killed_in_the_middle(tmp_path: Path) -> None:
    """What is left of it is no database, and goes with the next one."""
    path = tmp_path / "x.duckdb"
    code = f"""
import os, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_duckdb_rows import *
with duckdb_rows({str(path)!r}, "scores", FIELDS, replace=False) as add:
    add(part(0))
    os.kill(os.getpid(), 9)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == -9, done.stderr
    assert not path.exists()
    assert len(os.listdir(tmp_path)) == 1
    write(path, parts=1)
    assert os.listdir(tmp_path) == ["x.duckdb"]
    done = subprocess.run([sys.executable, "-c", code.replace("part(0)", "part(5)")], capture_output=True, check=False)
    assert done.returncode == -9, done.stderr
    assert rows_of(path, "SELECT min(row), count(*) FROM scores") == [(0, 1000)]
