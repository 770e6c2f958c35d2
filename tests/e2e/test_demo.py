"""`aspca demo` as a person runs it."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from aspca import ASPCA
from aspca.paper.datasets import load_synthetic
from running.environment import blas

pytestmark = pytest.mark.promise


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "aspca", *arguments],
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
        cwd=folder,
        env={**blas(), "PATH": "", "COLUMNS": "80"},
    )


def test_demo_prints_rules_and_explains_fifteen_anomalies(tmp_path: Path) -> None:
    done = run(tmp_path, "demo")
    assert done.returncode == 0, done.stderr
    told = "Open aspca-demo/report.html in a browser. Next: aspca detect aspca-demo/data.csv --label kind"
    assert done.stderr == f"Wrote aspca-demo/. {told}\n"
    assert max(map(len, done.stdout.splitlines())) <= 80
    data = load_synthetic()
    model = ASPCA().fit(data.data)
    told = [rule.equation if hasattr(rule, "equation") else str(rule) for rule in model.rules_]
    assert len(told) == 2
    for text in ("D = A + C (± 0.1)", "A = B (± 0.099)"):
        assert text in done.stdout
    # Each anomaly is explained by the rule it was made to break, in the words it was made by.
    planted = {row: kind.replace("C + A", "A + C") for row, kind in enumerate(data.kinds) if kind != "normal"}
    for row, kind in planted.items():
        (line,) = (line for line in done.stdout.splitlines() if line.startswith(f"  {row} "))
        assert " F " in line if kind == "F = 0" else kind in line
    assert "recomputed from the data: verified" in done.stdout
    words = " ".join(done.stdout.split())
    assert "15 of 15 planted anomalies are errors, told by the rule that they break or the wrong column." in words

    folder = tmp_path / "aspca-demo"
    assert {path.name for path in folder.iterdir()} == {
        ".aspca-output",
        "data.csv",
        "excluded.csv",
        "explanations.csv",
        "model.json",
        "report.html",
        "scores.csv",
    }
    with open(folder / "scores.csv", newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    np.testing.assert_allclose([float(row["score"]) for row in rows], -model.score_samples(data.data), rtol=1e-9)
    # All that was planted, and of the 500 normal rows about as many as the level says: 12.5, give or take.
    flagged = [int(row["row"]) for row in rows if row["anomaly"] == "1"]
    assert flagged == np.flatnonzero(model.predict(data.data) == -1).tolist()
    assert set(range(500, 515)) <= set(flagged)
    assert 0 < len(flagged) - 15 <= 12.5 + 4 * np.sqrt(12.5 * 0.975)
    with open(folder / "data.csv", newline="", encoding="utf-8") as stream:
        written = list(csv.reader(stream))[1:]
    assert np.array_equal(np.array([line[:7] for line in written], dtype=float), data.data)


def test_wrong_usage_is_exit_code_2_and_no_traceback(tmp_path: Path) -> None:
    done = run(tmp_path, "nonsense")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "nonsense" in done.stderr
