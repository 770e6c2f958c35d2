"""Changes: planted ones are found where and as large as they were planted, and none where nothing changed."""

from __future__ import annotations

import re
from math import sqrt

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import lfilter

from aspca import ASPCA, Moments
from aspca.findings.changes import Change, Course, Crossings, events_of, find_changes, find_stretches
from aspca.findings.explanation import Explanation

NAMES = ("a", "b", "sum", "c", "thrice", "free")


def drawn(n: int, seed: int, law: str = "gauss") -> np.ndarray:
    """Rows (n, 6): sum = a + b and thrice = 3 c, each give or take 0.1 or so, and a free column."""
    rng = np.random.default_rng(seed)
    if law == "gauss":
        noise = rng.normal(size=(n, 6))
    elif law == "t3":
        noise = rng.standard_t(3, size=(n, 6))
    else:
        # An AR(1) process, past its start.
        phi = float(law)
        noise = lfilter([sqrt(1 - phi**2)], [1, -phi], rng.normal(size=(n + 200, 6)), axis=0)[200:]
    a, b, c, free, one, other = noise.T
    return np.column_stack([a, 2 * b, a + 2 * b + 0.1 * one, c, 3 * c + 0.1 * other, free])


@pytest.fixture(scope="module")
def model() -> ASPCA:
    # A rule is broken from 2.7 spreads on.
    fitted = ASPCA(scaling="standard", level=0.9).fit_moments(Moments.from_array(drawn(3000, 0)))
    assert len(fitted.rules_) == 2
    return fitted


def number_of(model: ASPCA, column: int) -> int:
    """The rule that this column is in."""
    (rule,) = np.flatnonzero(model.model_.table.loadings[column])
    return int(rule)


def explained(model: ASPCA, rows: np.ndarray) -> Explanation:
    return model.explain(rows)


def one(changes: tuple[Change, ...]) -> Change:
    (change,) = changes
    return change


# ---- what is planted is found


@pytest.mark.parametrize("offset", [0.25, 0.3, 0.5, 2.0, -0.4, -40.0])
@pytest.mark.parametrize("seed", [1, 2])
def test_an_offset_to_the_end(model: ASPCA, offset: float, seed: int) -> None:
    """From the limit of 2.7 spreads on half of its rows and more break the rule; at 2.5 four in ten."""
    rows = drawn(6000, seed)
    rows[4000:, 2] += offset
    change = one(explained(model, rows).changes())
    rule = model.rules_[number_of(model, 2)]
    assert change.rule == number_of(model, 2)
    assert change.column is None
    assert abs(change.start - 4000) <= 10
    assert change.stop == 6000
    assert change.to_end
    assert (change.first, change.last) == (change.start, 5999) == (change.since, change.until)
    # In the numbers of the text, signed like the coefficients.
    sign = np.sign(rule.coefficients[list(rule.features).index("x2")])
    step = abs(rule.equation.unit * rule.coefficients[list(rule.features).index("x2")])
    assert change.size == pytest.approx(offset * sign * step, rel=0.05)
    assert change.spreads == pytest.approx(change.size / (rule.spread * abs(rule.equation.unit)), rel=1e-6)
    assert change.text.startswith(f"Since row {change.start}: {rule} is off by ")
    side = "higher" if offset > 0 else "lower"
    # What x2 would have to have moved by, to two digits.
    moved, towards = re.search(r"x2 were ([0-9.]+) (higher|lower)", change.text).groups()
    assert float(moved) == pytest.approx(abs(offset), rel=0.1)
    assert towards == side


def test_two_rules_a_change_that_ends_and_a_free_column(model: ASPCA) -> None:
    rows = drawn(6000, 3)
    rows[1000:2000, 2] -= 1.0
    rows[1002:1998, 4] += 2.0
    rows[4000:, 5] += 9.0
    why = explained(model, rows)
    changes = why.changes()
    assert [(change.rule, change.column) for change in changes] == [
        (number_of(model, 2), None),
        (number_of(model, 4), None),
        (None, "x5"),
    ]
    for change, (start, stop) in zip(changes, ((1000, 2000), (1002, 1998), (4000, 6000)), strict=True):
        assert abs(change.start - start) <= 3
        assert abs(change.stop - stop) <= 3
        assert change.n_off > 0.9 * change.n_rows
    assert [change.to_end for change in changes] == [False, False, True]
    assert changes[2].size == pytest.approx(9.0, rel=0.03)
    assert changes[2].text.endswith("deviations, and no rule is broken.")
    assert changes[0].text.startswith(f"From row {changes[0].first} to {changes[0].last}: ")
    # Two rules at once are one event.
    assert [len(event) for event in events_of(changes)] == [2, 1]
    told = [incident for incident in why.incidents() if incident.kind == "change"]
    assert [[change.text for change in incident.changes] for incident in told] == [
        [change.text for change in event] for event in events_of(changes)
    ]
    # Every anomaly is in one incident.
    listed = sorted(row for incident in why.incidents() for row in incident.rows)
    assert listed == np.flatnonzero(why.anomalies).tolist()


def test_what_grows_slowly_is_one_change(model: ASPCA) -> None:
    rows = drawn(6000, 4)
    rows[2000:, 2] += np.linspace(0.0, 8.0, 4000)
    change = one(explained(model, rows).changes())
    assert change.to_end
    # It crosses the limit of 0.27 after 135 rows.
    assert 2000 <= change.start <= 2200
    # A quarter of it is off by what it is off by in the middle of that.
    middles = [change.start + share * change.n_rows - 2000 for share in (1 / 8, 7 / 8)]
    assert abs(change.at_first) == pytest.approx(8.0 * middles[0] / 4000, rel=0.1)
    assert abs(change.at_last) == pytest.approx(8.0 * middles[1] / 4000, rel=0.05)
    assert " at first, " in change.text
    assert "spreads" not in change.text


def test_bursts_of_gross_errors_are_no_change(model: ASPCA) -> None:
    """They are not alike, at whichever side."""
    rng = np.random.default_rng(5)
    for sizes in (rng.normal(scale=20.0, size=500), rng.exponential(scale=20.0, size=500)):
        rows = drawn(5000, 6)
        rows[2000:2500, 2] += sizes
        assert explained(model, rows).changes() == ()


def test_an_exact_rule_changes_too() -> None:
    rng = np.random.default_rng(7)
    rows = np.round(rng.gamma(2.0, 50.0, size=(2000, 2)), 2)
    rows = np.column_stack([rows, rows.sum(axis=1), rng.normal(size=2000)])
    model = ASPCA().fit_moments(Moments.from_array(rows))
    assert any(rule.exact for rule in model.rules_)
    rows[1500:, 2] += 0.25
    change = one(model.explain(rows).changes())
    assert (change.start, change.stop, change.spreads) == (1500, 2000, None)
    assert abs(change.size) == pytest.approx(0.25, rel=1e-6)
    assert "spreads" not in change.text


def test_rows_that_violate_an_identity_are_errors_and_no_change() -> None:
    """Each of them by itself, however many there are; a relation that changes meanwhile is one all the same."""
    rng = np.random.default_rng(7)
    rows = np.round(rng.gamma(2.0, 50.0, size=(2000, 2)), 2)
    x = rng.normal(size=2000)
    rows = np.column_stack([rows, rows.sum(axis=1).round(2), x, x + 0.01 * rng.normal(size=2000)])
    model = ASPCA().fit(rows)
    assert [rule.kind == "identity" for rule in model.rules_] == [True, False]
    rows[1500:, 2] = np.round(rows[1500:, 2] + 0.25, 2)
    why = model.explain(rows)
    assert why.changes() == ()
    assert why.broken[:, 0].tolist() == [False] * 1500 + [True] * 500
    assert why.anomalies[1500:].all()
    rows_of = np.concatenate([incident.rows for incident in why.incidents()])
    assert sorted(rows_of.tolist()) == np.flatnonzero(why.anomalies).tolist()
    rows[1400:, 4] += 0.5
    change = one(model.explain(rows).changes())
    assert (change.start, change.stop) == (1400, 2000)
    assert abs(change.size) == pytest.approx(0.5, rel=0.01)


# ---- and nothing else


@pytest.mark.parametrize("draws", [20, pytest.param(200, marks=pytest.mark.long)])
@pytest.mark.parametrize("law", ["gauss", "t3", "0.9"])
def test_no_change_is_claimed_where_nothing_changed(law: str, draws: int) -> None:
    """Rows to learn from and rows to judge of one law, from 60 rows on: at most 5 % of the draws."""
    claimed = 0
    for seed in range(draws):
        n = (60, 100, 300, 1000)[seed % 4]
        fitted = ASPCA().fit(drawn(n, 2 * seed, law))
        claimed += bool(fitted.explain(drawn((1000, 4000)[seed // 4 % 2], 2 * seed + 1, law)).changes())
    assert claimed <= 0.05 * draws


# ---- order


def test_disordered_times_are_as_if_sorted(model: ASPCA) -> None:
    rows = drawn(3000, 9)
    rows[2000:, 4] -= 1.0
    when = np.datetime64("2024-01-01T00:00:00") + np.arange(3000) * np.timedelta64(60, "s")
    shuffled = np.random.default_rng(10).permutation(3000)
    sorted_, mixed = explained(model, rows), explained(model, rows[shuffled])
    change, again = one(sorted_.changes(when)), one(mixed.changes(when[shuffled]))
    for name in ("rule", "start", "stop", "since", "until", "n_off", "size", "at_first", "at_last"):
        assert getattr(change, name) == getattr(again, name)
    assert change.since == when[change.start]
    assert shuffled[again.first] == change.first
    assert f"({change.since})".replace("T", " ") in change.text
    assert np.array_equal(mixed.beyond(when[shuffled]), sorted_.beyond(when)[shuffled])
    # In the order that they are listed a third of the rows is off, here and there, and nothing lasts.
    assert mixed.changes() == ()


@settings(max_examples=25, deadline=None)
@given(cuts=st.sets(st.integers(1, 2999), max_size=12))
def test_batches_do_not_matter(model: ASPCA, cuts: set[int]) -> None:
    rows = drawn(3000, 11)
    rows[1000:2500, 2] += 0.4
    why = explained(model, rows)
    crossings = Crossings(model.model_)
    for part in np.split(rows, sorted(cuts)):
        crossings.add(model.model_.judge(part), part)
    assert crossings.n == 3000
    found = find_changes(model.model_, crossings, Course(3000))
    assert [vars(change) for change in found] == [vars(change) for change in why.changes()]
    assert len(found) == 1


# ---- the walk, beside an obvious twin


@settings(max_examples=300, deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=120), st.integers(1, 30))
def test_stretches_are_those_of_the_walk_row_by_row(off: list[bool], high: int) -> None:
    height = highest = start = stop = 0
    walking = False
    expected = []
    for row, beyond in enumerate(off):
        if walking and not beyond:
            height -= 1
        if beyond:
            if not walking or height <= 0 or highest - height >= high:
                if walking and highest >= high:
                    expected.append((start, stop))
                walking, start, height, highest = True, row, 0, 0
            height += 3
            if height > highest:
                stop, highest = row + 1, height
    if walking and highest >= high:
        expected.append((start, stop))
    found = find_stretches(np.flatnonzero(off), high)
    assert found == expected
    for first, last in found:
        # Both ends are beyond the limit, and so are more than a quarter of the rows.
        assert off[first]
        assert off[last - 1]
        assert 4 * sum(off[first:last]) > last - first


def test_hostile_names_stay_names() -> None:
    rng = np.random.default_rng(12)
    a = rng.normal(size=1000)
    rows = np.column_stack([a, 2 * a + 0.01 * rng.normal(size=1000), rng.normal(size=1000)])
    names = ["=cmd|' /C'!A0", "b] is 3\n\x1b[2J", "free"]
    model = ASPCA().fit(pd.DataFrame(rows, columns=names))
    rows[500:, 1] += 1.0
    rows[500:, 2] += 20.0
    told = " ".join(change.text for change in model.explain(pd.DataFrame(rows, columns=names)).changes())
    assert "\n" not in told
    assert "\x1b" not in told
    assert "[=cmd|' /C'!A0]" in told
    assert r"[b]] is 3\n\x1b[2J]" in told
