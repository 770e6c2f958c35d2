"""A command starts with what it needs: scoring by a stored model without scipy, help without numpy."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import aspca
from aspca import ASPCA
from aspca.linalg.arrays import Floats
from aspca.model_file.model_file import write_model

NAMES = ["load", "requests", "memory", "busy"]
# The last line of stderr lists the modules that are loaded once the command is done.
COMMAND = (
    "import json, sys; from aspca.cli.main import main; code = main(sys.argv[1:]); "
    "print(json.dumps(sorted(sys.modules)), file=sys.stderr); sys.exit(code)"
)
# What learns, explains, draws, or reads other files.
UNUSED = {
    "aspca.findings.explanation",
    "aspca.findings.incidents",
    "aspca.model.fit_rows",
    "aspca.tables.workbook",
    "aspca.cli.learn",
    "matplotlib",
    "pandas",
    "pyarrow",
    "pydantic",
    "rich",
    "scipy",
    "sklearn",
    "threadpoolctl",
}


def loaded_by(*arguments: str, cwd: Path) -> tuple[str, set[str]]:
    """What a command prints, and the modules that a fresh interpreter has loaded after it."""
    command = [sys.executable, "-c", COMMAND, *arguments]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, set(json.loads(done.stderr.splitlines()[-1]))


@pytest.fixture(scope="module")
def rows() -> Floats:
    """Rows of numbers, whole numbers and truth values (n, 4), one rule among them."""
    rng = np.random.default_rng(5)
    load = rng.normal(size=300)
    requests = np.round(100.0 * load)
    return np.column_stack([load, requests, 2.0 * load + 0.01 * rng.normal(size=300), rng.random(300) < 0.5])


@pytest.fixture(scope="module")
def here(rows: Floats, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("start")
    with (folder / "rows.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["host", *NAMES])
        for number, (load, requests, memory, busy) in enumerate(rows.tolist()):
            writer.writerow([f"h{number}", load, int(requests), memory, "true" if busy else "false"])
    return folder


@pytest.mark.parametrize(
    ("parameters", "stored", "options"),
    [
        ({}, {}, []),
        ({"score": "standardized", "limit": "quantile"}, {}, ["--id", "host"]),
        ({"limit": "quantile"}, {"private": True}, ["--json"]),
        ({"score": "spe"}, {"moments": False}, ["--id", "host", "--json"]),
    ],
)
def test_scoring_loads_no_more_than_it_needs(
    parameters: dict[str, object],
    stored: dict[str, bool],
    options: list[str],
    rows: Floats,
    here: Path,
    tmp_path: Path,
) -> None:
    model = ASPCA(**parameters).fit(pd.DataFrame(rows, columns=NAMES)).model_
    write_model(model, tmp_path / "model.json", **stored)
    printed, loaded = loaded_by("score", "rows.csv", "--model", str(tmp_path / "model.json"), *options, cwd=here)
    assert not loaded & UNUSED
    # It was the real thing: the scores are there, and are those of the model that was stored.
    lines = printed.splitlines()
    found = [json.loads(line) for line in lines] if "--json" in options else list(csv.DictReader(lines))
    # A private file tells quantiles of columns in coarse steps.
    near = {"rel": 0.5, "abs": 0.5} if "private" in stored else {"rel": 1e-9}
    assert [float(line["score"]) for line in found] == pytest.approx(model.score(rows), **near)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["score", "--help"], ["detect", "--help"]])
def test_help_loads_no_more_than_it_needs(arguments: list[str], tmp_path: Path) -> None:
    printed, loaded = loaded_by(*arguments, cwd=tmp_path)
    assert f"aspca {aspca.__version__}\n" == printed if "--version" in arguments else "Example:  aspca" in printed
    assert "typer" in loaded
    assert not loaded & {"numpy", "scipy", "sklearn", "duckdb", "pandas", "rich"}
