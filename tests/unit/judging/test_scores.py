"""Weights of the rules against their definitions, and what they do where rules hold exactly."""

from __future__ import annotations

import numpy as np
import pytest
from aspca.judging.scores import SCORES, score_variances, score_weights

NONE = np.zeros(3)


def covariance(seed: int = 0, d: int = 3) -> np.ndarray:
    mixing = np.random.default_rng(seed).normal(size=(d, d)) + np.eye(d)
    return mixing @ mixing.T


def test_weights_by_hand() -> None:
    projected = np.array([[4.0, 1.0, 0.0], [1.0, 25.0, 0.0], [0.0, 0.0, 0.01]])
    assert score_weights("spe", projected, NONE, 0.0).tolist() == np.eye(3).tolist()
    assert score_weights("standardized", projected, NONE, 0.0) == pytest.approx(np.diag([0.5, 0.2, 10.0]), rel=1e-15)
    # Without correlation whitening is standardizing.
    alone = np.diag([4.0, 25.0, 0.01])
    assert score_weights("whitened", alone, NONE, 0.0) == pytest.approx(np.diag([0.5, 0.2, 10.0]), rel=1e-14)


@pytest.mark.parametrize("seed", range(5))
def test_whitening_is_the_symmetric_positive_root_of_the_inverse(seed: int) -> None:
    projected = covariance(seed)
    W = score_weights("whitened", projected, NONE, 0.0)
    assert W.tolist() == W.T.tolist()
    assert np.linalg.eigvalsh(W).min() > 0
    assert W @ projected @ W == pytest.approx(np.eye(3), abs=1e-9)
    # Of all whitenings W Q it moves the projections least: E|y - yWQ|^2 is smallest at Q = 1.
    rng = np.random.default_rng(seed)
    for _ in range(50):
        other = W @ np.linalg.qr(rng.normal(size=(3, 3)))[0] - np.eye(3)
        mine = W - np.eye(3)
        assert np.trace(mine.T @ projected @ mine) <= np.trace(other.T @ projected @ other) + 1e-12


def test_exact_and_tiny_rules_stop_at_the_floor() -> None:
    """The larger of what float64 resolves and 5e-4 of a typical feature's variance."""
    projected = np.diag([1.0, 0.0, 1e-9])
    for kind in ("standardized", "whitened"):
        assert np.diag(score_weights(kind, projected, NONE, 0.2)) == pytest.approx([1.0, 1e2, 1e2], rel=1e-12)
        coarse = np.full(3, 1e-2)
        assert np.diag(score_weights(kind, projected, coarse, 0.2)) == pytest.approx([1.0, 10.0, 10.0], rel=1e-12)
    # Each rule has its own resolution; mixed, they share the worst.
    mixed = np.array([0.0, 1e-2, 0.0])
    assert np.diag(score_weights("standardized", projected, mixed, 0.2)) == pytest.approx([1.0, 10, 100], rel=1e-12)
    assert np.diag(score_weights("whitened", projected, mixed, 0.2)) == pytest.approx([1.0, 10, 10], rel=1e-12)


@pytest.mark.parametrize("kind", SCORES)
def test_nothing_varies(kind: str) -> None:
    """No units to be found: the identity. If rounding alone is known, it is the unit."""
    assert score_weights(kind, np.zeros((3, 3)), NONE, 0.0).tolist() == np.eye(3).tolist()
    noise = score_weights(kind, np.zeros((3, 3)), np.full(3, 1e-16), 0.0)
    assert np.diag(noise) == pytest.approx(np.full(3, 1.0 if kind == "spe" else 1e8), rel=1e-12)
    # Variances that rounding made negative are none.
    assert np.isfinite(score_weights(kind, np.diag([-1e-20, 0.0, 1e-300]), NONE, 0.0)).all()
    assert score_variances(np.eye(3), np.zeros((3, 3)), NONE).tolist() == [0.0] * 3


@pytest.mark.parametrize("kind", SCORES)
def test_variances_are_those_of_the_weighted_rows(kind: str) -> None:
    rng = np.random.default_rng(1)
    Y = rng.normal(size=(500, 3)) @ (np.eye(3) + rng.normal(size=(3, 3)))
    Y -= Y.mean(axis=0)
    projected = Y.T @ Y / 500
    W = score_weights(kind, projected, NONE, 0.0)
    terms = np.square(Y @ W)
    eigenvalues = score_variances(W, projected, NONE)
    assert eigenvalues == pytest.approx(np.linalg.svd(Y @ W, compute_uv=False)[::-1] ** 2 / 500, rel=1e-9)
    # They sum to the mean score: what spread there is, and the number of rules once rules have units.
    assert eigenvalues.sum() == pytest.approx(terms.sum(axis=1).mean(), rel=1e-12)
    assert eigenvalues.sum() == pytest.approx(np.trace(projected) if kind == "spe" else 3.0, rel=1e-9)
    if kind == "whitened":
        assert eigenvalues == pytest.approx(np.ones(3), rel=1e-9)


@pytest.mark.parametrize("kind", SCORES)
def test_no_variance_is_quoted_below_what_rounding_shows(kind: str) -> None:
    projected, unresolved = np.diag([1e-3, 1e-18, 0.0]), np.array([1e-16, 1e-16, 4e-16])
    W = score_weights(kind, projected, unresolved, 0.0)
    scale = np.square(np.diag(W))
    assert score_variances(W, projected, unresolved).min() == pytest.approx((unresolved * scale).max(), rel=1e-12)
    # Rules in the smallest units there are: weights are huge, yet nothing overflows.
    tiny = score_weights(kind, np.eye(3) * 1e-305, np.full(3, 1e-320), 0.0)
    assert np.isfinite(score_variances(tiny, np.eye(3) * 1e-305, np.full(3, 1e-320))).all()


def test_no_rules_and_no_such_score() -> None:
    for kind in SCORES:
        W = score_weights(kind, np.zeros((0, 0)), np.zeros(0), 0.0)
        assert W.shape == (0, 0)
        assert score_variances(W, np.zeros((0, 0)), np.zeros(0)).tolist() == []
    with pytest.raises(ValueError, match=r"score must be one of spe, standardized, whitened, got 'mahalanobis'\."):
        score_weights("mahalanobis", np.eye(2), np.zeros(2), 0.0)
