"""The sparse vector against all vectors: every support and every pattern of signs is tried.

On a fixed support with fixed signs the objective is a quadratic form, and a local minimum of a quadratic form on a
sphere is its bottom eigenvector: so the best of these over all supports and signs is the best vector there is.
"""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from aspca import sparse_subspace
from aspca.sparse_pca.active_set import active_set, find_feasible, stationarity
from aspca.sparse_pca.problem import ComponentProblem

pytestmark = pytest.mark.usefixtures("one_thread")


def brute_force(C: np.ndarray, alpha: float, V: np.ndarray) -> tuple[float, np.ndarray]:
    best, argument = np.inf, np.zeros(len(C))
    for size in range(1, len(C) + 1):
        for support in combinations(range(len(C)), size):
            S = list(support)
            u, sv, _ = np.linalg.svd(V[S], full_matrices=True)
            N = u[:, int((sv > 1e-9).sum()) :]
            if N.shape[1] == 0:
                continue
            for rest in product([1.0, -1.0], repeat=size - 1):
                s = np.array([1.0, *rest])
                v = np.zeros(len(C))
                v[S] = N @ np.linalg.eigh(N.T @ (C[np.ix_(S, S)] + alpha * np.outer(s, s)) @ N)[1][:, 0]
                value = v @ C @ v + alpha * np.abs(v).sum() ** 2
                if value < best - 1e-12 * alpha:
                    best, argument = value, v
    return best, argument


def matrix(p: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng([p, seed])
    D = rng.normal(size=(3 * p, p)) @ (np.eye(p) + 0.4 * rng.normal(size=(p, p)))
    if seed % 3 == 1:
        D[:, -1] = D[:, 0] + 0.01 * rng.normal(size=3 * p)
    if seed % 3 == 2:
        D = D[: 1 + p // 2]
    return D.T @ D / len(D)


@pytest.mark.parametrize("variant", ["B", "F"])
@pytest.mark.parametrize("p", [2, 3, 4, 5])
@pytest.mark.parametrize("share", [0.003, 0.05, 0.3])
def test_every_step_takes_the_best_vector_there_is(variant: str, p: int, share: float) -> None:
    for seed in range(3):
        A = matrix(p, seed)
        alpha = share * float(np.abs(A).max())
        C = A if variant == "B" else -A
        result = sparse_subspace(A, p, alpha, variant)
        for step, (v, proof) in enumerate(zip(result.sequence.T, result.certificates, strict=True)):
            value, best = brute_force(C, alpha, result.sequence[:, :step])
            size = max(abs(value), alpha)
            assert proof.lower <= value + 1e-12 * size
            assert abs(proof.upper - value) <= 1e-9 * size
            if not proof.tie:
                assert min(np.abs(v - best).max(), np.abs(v + best).max()) <= 1e-4


@pytest.mark.parametrize("seed", range(12))
def test_a_descent_is_feasible_and_never_climbs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = 6
    A = matrix(p, seed)
    V = np.linalg.qr(rng.normal(size=(p, seed % 4)))[0] if seed % 4 else np.zeros((p, 0))
    problem = ComponentProblem(A if seed % 2 else -A, 0.05 * float(np.abs(A).max()), V, 1e-12)
    for _ in range(10):
        start = rng.normal(size=p) * (rng.uniform(size=p) < 0.8)
        near = find_feasible(problem, start)
        found = active_set(problem, start)
        assert (near is None) == (found is None)
        if found is None or near is None:
            continue
        assert abs(np.linalg.norm(found.v) - 1) <= 1e-14
        assert np.abs(V.T @ found.v).max(initial=0.0) <= 1e-13
        assert abs(problem.objective(found.v) - found.value) <= 1e-13
        assert found.value <= problem.objective(near) + 1e-13
        # Where it stops, no feature wants in, to first order.
        b = stationarity(problem, found.v, found.value)
        off = found.v == 0
        if V.shape[1] == 0:
            assert (np.abs(b[off]) <= problem.alpha * np.abs(found.v).sum() * (1 + 1e-6)).all()


def test_a_start_with_no_feasible_vector_on_its_support_is_refused() -> None:
    problem = ComponentProblem(np.eye(3), 0.1, np.eye(3)[:, :1], 1e-12)
    assert active_set(problem, np.array([1.0, 0.0, 0.0])) is None
    assert active_set(problem, np.zeros(3)) is None


def test_what_earlier_components_leave_free_keeps_the_products_small() -> None:
    """Of all w with V_S w as optimality asks, the one whose products off the support have the least sum of squares."""
    rng = np.random.default_rng(11)
    A = np.corrcoef(rng.standard_normal((40, 9)), rowvar=False)
    V = np.linalg.qr(rng.standard_normal((9, 4)))[0]
    on = np.arange(9) < 3
    start = np.where(on, rng.standard_normal(9), 0.0)
    for earlier in (V[:, :1], V[:, :2], V):
        problem = ComponentProblem(A, 0.2, earlier, 1e-9)
        b = stationarity(problem, start, 0.3)
        w = np.linalg.lstsq(earlier, b + A @ start, rcond=None)[0]
        asked = A @ start + 0.2 * (np.abs(start).sum() * np.sign(start) - start) - 0.3 * start
        np.testing.assert_allclose(earlier @ w, b + A @ start, atol=1e-12)
        # The normal equations: V_S w is as near to what is asked as it can be, and no free direction lowers the rest.
        size, right = np.linalg.svd(earlier[on])[1:]
        np.testing.assert_allclose(earlier[on].T @ (earlier[on] @ w - asked[on]), 0.0, atol=1e-12)
        free = right[int((size > 1e-10).sum()) :].T
        np.testing.assert_allclose((earlier[~on] @ free).T @ b[~on], 0.0, atol=1e-12)
