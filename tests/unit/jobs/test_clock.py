"""Times that are doubled, out of order or missing, and values that stand still: said, and only then."""

from __future__ import annotations

import numpy as np
import pytest

import twins
from aspca.jobs.row_notes import Runs, describe_runs, describe_times

MINUTES = np.datetime64("2026-01-01T00:00:00") + np.arange(200) * np.timedelta64(60, "s")


def said(when: np.ndarray) -> list[str]:
    return describe_times("at", when, np.arange(len(when)))


@pytest.mark.parametrize(
    "when",
    [
        MINUTES,
        MINUTES[::-1],
        MINUTES.astype("datetime64[us]") + np.random.default_rng(0).integers(0, 5_000_000, 200),
        np.arange(50.0),
        # Months, working days, and a table of events.
        np.arange("2020-01", "2026-01", dtype="datetime64[M]").astype("datetime64[s]"),
        np.array([day for day in np.arange("2026-01-01", "2026-06-01", dtype="datetime64[D]") if np.is_busday(day)]),
        np.cumsum(np.random.default_rng(1).exponential(size=100)),
        MINUTES[:1],
    ],
    ids=["even", "newest first", "jitter", "numbers", "months", "working days", "events", "one"],
)
def test_a_clock_that_is_right(when: np.ndarray) -> None:
    assert said(when) == []


def test_what_is_wrong_with_a_clock() -> None:
    when = np.delete(MINUTES, [100, 101, 150])
    assert said(when) == [
        "Column 'at': 3 times are missing in an even clock, in 2 gaps, the first after row 99 (2026-01-01T01:39:00)."
    ]
    when = MINUTES.copy()
    when[[30, 31]] = when[[31, 30]]
    assert said(when) == ["Column 'at': 1 row comes out of the order of time: row 31 (2026-01-01T00:30:00)."]
    doubled = np.insert(np.arange(50.0), [7, 9], [6.0, 8.0])
    assert said(doubled) == ["Column 'at': 2 rows have the time of an earlier row, the first is row 7 (6)."]
    shuffled = np.random.default_rng(0).permutation(MINUTES)
    assert [one for one in said(shuffled) if "in no order of time" in one] == said(shuffled)


def runs_of(values: np.ndarray, size: int = 10_000) -> Runs:
    runs = Runs(["x"])
    for start in range(0, len(values), size):
        runs.add(values[start : start + size, None])
    return runs


def still(values: np.ndarray, *, timed: bool = True) -> list[str]:
    return describe_runs(runs_of(values), np.arange(len(values)), timed=timed)


def test_a_sensor_that_hangs() -> None:
    values = np.random.default_rng(0).normal(size=1000).round(3)
    values[400:440] = values[400]
    told = f"'x' at {values[400]:.15g} for 40 rows, 400 to 439"
    assert still(values, timed=False) == []
    assert still(values) == [f"Values stand still where they usually move: {told}."]
    values[900:] = values[900]
    told = f"'x' at {values[900]:.15g} for 100 rows, 900 to 999"
    assert f"{told} (and 1 more times)" in still(values)[0]
    assert still(values, timed=False) == [f"Values stand still where they usually move: {told}."]
    for size in (1, 7, 40, 999):
        assert runs_of(values, size).stuck(timed=True) == runs_of(values).stuck(timed=True)


def test_what_stands_still_by_nature() -> None:
    rng = np.random.default_rng(0)
    n = 3000
    walk = rng.normal(size=n)
    night = np.where(np.arange(n) % 24 < 12, 0.0, rng.uniform(size=n))
    weekend = walk.copy()
    weekend[500:548], weekend[1500:1548] = 0.0, 0.0
    gaps = walk.copy()
    gaps[100:300] = np.nan
    for values in (
        walk,
        rng.poisson(0.1, n).astype(float),
        rng.integers(0, 2, n).astype(float),
        np.maximum(rng.normal(-2, 1, n), 0.0).round(1),
        np.repeat(rng.normal(size=10), 300),
        np.repeat(rng.normal(size=4), 750),
        np.ones(n),
        (20 + np.cumsum(rng.normal(0, 0.05, n))).round(1),
        night,
        weekend,
        gaps,
        np.full(n, np.nan),
    ):
        assert still(values) == []
    # Equal values at the end of a table that is sorted by them.
    assert still(np.sort(np.minimum(rng.normal(size=500), 1.0)), timed=False) == []


@pytest.mark.parametrize("seed", range(8))
def test_runs_are_those_of_counting_row_by_row(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(3000, 3)).round(2 if seed % 2 else 4)
    values[:, 1] = rng.integers(0, 2, size=3000)
    for _ in range(12):
        start = rng.integers(2900)
        values[start : start + rng.integers(60), rng.integers(3)] = values[start, 0]
    values[rng.random(values.shape) < 0.002] = np.nan
    for size in (17, 1000, 3000):
        runs = Runs(["a", "b", "c"])
        for start in range(0, 3000, size):
            runs.add(values[start : start + size])
        for column in range(3):
            *closed, last = twins.runs_of_equals(values[:, column])
            long = sorted((-length, start, value) for length, start, value in closed if length >= 10)
            kept = [(-run.length, run.start, run.value) for run in runs._runs[column]]
            assert kept == long[:8]
            assert runs._since[column] == last[1]
