"""Weights of the rules against their definitions, what they do where rules hold exactly, and what lies outside."""

from __future__ import annotations

import numpy as np
import pytest

import twins
import zoo
from aspca import ASPCA
from aspca.judging.metric import score_variances, score_weights, tempered
from aspca.judging.outside import outside_directions
from aspca.settings import SCORES

NONE = np.zeros(3)
WHITENED = ("complete", "whitened")


def weights(kind: str, inside: np.ndarray, unresolved: np.ndarray) -> np.ndarray:
    return score_weights(kind, inside, np.maximum(np.diag(inside), unresolved), unresolved)


def covariance(seed: int = 0, d: int = 3) -> np.ndarray:
    mixing = np.random.default_rng(seed).normal(size=(d, d)) + np.eye(d)
    return mixing @ mixing.T


def test_weights_by_hand() -> None:
    inside = np.array([[4.0, 1.0, 0.0], [1.0, 25.0, 0.0], [0.0, 0.0, 0.01]])
    assert weights("spe", inside, NONE).tolist() == np.eye(3).tolist()
    assert weights("standardized", inside, NONE) == pytest.approx(np.diag([0.5, 0.2, 10.0]), rel=1e-15)
    # Without correlation whitening is standardizing.
    alone = np.diag([4.0, 25.0, 0.01])
    for kind in WHITENED:
        assert weights(kind, alone, NONE) == pytest.approx(np.diag([0.5, 0.2, 10.0]), rel=1e-14)
    # Two rules of correlation r: K^-1/2 has (1 / sqrt(1 + r) +- 1 / sqrt(1 - r)) / 2 on and off its diagonal.
    one, other = 0.5 * (1.1**-0.5 + 0.9**-0.5), 0.5 * (1.1**-0.5 - 0.9**-0.5)
    expected = np.array([[one / 2, other / 2, 0.0], [other / 5, one / 5, 0.0], [0.0, 0.0, 10.0]])
    for kind in WHITENED:
        assert weights(kind, inside, NONE) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("kind", WHITENED)
@pytest.mark.parametrize("seed", range(5))
def test_whitening_moves_deviations_in_units_of_their_spreads_least(kind: str, seed: int) -> None:
    inside = covariance(seed)
    W = weights(kind, inside, NONE)
    spreads = np.sqrt(np.diag(inside))
    root = spreads[:, None] * W
    assert root == pytest.approx(root.T, abs=1e-14)
    assert np.linalg.eigvalsh(0.5 * (root + root.T)).min() > 0
    assert W.T @ inside @ W == pytest.approx(np.eye(3), abs=1e-9)
    assert pytest.approx(np.linalg.inv(inside), rel=1e-7) == W @ W.T
    # Of all whitenings W Q it moves y / s least: E|y / s - y W Q|^2 is smallest at Q = 1.
    rng, units = np.random.default_rng(seed), np.diag(1.0 / spreads)
    for _ in range(50):
        other = W @ np.linalg.qr(rng.normal(size=(3, 3)))[0] - units
        mine = W - units
        assert np.trace(mine.T @ inside @ mine) <= np.trace(other.T @ inside @ other) + 1e-12


@pytest.mark.parametrize("kind", ["standardized", *WHITENED])
def test_exact_rules_stand_alone_in_units_of_what_is_resolved(kind: str) -> None:
    """There is no other floor: a rule a thousand million times as tight as another counts in its own units."""
    inside = np.diag([1.0, 0.0, 1e-18])
    assert np.diag(weights(kind, inside, np.array([0.0, 1e-16, 1e-20]))) == pytest.approx([1.0, 1e8, 1e9], rel=1e-12)
    # What rounding left of correlations of an exact rule counts for nothing.
    noisy = np.array([[1.0, 0.6e-8, 0.5], [0.6e-8, 1e-17, 0.3e-8], [0.5, 0.3e-8, 1.0]])
    W = weights(kind, noisy, np.array([1e-16, 1e-16, 1e-16]))
    assert W[1] == pytest.approx([0.0, 1e8, 0.0], rel=1e-12)
    assert W[[0, 2], 1].tolist() == [0.0, 0.0]
    without = weights(kind, noisy[np.ix_([0, 2], [0, 2])], np.full(2, 1e-16))
    assert W[np.ix_([0, 2], [0, 2])] == pytest.approx(without, rel=1e-12)


@pytest.mark.parametrize("kind", SCORES)
def test_nothing_varies(kind: str) -> None:
    """No units to be found: the identity. If rounding alone is known, it is the unit."""
    assert weights(kind, np.zeros((3, 3)), NONE).tolist() == np.eye(3).tolist()
    noise = weights(kind, np.zeros((3, 3)), np.full(3, 1e-16))
    assert np.diag(noise) == pytest.approx(np.full(3, 1.0 if kind == "spe" else 1e8), rel=1e-12)
    # Variances that rounding made negative are none.
    assert np.isfinite(weights(kind, np.diag([-1e-20, 0.0, 1e-300]), NONE)).all()
    assert score_variances(np.eye(3), np.zeros((3, 3)), NONE).tolist() == [0.0] * 3


@pytest.mark.parametrize("kind", SCORES)
def test_variances_are_those_of_the_weighted_rows(kind: str) -> None:
    rng = np.random.default_rng(1)
    Y = rng.normal(size=(500, 3)) @ (np.eye(3) + rng.normal(size=(3, 3)))
    Y -= Y.mean(axis=0)
    inside = Y.T @ Y / 500
    W = weights(kind, inside, NONE)
    terms = np.square(Y @ W)
    eigenvalues = score_variances(W, inside, NONE)
    assert eigenvalues == pytest.approx(np.linalg.svd(Y @ W, compute_uv=False)[::-1] ** 2 / 500, rel=1e-9)
    # They sum to the mean score: what spread there is, and the number of rules once rules have units.
    assert eigenvalues.sum() == pytest.approx(terms.sum(axis=1).mean(), rel=1e-12)
    assert eigenvalues.sum() == pytest.approx(np.trace(inside) if kind == "spe" else 3.0, rel=1e-9)
    if kind in WHITENED:
        assert eigenvalues == pytest.approx(np.ones(3), rel=1e-9)


@pytest.mark.parametrize("kind", SCORES)
def test_no_variance_is_quoted_below_what_rounding_shows(kind: str) -> None:
    inside, unresolved = np.diag([1e-3, 1e-18, 0.0]), np.array([1e-16, 1e-16, 4e-16])
    W = weights(kind, inside, unresolved)
    scale = np.square(np.diag(W))
    assert score_variances(W, inside, unresolved).min() == pytest.approx((unresolved * scale).max(), rel=1e-12)
    # Rules in the smallest units there are: weights are huge, yet nothing overflows.
    tiny = weights(kind, np.eye(3) * 1e-305, np.full(3, 1e-320))
    assert np.isfinite(score_variances(tiny, np.eye(3) * 1e-305, np.full(3, 1e-320))).all()


def test_no_rules_and_no_such_score() -> None:
    for kind in SCORES:
        W = weights(kind, np.zeros((0, 0)), np.zeros(0))
        assert W.shape == (0, 0)
        assert score_variances(W, np.zeros((0, 0)), np.zeros(0)).tolist() == []
    allowed = r"score must be one of complete, whitened, standardized, spe, got 'mahalanobis'\."
    with pytest.raises(ValueError, match=allowed):
        weights("mahalanobis", np.eye(2), np.zeros(2))


# ---- outside the rules


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_what_lies_outside_is_tempered(share: float) -> None:
    squares = np.array([0.0, 1.0, 6.9, 7.0, 7.1, 1e6])
    expected = [twins.outside_part(square, 7.0, share) for square in squares]
    assert tempered(squares, 7.0, share) == pytest.approx(expected, rel=1e-14)
    assert tempered(squares, np.inf, share) == pytest.approx(share * squares, rel=1e-14)
    # Continuous, and never falling.
    fine = tempered(np.linspace(0.0, 20.0, 10_001), 7.0, share)
    assert (np.diff(fine) >= 0.0).all()
    assert np.diff(fine).max() <= 0.002 * (1 + 1e-9)


@pytest.mark.parametrize("m", [0, 1, 3, 5, 6])
def test_both_parts_add_up_to_the_mahalanobis_distance(m: int) -> None:
    rng = np.random.default_rng(m)
    Z = rng.normal(size=(300, 6)) @ (np.eye(6) + 0.5 * rng.normal(size=(6, 6)))
    Z -= Z.mean(axis=0)
    S, R = Z.T @ Z / 300, rng.normal(size=(6, m))
    R /= np.linalg.norm(R, axis=0)
    W = weights("complete", R.T @ S @ R, np.zeros(m))
    N = outside_directions(S, R, W, np.zeros(m, dtype=bool), still=True)
    assert N.shape == (6, 6 - m)
    # Uncorrelated with the rules and among each other, of variance one.
    assert pytest.approx(np.eye(6 - m), abs=1e-9) == N.T @ S @ N
    assert pytest.approx(np.zeros((6 - m, m)), abs=1e-9) == N.T @ S @ R
    inside, beside = np.square(Z @ R @ W).sum(axis=1), np.square(Z @ N).sum(axis=1)
    assert inside + beside == pytest.approx(twins.mahalanobis(Z, S), rel=1e-8)


def test_directions_that_never_moved_count_unless_there_are_few_rows() -> None:
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(100, 4))
    Z[:, 3] = Z[:, 0] - Z[:, 1]
    Z -= Z.mean(axis=0)
    S, none = Z.T @ Z / 100, np.zeros((4, 0))
    for still, r in ((True, 4), (False, 3)):
        N = outside_directions(S, none, np.zeros((0, 0)), np.zeros(0, dtype=bool), still=still)
        assert N.shape[1] == r
        moved = np.array([0.0, 0.0, 0.0, 1.0])
        assert (np.square(moved @ N).sum() > 1e12) == still
        assert np.square(Z @ N).sum(axis=1) == pytest.approx(
            np.einsum("ij,jk,ik->i", Z, np.linalg.pinv(S, rcond=1e-9), Z), rel=1e-6
        )


def test_a_models_metric_is_made_of_its_rules_and_covariance() -> None:
    X = zoo.well_conditioned(400, 6, 1, tight=2)
    model = ASPCA(level=0.9).fit(X).model_
    Z = twins.scaled(model, X)
    C, R, W, N = twins.covariance_of(Z), model.table.loadings, model.metric.weights, model.metric.outside
    assert R.shape == (6, 2)
    assert pytest.approx(np.linalg.inv(R.T @ C @ R), rel=1e-7) == W @ W.T
    assert pytest.approx(np.linalg.inv(C), rel=1e-6, abs=1e-6) == R @ W @ W.T @ R.T + N @ N.T
    assert model.metric.outside_share == 4 / 6
    assert model.metric.outside_limit == pytest.approx(twins.f_limit(0.9, 4, 400, 396), rel=1e-9)
