"""The quick step of EM against the careful one; EM that converges on a few rows first, against EM over all of them."""

from __future__ import annotations

import numpy as np
import pytest

from aspca.moments import IncompleteMoments, em
from aspca.moments.em import (
    Gaussian,
    iterate,
    iterate_by_few,
    start_from_pairs,
    take_em_step,
    take_quick_step,
)
from aspca.moments.incomplete import Completion
from aspca.moments.patterns import Patterns, collect_patterns, sample_patterns


def table(tightness: float, seed: int = 0, n: int = 400, p: int = 9, *, repeated: bool = True) -> np.ndarray:
    """Rows with a rule of this spread, a fifth of the values gone; `repeated`: some patterns many times."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) / np.sqrt(p)
    rows[:, 2] = rows[:, 0] + rows[:, 1] + tightness * rng.normal(size=n)
    missing = rng.random((n, p)) < 0.2
    if repeated:
        missing[: n // 3] = missing[0]
    missing[:, 3] &= ~missing.all(axis=1)
    return np.where(missing, np.nan, rows)


def weighted(rows: np.ndarray, seed: int = 1) -> tuple[list[Patterns], float]:
    missing = np.isnan(rows)
    weights = np.random.default_rng(seed).uniform(0.5, 2.0, len(rows))
    roots = np.sqrt(weights)
    # Rows that are a factor of a scatter have no mean, and no weight of their own.
    factor = np.arange(len(rows)) % 5 == 0
    scaled = np.where(missing, 0.0, rows) * roots[:, None]
    parts = collect_patterns(scaled, np.where(factor, 0.0, roots), np.where(factor, 0.0, weights), missing)
    return parts, float(weights[~factor].sum())


def near(rows: np.ndarray) -> Gaussian:
    """About where the rows are; as tight as they."""
    done = IncompleteMoments.from_array(rows).completed(tol=1e-3).moments
    values, axes = np.linalg.eigh(done.covariance)
    return Gaussian(np.asarray(done.mean) + 0.1, axes, np.sqrt(values))


@pytest.mark.parametrize("tightness", [1.0, 0.1, 1e-2, 1e-3])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_it_is_the_careful_step(tightness: float, seed: int) -> None:
    rows = table(tightness, seed)
    parts, weight = weighted(rows)
    here = near(rows)
    careful = take_em_step(parts, weight, here)
    # As little rounding as it promises, in the units of where it starts: those of the rule too.
    noise = next(10.0**k for k in range(-14, 0) if take_quick_step(parts, weight, here, 10.0**k) is not None)
    quick = take_quick_step(parts, weight, here, noise)
    assert quick is not None
    one, other = (here.whitener @ step.factor for step in (quick, careful))
    size = np.abs(other @ other.T).max()
    assert np.abs(one @ one.T - other @ other.T).max() <= noise * size
    assert np.abs(here.whitener @ (quick.mean - careful.mean)).max() <= noise * size
    assert quick.log_likelihood == pytest.approx(careful.log_likelihood, rel=noise)


def test_it_is_refused_where_rounding_would_show() -> None:
    rows = table(1e-7)
    parts, weight = weighted(rows)
    assert take_quick_step(parts, weight, near(rows), 1e-8) is None
    rows = table(0.1)
    parts, weight = weighted(rows)
    assert take_quick_step(parts, weight, near(rows), 1e-8) is not None


@pytest.mark.parametrize("tightness", [0.3, 1e-2, 1e-4, 0.0])
def test_it_leads_to_the_same_estimate(tightness: float, monkeypatch: pytest.MonkeyPatch) -> None:
    moments = IncompleteMoments.from_array(table(tightness))
    found = moments.completed()
    monkeypatch.setattr(em, "take_quick_step", lambda *_: None)
    careful = moments.completed()
    assert found.converged
    assert careful.converged
    scale = np.sqrt(np.diagonal(careful.moments.covariance))
    gap = np.abs(found.moments.covariance - careful.moments.covariance) / np.outer(scale, scale)
    assert gap.max() <= 1e-6
    rule = np.r_[1.0, 1.0, -1.0, np.zeros(6)]
    one, other = (float(rule @ done.moments.covariance @ rule) for done in (found, careful))
    assert one == pytest.approx(other, rel=1e-5, abs=1e-13)


# ---- steps over a few of the rows


def many(tightness: float, n: int = 6000, p: int = 7, seed: int = 0) -> np.ndarray:
    return table(tightness, seed, n, p, repeated=False)


def patterns(rows: np.ndarray) -> list[Patterns]:
    ones = np.ones(len(rows))
    return collect_patterns(np.nan_to_num(rows), ones, ones, np.isnan(rows))


def completed(rows: np.ndarray, monkeypatch: pytest.MonkeyPatch, *, by_few: bool) -> Completion:
    monkeypatch.setattr(em, "_FEW", 60 if by_few else len(rows))
    # Of patterns with few rows each: no row is known by moments alone.
    return IncompleteMoments.from_array(rows).completed()


@pytest.mark.parametrize("tightness", [0.3, 1e-2, 1e-4, 0.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_few_lead_where_all_rows_lead(tightness: float, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = many(tightness, p=14, seed=seed)
    few, all_rows = (completed(rows, monkeypatch, by_few=by_few) for by_few in (True, False))
    assert few.converged
    assert all_rows.converged
    assert few.iterations < all_rows.iterations
    one, other = few.moments.covariance, all_rows.moments.covariance
    scale = np.sqrt(np.diagonal(other))
    assert np.abs((one - other) / np.outer(scale, scale)).max() <= 1e-7
    assert np.abs((few.moments.mean - all_rows.moments.mean) / scale).max() <= 1e-7
    rule = np.r_[1.0, 1.0, -1.0, np.zeros(11)]
    assert float(rule @ one @ rule) == pytest.approx(float(rule @ other @ rule), rel=1e-6, abs=1e-13)


def test_few_rows_of_another_kind_do_no_harm() -> None:
    """What they say is taken back: they are no help, and all rows decide."""
    rows = many(0.1)
    parts, strangers = patterns(rows), patterns(100.0 * many(0.1, 500, seed=9)[:, ::-1])
    start = start_from_pairs(parts, 7)
    plain, misled = iterate(parts, start, 1e-8, 1000), iterate_by_few(parts, strangers, start, 1e-8, 1000)
    assert misled.converged
    np.testing.assert_allclose(misled.covariance, plain.covariance, rtol=0.0, atol=1e-7)


def test_the_few_are_never_more_steps_than_allowed() -> None:
    parts = patterns(many(0.1))
    few = sample_patterns(parts, 7, 500, 4)
    assert few is not None
    for most in (1, 2):
        found = iterate_by_few(parts, few, start_from_pairs(parts, 7), 1e-12, most)
        assert (found.iterations, found.converged) == (most, False)


def test_some_patterns_stand_for_all_whatever_the_order_of_rows() -> None:
    rows = many(0.1)
    parts = patterns(rows)
    found = sample_patterns(parts, 7, 300, 4)
    again = sample_patterns(patterns(rows[np.random.default_rng(3).permutation(len(rows))]), 7, 300, 4)
    assert found is not None
    assert again is not None
    total = sum(float(part.weights.sum()) for part in found)
    assert total == pytest.approx(len(rows))
    assert 0 < sum(len(part.rows) for part in found) < len(rows) / 4
    chosen, others = ({tuple(gaps) for part in some for gaps in part.gaps.tolist()} for some in (found, again))
    assert chosen == others
    # Rows keep their weights beside each other, and the gaps they have.
    for part in found:
        assert np.unique(np.round(part.roots, 12)).size == 1
        assert (np.take_along_axis(part.rows, part.gaps[part.owner], axis=1) == 0.0).all()
