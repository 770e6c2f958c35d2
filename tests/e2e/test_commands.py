"""The command as people and scripts run it: real processes, real files, results recomputed by `ASPCA` in Python."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import aspca
from aspca import ASPCA
from aspca.rules.wording import count_verdicts
from running.environment import blas

pytestmark = pytest.mark.promise

FEATURES = ["cpu", "mem", "free", "disk % used"]
BROKEN = [60, 61, 62, 150, 220]


def run(folder: Path, *arguments: str, stdin: str = "", code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "aspca", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        input=stdin,
        check=False,
        env={**blas(), "PATH": "", "COLUMNS": "80"},
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


def frame(seed: int) -> pd.DataFrame:
    """mem + free = 100, cpu = 2 disk; broken in the rows `BROKEN`."""
    rng = np.random.default_rng(seed)
    mem, disk = rng.uniform(20, 80, size=(2, 300))
    made = pd.DataFrame(
        {
            "time": pd.date_range("2026-01-01", periods=300, freq="min").strftime("%Y-%m-%d %H:%M:%S"),
            "host": [f"=web-{i}" for i in range(300)],
            "cpu": 2 * disk + rng.normal(size=300),
            "mem": mem,
            "free": 100 - mem + 0.5 * rng.normal(size=300),
            "disk % used": disk,
            "broken": 0,
        }
    )
    made.loc[BROKEN, "free"] += 20.0
    made.loc[BROKEN, "broken"] = 1
    return made


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("commands")
    frame(0).to_csv(folder / "january.csv", index=False)
    frame(1).to_csv(folder / "february.csv", index=False, sep=";", decimal=",")
    frame(1).to_csv(folder / "february-points.csv", index=False, sep=";")
    aspca.save(ASPCA().fit(frame(0)[FEATURES]), folder / "one.json")
    aspca.save(ASPCA(score="spe").fit(frame(0)[FEATURES]), folder / "two.json")
    aspca.save(ASPCA().fit(frame(1)[FEATURES]), folder / "b.json")
    return folder


ROLES = ("--id", "host", "--time", "time", "--label", "broken")


def table(text: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text))


def test_detect_writes_what_the_estimator_says(here: Path) -> None:
    done = run(here, "detect", "january.csv", *ROLES, "--fail-on-anomaly", code=3)
    rows = frame(0)[FEATURES]
    # One default: `detect` learns as the estimator does.
    model = ASPCA().fit(rows)
    folder = here / "january.csv.aspca"
    assert {path.name for path in folder.iterdir()} == {
        ".aspca-output",
        "explanations.csv",
        "incidents.csv",
        "model.json",
        "report.html",
        "scores.csv",
        "excluded.csv",
    }
    aside = table((folder / "excluded.csv").read_text())
    assert aside["row"].tolist() == BROKEN
    # Which of mem and free is off nobody can tell; either way their sum is a hundred again.
    assert set(aside["column"]) <= {"mem", "free"}
    assert np.abs(aside["value"] - aside["expected"] - 20.0).max() <= 2.0
    scores = table((folder / "scores.csv").read_text())
    assert list(scores) == ["row", "host", "time", "broken", "score", "anomaly", "verdict", "p_value"]
    assert scores["host"].tolist() == [f"'=web-{i}" for i in range(300)]
    np.testing.assert_allclose(scores["score"], -model.score_samples(rows), rtol=1e-9)
    flagged = np.flatnonzero(model.predict(rows) == -1)
    assert scores.loc[scores["anomaly"] == 1, "row"].tolist() == flagged.tolist()
    errors = scores.loc[scores["verdict"] == "error", "row"].tolist()
    assert errors == BROKEN
    assert scores.loc[scores["verdict"] != "normal", "row"].tolist() == flagged.tolist()
    assert scores.loc[BROKEN, "p_value"].max() < scores.drop(index=BROKEN)["p_value"].min()

    expected = model.explain(rows).to_frame()
    expected = expected[expected["anomaly"]].reset_index(drop=True)
    reasons = table((folder / "explanations.csv").read_text())
    assert reasons["row"].tolist() == expected["row"].tolist()
    for name in ("rule", "text", "feature"):
        assert reasons[name].tolist() == expected[name].tolist()
    for name in ("score", "outside", "share", "deviation", "multiple", "value", "needed"):
        np.testing.assert_allclose(reasons[name], expected[name], rtol=1e-7, atol=1e-9)

    stored = aspca.load(folder / "model.json")
    np.testing.assert_array_equal(stored.score_samples(rows), model.score_samples(rows))

    incidents = table((folder / "incidents.csv").read_text())
    when = pd.to_datetime(frame(0)["time"]).to_numpy()
    again = model.explain(rows).incidents(when, 120.0)
    assert incidents["rows"].tolist() == [one.rows.size for one in again]
    assert pd.to_datetime(incidents["first"]).tolist() == [pd.Timestamp(one.first) for one in again]

    # People read stdout, at 80 columns; the talk is elsewhere.
    assert max(map(len, done.stdout.splitlines())) <= 80
    for rule in model.rules_:
        assert str(rule) in done.stdout
    assert f"\n{count_verdicts(len(BROKEN), flagged.size)}" in done.stdout
    assert "AUC 1.0000" in done.stdout
    # What was set aside is said, and only the broken rows were.
    aside, judged = done.stderr.splitlines()
    assert aside.startswith("Relations were learned without 5 outlying values")
    assert f"in rows {', '.join(map(str, BROKEN))};" in aside
    assert judged == f"300 rows judged, {flagged.size} flagged. Wrote january.csv.aspca/, with report.html to open."


def test_detect_as_json_learned_from_another_file(here: Path) -> None:
    before = sorted(here.rglob("*"))
    done = run(
        here,
        "detect",
        "february-points.csv",
        "--train",
        "january.csv",
        *ROLES,
        "--json",
        "--no-output",
        "--quiet",
        "--top",
        "3",
    )
    assert done.stderr == ""
    assert sorted(here.rglob("*")) == before
    found = json.loads(done.stdout)
    model = ASPCA().fit(frame(0)[FEATURES])
    rows = frame(1)[FEATURES]
    scores = -model.score_samples(rows)
    assert found["n_anomalies"] == int((model.predict(rows) == -1).sum())
    assert found["limit"] == pytest.approx(model.threshold_)
    assert [rule["text"] for rule in found["rules"]] == [str(rule) for rule in model.rules_]
    assert "canonical_rules" not in found
    assert (found["n_rows"], found["n_learned"]) == (300, 300 - len(BROKEN))
    assert [one["row"] for one in found["anomalies"]] == np.argsort(-scores, kind="stable")[:3].tolist()
    assert [one["score"] for one in found["anomalies"]] == pytest.approx(np.sort(scores)[::-1][:3].tolist())
    worst = found["anomalies"][0]
    assert worst["name"] == f"=web-{worst['row']}"
    # Just the columns of the relation that was broken, and little beside it.
    assert set(worst["breaks"][0]["needed"]) == {"mem", "free"}
    assert worst["breaks"][0]["broken"]
    assert worst["outside"] < 0.2
    assert worst["times"] == pytest.approx(worst["score"] / found["limit"])
    truth, flagged = frame(1)["broken"] == 1, model.predict(rows) == -1
    assert found["evaluation"]["hits"] == int((truth & flagged).sum())
    assert found["evaluation"]["false_alarms"] == int((~truth & flagged).sum())


def test_fit_score_explain_rules_compare(here: Path) -> None:
    roles = ("--id", "host", "--ignore", "time", "--ignore", "broken")
    done = run(here, "fit", "january.csv", "--model", "a.json", *roles, "--contamination", "0.02", "--json")
    rows = frame(0)[FEATURES]
    model = ASPCA(contamination=0.02).fit(rows)
    stored = aspca.load(here / "a.json")
    assert stored.get_params() == model.get_params()
    assert stored.threshold_ == pytest.approx(model.threshold_)
    told = json.loads(done.stdout)
    assert [rule["text"] for rule in told["rules"]] == [str(rule) for rule in model.rules_]
    np.testing.assert_allclose(told["rules"][0]["coefficients"], model.rules_[0].coefficients)
    assert done.stderr.endswith("wrote a.json.\n")

    # Another file, other signs, from standard input and to standard output.
    text = (here / "february.csv").read_text()
    done = run(here, "score", "-", "--model", "a.json", "--id", "host", stdin=text, code=2)
    assert done.stdout == ""
    assert "is no number with the decimal sign '.' of the rows that the rules were learned from" in done.stderr
    assert done.stderr.endswith("\nTo go on, paste:\naspca score - --model a.json --id host --decimal ,\n")
    done = run(here, "score", "-", "--model", "a.json", "--id", "host", "--decimal", ",", stdin=text)
    other = frame(1)[FEATURES]
    scores = table(done.stdout)
    np.testing.assert_allclose(scores["score"], -model.score_samples(other), rtol=1e-9)
    assert (scores["anomaly"] == (model.predict(other) == -1)).all()
    n_errors, n_flagged = int((scores["verdict"] == "error").sum()), int(scores["anomaly"].sum())
    assert n_errors > 0
    assert done.stderr.endswith(f"300 rows scored: {n_errors} errors and {n_flagged - n_errors} unusual rows.\n")
    done = run(here, "score", "february-points.csv", "--model", "a.json", "--output", "s.jsonl", "--json", "--quiet")
    assert (done.stdout, done.stderr) == ("", "")
    lines = [json.loads(line) for line in (here / "s.jsonl").read_text().splitlines()]
    assert [line["score"] for line in lines] == pytest.approx(scores["score"].tolist(), rel=1e-14)

    done = run(here, "explain", "january.csv", "--model", "a.json", "--row", "150", "--row", "3", "--json")
    why = model.explain(rows)
    for reason, row in zip(json.loads(done.stdout), (150, 3), strict=True):
        assert reason["text"] == why.text(row)
        inside = sum(one["contribution"] for one in reason["rules"])
        assert inside + reason["outside"] == pytest.approx(why.scores[row])
        parts = {one["feature"]: one["contribution"] for one in reason["features"]}
        np.testing.assert_allclose([parts[name] for name in FEATURES], why.feature_contributions[row], atol=1e-9)

    done = run(here, "rules", "a.json", "--markdown")
    assert sum(line.startswith("| ") and line[2].isdigit() for line in done.stdout.splitlines()) == len(model.rules_)

    found = json.loads(run(here, "compare", "a.json", "b.json", "--json").stdout)
    pairs = found["stayed"] + found["moved"]
    assert len(pairs) == len(model.rules_)
    assert not found["lost"]
    assert {pair["before"]["text"] for pair in pairs} == {str(rule) for rule in model.rules_}
    assert {pair["after"]["text"] for pair in pairs} == {str(rule) for rule in ASPCA().fit(other).rules_}


def test_models_through_pipes(here: Path) -> None:
    text = run(here, "fit", "january.csv", "--model", "-", "--ignore", "host", "--ignore", "time", "--quiet").stdout
    rows = frame(0)[[*FEATURES, "broken"]]
    told = json.loads(run(here, "rules", "-", "--json", stdin=text).stdout)
    assert [rule["text"] for rule in told["rules"]] == [str(rule) for rule in ASPCA().fit(rows).rules_]


def test_select(here: Path) -> None:
    roles = ("--id", "host", "--ignore", "time", "--label", "broken", "--resamples", "2")
    told = json.loads(run(here, "select", "january.csv", *roles, "--json").stdout)
    rows = frame(0)
    expected = aspca.select(rows[FEATURES].to_numpy(), rows["broken"], n_resamples=2)
    counts = [line for line in told if line["curve"] == "components"]
    assert [line["n_components"] for line in counts] == [one.n_components for one in expected.over_components]
    assert [line["auc"] for line in counts] == pytest.approx([one.auc for one in expected.over_components])
    assert [line["n_components"] for line in counts if line["chosen"]] == [expected.chosen.n_components]


def test_scoring_needs_no_scikit_learn(here: Path) -> None:
    code = (
        "import sys\nfrom aspca.cli.main import main\n"
        "assert main(['score', 'january.csv', '--model', 'one.json']) == 0\n"
        "assert main(['rules', 'one.json']) == 0\n"
        "assert main(['detect', 'january.csv', '--ignore', 'host', '--ignore', 'time', '--no-output']) == 0\n"
        "assert 'sklearn' not in sys.modules and 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=here, check=True, capture_output=True)


def test_a_reader_that_has_seen_enough(here: Path) -> None:
    script = f"{sys.executable} -m aspca score january.csv --model one.json --quiet | head -n 1"
    done = subprocess.run(["/bin/bash", "-o", "pipefail", "-c", script], cwd=here, capture_output=True, check=False)
    assert done.returncode == 0
    assert done.stderr == b""
