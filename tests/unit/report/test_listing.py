"""The list of anomalies: no row is lost, one event is one line, and what chance makes is told from what it does not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from aspca.report.page import list_entries
from aspca.report.summarize import write_span
from aspca.report.summary import Report

from .conftest import report_of

EVENT = range(600, 620)


def table() -> pd.DataFrame:
    """Hours of a sum: one cell far off, one event of twenty rows, and within it a cell of another rule."""
    rng = np.random.default_rng(3)
    n = 1500
    a, b, c = rng.normal(50, 5, size=(3, n))
    rows = pd.DataFrame({"a": a, "b": b, "sum": a + b + rng.normal(0, 0.1, n), "c": c})
    rows["twice"] = 2 * c + rng.normal(0, 0.1, n)
    rows.loc[100, "sum"] += 50.0
    rows.loc[list(EVENT), "sum"] += 3.0
    rows.loc[610, ["twice"]] += 20.0
    return rows.assign(at=pd.date_range("2026-01-01", periods=n, freq="h"))


@pytest.fixture(scope="module")
def told() -> Report:
    return report_of(table(), time="at")[1]


@pytest.mark.parametrize("private", [False, True])
def test_an_event_is_one_line(private: bool) -> None:
    _, report = report_of(table(), private=private, time="at")
    entries = list_entries(report)
    listed = [one.row for entry in entries for one in (entry.one, *entry.others)]
    assert sorted(listed) == sorted(one.row for one in report.anomalies)
    assert all(one.score <= entry.one.score for entry in entries for one in entry.others)
    (event,) = (entry for entry in entries if entry.others)
    rows = {one.row for one in (event.one, *event.others)}
    # Another cause within it has a line of its own.
    assert rows == set(EVENT) - {610}
    span = "2026-01-26 00:00:00 to 19:00:00" if not private else "row 600 to 619"
    assert event.says == f"and 18 more rows of the same event, {span}"
    assert "20 anomalies follow each other" in report.headline[1]
    assert ("2026-01-26" in report.headline[1]) is not private


def test_without_times_every_row_has_a_line() -> None:
    """Which rows stand beside each other in a file may mean nothing."""
    _, report = report_of(table().drop(columns="at"))
    assert [entry.one for entry in list_entries(report)] == list(report.anomalies)


def test_what_chance_makes_comes_after_a_line(told: Report) -> None:
    report, entries = told, list_entries(told)
    (place,) = (k for k, entry in enumerate(entries) if entry.before)
    assert entries[place].before == report.weaker
    assert all(entry.one.verdict == "error" and entry.one.confidence for entry in entries[:place])
    assert all(entry.one.is_weak for entry in entries[place:])
    assert all(entry.one.verdict == "unusual" and entry.one.confidence is None for entry in entries[place:])
    errors, unusual = (sum(one.verdict == word for one in report.anomalies) for word in ("error", "unusual"))
    assert report.counts.far == errors
    assert report.headline[0].startswith(f"{errors} errors and {unusual} unusual rows among 1,500 rows")
    assert report.weaker.startswith("From here on no errors, but unusual rows. About 38 rows are unusual where")


def test_rows_of_a_change_are_not_said_to_be_near_the_limit() -> None:
    rows = table()
    rows.loc[900:1300, "twice"] += 8.0
    _, report = report_of(rows, train=rows[120:580], time="at", level=0.95)
    assert report.weaker
    assert not all(one.beyond for one in report.anomalies)
    assert "but for rows that stand within a lasting change." in report.weaker
    (change,) = report.changes
    said, lines = "", []
    for entry in list_entries(report):
        said = entry.before or said
        lines += [entry.before] if entry.before else []
        if said == report.weaker:
            assert entry.one.is_weak or change.first <= entry.one.row <= change.last
        elif not entry.one.beyond:
            assert said.endswith("part of a lasting change.")
    assert len(lines) == 2


def test_a_day_is_told_once() -> None:
    assert write_span("2026-03-16 15:00:00", "2026-03-16 20:45:00") == "2026-03-16 15:00:00 to 20:45:00"
    assert write_span("2026-03-16 15:00:00", "2026-03-17 20:45:00") == "2026-03-16 15:00:00 to 2026-03-17 20:45:00"
    assert write_span("2026-03-16", "2026-03-17") == "2026-03-16 to 2026-03-17"
    assert write_span("2", "25") == "2 to 25"
