"""A signal in the middle of a query ends it, arrives as what its handler raised, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

from aspca.duckdb_session import connect, run_interruptibly
from aspca.tables.file_table import FileTable, explain_unreadable

duckdb = pytest.importorskip("duckdb")

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="no signals to send here")

# Days of work.
ENDLESS = "range(10000000) AS one(c0), range(10000000) AS other(c1)"


class Struck(BaseException):
    """What the handler raises: not what Ctrl-C does, so that nothing takes it for that."""


@pytest.fixture
def strike() -> Iterator[threading.Timer]:
    """A signal, shortly after it is started."""

    def take(number: int, frame: FrameType | None) -> None:
        raise Struck

    before = signal.signal(signal.SIGUSR1, take)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGUSR1))
    yield timer
    timer.cancel()
    signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize("what", ["aggregate", "rows", "numbers", "wide"])
def test_a_query_ends(what: str, strike: threading.Timer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = connect(tmp_path)
    table = FileTable("endless", ENDLESS, (), (), 0, explain_unreadable("endless", "a table"))
    if what == "wide":
        monkeypatch.setattr("aspca.tables.file_table.WIDE", 0)
    read: Iterator[object]
    if what == "aggregate":
        read = table.rows(connection, ["sum(c0 * c1)"], 1)
    elif what == "rows":
        # Nothing is found, and all is looked at.
        read = table.rows(connection, ["c0"], 10, "WHERE c0 + c1 < 0")
    else:
        read = table.numbers(connection, ["c0::DOUBLE", "c1::DOUBLE"])
    strike.start()
    with pytest.raises(Struck):
        all(True for _ in read)
    # The connection can be used again.
    assert connection.execute("SELECT 42").fetchall() == [(42,)]


def test_results_and_errors_pass_through() -> None:
    cursor = duckdb.connect().cursor()
    assert run_interruptibly(cursor, divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        run_interruptibly(cursor, divmod, 7, 0)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 130)])
def test_the_command_cleans_up(number: signal.Signals, code: int, tmp_path: Path) -> None:
    """Struck while numbers are being kept: at most one sentence, the right code, no scratch folder, no output."""
    scratch, path = tmp_path / "scratch", tmp_path / "t.csv"
    scratch.mkdir()
    row = ",".join(f"{i}.123456" for i in range(20)) + "\n"
    with path.open("w") as file:
        file.write(",".join(f"c{i}" for i in range(20)) + "\n")
        for _ in range(200):
            file.write(row * 1000)
    process = subprocess.Popen(
        [sys.executable, "-m", "aspca", "detect", str(path)],
        env={**os.environ, "TMPDIR": str(scratch)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not any(file.stat().st_size for file in scratch.glob("*/*/numbers")):
        assert process.poll() is None, process.stderr and process.stderr.read()
        time.sleep(0.005)
    process.send_signal(number)
    out, talk = process.communicate()
    assert (process.returncode, out) == (code, "")
    assert len(talk.splitlines()) <= 1, talk
    assert number != signal.SIGINT or "Interrupted; nothing was left half written." in talk
    assert list(scratch.iterdir()) == []
    assert [file.name for file in tmp_path.iterdir() if file.name != "scratch"] == ["t.csv"]
