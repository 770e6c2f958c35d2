"""The five lines of Python in the README do what the command does: the same rules, scores, rows and reasons.

Only one thing differs: while it learns from the file that it judges, the command sets aside what is gross; not so here.
"""

from __future__ import annotations

import ast
import csv
import doctest
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aspca

pytestmark = pytest.mark.promise

README = Path(__file__).parents[2] / "README.md"


def session() -> list[str]:
    """The statements of the first Python block below the heading."""
    text = README.read_text(encoding="utf-8")
    block = re.search(r"^## Five lines$.*?^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert block is not None
    return [example.source for example in doctest.DocTestParser().get_examples(block[1])]


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """What the session leaves behind."""
    known: dict[str, Any] = {}
    for statement in session():
        exec(statement, known)  # noqa: S102  # our own README
    return known


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the command leaves behind, given the same rows as a file."""
    here = tmp_path_factory.mktemp("five-lines")
    detect = ["detect", "aspca-demo/data.csv", "--label", "kind", "--output", "out", "--json"]
    for arguments in (["demo"], detect):
        done = subprocess.run(
            [sys.executable, "-m", "aspca", *arguments], cwd=here, capture_output=True, text=True, check=True
        )
    (here / "told.json").write_text(done.stdout)
    return here


def lines_of(path: Path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_they_are_five() -> None:
    kinds = [type(ast.parse(statement).body[0]) for statement in session()]
    assert kinds.count(ast.Assign) == 5
    # The others load what is needed, and print.
    assert set(kinds) <= {ast.Assign, ast.Import, ast.ImportFrom, ast.Expr, ast.For}


def test_the_same_scores_bit_for_bit(names: dict[str, Any], folder: Path) -> None:
    written = [float(line["score"]) for line in lines_of(folder / "out" / "scores.csv")]
    np.testing.assert_array_equal(written, -names["model"].score_samples(names["frame"]))


def test_the_same_rows(names: dict[str, Any], folder: Path) -> None:
    written = [line["anomaly"] == "1" for line in lines_of(folder / "out" / "scores.csv")]
    assert written == names["flagged"].tolist()
    # All anomalies, and of the 500 normal rows about as many as the level says: 12.5, give or take four deviations.
    assert sum(written[500:]) == 15
    assert 1 <= sum(written[:500]) <= 12.5 + 4 * np.sqrt(12.5 * 0.975)


def test_the_same_rules(names: dict[str, Any], folder: Path) -> None:
    told = json.loads((folder / "told.json").read_text())
    model = names["model"]
    assert [rule["text"] for rule in told["rules"]] == [str(rule) for rule in model.rules_]
    stored = aspca.load(folder / "out" / "model.json")
    np.testing.assert_array_equal(stored.components_, model.components_)
    assert stored.threshold_ == model.threshold_
    assert [str(rule) for rule in stored.rules_] == [str(rule) for rule in model.rules_]


def test_the_same_reasons(names: dict[str, Any], folder: Path) -> None:
    expected = names["why"].to_frame()
    expected = expected[expected["anomaly"]]
    written = lines_of(folder / "out" / "explanations.csv")
    for name in ("rule", "text", "feature"):
        assert [line[name] for line in written] == expected[name].astype(str).tolist()
    for name in ("share", "deviation", "value", "needed"):
        np.testing.assert_allclose([float(line[name] or "nan") for line in written], expected[name], rtol=1e-12)
    # The sentence that the README prints is what `aspca explain` says.
    command = ["explain", "aspca-demo/data.csv", "--model", "out/model.json", "--row", "512", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "aspca", *command], cwd=folder, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)[0]["text"] == names["why"].text(512)
