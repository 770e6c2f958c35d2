"""Times that are wrong, values that stand still, and rows that are copies of others."""

from __future__ import annotations

import numpy as np
import pytest

import aspca
import twins
from aspca.pipeline import row_notes
from aspca.pipeline.row_notes import Copies, Runs, describe_runs, describe_times

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


def told(values: np.ndarray, size: int = 10_000, known: np.ndarray | None = None) -> list[str]:
    found = Copies()
    for start in range(0, len(values), size):
        rows = values[start : start + size]
        readable = np.ones(len(rows), dtype=bool) if known is None else known[start : start + size]
        found.add(rows, np.arange(start, start + len(rows)), readable)
    return found.describe()


def measured(n: int = 300, p: int = 3) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, p)).round(2)


def test_rows_without_copies_give_no_remark() -> None:
    assert told(measured()) == []
    assert told(measured(0)) == []


def test_copies_are_told_with_the_first_row_that_holds_the_same() -> None:
    values = measured()
    values[17] = values[4]
    assert told(values) == ["1 row is a copy of an earlier row in every feature (rows 17 and 4)."]
    values[[200, 210]] = values[4], values[100]
    expected = "3 rows are copies of an earlier row in every feature (rows 17 and 4, 200 and 4, 210 and 100)."
    for size in (7, 100, 300):
        assert told(values, size) == [expected]
    values[250:254] = values[0]
    assert told(values)[0].endswith("(rows 17 and 4, 200 and 4, 210 and 100, 250 and 0, 251 and 0 and 2 more).")


def test_the_same_number_in_another_form_is_the_same() -> None:
    values = measured()
    values[5], values[9] = [0.0, np.nan, 1.0], [-0.0, -np.nan, 1.0]
    assert told(values) == ["1 row is a copy of an earlier row in every feature (rows 9 and 5)."]
    # The same numbers in other columns are another row.
    values[9] = [1.0, np.nan, 0.0]
    assert told(values) == []


def test_rows_that_say_little_are_not_compared() -> None:
    values, known = measured(), np.ones(300, dtype=bool)
    values[[8, 9]] = [np.nan, np.nan, 1.0]
    values[[20, 30]] = values[20]
    known[[20, 30]] = False
    assert told(values, known=known) == []
    assert told(values) == ["1 row is a copy of an earlier row in every feature (rows 30 and 20)."]


@pytest.mark.parametrize("order", ["as it is", "sorted"])
def test_copies_by_chance_are_not_told(order: str) -> None:
    values = np.random.default_rng(0).integers(0, 1000, size=(10_000, 2)).astype(float)
    if order == "sorted":
        values = values[np.argsort(values[:, 0])]
    n_copies = 10_000 - len(np.unique(values, axis=0))
    assert 30 < n_copies < 80
    assert told(values) == []
    # A third column makes chance an unlikely reason.
    third = np.column_stack([values, values @ [1.0, 0.1]])
    assert told(third)[0].startswith(f"{n_copies} rows are copies of an earlier row")


def test_chance_is_that_of_all_rows_in_whatever_order() -> None:
    values = np.random.default_rng(0).integers(0, [200, 1000, 1000], size=(10_000, 3)).astype(float)
    values[:8] = values[8:16]
    expected = "8 rows are copies"
    # The first rows of a sorted table have few values in that column.
    for order in (np.arange(10_000), np.argsort(values[:, 0], kind="stable")):
        assert [said[:17] for said in told(values[order], 500)] == [expected]


def test_tables_of_few_values_give_no_remark() -> None:
    values = np.random.default_rng(0).integers(0, 10, size=(300, 12)).astype(float)
    values[17] = values[4]
    assert told(values) == []
    values[:, 0] = measured(300, 1)[:, 0]
    values[17] = values[4]
    assert len(told(values)) == 1


def test_common_copies_give_no_remark_unless_all_rows_are_repeated() -> None:
    values = measured()
    values[:30] = values[30:60]
    assert told(values)[0].startswith("30 rows are copies")
    values[60:63] = values[63:66]
    assert told(values) == []
    once = measured()
    twice = np.vstack([once, once])
    expected = "Every row occurs 2 times (rows 300 and 0, 301 and 1, 302 and 2, 303 and 3, 304 and 4 and 295 more)."
    assert told(twice) == [expected]
    assert told(twice[:-1]) == []


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_notes, "_MOST_ROWS", 300)
    values = measured(301)
    values[17] = values[4]
    assert len(told(values[:300], 50)) == 1
    found = Copies()
    for start in range(0, 301, 50):
        found.add(
            values[start : start + 50], np.arange(start, min(start + 50, 301)), np.ones(min(50, 301 - start), bool)
        )
    assert found.describe() == []
    assert (found._parts, found._sample) == ([], None)


def test_rows_of_categories_are_numbered_as_in_the_source() -> None:
    values = measured(400)
    values[[301, 303]] = values[100], values[51]
    table = {"a": values[:, 0], "b": values[:, 1], "c": values[:, 2], "site": ["east", "west"] * 200}
    pandas = pytest.importorskip("pandas")
    remarks = aspca.detect(pandas.DataFrame(table), by="site").remarks
    # Rows 301 and 100 are of different categories.
    assert [remark for remark in remarks if "cop" in remark] == [
        "west: 1 row is a copy of an earlier row in every feature (rows 303 and 51)."
    ]
