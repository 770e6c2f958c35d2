"""Rules that the user gave, through the command, beside the same in Python."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import aspca
from aspca import ASPCA
from aspca.cli.main import main

RULES = ["sales = net + [tax %]", "net = 20"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    """A file, and what is read of it: 120 sales, of which row 7 is wrong."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    net, tax, free = rng.normal([20.0, 3.0, 0.0], [4.0, 1.0, 1.0], size=(120, 3)).T
    table = pd.DataFrame({"sales": net + tax + 0.5 * rng.normal(size=120), "net": net, "tax %": tax, "free": free})
    table.loc[7, "sales"] += 6.0
    table.insert(0, "id", range(1, 121))
    table["note"] = "x"
    table.to_csv("sales.csv", index=False, float_format="%.4f")
    return pd.read_csv("sales.csv")


def given(*rules: str) -> list[str]:
    return [word for rule in rules for word in ("--rule", rule)]


@pytest.mark.promise
def test_the_command_and_python_say_the_same(here: pd.DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["detect", "sales.csv", "--json", *given(*RULES)]) == 0
    told = capsys.readouterr()
    document = json.loads(told.out)
    assert [rule["given"] for rule in document["rules"]][:2] == [True, True]
    assert document["rules"][0]["standing"]["text"] == RULES[0]
    assert document["rules"][0]["text"].startswith("sales = net + [tax %] (± 0.")
    assert document["anomalies"][0]["row"] == 7
    assert "The rule you gave, sales = net + [tax %], holds in 9" in told.err
    found = aspca.detect("sales.csv", rules=RULES)
    assert [str(rule) for rule in found.rules] == [rule["text"] for rule in document["rules"]]
    assert found.remarks[1] in told.err
    assert [one.row for one in found.findings] == [one["row"] for one in document["anomalies"]]
    assert [one.score for one in found.findings] == [one["score"] for one in document["anomalies"]]
    # One rule alone needs no list.
    assert aspca.detect("sales.csv", rules=RULES[0]).rules[0].given


@pytest.mark.promise
def test_a_stored_model_needs_no_option(here: pd.DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", "sales.csv", "--model", "model.json", *given(*RULES)]) == 0
    told = capsys.readouterr()
    assert "sales = net + [tax %] (± 0." in told.out
    assert "; given)" in told.out
    assert "holds in" in told.err
    assert main(["score", "sales.csv", "--model", "model.json"]) == 0
    scores = [float(line.split(",")[1]) for line in capsys.readouterr().out.splitlines()[1:]]
    columns = ["sales", "net", "tax %", "free"]
    model = ASPCA(rules=RULES).fit(here[columns])
    assert np.allclose(scores, -model.score_samples(here[columns]), rtol=1e-12)
    assert main(["explain", "sales.csv", "--model", "model.json", "--row", "7"]) == 0
    assert "breaks the rule sales = net + [tax %]" in " ".join(capsys.readouterr().out.split())
    # What is printed can be pasted.
    printed = str(model.rules_[0])
    assert main(["fit", "sales.csv", "--model", "again.json", "--quiet", "--json", *given(printed, RULES[1])]) == 0
    assert json.loads(capsys.readouterr().out)["rules"][0]["text"] == printed


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (
            ["sales = id"],
            "column 'id' of sales.csv is not used as a feature, and rules are made of these; give --number id",
        ),
        (
            ["sales = note"],
            "column 'note' of sales.csv is not used as a feature, and rules are made of these; it holds text",
        ),
        (["sale = net"], "there is no such column to make rules of; did you mean sales?"),
        (["sales = net *"], "cannot be used at its end: a column or a number was expected"),
        (["net = 20", "2 net = 40"], "says the same as 'net = 20'; leave one of them out."),
        (["net = 20", "net = 21"], "contradicts 'net = 20'"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(
    here: pd.DataFrame, capsys: pytest.CaptureFixture[str], rules: list[str], said: str
) -> None:
    assert main(["detect", "sales.csv", "--no-output", *given(*rules)]) == 2
    told = capsys.readouterr()
    assert said in told.err
    assert told.out == ""
    assert len(told.err.strip().splitlines()) == 1
    with pytest.raises(aspca.JobError) as caught:
        aspca.detect("sales.csv", rules=rules)
    assert said.replace("--number", "number") in str(caught.value)


def test_an_offset_of_the_whole_file_is_a_remark(here: pd.DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["detect", "sales.csv", "--no-output", *given("sales = net + [tax %] - 50")]) == 0
    told = capsys.readouterr()
    assert "does not hold in the rows learned from: they are off by 49.9" in told.err
    assert "given as sales = net + [tax %] - 50" in " ".join(told.out.split())
    assert "flagged" in told.err
    assert int(told.err.rpartition("judged, ")[2].partition(" flagged")[0]) < 12
    with pytest.raises(aspca.JobError, match="score must be complete where rules are given"):
        aspca.detect("sales.csv", rules=RULES, preset="paper")
