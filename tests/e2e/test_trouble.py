"""Outputs that are full, closed, read-only, vanished or no file: nothing is lost, and a sentence says so."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from aspca.cli.main import main

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs fork, /dev/full and /proc")
N_KINDS = 28
# Where the command has nobody to talk to, or its reader has seen enough.
QUIET = ("stderr", "all closed", "stdout a broken pipe")
# Where nothing is wrong with what is printed or written.
FINE = ("stderr", "stdout a broken pipe")


@pytest.fixture(scope="module", params=["some", pytest.param("all", marks=pytest.mark.long)])
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[dict]:
    folder = tmp_path_factory.mktemp("trouble")
    source = folder / "source"
    source.mkdir()
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(300, 3)), columns=["a", "b", "c"])
    rows["d"] = rows["a"] + rows["b"] + 0.01 * rng.normal(size=300)
    rows["host"] = [f"h{i}" for i in range(300)]
    rows.to_csv(source / "in.csv", index=False)
    with contextlib.chdir(source):
        assert main(["fit", "in.csv", "--id", "host", "--model", "old.json", "--quiet"]) == 0
        assert main(["detect", "in.csv", "--id", "host", "--output", "old.out", "--quiet"]) == 0
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("trouble.py")), str(source), request.param],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "TMPDIR": str(folder)},
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_all_kinds(runs: list[dict]) -> None:
    assert len({run["kind"] for run in runs}) == N_KINDS


def test_nothing_is_lost_and_nothing_left(runs: list[dict]) -> None:
    assert [run for run in runs if run["lost"] or run["left"]] == []


def test_no_signal_no_traceback_no_fault(runs: list[dict]) -> None:
    for run in runs:
        assert run["code"] in (0, 1, 2), run
        assert "Traceback" not in run["said"], run
        assert "fault of aspca" not in run["said"], run
        assert "Exception ignored" not in run["said"], run


def test_a_sentence(runs: list[dict]) -> None:
    for run in runs:
        if run["kind"].startswith(FINE):
            assert run["code"] == 0, run
        elif run["code"] == 0:
            # Only where it could do without what is missing.
            assert run["kind"] in ("no room for files", "no temporary folder"), run
        elif not run["kind"].startswith(QUIET):
            assert run["said"].rstrip().splitlines()[-1].startswith("aspca: "), run
            assert run["said"].rstrip().endswith("."), run


def test_what_is_wrong_with_stdout_is_said(runs: list[dict]) -> None:
    reasons = {
        "stdout closed": "Bad file",
        "stdout full": "No space",
        "stdout to be read only": "Bad file",
        "stdout a vanished terminal": "Input/output",
    }
    for run in runs:
        if run["kind"] in reasons:
            assert run["code"] == 1, run
            assert f"aspca: Standard output cannot be written: {reasons[run['kind']]}" in run["said"], run
