"""The group lasso behind JSPCA: optimality, bounds and the rotation of A, checked from the rows themselves."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from aspca.paper.baselines.joint_sparse import (
    bound_objective,
    compute_objective,
    find_largest_mu,
    solve_joint_sparse,
    solve_path,
    sweep_rows,
)
from aspca.paper.datasets import load_breast_cancer, load_synthetic

CASES = ["synthetic", "breast", "twins"]
SHARES = [0.003, 0.1, 1 / 3, 0.6, 0.95]


@cache
def problem(case: str) -> tuple[np.ndarray, np.ndarray]:
    """Centred, scaled rows X (n, p) and the last directions V (p, d)."""
    if case == "twins":
        # A column twice, a constant one, and a sum: the covariance is singular.
        rng = np.random.default_rng(1)
        a, b, c = rng.normal(size=(3, 60))
        rows = np.column_stack([a, a, b, a + b, c, np.ones(60), 0.2 * rng.normal(size=60)])
    else:
        rows = {"synthetic": load_synthetic, "breast": load_breast_cancer}[case]().data
    X = rows - rows.mean(axis=0)
    if case == "breast":
        X = X / np.abs(X).max(axis=0)
    d = {"synthetic": 4, "breast": 10, "twins": 5}[case]
    return X, np.linalg.eigh(X.T @ X)[1][:, :d]


def full_objective(X: np.ndarray, A: np.ndarray, B: np.ndarray, mu: float) -> float:
    """As in the definition, from the rows."""
    return 0.5 * np.square(X - X @ B @ A.T).sum() / len(X) + mu * np.linalg.norm(B, axis=1).sum()


def covariance(X: np.ndarray) -> np.ndarray:
    return X.T @ X / len(X)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("share", SHARES)
def test_optimality_conditions_hold_in_the_rows(case: str, share: float) -> None:
    X, V = problem(case)
    mu = share * find_largest_mu(covariance(X), V)
    found = solve_joint_sparse(covariance(X), V, mu, tol=1e-11, max_iter=5000)
    B = found.loadings
    start = 0.5 * np.square(X @ V).sum() / len(X)
    assert found.gap <= 1e-11 * start
    gradient = X.T @ (X @ V - X @ B) / len(X)
    # Minimising over row j alone would gain S_jj / 2 times the squared step, which the gap bounds.
    for j, curvature in enumerate(np.square(X).mean(axis=0)):
        slack = np.sqrt(2 * (found.gap + 1e-15 * start) * curvature) + 1e-15
        if not B[j].any():
            assert np.linalg.norm(gradient[j]) <= mu + slack
        else:
            target = curvature * B[j] + gradient[j]
            best = max(0.0, 1 - mu / np.linalg.norm(target)) * target / curvature
            assert curvature * np.linalg.norm(best - B[j]) <= slack


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("share", SHARES)
def test_the_bound_is_a_feasible_point_of_the_dual(case: str, share: float) -> None:
    X, V = problem(case)
    n, mu = len(X), share * find_largest_mu(covariance(X), V)
    for B in (solve_joint_sparse(covariance(X), V, mu).loadings, 0.5 * V, 2 * V):
        residual = X @ (V - B)
        slope = np.linalg.norm(X.T @ residual / n, axis=1).max()
        along, squared = (X @ V * residual).sum() / n, np.square(residual).sum() / n
        multiple = max(0.0, min(mu / slope, along / squared))
        T = multiple * residual
        assert np.linalg.norm(X.T @ T / n, axis=1).max() <= mu * (1 + 1e-12)
        value = (X @ V * T).sum() / n - 0.5 * np.square(T).sum() / n
        unit = compute_objective(covariance(X), V, np.zeros_like(V), mu)
        assert bound_objective(covariance(X), V, B, mu) == pytest.approx(value, abs=1e-12 * unit)
        # Weak duality, against many points.
        rng = np.random.default_rng(0)
        for _ in range(20):
            other = V * rng.uniform(0, 1.2, size=(V.shape[0], 1)) + 0.1 * rng.normal(size=V.shape)
            assert value <= compute_objective(covariance(X), V, other, mu)


@pytest.mark.parametrize("case", CASES)
def test_the_best_basis_of_the_abnormal_subspace_is_the_principal_one(case: str) -> None:
    """No rotation of A, with the B that is best for it, does better: the alternating scheme ends where we do."""
    X, V = problem(case)
    S, n = covariance(X), len(X)
    mu = 0.2 * find_largest_mu(S, V)
    found = solve_joint_sparse(S, V, mu, tol=1e-12, max_iter=5000)
    value = full_objective(X, V, found.loadings, mu)
    outside = 0.5 * (np.square(X).sum() - np.square(X @ V).sum()) / n
    assert value == pytest.approx(found.objective + outside, rel=1e-12)
    # The Procrustes step for A at the solution, from the rows: nothing to gain.
    best = np.linalg.svd(V.T @ X.T @ X @ found.loadings / n)[1].sum()
    gained = best - np.trace(V.T @ X.T @ X @ found.loadings) / n
    assert abs(gained) <= 1e-9 * best
    # The alternating scheme from other bases of the subspace, as the slow twin.
    rng = np.random.default_rng(3)
    R = np.linalg.qr(rng.normal(size=(V.shape[1],) * 2))[0]
    A, B = V @ R, 0.3 * rng.normal(size=V.shape)
    values = []
    for _ in range(60):
        for _ in range(10):
            sweep_rows(S, S @ A, B, mu)
        left, _, right = np.linalg.svd(V.T @ S @ B)
        A = V @ left @ right
        values.append(full_objective(X, A, B, mu))
    assert (np.diff(values) <= 1e-12 * value).all()
    assert min(values) >= value - found.gap - 1e-12 * value
    assert values[-1] == pytest.approx(value, rel=1e-3)


def test_ends_of_the_path() -> None:
    X, V = problem("breast")
    S = covariance(X)
    largest = find_largest_mu(S, V)
    assert largest == pytest.approx(np.linalg.norm(X.T @ X @ V / len(X), axis=1).max(), rel=1e-10)
    np.testing.assert_array_equal(solve_joint_sparse(S, V, 0.0).loadings, V)
    assert not solve_joint_sparse(S, V, largest * 1.000001).loadings.any()
    just_below = solve_joint_sparse(S, V, largest * 0.999)
    assert np.flatnonzero(just_below.weights).tolist() == [np.linalg.norm(S @ V, axis=1).argmax()]


def test_path_is_the_single_solutions_in_the_order_asked_for() -> None:
    X, V = problem("synthetic")
    S = covariance(X)
    mus = find_largest_mu(S, V) * np.array([0.5, 0.05, 0.3])
    for mu, point in zip(mus, solve_path(S, V, mus, tol=1e-11), strict=True):
        alone = solve_joint_sparse(S, V, mu, tol=1e-11)
        assert point.mu == mu
        np.testing.assert_allclose(point.weights, alone.weights, atol=1e-4)
        assert abs(point.objective - alone.objective) <= point.gap + alone.gap + 1e-15


@pytest.mark.parametrize("exponent", [-900, -40, 40, 900])
def test_scale_of_the_data_does_not_matter(exponent: int) -> None:
    X, V = problem("synthetic")
    S, mu = covariance(X), 0.3 * find_largest_mu(covariance(X), V)
    unit = 2.0**exponent
    near, far = solve_joint_sparse(S, V, mu), solve_joint_sparse(S * unit, V, mu * unit)
    np.testing.assert_array_equal(near.loadings, far.loadings)
    assert far.objective == near.objective * unit


def test_directions_without_variance_have_nothing_to_penalise() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2)) @ rng.normal(size=(2, 5))
    S = covariance(X - X.mean(axis=0))
    V = np.linalg.eigh(S)[1][:, :3]
    assert find_largest_mu(S, V) == 0.0
    assert not solve_joint_sparse(S, V, 1e-30).loadings.any()
    np.testing.assert_array_equal(solve_joint_sparse(S, V, 0.0).loadings, V)
