"""Rows within a change: those that are nothing but it, and those that are off the new level too."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aspca import ASPCA, Preprocessor
from aspca.findings.changes import Course, Crossings, find_changes, shortest_change
from aspca.findings.levels import Levels, cut_changes


def drawn(n: int, seed: int) -> np.ndarray:
    """Rows (n, 5): the third column is the sum of the first two, the fifth twice the fourth."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.normal(size=(3, n))
    return np.column_stack([a, b, a + b + 0.05 * rng.normal(size=n), c, 2 * c + 0.05 * rng.normal(size=n)])


@pytest.fixture(scope="module")
def model() -> ASPCA:
    return ASPCA().fit(drawn(3000, 0))


ERRORS = [100, 2100, 2500, 3000, 3999]


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    """A change of the sum from row 2000 on; errors before and inside of it, in its rule, in the other and outside."""
    rows = drawn(4000, 1)
    rows[2000:, 2] += 1.0
    rows[[100, 2100], 2] += 1.0
    rows[2500, 4] -= 1.0
    # Back where the rule holds: off the new level.
    rows[3000, 2] -= 1.0
    rows[3999, [0, 2]] += 25.0
    return rows


def test_errors_inside_a_change_are_beyond_it(model: ASPCA, rows: np.ndarray) -> None:
    why = model.explain(rows)
    beyond = why.beyond()
    assert why.anomalies[2000:].mean() > 0.99
    # What keeps the rule in the midst of a change is no anomaly by the model, and stays none.
    assert not why.anomalies[3000]
    assert beyond[[row for row in ERRORS if row != 3000]].all()
    assert not (beyond & ~why.anomalies).any()
    # Outside of changes the verdict is the model's, inside as many are beyond as before the change.
    assert np.array_equal(beyond[:2000], why.anomalies[:2000])
    assert beyond[2000:].mean() <= 2 * why.anomalies[:2000].mean() + 0.01
    for incident in why.incidents():
        assert (incident.kind == "change") == (not beyond[incident.rows].any())
        assert beyond[incident.rows].all() or not beyond[incident.rows].any()


def test_nothing_changed_nothing_told_apart(model: ASPCA) -> None:
    why = model.explain(drawn(2000, 2))
    assert why.changes() == ()
    assert np.array_equal(why.beyond(), why.anomalies)
    assert all(incident.kind == "anomalies" and not incident.changes for incident in why.incidents())


def test_errors_in_a_change_that_grows(model: ASPCA) -> None:
    rows = drawn(8000, 3)
    rows[2000:, 2] += np.linspace(0.0, 6.0, 6000)
    # Six spreads at a place where the rule is off by 40: a level of the whole would hide it.
    rows[[5000, 7000], 2] += 0.4
    why = model.explain(rows)
    assert len(why.changes()) == 1
    assert why.beyond()[[5000, 7000]].all()
    assert why.beyond()[3000:].mean() < 0.08


def test_verdicts_and_scores_stay_as_they_are(model: ASPCA, rows: np.ndarray) -> None:
    why = model.explain(rows)
    before = why.scores.copy(), why.anomalies.copy(), why.judgement.deviations.copy()
    why.beyond()
    after = why.scores, why.anomalies, why.judgement.deviations
    assert all(np.array_equal(*pair) for pair in zip(before, after, strict=True))
    assert np.array_equal(why.anomalies, model.predict(rows) == -1)


@settings(max_examples=20, deadline=None)
@given(cuts=st.sets(st.integers(1, 3999), max_size=10))
def test_parts_do_not_matter(model: ASPCA, rows: np.ndarray, cuts: set[int]) -> None:
    crossings = Crossings(model.model_)
    crossings.add(model.model_.judge(rows), rows)
    changes = find_changes(model.model_, crossings, Course(4000))
    levels = Levels(model.model_, changes, 4000)
    parts = np.split(np.arange(4000), sorted(cuts))
    for part in parts:
        levels.add(part, rows[part], model.model_.judge(rows[part]))
    found = [levels.judge(part, rows[part], model.model_.judge(rows[part]))[0] for part in parts]
    assert np.array_equal(np.concatenate(found), model.explain(rows).beyond())


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1900), st.integers(45, 900)), min_size=1, max_size=6), st.integers(2000, 2000))
def test_pieces_cover_the_changes_and_nothing_else(spans: list[tuple[int, int]], n: int) -> None:
    class Span:
        def __init__(self, start: int, stop: int) -> None:
            self.start, self.stop = start, min(stop, n)

    changes = [Span(start, start + length) for start, length in spans if start + 45 <= n]
    if not changes:
        return
    pieces = cut_changes(changes, n)  # type: ignore[arg-type]  # ends are all that is read
    ranks = np.arange(n)
    inside = np.any([(ranks >= one.start) & (ranks < one.stop) for one in changes], axis=0)
    assert [rank for start, stop in pieces for rank in range(start, stop)] == np.flatnonzero(inside).tolist()
    assert min(stop - start for start, stop in pieces) >= shortest_change(n)


def test_with_gaps(rows: np.ndarray) -> None:
    """A row with a gap is judged off the level by what is known of it."""
    fitted = ASPCA(preprocessor=Preprocessor(missing="allow")).fit(drawn(3000, 0))
    gappy = rows.copy()
    gappy[::7, 3] = np.nan
    why = fitted.explain(gappy)
    (change,) = why.changes()
    assert abs(change.start - 2000) <= 3
    assert why.beyond()[[100, 2100]].all()
    assert why.beyond()[2000:].mean() < 0.1
