"""PostgreSQL: no table is lost, nobody is locked out, and a signal ends whatever is under way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import aspca
from aspca import JobError
from aspca.cli.main import main
from running.postgres import Cluster

pytest.importorskip("adbc_driver_postgresql")

# Nobody waits for long here; a limit of the user's own stays.
SOON = "?options=-c%20lock_timeout%3D500ms"


@pytest.fixture(scope="module")
def plant(postgres: Cluster) -> Cluster:
    postgres.run(
        "CREATE SCHEMA plant",
        "CREATE TABLE plant.readings AS SELECT g AS id, sin(g) AS a, cos(g * 0.7) AS b, sin(g) + cos(g * 0.7) AS s "
        "FROM generate_series(1, 400) AS g",
        "CREATE VIEW plant.seen AS SELECT * FROM plant.readings WHERE id < 300",
        "CREATE TABLE plant.others AS SELECT 1 AS mine",
    )
    return postgres


@pytest.fixture(scope="module")
def model(plant: Cluster, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("model") / "m.json")
    assert main(["fit", plant.address, "--table", "plant.readings", "--id", "id", "-m", path, "--quiet"]) == 0
    return path


@contextmanager
def locked(plant: Cluster, table: str, mode: str) -> Iterator[None]:
    """Another program that holds a lock."""
    import adbc_driver_postgresql.dbapi as adbc

    with adbc.connect(plant.address) as connection:
        with connection.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {table} IN {mode} MODE")
        yield
        connection.rollback()


def said(capsys: pytest.CaptureFixture[str], plant: Cluster) -> str:
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert plant.password not in shown.err
    return shown.err


@pytest.mark.parametrize(
    "words",
    [
        ("--table", "plant.readings"),
        ("--table", "plant.seen"),
        ("--query", "SELECT * FROM plant.readings WHERE id > 7"),
        ("--query", "WITH q AS (SELECT * FROM plant.seen) SELECT q.* FROM q JOIN plant.others ON true"),
    ],
)
def test_a_table_that_is_read_is_not_replaced(
    words: tuple[str, str], plant: Cluster, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = plant.address.replace("127.0.0.1", "localhost") + SOON
    to = ["-o", out, "--output-table", "plant.readings", "--replace"]
    assert main(["score", plant.address + SOON, *words, "-m", model, *to]) == 2
    assert "table 'plant.readings': this table is read from" in said(capsys, plant)
    reading = {words[0].removeprefix("--"): words[1]}
    with pytest.raises(JobError, match="this table is read from"):
        aspca.score_source(model, plant.address + SOON, out, out_table="plant.readings", replace=True, **reading)
    assert plant.run("SELECT count(*) FROM plant.readings") == [(400,)]
    # Another one of the same name is another table.
    to = ["-o", out, "--output-table", "readings", "--quiet"]
    assert main(["score", plant.address, *words, "-m", model, *to]) == 0
    plant.run("DROP TABLE readings")


def test_tables_of_others_are_replaced_on_demand_only(
    plant: Cluster, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    score = ["score", plant.address, "--table", "plant.readings", "-m", model, "-o", plant.address, "--output-table"]
    assert main([*score, "plant.others"]) == 2
    assert "that aspca did not write; name another with --output-table, or replace it with --replace" in said(
        capsys, plant
    )
    assert plant.run("SELECT mine FROM plant.others") == [(1,)]
    assert main([*score, "plant.seen", "--replace"]) == 2
    assert "is a view or a part of a table" in said(capsys, plant)
    # What aspca wrote is its own, as in a DuckDB file.
    for more in ([], [], ["--replace"]):
        assert main([*score, "plant.scores", "--quiet", *more]) == 0
    assert main([*score, "plant.others", "--replace", "--quiet"]) == 0
    assert plant.run("SELECT count(*) FROM plant.others") == [(400,)]
    left = plant.run("SELECT relname FROM pg_class WHERE relname LIKE 'aspca %'")
    assert left == []
    plant.run("DROP TABLE plant.others", "CREATE TABLE plant.others AS SELECT 1 AS mine")


def test_readers_of_the_old_table_are_not_locked_out(
    plant: Cluster, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They see it until all rows of the new one are there."""
    from aspca.pipeline import score as scoring

    write = ["-o", plant.address, "--output-table", "plant.watched", "--quiet"]
    score = ["score", plant.address, "--table", "plant.readings", "-m", model, *write]
    assert main(score) == 0
    seen = []
    parts = scoring.scored_parts

    def watched(*given: object) -> Iterator[object]:
        for part in parts(*given):
            seen.append(plant.run("SET lock_timeout = 500", "SELECT count(*) FROM plant.watched")[0][0])
            yield part

    monkeypatch.setattr(scoring, "scored_parts", watched)
    assert main(score) == 0
    assert seen
    assert set(seen) == {400}


def test_a_lock_of_others_is_a_sentence(plant: Cluster, model: str, capsys: pytest.CaptureFixture[str]) -> None:
    score = ["score", plant.address + SOON, "--table", "plant.readings", "-m", model]
    with locked(plant, "plant.readings", "ACCESS EXCLUSIVE"):
        assert main([*score, "-o", "s.csv"]) == 1
        assert "another program has locked the table" in said(capsys, plant)
    with locked(plant, "plant.others", "ACCESS SHARE"):
        assert main([*score, "-o", plant.address + SOON, "--output-table", "plant.others", "--replace"]) == 1
        assert "another program has locked the table" in said(capsys, plant)
    assert plant.run("SELECT mine FROM plant.others") == [(1,)]
    # Without a word of the user's there is a limit too.
    query = "SELECT *, current_setting('lock_timeout') AS waits FROM plant.readings"
    for address, waits in ((plant.address, "1min"), (plant.address + SOON, "500ms")):
        assert set(aspca.score_source(model, address, query=query, id="waits")["waits"]) == {waits}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("what", ["reading", "writing"])
def test_a_signal_ends_what_is_under_way(
    number: signal.Signals, what: str, plant: Cluster, model: str, tmp_path: Path
) -> None:
    slow = "SELECT g AS a, g * 2.0 AS b, pg_sleep(0.02)::text AS t FROM generate_series(1, 99999) AS g"
    words = ["detect", plant.address, "--query", slow, "--ignore-text", "--no-output"]
    if what == "writing":
        words = ["score", plant.address, "--table", "plant.readings", "-m", model, "-o", plant.address]
        words += ["--output-table", "plant.others", "--replace"]
    waiting = (
        "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid() AND "
        "wait_event_type IN ('Timeout', 'Lock')"
    )
    with locked(plant, "plant.others", "ACCESS SHARE"):
        begun = subprocess.Popen(
            [sys.executable, "-W", "always", "-m", "aspca", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            # The driver's own remarks on what is not closed.
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "_ADBC_DRIVER_MANAGER_WARN_UNCLOSED_RESOURCE": "1"},
        )
        try:
            while begun.poll() is None and plant.run(waiting) == [(0,)]:
                time.sleep(0.05)
            begun.send_signal(number)
            out, err = begun.communicate(timeout=60)
        finally:
            begun.kill()
    done = "Interrupted" if number == signal.SIGINT else "Terminated"
    assert (begun.returncode, out, err) == (130, "", f"aspca: {done}; nothing was left half written.\n")
    assert plant.run(waiting) == [(0,)]
    assert plant.run("SELECT mine FROM plant.others") == [(1,)]
