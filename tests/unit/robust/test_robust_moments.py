"""What is gross is set aside, what is lawful is not; relations survive, and nothing depends on batches."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import numpy as np
import pytest

import twins
from aspca import ASPCA, Moments
from aspca.moments.gathered import MomentsOf
from aspca.moments.lots import Lots
from aspca.moments.rows import Rows
from aspca.robust import RobustMoments, inner, robust_moments
from aspca.robust.distance import Distance, Near
from aspca.robust.sentinels import Sentinels, _decimals_seen


def table(n: int = 600, seed: int = 0) -> np.ndarray:
    """Five columns in cents, the last the exact total of the first three."""
    rng = np.random.default_rng(seed)
    parts = np.round(rng.gamma(2.0, [[100.0, 10.0, 5.0, 3.0]], size=(n, 4)), 2)
    return np.column_stack([parts, np.round(parts[:, :3].sum(axis=1), 2)])


def robust(rows: np.ndarray, step: int = 10_000) -> RobustMoments:
    parts = [rows[k : k + step] for k in range(0, len(rows), step)]
    return robust_moments(Rows.here(lambda: parts), Moments.from_array(rows))


def test_rows_without_errors_lose_nothing() -> None:
    rows = table()
    found = robust(rows)
    assert found.aside.nothing
    assert np.array_equal(found.moments.scatter, Moments.from_array(rows).scatter)


@pytest.mark.parametrize("tails", ["t3", "lognormal"])
def test_tails_are_not_errors(tails: str) -> None:
    rng = np.random.default_rng(1)
    draw = (lambda size: rng.standard_t(3, size)) if tails == "t3" else (lambda size: rng.lognormal(size=size))
    rows = draw((2000, 5)) @ rng.normal(size=(5, 12)) + 0.1 * draw((2000, 12))
    assert robust(rows).aside.nothing


def test_the_rows_set_aside_are_those_that_were_spoiled() -> None:
    rows = table()
    rows[17, 4] = np.round(1.1 * rows[17, 4], 2)
    rows[40, 1] *= 1000.0
    rows[300, 0] = -999.0
    found = robust(rows)
    assert sorted(found.aside.rows.tolist()) == [17, 40, 300]
    assert found.aside.cells.sum() == 3
    assert found.aside.n_rows == 0
    # The total is exact again, and the columns keep their steps.
    deviations = np.array([1.0, 1.0, 1.0, 0.0, -1.0])
    assert deviations @ found.moments.covariance @ deviations < 1e-12 * found.moments.covariance[4, 4]
    assert found.moments.decimals.tolist() == [2] * 5
    assert (found.moments.minimum >= 0.0).all()


@pytest.mark.parametrize("share", [0.05, 0.2])
def test_gross_rows_are_set_aside(share: float) -> None:
    rng = np.random.default_rng(2)
    rows = table(1000)
    spoiled = np.flatnonzero(rng.random(1000) < share)
    rows[spoiled] = rows.mean(axis=0) + 10.0 * rows.std(axis=0) * rng.normal(size=(spoiled.size, 5))
    found = robust(rows)
    aside = set(found.aside.rows.tolist())
    assert len(set(spoiled.tolist()) - aside) <= 0.02 * spoiled.size
    assert len(aside - set(spoiled.tolist())) <= 0.02 * spoiled.size


def test_many_rows_with_one_gross_cell_each() -> None:
    rng = np.random.default_rng(3)
    free = rng.gamma(4.0, size=(1500, 20))
    totals = free.reshape(1500, 10, 2).sum(axis=2) + 0.01 * rng.normal(size=(1500, 10))
    clean = np.hstack([free, totals])
    rows = clean.copy()
    rows[rng.random(rows.shape) < 0.05] *= 10.0
    model = ASPCA().fit_moments(robust(rows).moments)
    wanted = {frozenset({f"x{2 * k}", f"x{2 * k + 1}", f"x{20 + k}"}) for k in range(10)}
    assert {frozenset(rule.features) for rule in model.rules_} == wanted


def test_batches_do_not_matter() -> None:
    rows = table(500)
    rows[3, 2] *= 500.0
    whole, parts = robust(rows), robust(rows, 37)
    assert np.array_equal(whole.aside.rows, parts.aside.rows)
    np.testing.assert_allclose(whole.moments.covariance, parts.moments.covariance, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("step", [10_000, 37])
def test_a_start_among_scattered_rows_leads_where_all_rows_lead(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = table(6000)
    rng = np.random.default_rng(4)
    spoiled = rng.choice(6000, 60, replace=False)
    rows[spoiled[:30], rng.integers(5, size=30)] *= 300.0
    rows[spoiled[30:], 4] += 40.0
    whole = robust(rows, step)
    monkeypatch.setattr(inner, "_START_ROWS", 600)
    monkeypatch.setattr(inner, "_START_PER_COLUMN", 100)
    some = robust(rows, step)
    # A few hundredfold cells of a column of its own are still within its tail.
    assert set(whole.aside.rows.tolist()) < set(spoiled.tolist())
    assert whole.aside.rows.size > 50
    assert np.array_equal(some.aside.rows, whole.aside.rows)
    assert np.array_equal(some.aside.cells, whole.aside.cells)
    assert np.array_equal(some.moments.scatter, whole.moments.scatter)


def test_some_rows_stand_for_all_in_any_order_and_parts() -> None:
    rows = np.arange(5000.0)[:, None]
    lots, taken = Lots.between(rows.min(axis=0), rows.max(axis=0)), []
    for seed, step in ((0, 5000), (1, 77)):
        mixed = np.random.default_rng(seed).permutation(rows)
        parts = [mixed[k : k + step] for k in range(0, 5000, step)]
        some = inner._some_rows(Rows.here(lambda parts=parts: parts), 5000, 500, lots)
        taken.append(some.gather(lambda: MomentsOf.nothing(1)).moments)
    assert taken[0].n_rows == taken[1].n_rows
    assert 430 < taken[0].n_rows < 570
    assert np.array_equal(taken[0].scatter, taken[1].scatter)
    # Everywhere alike.
    assert abs(float(taken[0].mean[0]) - 2500.0) < 4 * 5000 / np.sqrt(12 * taken[0].n_rows)


def test_rows_that_count_as_they_are_are_told_one_by_one() -> None:
    rows = table()
    clean = table(200, seed=1)
    assert robust(rows).whole(clean).all()
    rows[17, 4] += 50.0
    rows[40, 1] *= 1000.0
    found = robust(rows)
    assert np.flatnonzero(~found.whole(rows)).tolist() == [17, 40] == found.aside.rows.tolist()
    # Others than those it was learned from too, and alone as in company.
    clean[5, 2] = -999.0
    assert np.flatnonzero(~found.whole(clean)).tolist() == [5]
    alone = np.concatenate([found.whole(clean[k : k + 1]) for k in range(len(clean))])
    assert np.array_equal(alone, found.whole(clean))
    assert np.array_equal(found.moments.centre, Moments.from_array(rows[found.whole(rows)]).centre)


def test_sentinels_are_named_however_often_they_come_back() -> None:
    rows = table(2000)
    for start in range(0, 2000, 100):
        rows[start : start + 4, 1] = -9999.0
    aside = robust(rows).aside
    assert [tuple(one) for one in aside.repeated] == [(1, -9999.0, 80)]
    assert aside.cells.tolist() == [0, 80, 0, 0, 0]
    assert np.array_equal(rows[aside.shown.rows, aside.shown.columns], aside.shown.values)
    # The total tells what they would have been.
    expected = rows[aside.shown.rows, 4] - rows[aside.shown.rows, 0] - rows[aside.shown.rows, 2]
    np.testing.assert_allclose(aside.shown.expected, expected, atol=1e-4)


def test_hardly_a_row_without_a_gross_cell() -> None:
    rng = np.random.default_rng(5)
    free = rng.gamma(4.0, size=(1200, 40))
    rows = np.hstack([free, free.reshape(1200, 20, 2).sum(axis=2) + 0.01 * rng.normal(size=(1200, 20))])
    clean = rows.copy()
    spoiled = rng.random(rows.shape) < 0.05
    rows[spoiled] *= 10.0
    assert (~spoiled.any(axis=1)).mean() < 0.1
    found = robust(rows).moments.covariance
    relation = np.zeros(60)
    relation[[0, 1, 40]] = 1.0, 1.0, -1.0
    assert relation @ found @ relation < 4.0 * (relation @ Moments.from_array(clean).covariance @ relation)


def test_filled_cells_are_what_regression_would_put_there() -> None:
    rng = np.random.default_rng(6)
    rows = rng.normal(size=(300, 6)) @ rng.normal(size=(6, 6))
    moments = Moments.from_array(rows)
    distance = Distance.of(moments, moments)
    scaled = distance.scaled(rows[:20])
    cells = rng.random(scaled.shape) < 0.3
    filled = distance.filled(scaled, cells)
    covariance = np.linalg.inv(distance.inverse)
    for row, mask, found in zip(scaled, cells, filled, strict=True):
        known = ~mask
        slopes = covariance[np.ix_(mask, known)] @ np.linalg.inv(covariance[np.ix_(known, known)])
        np.testing.assert_allclose(found[mask], slopes @ row[known], atol=1e-8)
        assert np.array_equal(found[known], row[known])


def test_memory_does_not_grow_with_the_rows() -> None:
    peaks = []
    for many in (4, 32):

        def batches(many: int = many) -> Iterator[np.ndarray]:
            for k in range(many):
                rows = table(1000, seed=k)
                rows[::20, k % 5] *= 100.0
                yield rows

        moments = Moments.empty(5)
        for rows in batches():
            moments = moments.update(rows)
        tracemalloc.start()
        found = robust_moments(Rows.here(batches), moments)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert not found.aside.nothing
    assert peaks[1] < 1.2 * peaks[0]


def test_several_kinds_of_rows_are_no_errors() -> None:
    rng = np.random.default_rng(4)
    one = rng.normal(size=(300, 6))
    other = rng.normal(size=(200, 6)) + 40.0
    assert robust(np.vstack([one, other])).aside.nothing


def test_the_estimator_learns_without_what_is_gross_and_judges_it() -> None:
    """What violates an identity is repaired; what is gross among the others is set aside."""
    rows = table()
    rows = np.column_stack([rows, 2.0 * rows[:, 3] + 0.1 * np.random.default_rng(1).normal(size=len(rows))])
    right = rows[[17, 23]]
    rows[17, 4] += 50.0
    rows[23, 5] += 1000.0
    model = ASPCA(robust=True).fit(rows)
    assert [str(rule) for rule in model.rules_ if rule.exact] == ["x4 = x0 + x1 + x2 (exactly, 99.83 % of the rows)"]
    assert model.predict(rows)[[17, 23]].tolist() == [-1, -1]
    assert model.model_.aside.rows.tolist() == [23]
    assert model.model_.aside.cells.tolist() == [0, 0, 0, 0, 0, 1]
    # Neither moved what is learned.
    (relation,) = model.model_.relations
    assert str(relation).startswith("x5 = 2 x3 (± ")
    assert relation.spread == pytest.approx(0.1 / np.sqrt(5.0), rel=0.1)
    assert (model.predict(right) == 1).all()
    with pytest.raises(ValueError, match="equal weight"):
        model.fit(rows, sample_weight=np.ones(len(rows)))


@pytest.mark.parametrize("seed", range(20))
def test_decimals_are_those_of_trying_every_place(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = [np.round(rng.normal(size=90), places) for places in range(7)]
    columns += [rng.integers(-3, 3, size=90) * 10.0**size for size in (0, 8, 9, 12, 20, -7, -9)]
    columns += [rng.normal(size=90) * 10.0**size for size in (-8, 3, 12)]
    rows = np.column_stack(columns)
    found = np.zeros(rows.shape[1], dtype=np.intp)
    for start in (0, 30, 60):
        found = _decimals_seen(rows[start : start + 30], found)
    assert found.tolist() == [twins.places_needed(column, 4) for column in rows.T]


def test_how_far_rows_are_by_their_definition() -> None:
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(3000, 12)) @ rng.normal(size=(12, 12))
    rows[::50] *= 30.0
    moments = Moments.from_array(rows[1::2])
    distance, near = Distance.of(moments, moments), Near(40.0, 20.0)
    scaled = (rows - moments.mean) / distance.scale
    squares = twins.mahalanobis(scaled, (distance.vectors * distance.values) @ distance.vectors.T)
    pulls = np.square(scaled @ distance.inverse) / np.diag(distance.inverse)
    sizes = np.maximum(squares / near.row, pulls.max(axis=1) / near.cell)
    assert distance.sizes_of(rows, near) == pytest.approx(sizes, rel=1e-8)
    assert np.array_equal(distance.sizes_of(rows, near), distance.sizes(distance.scaled(rows), near))
    assert distance.squared(rows) == pytest.approx(squares, rel=1e-8)
    tight = distance.values <= 0.3
    kept = np.square(scaled @ distance.vectors[:, tight]) @ (1.0 / distance.values[tight]) <= near.row
    assert 0 < kept.sum() < len(rows)
    assert distance.sizes_of(rows, near, 100.0, 0.3) == pytest.approx(np.where(kept, sizes / 100.0, sizes), rel=1e-8)


def test_sentinels_of_rows() -> None:
    rows = np.random.default_rng(0).integers(0, 4, size=(200, 3)).astype(float)
    for values in ([[np.nan] * 3] * 2, [[0.0, np.nan, np.nan], [np.nan, np.nan, 3.0]]):
        sentinels = Sentinels(np.array(values), np.zeros(3))
        wanted = [any(cell in (low, high) for cell, low, high in zip(row, *values, strict=True)) for row in rows]
        assert sentinels.any_in(rows).tolist() == wanted


def test_moments_that_leave_decimals_open_are_the_same_otherwise() -> None:
    rows = table()
    with_them, without = Moments.from_array(rows), Moments.from_array(rows, decimals=False)
    assert np.array_equal(with_them.scatter, without.scatter)
    assert np.array_equal(with_them.mean, without.mean)
    assert (with_them.decimals == 2).all()
    assert (without.decimals == 16).all()
