"""What a report says is what the rows say: every count and value recomputed from the data."""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest

from aspca.findings.explanation import Explanation
from aspca.paper.datasets import load_synthetic
from aspca.pipeline.result import Detection
from aspca.report.collect import BUCKETS, SAMPLED, WORST, RowStatistics
from aspca.report.documents import write_json
from aspca.report.summarize_events import find_round_times
from aspca.report.summary import Report

from .conftest import report_of
from .schema import make_schema

GOLDEN = Path(__file__).parent / "demo.summary.json"
PUBLISHED = json.loads(files("aspca.report").joinpath("report.schema.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    data = load_synthetic()
    return pd.DataFrame(data.data, columns=data.feature_names)


@pytest.fixture(scope="module")
def made(frame: pd.DataFrame) -> tuple[Detection, Report]:
    return report_of(frame, robust="off")


def test_golden(made: tuple[Detection, Report]) -> None:
    """In words and whole numbers, which no machine rounds in another way."""
    report = made[1]
    told = {
        "headline": report.headline,
        "counts": asdict(report.counts),
        "rules": [
            [rule.text, rule.short, rule.kind, rule.spread, rule.limit, rule.low, rule.high, rule.rows, rule.chance]
            for rule in report.rules
        ],
        "columns": [[column.name, column.anchor, column.role, column.usual, column.rules] for column in report.columns],
        "anomalies": [
            [
                one.rank,
                one.row,
                one.verdict,
                one.confidence,
                one.reason,
                [broken.rule for broken in one.breaks],
                one.group,
            ]
            for one in report.anomalies
        ],
        "worst": {
            "text": report.anomalies[0].text,
            "needed": [[one.column, one.now, one.needed] for one in report.anomalies[0].breaks[0].needed],
            "at fault": [[one.column, one.side] for one in report.anomalies[0].cells if one.blame > 0.1],
        },
        "groups": [[group.count, group.text, group.rows] for group in report.groups],
        "directions": report.choices.directions,
    }
    expected = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert json.loads(json.dumps(told)) == expected


def test_counts_are_those_of_the_rows(made: tuple[Detection, Report], frame: pd.DataFrame) -> None:
    found, report = made
    why = Explanation.of(found.model, frame.to_numpy(), range(len(frame)))
    assert report.counts.anomalies == int(why.anomalies.sum()) == len(report.anomalies)
    for rule in report.rules:
        histogram = rule.histogram
        assert histogram is not None
        assert sum(histogram.counts) + histogram.below + histogram.above == len(frame)
        assert rule.low + rule.high == int(why.broken[:, rule.number].sum())
        # Between the limits lie the rows that keep it.
        middles = histogram.low + (np.arange(len(histogram.counts)) + 0.5) * (histogram.high - histogram.low) / len(
            histogram.counts
        )
        within = int(np.array(histogram.counts)[np.abs(middles) < 1.0].sum())
        assert within == len(frame) - rule.low - rule.high
        assert set(rule.rows) == set(np.flatnonzero(why.broken[:, rule.number]).tolist())
    assert sum(group.count for group in report.groups) == report.counts.anomalies
    assert max(bucket.largest for bucket in report.course.buckets) == pytest.approx(why.scores.max(), rel=1e-4)
    assert sum(bucket.anomalies for bucket in report.course.buckets) == report.counts.anomalies
    for step in report.choices.sensitivity:
        near = int((why.scores > step.limit).sum())
        assert abs(step.rows - near) <= int((np.abs(why.scores / step.limit - 1.0) < 1e-3).sum())


def test_a_value_that_is_needed_makes_the_rule_hold(made: tuple[Detection, Report], frame: pd.DataFrame) -> None:
    found, report = made
    for anomaly in report.anomalies:
        for broken in (one for one in anomaly.breaks if one.broken):
            for needed in (one for one in broken.needed if one.needed is not None):
                row = frame.iloc[[anomaly.row]].copy()
                row[report.columns[needed.column].name] = float(needed.needed)
                again = Explanation.of(found.model, row.to_numpy(), [0])
                assert not again.broken[0, broken.rule]


def test_the_sides_of_a_rule_are_those_of_its_sentence(made: tuple[Detection, Report], frame: pd.DataFrame) -> None:
    report = made[1]
    (rule,) = (rule for rule in report.rules if rule.short == "D = A + C")
    for anomaly in report.anomalies:
        for broken in (one for one in anomaly.breaks if one.rule == rule.number):
            cells = frame.iloc[anomaly.row]
            assert broken.multiple is not None
            assert (broken.multiple > 0) == (cells["D"] > cells["A"] + cells["C"])
    assert {term.feature: np.sign(term.coefficient) for term in rule.terms} == {"A": -1, "C": -1, "D": 1}


def test_neighbours_are_the_rows_before_and_after(frame: pd.DataFrame) -> None:
    # In an order of their own: by time, row r is followed by row r - 1.
    table = frame.assign(at=-np.arange(len(frame)))
    _, report = report_of(table, robust="off", time="at")
    for anomaly in report.anomalies[:5]:
        assert anomaly.near is not None
        rows = [near.row for near in anomaly.near.rows]
        assert rows == list(range(rows[0], rows[-1] - 1, -1))
        told = [near for near in anomaly.near.rows if near.values]
        assert abs(told[0].row - anomaly.row) <= 2
        for near in told:
            cells = [frame.iloc[near.row][report.columns[column].name] for column in anomaly.near.columns]
            for cell, text in zip(cells, near.values, strict=True):
                assert repr(float(cell)).startswith(text.removesuffix("…"))


def test_the_worst_and_a_sample_of_the_others() -> None:
    """Wherever batches end, the same ones; what is left out is said."""
    rng = np.random.default_rng(1)
    train = rng.normal(size=(500, 3))
    train[:, 2] = train[:, 0] + train[:, 1] + 0.01 * rng.normal(size=500)
    rows = rng.normal(size=(5000, 3))
    names = ["a", "b", "c"]
    found, report = report_of(pd.DataFrame(rows, columns=names), train=pd.DataFrame(train, columns=names))
    assert report.counts.anomalies > 4000
    assert (report.counts.shown, report.counts.sampled) == (WORST + SAMPLED, SAMPLED)
    scores = found.model.score(rows)
    worst = [one.row for one in report.anomalies if not one.sampled]
    assert worst == np.argsort(-scores, kind="stable")[:WORST].tolist()
    sampled = [one.row for one in report.anomalies if one.sampled]
    assert not set(sampled) & set(worst)
    # As good as drawn at random: from all parts of the table.
    assert np.histogram(sampled, bins=5, range=(0, 5000))[0].min() >= SAMPLED // 12
    assert f"{report.counts.anomalies - WORST - SAMPLED:,} more are in explanations.csv" in report.left_out
    assert len(report.course.buckets) == BUCKETS


@pytest.mark.parametrize("size", [1, 7, 5000])
def test_statistics_do_not_depend_on_batches(made: tuple[Detection, Report], frame: pd.DataFrame, size: int) -> None:
    model = made[0].model
    gathered = RowStatistics(model, len(frame), timed=False)
    for start in range(0, len(frame), size):
        gathered.add(model.judge(frame.to_numpy()[start : start + size]))
    report = made[1]
    assert gathered.buckets(None) == report.course.buckets
    for rule in report.rules:
        histogram = gathered.histogram(rule.number)
        assert histogram.counts in (rule.histogram.counts, rule.histogram.counts[::-1])


def test_json_is_what_the_schema_says(made: tuple[Detection, Report]) -> None:
    assert make_schema() == PUBLISHED
    jsonschema.Draft202012Validator.check_schema(PUBLISHED)
    checker = jsonschema.Draft202012Validator(PUBLISHED)
    document = json.loads(write_json(made[1]))
    checker.validate(document)
    assert document == json.loads(json.dumps(asdict(made[1])))
    with pytest.raises(jsonschema.ValidationError):
        checker.validate({**document, "more": 1})


@pytest.mark.parametrize("step", ["1s", "7s", "60s", "900s", "3600s", "5400s", "86400s"])
@pytest.mark.parametrize("n", [30, 97, 2400])
def test_a_tick_is_labelled_by_the_time_of_its_row(step: str, n: int) -> None:
    every = np.timedelta64(int(step[:-1]), "s")
    when = np.datetime64("2026-03-01T07:10:00") + np.arange(n) * every
    ticks = find_round_times(when, 7)
    assert 2 <= len(ticks) <= 8
    for place, text in ticks:
        # The first row that is not before it.
        mark = np.datetime64(text.replace(" ", "T"))
        assert when[place] >= mark
        assert place == 0 or when[place - 1] < mark
    marks = np.array([np.datetime64(text.replace(" ", "T"), "s") for _, text in ticks])
    assert len(set(np.diff(marks).tolist())) == 1


def test_no_ticks_at_round_times_where_times_are_uneven_or_no_dates() -> None:
    uneven = np.datetime64("2026-03-01", "s") + np.r_[np.arange(500), 10_000_000 + np.arange(3)].astype("m8[s]")
    assert find_round_times(uneven, 7) == []
    assert find_round_times(np.arange(100), 7) == []
    assert find_round_times(np.full(100, np.datetime64("2026-03-01", "s")), 7) == []
