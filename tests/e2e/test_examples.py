"""Every command line that --help and the README show runs, on files such as they speak of."""

from __future__ import annotations

import contextlib
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from aspca.cli.main import main

pytestmark = pytest.mark.promise

COMMANDS = ("demo", "detect", "fit", "score", "explain", "rules", "select", "compare")
README = Path(__file__).parents[2] / "README.md"


def frame(seed: int, n: int = 520) -> pd.DataFrame:
    """Hosts at moments: in and out are equal, busy and idle make 100; some rows are incidents."""
    rng = np.random.default_rng(seed)
    sent, busy = rng.uniform(10, 60, size=(2, n))
    rows = pd.DataFrame({"in": sent, "out": sent, "busy": busy, "idle": 100 - busy})
    rows += 0.1 * rng.normal(size=rows.shape)
    rows.loc[[30, 400], "out"] += 20
    rows["incident"] = rows.index.isin([30, 400]).astype(int)
    return rows


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the examples speak of: tables, and models of them."""
    folder = tmp_path_factory.mktemp("examples")
    with contextlib.chdir(folder):
        _written()
    return folder


@pytest.fixture
def here(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _written() -> None:
    for seed, name in enumerate(("january", "february", "last-month", "today", "metrics")):
        rows = frame(seed)
        if name != "metrics":
            rows.insert(0, "host", [f"host-{i}" for i in range(len(rows))])
            rows.insert(1, "at", pd.date_range("2026-01-01", periods=len(rows), freq="h").astype(str))
        rows.to_csv(f"{name}.csv", index=False)
    sales = np.round(np.random.default_rng(9).gamma(3.0, [[100.0, 20.0]], size=(400, 2)), 2)
    pd.DataFrame({"net": sales[:, 0], "tax": sales[:, 1], "total": sales.sum(axis=1)}).to_csv("sales.csv", index=False)
    for name, source in (("january", "january"), ("february", "february"), ("model", "january")):
        assert main(["fit", f"{source}.csv", "--id", "host", "--ignore", "at", "--model", f"{name}.json", "-q"]) == 0


def run(line: str) -> None:
    """One line of a shell: a command, and perhaps where its output goes."""
    words = shlex.split(line, comments=True)
    assert words[0] == "aspca"
    target = None
    if ">" in words:
        words, target = words[: words.index(">")], words[words.index(">") + 1]
    with contextlib.ExitStack() as stack:
        if target is not None:
            stack.enter_context(contextlib.redirect_stdout(stack.enter_context(open(target, "w", encoding="utf-8"))))
        assert main(words[1:]) == 0
    if target is not None:
        assert Path(target).stat().st_size > 0


@pytest.mark.parametrize("command", COMMANDS)
def test_help(here: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert main([command, "--help"]) == 0
    example = re.search(r"^  Example:  (.*)$", capsys.readouterr().out, re.MULTILINE)
    assert example is not None
    if "--ignore comment" in example[1]:
        # Numbers, hosts, and words about some of them.
        rows = pd.read_csv("january.csv").drop(columns="at")
        rows.assign(comment="all is well").to_csv("metrics.csv", index=False)
    run(example[1])


# The first of its experiments; the numbers and figures of the others are made in tests/golden, and here take a minute.
@pytest.mark.parametrize("only", ["synthetic", pytest.param("", marks=pytest.mark.long)])
def test_readme(here: Path, only: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if only:
        # Of the draws of that data.
        monkeypatch.setattr("aspca.paper.tables._SEEDS", 2)
    text = README.read_text(encoding="utf-8")
    lines = [
        line for block in re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE) for line in block.split("\n")
    ]
    commands = [line for line in lines if line.startswith("aspca ")]
    assert len(commands) >= 4
    for line in commands:
        run(f"{line.partition('#')[0]} --only {only}" if only and line.startswith("aspca reproduce") else line)
    assert any(line.startswith("aspca reproduce") for line in commands)
    assert (here / "paper" / "reproduction.html").exists()
    assert (here / "metrics.csv.aspca" / "explanations.csv").exists()
