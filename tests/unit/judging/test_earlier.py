"""Models of the first file format: limits keep what they promised, by simulation, and rules flag rows by themselves."""

from __future__ import annotations

import numpy as np
import pytest

from aspca import ASPCA
from aspca.judging.alarms import Alarms
from aspca.judging.earlier import earlier_limit
from aspca.judging.judgement import verdicts
from aspca.judging.limits import Limit
from aspca.settings import Settings


@pytest.mark.parametrize(("n", "d"), [(6, 2), (12, 4)])
def test_of_few_rows_a_new_one_exceeds_the_limit_as_often_as_the_level_says(n: int, d: int) -> None:
    """Mean and covariance of n rows, the distance of one more: forty thousand times."""
    rng = np.random.default_rng(n)
    rows, new = rng.normal(size=(40_000, n, d)), rng.normal(size=(40_000, d))
    mean = rows.mean(axis=1)
    centred = rows - mean[:, None]
    covariance = np.einsum("kni,knj->kij", centred, centred) / n
    off = new - mean
    squares = np.einsum("ki,ki->k", off, np.linalg.solve(covariance, off[:, :, None])[:, :, 0])
    limit = earlier_limit("whitened", "pearson", 0.95, np.eye(d), np.eye(d), np.zeros(d), float(n))
    # Four standard errors of a share of one in twenty.
    assert (squares > limit).mean() == pytest.approx(0.05, abs=4 * np.sqrt(0.05 * 0.95 / 40_000))


def test_of_very_many_rows_it_is_the_limit_of_the_law() -> None:
    plain = earlier_limit("spe", "pearson", 0.95, np.eye(3), np.eye(3), np.zeros(3), 1e9)
    assert earlier_limit("whitened", "pearson", 0.95, np.eye(3), np.eye(3), np.zeros(3), 1e9) == pytest.approx(plain)
    # The 95 % quantile of chi-square with three degrees of freedom.
    assert plain == pytest.approx(7.814727903, rel=1e-6)


def test_rules_and_score_flag_rows_each_by_itself() -> None:
    """Where nothing lifts a score: a broken rule, a high score, both, and neither."""
    scores, broken = np.array([1.0, 9.0, 9.0, 1.0]), np.array([[True], [False], [True], [False]])
    total, rules = Limit("pearson", 0.99, 5.0, ""), (Limit("pearson", 0.99, 2.0, ""),)
    either, rule = (Settings.of(ASPCA(alarm=alarm).get_params()) for alarm in ("any", "rule"))
    assert np.array_equal(verdicts(scores, broken, Alarms(either, total, rules)), [True, True, True, False])
    # One that waits for rows: what it does not decide can be said all the same.
    assert verdicts(scores, broken, Alarms(either, None, rules)) is None
    assert np.array_equal(verdicts(scores, broken, Alarms(rule, None, rules)), [True, False, True, False])
    assert verdicts(scores, None, Alarms(rule, total, None)) is None
