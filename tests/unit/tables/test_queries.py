"""--query: one SELECT of a DuckDB or SQLite file, read-only, its rows the same in every pass."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aspca.tables import ReadOptions, SourceError, open_source

duckdb = pytest.importorskip("duckdb")


@pytest.fixture
def databases(tmp_path: Path) -> dict[str, Path]:
    """The same two tables in a file of each kind."""
    made = [
        "CREATE TABLE t (a DOUBLE, k VARCHAR)",
        "INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'x')",
        "CREATE TABLE u (b INT)",
    ]
    with duckdb.connect(str(tmp_path / "d.duckdb")) as database:
        for statement in made:
            database.execute(statement)
    lite = sqlite3.connect(tmp_path / "s.sqlite")
    for statement in made:
        lite.execute(statement)
    lite.commit()
    lite.close()
    return {"duckdb": tmp_path / "d.duckdb", "sqlite": tmp_path / "s.sqlite"}


def refusal(path: Path, **options: Any) -> str:
    with pytest.raises(SourceError) as caught:
        open_source([str(path)], ReadOptions(**options)).close()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
@pytest.mark.parametrize(
    "query",
    [
        "SELECT k, sum(a) AS total FROM t GROUP BY k ORDER BY k",
        "select k, sum(a) as total from t group by k order by k;  ",
        "WITH s AS (SELECT * FROM t) SELECT k, sum(a) AS total FROM s GROUP BY k ORDER BY k -- a remark",
    ],
)
def test_the_rows_of_a_query_are_the_table(databases: dict[str, Path], kind: str, query: str) -> None:
    before = databases[kind].read_bytes()
    with open_source([str(databases[kind])], ReadOptions(query=query)) as source:
        assert [column.name for column in source.columns] == ["k", "total"]
        assert [[*map(str, row)] for part in source.cells(["k"]) for row in part] == [["x"], ["y"]]
        assert np.concatenate([batch.values for batch in source.batches(["total"])]).tolist() == [[4.0], [2.0]]
    assert databases[kind].read_bytes() == before


@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
@pytest.mark.parametrize(
    "query",
    [
        "DROP TABLE t",
        "SELECT 1 AS a; DROP TABLE t",
        "INSERT INTO t VALUES (4, 'z')",
        "ATTACH 'other.db' AS other",
        "CREATE TABLE v AS SELECT 1",
        "-- nothing",
    ],
)
def test_nothing_but_one_select(databases: dict[str, Path], kind: str, query: str, tmp_path: Path) -> None:
    before = databases[kind].read_bytes()
    assert "--query must be one SELECT" in refusal(databases[kind], query=query)
    assert databases[kind].read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"d.duckdb", "s.sqlite"}


@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
def test_what_fails_is_one_sentence(databases: dict[str, Path], kind: str) -> None:
    assert "the query fails (" in refusal(databases[kind], query="SELECT nothing FROM t")
    assert "the query fails (" in refusal(databases[kind], query="SELECT sum( FROM t")
    assert "no rows" in refusal(databases[kind], query="SELECT * FROM u")
    with pytest.raises(SourceError, match="--table and --query exclude each other"):
        ReadOptions(table="t", query="SELECT 1")
    with pytest.raises(SourceError, match="but it is empty"):
        ReadOptions(query=" ")


def test_chance_in_a_query_is_drawn_once(tmp_path: Path) -> None:
    """Another run would give other rows, or the same in another order."""
    path = tmp_path / "d.duckdb"
    duckdb.connect(str(path)).execute("CREATE TABLE t AS SELECT range AS a FROM range(1000)").close()
    with open_source([str(path)], ReadOptions(query="SELECT a, random() AS b FROM t ORDER BY b")) as source:
        first, second = (np.concatenate([batch.values for batch in source.batches(["a", "b"])]) for _ in range(2))
        np.testing.assert_array_equal(first, second)
        assert sorted(first[:, 0].tolist()) == list(range(1000))


def test_files_that_are_no_databases_take_no_query(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n")
    assert "--query is for databases" in refusal(path, query="SELECT 1")


def test_addresses_of_files(databases: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(databases["duckdb"].parent)
    for address in (f"duckdb:///{databases['duckdb']}", "duckdb:///d.duckdb", "sqlite:///s.sqlite"):
        with open_source([address], ReadOptions(table="t")) as source:
            assert source.count() == 3
    with pytest.raises(SourceError, match=r"there is no file no\.db; .* after four slashes"):
        open_source(["sqlite:///no.db"])
    with pytest.raises(SourceError, match="a file of SQLite, but it is none"):
        open_source(["sqlite:///d.duckdb"])
