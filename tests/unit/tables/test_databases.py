"""Tables of SQLite and DuckDB files: read-only, by any name, and what cannot be read is a sentence."""

from __future__ import annotations

import math
import random
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from aspca.tables import SourceError, open_source
from running.refusals import refusal

duckdb = pytest.importorskip("duckdb")

HOSTILE = 'x"; DROP TABLE plain; --'


def sqlite_file(path: Path, *statements: str | tuple[str, Sequence[Any]]) -> Path:
    database = sqlite3.connect(path)
    for statement in statements:
        if isinstance(statement, str):
            database.execute(statement)
        else:
            database.executemany(*statement)
    database.commit()
    database.close()
    return path


def duckdb_file(path: Path, *statements: str) -> Path:
    with duckdb.connect(str(path)) as database:
        for statement in statements:
            database.execute(statement)
    return path


def test_sqlite_cells_keep_what_they_are(tmp_path: Path, read: Callable[..., Any]) -> None:
    rows = [(0.1 + 0.2, 3, "2024-01-31", "007"), (1 / 3, None, "2024-02-01", "8"), (5e-324, -4, None, "9")]
    path = sqlite_file(
        tmp_path / "plain.csv",
        "CREATE TABLE t (x REAL, n INTEGER, day TEXT, code TEXT)",
        ("INSERT INTO t VALUES (?, ?, ?, ?)", rows),
    )
    before = path.read_bytes()
    names, kinds, values = read(path)
    assert (names, kinds) == (["x", "n", "day", "code"], ["number", "number", "date", "number"])
    assert values[:, 0].tolist() == [row[0] for row in rows]
    assert values[0, 1] == 3.0
    assert math.isnan(values[1, 1])
    with open_source([str(path)]) as source:
        assert source.locate(1) == f"{path}: row 1"
        assert [row[0] for rows in source.cells(["code"]) for row in rows] == ["007", "8", "9"]
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["plain.csv"]


def test_duckdb_columns_keep_their_types(tmp_path: Path, read: Callable[..., Any]) -> None:
    path = duckdb_file(
        tmp_path / "plain.db",
        "CREATE TABLE t AS SELECT * FROM (VALUES (0.1::DOUBLE + 0.2::DOUBLE, 3, DATE '2024-01-31', true), "
        "(1::DOUBLE / 3, NULL, DATE '2024-02-01', false)) AS v(x, n, day, ok)",
    )
    before = path.read_bytes()
    names, kinds, values = read(path)
    assert (names, kinds) == (["x", "n", "day", "ok"], ["number", "number", "date", "boolean"])
    assert values[:, 0].tolist() == [0.1 + 0.2, 1 / 3]
    assert values[1, 2] - values[0, 2] == 86400.0
    assert math.isnan(values[1, 1])
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["plain.db"]


def test_hostile_names_are_names(tmp_path: Path, read: Callable[..., Any]) -> None:
    quoted = HOSTILE.replace('"', '""')
    made = [
        "CREATE TABLE plain (a INTEGER)",
        "INSERT INTO plain VALUES (1)",
        f'CREATE TABLE "{quoted}" ("{quoted}" INTEGER, "select" INTEGER)',
        f'INSERT INTO "{quoted}" VALUES (2, 3)',  # noqa: S608  # as hostile as can be
        f'CREATE VIEW "view {quoted}" AS SELECT "select" + 1 AS b FROM "{quoted}"',  # noqa: S608
    ]
    for path in (sqlite_file(tmp_path / "s", *made), duckdb_file(tmp_path / "d", *made)):
        names, _, values = read(path, table=HOSTILE)
        assert (names, values.tolist()) == ([HOSTILE, "select"], [[2.0, 3.0]])
        assert read(path, table=f"view {HOSTILE}")[2].tolist() == [[4.0]]
        assert read(path, table="plain")[2].tolist() == [[1.0]]
        error = refusal(path)
        assert error.remedy[0] == "--table"
        assert "the file holds 2 tables, " in str(error)
        assert read(path, table=error.remedy[1])[2].size
        assert "there is no table 'no', but" in str(refusal(path, table="no"))


def test_tables_of_another_schema(tmp_path: Path, read: Callable[..., Any]) -> None:
    path = duckdb_file(tmp_path / "d", "CREATE SCHEMA s", "CREATE TABLE s.t AS SELECT 7 AS a")
    assert read(path)[2].tolist() == [[7.0]]
    assert read(path, table="s.t")[2].tolist() == [[7.0]]


def test_several_files_are_one_table(tmp_path: Path, read: Callable[..., Any]) -> None:
    paths = [
        duckdb_file(tmp_path / "a.duckdb", "CREATE TABLE t AS SELECT 1 AS a"),
        duckdb_file(tmp_path / "b'.duckdb", "CREATE TABLE t AS SELECT 2 AS a"),
        sqlite_file(tmp_path / "c #?%20.sqlite", "CREATE TABLE t (a)", "INSERT INTO t VALUES (3)"),
    ]
    assert read(*paths, table="t")[2].tolist() == [[1.0], [2.0], [3.0]]


def test_binary_cells_are_no_numbers(tmp_path: Path) -> None:
    path = sqlite_file(tmp_path / "s", "CREATE TABLE t (a, b)", ("INSERT INTO t VALUES (?, ?)", [(b"12", 1)]))
    with open_source([str(path)]) as source:
        assert [column.kind for column in source.columns] == ["text", "number"]


def test_a_database_that_is_being_written_is_refused(tmp_path: Path) -> None:
    """Its newest rows are not in the file yet."""
    path = tmp_path / "s.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE t (a)")
        database.execute("INSERT INTO t VALUES (1)")
        database.commit()
        assert "'s.sqlite-wal' stands beside it" in str(refusal(path))
    database.close()
    with open_source([str(path)]) as source:
        assert source.count() == 1


def test_nothing_to_read_is_said(tmp_path: Path) -> None:
    assert "no table with anything in it" in str(
        refusal(sqlite_file(tmp_path / "a", "CREATE VIEW v AS SELECT 1 x", "DROP VIEW v"))
    )
    assert "no rows" in str(refusal(sqlite_file(tmp_path / "b", "CREATE TABLE t (a)")))
    assert "no table with anything in it" in str(refusal(duckdb_file(tmp_path / "c")))
    assert "no rows" in str(refusal(duckdb_file(tmp_path / "d", "CREATE TABLE t (a INTEGER)")))


def test_damaged_databases_give_values_or_one_sentence(tmp_path: Path) -> None:
    rows = ("INSERT INTO t VALUES (?, ?)", [(k, k / 7) for k in range(400)])
    made = [
        sqlite_file(tmp_path / "s", "CREATE TABLE t (a, b)", rows),
        duckdb_file(tmp_path / "d", "CREATE TABLE t AS SELECT range AS a, range / 7 AS b FROM range(400)"),
    ]
    dice = random.Random(5)  # noqa: S311  # no secret
    refused = []
    for trial in range(24):
        whole = made[trial % 2].read_bytes()
        damaged = bytearray(whole[: dice.randrange(100, len(whole))] if trial % 5 == 0 else whole)
        for _ in range(dice.randrange(20, 60)):
            damaged[dice.randrange(16, len(damaged))] = dice.randrange(256)
        path = tmp_path / "damaged"
        path.write_bytes(damaged)
        try:
            with open_source([str(path)]) as source:
                numbers = [column.name for column in source.columns if column.kind == "number"]
                list(source.batches(numbers) if numbers else ())
        except SourceError as error:
            refused.append(str(error))
    assert len(refused) > 8
    assert not any("\n" in sentence for sentence in refused)


@pytest.mark.parametrize("how", ["symbolic link", "link to a link", "hard link", "hard link elsewhere"])
def test_rows_in_a_wal_file_are_not_lost_through_a_link(tmp_path: Path, how: str) -> None:
    path = sqlite_file(tmp_path / "s.sqlite", "CREATE TABLE t (x REAL)", "INSERT INTO t VALUES (1.0), (2.0), (3.0)")
    linked = tmp_path / "elsewhere" / "linked.db"
    linked.parent.mkdir()
    if how == "symbolic link":
        linked.symlink_to(path)
    elif how == "link to a link":
        (tmp_path / "between.db").symlink_to(path)
        linked.symlink_to(tmp_path / "between.db")
    else:
        linked = tmp_path / "linked.db" if how == "hard link" else linked
        linked.hardlink_to(path)
    with open_source([str(linked)]) as source:
        assert source.count() == 3
    database = sqlite3.connect(path)
    try:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("INSERT INTO t VALUES (4.0)")
        database.commit()
        told = str(refusal(linked))
        assert (
            "it is a hard link" in told if how == "hard link elsewhere" else "'s.sqlite-wal' stands beside it" in told
        )
    finally:
        database.close()
    # What was written is in the file now, unless another name may have more.
    if how == "hard link elsewhere":
        assert "it is a hard link" in str(refusal(linked))
    else:
        with open_source([str(linked)]) as source:
            assert source.count() == 4
