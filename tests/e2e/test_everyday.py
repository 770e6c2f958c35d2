"""Tables as users have them through `aspca detect` with no options.

Either there is an answer at once, or a command to paste that leads to it. The answer: the rows that were made wrong are
flagged, few others are, the feature most to blame belongs to the relation that was broken, and so do the features of
the rule that is named.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
from everyday import TABLES
from everyday.made import Made

from aspca.cli.main import main

# Where every column follows one cause, many pairs of columns make a rule, and an error in the rows learned from loosens
# the very pair that it breaks: the rule that is named then holds the column that was changed and another one beside it.
# The paper's components, one step after another, hold the columns of the relation only.
MIXED = {"server metrics.csv"}
ONE_STEP_AFTER_ANOTHER = ("--variant", "B", "--score", "standardized")
# Limits are meant for one normal row in forty; of rows that no linear rule describes well, twice as many are allowed.
MOST_FALSE_ALARMS = 0.055


@dataclass
class Answer:
    """What the command wrote; `blamed` is each row's first feature."""

    made: Made
    scores: pd.DataFrame
    reasons: pd.DataFrame
    blamed: dict[int, str]

    def rule(self, row: int) -> tuple[str, frozenset[str]]:
        """The text of the rule with the largest share of a row's score, and its features."""
        lines = self.reasons[self.reasons["row"] == row]
        top = lines[lines["rule"] == lines.loc[lines["share"].idxmax(), "rule"]]
        return top["text"].iloc[0], frozenset(top["feature"])


def asked(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str], *options: str) -> Answer:
    """`aspca detect`, and if need be the command that it asks to paste."""
    make, write = TABLES[name]
    made = make()
    path = tmp_path / name
    write(made.frame, path)
    capsys.readouterr()
    code = main(["detect", str(path), *options])
    shown = capsys.readouterr()
    if code != 0:
        assert code == 2
        assert shown.out == ""
        assert name in shown.err
        assert not Path(f"{path}.aspca").exists()
        program, *words = shlex.split(shown.err.partition("To go on, paste:\n")[2])
        assert program == "aspca"
        assert main(words) == 0
        capsys.readouterr()
    written = Path(f"{path}.aspca")
    rows = [word for row in made.planted for word in ("--row", str(row))]
    assert main(["explain", str(path), "--model", str(written / "model.json"), *rows, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    return Answer(
        made,
        pd.read_csv(written / "scores.csv"),
        pd.read_csv(written / "explanations.csv"),
        {reason["row"]: reason["features"][0]["feature"] for reason in told},
    )


# Sixty columns take the solver a minute, each of 52 components all its steps.
SLOW = {"probes.csv"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] if name in SLOW else []) for name in TABLES]
)
def test_no_options(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    answer = asked(tmp_path, name, capsys)
    planted = answer.made.planted
    flagged = set(answer.scores.loc[answer.scores["anomaly"] == 1, "row"])
    assert set(planted) <= flagged
    assert len(flagged) - len(planted) <= MOST_FALSE_ALARMS * len(answer.scores)
    for row, columns in planted.items():
        assert answer.blamed[row] in columns
        text, features = answer.rule(row)
        assert answer.made.changed[row] in features, text
        if name not in MIXED:
            assert features <= columns, text


def refuse_other_columns(answer: Answer) -> None:
    for row, columns in answer.made.planted.items():
        text, features = answer.rule(row)
        assert answer.made.changed[row] in features, text
        assert features <= columns, text


@pytest.mark.parametrize("name", sorted(MIXED))
def test_rules_of_one_step_after_another(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    refuse_other_columns(asked(tmp_path, name, capsys, *ONE_STEP_AFTER_ANOTHER))


def test_twenty_tables() -> None:
    assert len({make for make, _ in TABLES.values()}) >= 20
