"""The quick step of EM, against the careful one, which test_em.py holds against the textbook's."""

from __future__ import annotations

import numpy as np
import pytest

from aspca.moments import IncompleteMoments, em
from aspca.moments.em import Gaussian, take_em_step, take_quick_step
from aspca.moments.patterns import Patterns, collect_patterns


def table(tightness: float, seed: int = 0, n: int = 400, p: int = 9) -> np.ndarray:
    """Rows with a rule of this spread, a fifth of the values gone, some patterns many times."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) / np.sqrt(p)
    rows[:, 2] = rows[:, 0] + rows[:, 1] + tightness * rng.normal(size=n)
    missing = rng.random((n, p)) < 0.2
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
