"""Where some rows are wrong by much, others are by little: they do not widen limits, and tails are not cut for few."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from aspca import ASPCA
from aspca.judging.small_errors import weights_of_rules, weights_of_scores


def quantile(level: float) -> float:
    return float(chi2.ppf(level, 4))


def test_rows_as_the_law_has_them_count_in_full() -> None:
    scores = chi2.ppf((np.arange(4000) + 0.5) / 4000, 4)
    weights = weights_of_scores(scores, quantile, 0.2)
    assert weights.sum() > 0.995 * 4000


@pytest.mark.parametrize("most", [0.02, 0.2])
def test_what_the_law_has_no_room_for_is_discounted_up_to_the_share_of_errors(most: float) -> None:
    scores = np.concatenate([chi2.ppf((np.arange(4000) + 0.5) / 4000, 4), np.linspace(15.0, 40.0, 400)])
    weights = weights_of_scores(scores, quantile, most)
    gone = scores.size - weights.sum()
    assert gone <= most * scores.size + 1.0
    assert gone > 0.6 * min(most * scores.size, 400)
    # The nearer half is never touched.
    assert (weights[scores < np.median(scores)] == 1.0).all()


def test_rows_that_keep_every_rule_exactly_are_no_fault() -> None:
    squares = np.zeros((200, 2))
    squares[:5, 0] = 3.0
    assert (weights_of_rules(squares, 0.1) <= 1.0).all()
    assert (weights_of_rules(np.zeros((200, 2)), 0.1) == 1.0).all()


def test_largest_deviations_of_several_rules() -> None:
    squares = np.random.default_rng(0).normal(size=(5000, 6)) ** 2
    clean = weights_of_rules(squares, 0.2)
    assert clean.sum() > 0.97 * 5000
    squares[:300, 2] += 12.0
    spoiled = weights_of_rules(squares, 0.2)
    assert spoiled[:300].mean() < 0.5
    assert spoiled[300:].mean() > 0.95


def test_fresh_rows_are_flagged_as_promised_after_spoiled_cells() -> None:
    def draw(n: int, seed: int) -> np.ndarray:
        rng = np.random.default_rng(seed)
        a = rng.normal(size=(n, 4))
        return np.column_stack([a, a[:, 0] + a[:, 1], a[:, 1] - a[:, 2], a[:, 2] + a[:, 3]]) + 0.05 * rng.normal(
            size=(n, 7)
        )

    rows = draw(2000, 0)
    gross = np.random.default_rng(1).random(rows.shape) < 0.02
    rows[gross] *= 10.0
    flagged = (ASPCA(robust="on").fit(rows).predict(draw(20_000, 2)) == -1).mean()
    assert 0.012 < flagged < 0.045, flagged
