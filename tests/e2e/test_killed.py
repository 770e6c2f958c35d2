"""kill -9 at any moment of `fit`, `score` and `detect` leaves the old output or the new one, whole.

Ten moments here; a hundred of each command with `make test-long`.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import aspca
from aspca import ASPCA
from aspca.cli.main import main

pytestmark = [pytest.mark.promise, pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")]

FEATURES = ["cpu", "mem", "free"]
COMMANDS = {
    "detect": ("detect k.csv --id host", "detect k.csv --id host --score spe", "k.csv.aspca"),
    "fit": ("fit k.csv --model k.json --id host", "fit k.csv --model k.json --id host --score spe", "k.json"),
    "score": ("score k.csv --model one.json --output s.csv", "score k.csv --model two.json --output s.csv", "s.csv"),
}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("killed")
    rng = np.random.default_rng(0)
    n = 3000
    cpu, mem = rng.uniform(20, 80, size=(2, n))
    rows = pd.DataFrame({"host": [f"h{i}" for i in range(n)], "cpu": cpu, "mem": mem, "free": 100 - mem})
    rows["free"] += rng.normal(size=n)
    rows.loc[::100, "free"] += 20
    rows.to_csv(folder / "k.csv", index=False)
    aspca.save(ASPCA().fit(rows[FEATURES]), folder / "one.json")
    aspca.save(ASPCA(score="spe").fit(rows[FEATURES]), folder / "two.json")
    return folder


def temporary(here: Path) -> Path:
    """A temporary folder of its own, in which nobody else's scratch stands."""
    folder = here / "temporary"
    folder.mkdir(exist_ok=True)
    return folder


def killed_again_and_again(here: Path, command: str, runs: int, seed: int) -> dict:
    one, other, target = COMMANDS[command]
    done = subprocess.run(
        [
            sys.executable,
            str(Path(__file__).with_name("killing.py")),
            json.dumps([one.split(), other.split()]),
            target,
            str(runs),
            str(seed),
        ],
        cwd=here,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "TMPDIR": str(temporary(here))},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stderr.splitlines()[-1])


def refuse_a_mixture(folder: Path, rows: pd.DataFrame) -> None:
    """Raise unless the files of a folder are of one run: its model gives its scores, they are those explained."""
    model = aspca.load(folder / "model.json")
    with open(folder / "scores.csv", newline="", encoding="utf-8") as stream:
        lines = list(csv.DictReader(stream))
    scores = np.array([float(line["score"]) for line in lines])
    assert len(scores) == len(rows)
    np.testing.assert_allclose(scores, -model.score_samples(rows), rtol=1e-9)
    flagged = {int(line["row"]) for line in lines if line["anomaly"] == "1"}
    with open(folder / "explanations.csv", newline="", encoding="utf-8") as stream:
        reasons = list(csv.DictReader(stream))
    assert {int(line["row"]) for line in reasons} == flagged
    for line in reasons:
        assert float(line["score"]) == pytest.approx(scores[int(line["row"])], rel=1e-9)


@pytest.mark.parametrize(
    ("command", "runs"),
    [
        ("detect", 4),
        ("fit", 3),
        ("score", 3),
        *(pytest.param(command, 100, marks=pytest.mark.long) for command in COMMANDS),
    ],
)
def test_the_old_output_or_the_new_one(here: Path, command: str, runs: int) -> None:
    seen = killed_again_and_again(here, command, runs, seed=7)
    assert len(seen["found"]) == runs
    assert len(set(seen["whole"])) == 2
    assert set(seen["found"]) <= set(seen["whole"])
    assert seen["killed"] > 0
    target = here / COMMANDS[command][2]
    rows = pd.read_csv(here / "k.csv")[FEATURES]
    if command == "detect":
        refuse_a_mixture(target, rows)
    if runs == 100:
        # Otherwise the moments that matter were missed; half of the runs aim at them.
        assert seen["amid"] >= 5
    # Each run removes what the one before it left, a few folders: the numbers of the input do not pile up.
    assert seen["scratch"] <= 8

    # The next run to its end takes away whatever the dead ones left.
    subprocess.run(
        [sys.executable, "-m", "aspca", *COMMANDS[command][0].split()],
        cwd=here,
        check=True,
        capture_output=True,
        env={**os.environ, "TMPDIR": str(temporary(here))},
    )
    assert list(temporary(here).iterdir()) == []
    assert not [path.name for path in here.iterdir() if path.name.startswith(f".{target.name}.")]


def test_a_mixture_would_be_noticed(here: Path) -> None:
    rows = pd.read_csv(here / "k.csv")[FEATURES]
    for number, arguments in enumerate((("--score", "spe"), ())):
        command = ["detect", "k.csv", "--id", "host", "--output", f"part{number}", *arguments]
        with contextlib.chdir(here):
            assert main(command) == 0
        refuse_a_mixture(here / f"part{number}", rows)
    for name in ("model.json", "scores.csv", "explanations.csv"):
        kept = (here / "part0" / name).read_bytes()
        (here / "part0" / name).write_bytes((here / "part1" / name).read_bytes())
        with pytest.raises(AssertionError):
            refuse_a_mixture(here / "part0", rows)
        (here / "part0" / name).write_bytes(kept)
