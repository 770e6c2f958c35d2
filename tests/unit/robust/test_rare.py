"""Values that hardly any row has: kept where they count in a relation, set aside where they are errors."""

from __future__ import annotations

import numpy as np
import pytest

from aspca import ASPCA, Moments
from aspca.moments.rows import Rows
from aspca.robust import RobustMoments, robust_moments
from aspca.robust.inner import fences_of
from aspca.robust.order import median_sizes

TOTAL = np.array([1.0, 1.0, 1.0, 0.0, -1.0])


def orders(share: float, usual: float = 0.0, n: int = 1500, seed: int = 0) -> np.ndarray:
    """Net, tax, a surcharge that `share` of the orders have beyond the usual one, weight, and the exact total."""
    rng = np.random.default_rng(seed)
    net, tax, weight = np.round(rng.gamma(3.0, [[50.0, 8.0, 2.0]], size=(n, 3)), 2).T
    surcharge = np.where(rng.random(n) < share, np.round(rng.gamma(4.0, 10.0, n), 2), usual)
    return np.column_stack([net, tax, surcharge, weight, np.round(net + tax + surcharge, 2)])


def robust(rows: np.ndarray, step: int = 10_000) -> RobustMoments:
    parts = [rows[k : k + step] for k in range(0, len(rows), step)]
    return robust_moments(Rows.here(lambda: parts), Moments.from_array(rows))


def total_is_exact(moments: Moments) -> bool:
    return bool(TOTAL @ moments.covariance @ TOTAL < 1e-12 * moments.covariance[4, 4])


@pytest.mark.parametrize("share", [0.02, 0.1, 0.4])
@pytest.mark.parametrize("usual", [0.0, 0.3])
def test_a_rare_surcharge_stays_in_the_total(share: float, usual: float) -> None:
    rows = orders(share, usual)
    wrong = np.arange(15) * 97
    rows[wrong, 4] = np.round(1.1 * rows[wrong, 4], 2)
    found = robust(rows)
    assert set(found.aside.rows.tolist()) == set(wrong.tolist())
    assert total_is_exact(found.moments)
    assert found.moments.covariance[2, 2] > 0.0


def test_the_rule_holds_the_rare_column() -> None:
    rows = orders(0.03)
    rows[5, 4] *= 1.1
    model = ASPCA(robust="on").fit(rows)
    which = next(k for k, one in enumerate(model.rules_) if "exactly" in str(one))
    assert "x2" in str(model.rules_[which]), str(model.rules_[which])
    parts = model.explain(rows).rule_contributions[:, which]
    assert np.flatnonzero(parts > 1e-6).tolist() == [5]
    assert model.predict(rows[[5]])[0] == -1


def test_a_few_errors_do_not_make_anomalies_of_rare_values() -> None:
    rows = orders(0.05)
    rows[[17, 40, 99], 4] *= 1.1
    flagged = ASPCA(robust="on").fit(rows).predict(rows) == -1
    assert flagged[[17, 40, 99]].all()
    assert flagged.mean() < 0.04


def test_errors_in_a_column_that_never_varies_are_found() -> None:
    rows = orders(0.0)
    wrong = np.arange(20) * 71
    rng = np.random.default_rng(1)
    rows[wrong, 2] = rng.choice([-1.0, 1.0], 20) * rng.uniform(5e3, 2e4, 20)
    assert set(wrong) <= set(np.flatnonzero(ASPCA(robust="on").fit(rows).predict(rows) == -1))


def test_batches_do_not_matter() -> None:
    rows = orders(0.05)
    rows[[3, 500, 900], 0] *= 1.5
    whole, parts = robust(rows), robust(rows, 128)
    assert whole.aside.rows.tolist() == parts.aside.rows.tolist()
    assert np.allclose(whole.moments.scatter, parts.moments.scatter, rtol=1e-12)


@pytest.mark.parametrize("usual", [0.0, 0.3, 7.0])
def test_a_column_of_mostly_one_value_is_fenced_by_its_others(usual: float) -> None:
    rows = orders(0.3, usual)
    fences = fences_of(Rows.here(lambda: [rows]), 5)
    others = rows[rows[:, 2] != usual, 2]
    assert fences.beside.tolist() == [-1, -1, len(others), -1, -1]
    assert fences.size[2] == pytest.approx(1.4826 * np.median(np.abs(others - usual)), rel=0.07)
    assert not fences.outside(rows)[:, 2].any()


def test_the_size_of_nothing_is_nothing() -> None:
    assert median_sizes(Rows.here(lambda: [np.zeros((5, 1))]), 1)[0] == 0.0
