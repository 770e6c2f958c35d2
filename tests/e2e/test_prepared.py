"""Categories, logarithms, dates and gaps through the command, beside the same in Python."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import aspca
from aspca import ASPCA, PerCategory, Preprocessor
from aspca.cli.main import main

LOGS = {"price (EUR)": "log", "amount": "log", "cost": "log"}
OPTIONS = [word for name in LOGS for word in ("--log", name)]


def orders(n: int = 300) -> pd.DataFrame:
    """cost = 1.2 * price * amount, a fee per kind, delivered three days after ordered; one order is wrong."""
    rng = np.random.default_rng(11)
    kind = rng.choice(["red", "green", "=cmd|' /C calc'!A0"], n, p=[0.5, 0.3, 0.2])
    table = pd.DataFrame(
        {
            "order": [f"A-{k:05d}" for k in range(n)],
            "ordered": (pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(n), unit="D")).strftime("%Y-%m-%d"),
            "price (EUR)": rng.lognormal(size=n),
            "amount": rng.lognormal(size=n),
            "kind": kind,
            "express": rng.random(n) < 0.5,
        }
    )
    table["cost"] = 1.2 * table["price (EUR)"] * table.amount * np.exp(0.01 * rng.normal(size=n))
    table["fee"] = np.select([kind == "red", kind == "green"], [5.0, 2.0], 0.0) + 0.05 * rng.normal(size=n)
    table.loc[100, "cost"] *= 3
    return table


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """The table, written and read again: what Python and the command both get."""
    table.to_csv(name, index=False)
    return pd.read_csv(name)


def run(*words: str) -> None:
    assert main([*words, "--quiet"]) == 0


def scores(path: str) -> pd.DataFrame:
    return pd.read_csv(path)


@pytest.mark.promise
def test_categories_and_logarithms_as_in_python(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = written(orders(), "orders.csv")
    run("detect", "orders.csv", "--categorical", "kind", *OPTIONS)
    made = Preprocessor(transforms=LOGS)
    model = ASPCA(robust="on", preprocessor=made).fit(table.drop(columns=["order", "ordered"]))
    found = scores("orders.csv.aspca/scores.csv")
    np.testing.assert_allclose(found.score, -model.score_samples(table.drop(columns=["order", "ordered"])), rtol=1e-9)
    assert found.order.tolist() == table.order.tolist()
    stored = aspca.load("orders.csv.aspca/model.json")
    assert [str(rule) for rule in stored.rules_] == [str(rule) for rule in model.rules_]
    assert "A-00100" in capsys.readouterr().out
    # What was stored scores and explains the same table, and a category it never saw.
    run("score", "orders.csv", "--model", "orders.csv.aspca/model.json", "--output", "again.csv")
    np.testing.assert_array_equal(scores("again.csv").score, found.score)
    strange = table[:3].copy()
    strange.loc[1, "kind"] = "violet"
    strange.to_csv("strange.csv", index=False)
    capsys.readouterr()
    run("explain", "strange.csv", "--model", "orders.csv.aspca/model.json", "--row", "1", "--json")
    (reason,) = json.loads(capsys.readouterr().out)
    assert any(one["text"].startswith("kind is ") and one["broken"] for one in reason["rules"])
    kind = next(one for one in reason["features"] if one["feature"] == "kind")
    assert kind["value"] == "(not seen before)"
    total = sum(one["contribution"] for one in reason["features"])
    assert total == pytest.approx(reason["score"], rel=1e-9)


@pytest.mark.promise
def test_hostile_categories_stay_text(here: Path) -> None:
    written(orders(), "orders.csv")
    run("detect", "orders.csv", "--categorical", "kind")
    with open("orders.csv.aspca/explanations.csv", encoding="utf-8", newline="") as stream:
        cells = [cell for row in csv.reader(stream) for cell in row]
    assert not any(cell.startswith(("=", "+", "@")) for cell in cells)


def test_codes_and_dates(here: Path) -> None:
    table = orders()
    table["sent"] = (pd.to_datetime(table.ordered) + pd.Timedelta(days=3)).dt.strftime("%Y-%m-%d")
    table = written(table, "orders.csv").drop(columns="order")
    run("detect", "orders.csv", "--categorical", "kind=codes", "--date", "ordered", "--date", "sent")
    for column in ("ordered", "sent"):
        table[column] = pd.to_datetime(table[column])
    model = ASPCA(robust="on", preprocessor=Preprocessor(categorical={"kind": "codes"})).fit(table)
    found = scores("orders.csv.aspca/scores.csv")
    np.testing.assert_allclose(found.score, -model.score_samples(table), rtol=1e-7, atol=1e-9)
    texts = [str(rule) for rule in aspca.load("orders.csv.aspca/model.json").rules_]
    assert "sent = ordered + 3 days (exactly, all rows)" in texts


@pytest.mark.promise
def test_gaps_as_in_python(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = orders()
    rng = np.random.default_rng(3)
    for column in ("price (EUR)", "amount", "fee", "kind"):
        table.loc[rng.random(len(table)) < 0.05, column] = np.nan
    table = written(table, "gaps.csv")
    counts = table.isna().sum()
    assert main(["detect", "gaps.csv", "--categorical", "kind", "--no-allow-missing"]) == 2
    sentence = capsys.readouterr().err
    for column in ("price (EUR)", "amount", "fee", "kind"):
        assert f"{column!r} ({counts[column]})" in sentence
    assert not Path("gaps.csv.aspca").exists()
    assert main(["detect", "gaps.csv", "--categorical", "kind", *OPTIONS]) == 0
    said = capsys.readouterr().err
    X = table.drop(columns=["order", "ordered"])
    model = ASPCA(preprocessor=Preprocessor(transforms=LOGS, missing="allow")).fit(X)
    found = scores("gaps.csv.aspca/scores.csv")
    np.testing.assert_allclose(found.score, -model.score_samples(X), rtol=1e-7, atol=1e-9)
    shares = model.explain(X).share_of_rules
    np.testing.assert_allclose(found.share_of_rules, shares)
    assert f"{(shares < 1).sum()} rows were judged by some of the rules only" in said
    assert f"{X.isna().sum().sum()} values are missing (columns 'price (EUR)', 'amount', 'kind', 'fee')" in said
    # A column that is not there at all in the rows to be scored.
    table.assign(fee=np.nan).to_csv("empty.csv", index=False)
    run("score", "empty.csv", "--model", "gaps.csv.aspca/model.json", "--output", "scores.csv")
    twin = -model.score_samples(X.assign(fee=np.nan))
    np.testing.assert_allclose(scores("scores.csv").score, twin, rtol=1e-7, atol=1e-9)


@pytest.mark.promise
def test_one_model_per_category_as_in_python(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = written(orders(), "orders.csv")
    run("detect", "orders.csv", "--by", "kind", *OPTIONS)
    X = table.drop(columns=["order", "ordered"])
    models = PerCategory("kind", ASPCA(robust="on", preprocessor=Preprocessor(transforms=LOGS))).fit(X)
    listed = pd.read_csv("orders.csv.aspca/categories.csv")
    assert listed.category.tolist() == ["'=cmd|' /C calc'!A0", "green", "red"]
    for folder, (category, model) in zip(listed.folder, models.models_.items(), strict=True):
        rows = np.flatnonzero(table.kind == category)
        found = scores(f"orders.csv.aspca/{folder}/scores.csv")
        assert found.row.tolist() == rows.tolist()
        assert found.order.tolist() == table.order[rows].tolist()
        part = X.loc[rows].drop(columns="kind")
        np.testing.assert_allclose(found.score, -model.score_samples(part), rtol=1e-7, atol=1e-9)
        stored = aspca.load(f"orders.csv.aspca/{folder}/model.json")
        assert [str(rule) for rule in stored.rules_] == [str(rule) for rule in model.rules_]
    capsys.readouterr()
    run("detect", "orders.csv", "--by", "kind", *OPTIONS, "--json")
    document = json.loads(capsys.readouterr().out)
    assert [one["category"] for one in document["categories"]] == sorted(set(table.kind))
    assert sum(one["n_rows"] for one in document["categories"]) == len(table)
    # Learned from one file, another judged; and a category nobody knows.
    table[:50].to_csv("new.csv", index=False)
    # Rows to learn from that are not judged are taken as clean, unless told otherwise.
    run("detect", "new.csv", "--train", "orders.csv", "--by", "kind", *OPTIONS, "--robust", "on")
    first = scores("new.csv.aspca/category-002/scores.csv")
    whole = scores("orders.csv.aspca/category-002/scores.csv")
    np.testing.assert_array_equal(first.score, whole.score[: len(first)])
    table[:50].assign(kind="violet").to_csv("new.csv", index=False)
    assert main(["detect", "new.csv", "--train", "orders.csv", "--by", "kind"]) == 1
    assert (
        "row 0 (line 2) has the category 'violet' in column 'kind', which orders.csv does not"
        in capsys.readouterr().err
    )
    assert sorted(path.name for path in Path("new.csv.aspca").glob("[a-z]*"))[0] == "categories.csv"


def test_rows_that_break_a_tight_rule_only(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A rule far tighter than its features: what once was counted but not flagged is an anomaly now, everywhere."""
    rng = np.random.default_rng(5)
    a, b = rng.normal(0, 100, (2, 400))
    table = pd.DataFrame({"a": a, "b": b, "c": a + 0.05 * rng.normal(size=400), "d": b + 20 * rng.normal(size=400)})
    table.to_csv("fit.csv", index=False)
    late = table[:40].copy()
    late.loc[7, "c"] += 1.0
    late.to_csv("late.csv", index=False)
    assert main(["detect", "late.csv", "--train", "fit.csv", "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert "n_quiet" not in found
    worst = found["anomalies"][0]
    assert worst["row"] == 7
    assert set(worst["breaks"][0]["needed"]) == {"a", "c"}
    assert abs(worst["breaks"][0]["needed"]["c"]["needed"] - table.c[7]) < 0.2
    model = ASPCA().fit(table)
    flagged = set(np.flatnonzero(model.predict(late) == -1))
    assert set(scores("late.csv.aspca/scores.csv").query("anomaly == 1").row) == flagged
    assert set(pd.read_csv("late.csv.aspca/explanations.csv").row) == flagged
    assert {one["row"] for one in found["anomalies"]} == flagged
    # Whatever breaks a rule by its own limit scores above the limit of all.
    broken = model.explain(late).broken.any(axis=1)
    assert (scores("late.csv.aspca/scores.csv").score[broken] > found["limit"]).all()


@pytest.mark.promise
def test_private_models_hold_no_value_of_a_row(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = written(orders(), "orders.csv").drop(columns=["order", "ordered"])
    options = ["--categorical", "kind", *OPTIONS, "--scaling", "standard", "--private"]
    run("detect", "orders.csv", *options)
    run("fit", "orders.csv", *options, "--model", "model.json")
    for path in ("orders.csv.aspca/model.json", "model.json"):
        content = json.loads(Path(path).read_text())
        assert content["private"]
        assert content["space"]["extremes"] is content["thresholds"]["calibration"] is None
    held = {value for value in walked(content) if isinstance(value, float)}
    features = Preprocessor(transforms=LOGS).fit_transform(table)
    unusual = {value for value in features.ravel().tolist() if not value.is_integer()}
    assert len(unusual) > 1000
    assert not held & unusual
    capsys.readouterr()
    assert main(["fit", "orders.csv", "--ignore", "kind", "--private", "--model", "other.json"]) == 0
    assert "largest distance from its mean" in capsys.readouterr().err


def walked(content: Any) -> Iterator[Any]:
    """Every single value of a content."""
    if isinstance(content, dict | list):
        for entry in content.values() if isinstance(content, dict) else content:
            yield from walked(entry)
    else:
        yield content


def test_a_conformal_limit_from_rows_kept_out(here: Path) -> None:
    table = written(orders(), "orders.csv")
    columns = ["price (EUR)", "amount", "cost", "fee"]
    table[columns][:150].to_csv("fit.csv", index=False)
    table[columns][150:].to_csv("kept.csv", index=False)
    run("fit", "fit.csv", "--limit", "conformal", "--calibrate", "kept.csv", "--model", "model.json")
    model = ASPCA(limit="conformal").fit(table[columns][:150]).calibrate(table[columns][150:])
    stored = aspca.load("model.json")
    assert stored.threshold_ == pytest.approx(model.threshold_, rel=1e-9)
    np.testing.assert_allclose(stored.p_values(table[columns]), model.p_values(table[columns]))


@pytest.mark.parametrize(
    ("options", "code", "sentence"),
    [
        (["--by", "kind", "--csv"], 2, "--by and --csv exclude each other"),
        (["--ignore", "kind", "--score", "loud"], 2, "--score must be one of complete, standardized, spe, got 'loud'"),
        (["--ignore", "kind", "--patience", "-4"], 2, "--patience"),
        (["--by", "kinds"], 2, "--by: orders.csv has no column 'kinds'; did you mean 'kind'?"),
        (
            ["--by", "price (EUR)", "--ignore", "kind"],
            2,
            "--by: column 'price (EUR)' of orders.csv has more than 100 categories",
        ),
        (["--by", "kind", "--limit", "conformal", "--calibrate", "orders.csv"], 2, "--by and --calibrate exclude"),
        (["--ignore", "kind", "--calibrate", "orders.csv"], 2, "--calibrate is for --limit conformal"),
        (
            ["--categorical", "order", "--ignore", "kind"],
            2,
            "--categorical: column 'order' of orders.csv has more than 100 different values",
        ),
    ],
)
def test_refusals(here: Path, capsys: pytest.CaptureFixture[str], options: list[str], code: int, sentence: str) -> None:
    orders().to_csv("orders.csv", index=False)
    assert main(["detect", "orders.csv", *options]) == code
    shown: Any = capsys.readouterr()
    assert sentence in shown.err
    assert shown.out == ""
    assert shown.err.partition("To go on, paste:\n")[0].count("\n") == 1
    assert [path.name for path in here.iterdir()] == ["orders.csv"]
