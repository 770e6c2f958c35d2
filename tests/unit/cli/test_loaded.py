"""What `aspca score` loads: a stored model scores rows without what learns, explains or draws."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

import aspca

UNUSED = (
    "aspca.findings.explanation",
    "aspca.findings.incidents",
    "aspca.robust.passes",
    "aspca.moments.incomplete",
    "aspca.tables.workbook",
    "aspca.cli.learn",
    "pydantic",
    "rich",
    "scipy",
    "sklearn",
    "pandas",
)


def test_scoring_loads_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(200, 3))
    np.savetxt(tmp_path / "rows.csv", rows, delimiter=",", header="x0,x1,x2", comments="")
    aspca.save(aspca.ASPCA().fit(rows), tmp_path / "model.json")
    code = (
        "import sys; from aspca.cli.main import main\n"
        "assert main(['score', 'rows.csv', '--model', 'model.json', '--output', 'scores.csv']) == 0\n"
        f"print(*sorted(set({UNUSED!r}) & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr
    assert len((tmp_path / "scores.csv").read_text().splitlines()) == 201
