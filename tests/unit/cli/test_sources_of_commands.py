"""The command takes addresses, folders and queries, and never shows a password."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from aspca.cli.main import main

duckdb = pytest.importorskip("duckdb")
pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same rows in a DuckDB file, beside others, and in a folder of Parquet files."""
    monkeypatch.chdir(tmp_path)
    a = np.random.default_rng(3).normal(size=200)
    table = pa.table({"host": [f"h{row}" for row in range(200)], "a": a, "b": 2 * a})
    with duckdb.connect("plant.duckdb") as database:
        database.register("held", table)
        database.execute("CREATE TABLE readings AS SELECT *, true AS good FROM held")
        database.execute("CREATE TABLE others AS SELECT 1 AS x")
    for part in (0, 1):
        folder = tmp_path / "plant" / f"year=202{part}"
        folder.mkdir(parents=True)
        pq.write_table(table.slice(100 * part, 100), folder / "part.parquet")
    return tmp_path


QUERY = "SELECT host, a, b FROM readings WHERE good"


def test_every_command_reads_them(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["duckdb:///plant.duckdb", "--query", QUERY]
    assert main(["fit", *given, "--model", "model.json", "--id", "host", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rules"][0]["text"].startswith("b = 2 a")
    assert main(["score", "plant", "--model", "model.json", "--id", "host"]) == 0
    folder = capsys.readouterr().out
    assert main(["score", *given, "--model", "model.json", "--id", "host"]) == 0
    assert capsys.readouterr().out == folder
    assert len(folder.splitlines()) == 201
    assert main(["explain", *given, "--model", "model.json", "--id", "host", "--row", "h7"]) == 0
    assert main(["report", "model.json", *given, "--json"]) == 0
    assert main(["select", *given, "--resamples", "0"]) == 0
    capsys.readouterr()
    assert main(["detect", "plant/", "--id", "host", "--ignore", "year"]) == 0
    report = (here / "plant.aspca" / "report.html").read_text()
    assert "plant/year=2020/part.parquet" in report
    assert main(["detect", *given, "--id", "host", "-o", "out"]) == 0
    assert QUERY.partition("WHERE")[0].strip() in (here / "out" / "report.html").read_text()


def test_outputs_never_replace_what_is_read(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (
        ["fit", "duckdb:///plant.duckdb", "--query", QUERY, "--model", "plant.duckdb"],
        ["fit", "plant", "--model", "plant/year=2020/part.parquet"],
        ["detect", "plant", "-o", "plant"],
    ):
        assert main(words) == 2
        assert "read from" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["plant.duckdb"], 2, "the file holds 2 tables"),
        (["plant.duckdb", "--query", "SELECT x FROM nowhere"], 1, "the query fails"),
        (["plant.duckdb", "--query", "DROP TABLE readings"], 1, "--query must be one SELECT"),
        (["plant", "--engine", "flink"], 2, "The engine must be one of dask, spark"),
        (["duckdb:///nowhere.db"], 1, "there is no file nowhere.db"),
        (["postgresql://u:secret@h/d", "plant.duckdb"], 1, "postgresql://u:***@h/d: a database is read alone"),
    ],
    ids=str,
)
def test_mistakes(here: Path, capsys: pytest.CaptureFixture[str], words: list[str], code: int, said: str) -> None:
    assert main(["fit", *words, "--model", "model.json"]) == code
    told = capsys.readouterr()
    assert said in told.err
    assert "secret" not in told.err + told.out
    assert not (here / "model.json").exists()
