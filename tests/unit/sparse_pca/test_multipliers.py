"""Multipliers, repaired and by reflections: feasible, and certifying what they are to certify, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from tests.twins import smallest_eigenvalue_beside

from aspca import sparse_subspace
from aspca.sparse_pca.active_set import Candidate, active_set, make_pair_starts, stationarity
from aspca.sparse_pca.multipliers import Reflections, _rows_with_product, repair
from aspca.sparse_pca.problem import ComponentProblem


def bisection(row: np.ndarray, v: np.ndarray, target: float, alpha: float) -> np.ndarray:
    """One row, slowly: clip(row + tau v) has a product with v that grows with tau."""
    low, high = -1e6, 1e6
    for _ in range(300):
        tau = 0.5 * (low + high)
        low, high = (low, tau) if np.clip(row + tau * v, -alpha, alpha) @ v > target else (tau, high)
    return np.clip(row + low * v, -alpha, alpha)


@pytest.mark.parametrize("size", [1, 2, 5, 12])
@pytest.mark.parametrize("alpha", [1e-6, 0.3, 10.0])
def test_rows_meet_their_products_in_the_box_at_the_least_distance(size: int, alpha: float) -> None:
    rng = np.random.default_rng(size)
    v = rng.normal(size=size)
    v /= np.linalg.norm(v)
    reach = alpha * np.abs(v).sum()
    rows = rng.uniform(-1, 1, size=(40, size)) * alpha
    target = rng.uniform(-1, 1, size=40) * reach
    found = _rows_with_product(rows, v, target, alpha)
    assert (np.abs(found) <= alpha).all()
    assert np.abs(found @ v - target).max() <= 1e-14 * reach
    for row, goal, mine in zip(rows, target, found, strict=True):
        twin = bisection(row, v, goal, alpha)
        assert np.abs(mine - twin).max() <= 1e-9 * alpha


def test_entries_of_very_different_size_are_met_too() -> None:
    rng = np.random.default_rng(0)
    v = np.array([1.0, 1e-4, 1e-8])
    v /= np.linalg.norm(v)
    target = rng.uniform(-0.9, 0.9, size=20)
    found = _rows_with_product(rng.uniform(-1, 1, size=(20, 3)), v, target, 1.0)
    assert (np.abs(found) <= 1.0).all()
    assert np.abs(found @ v - target).max() <= 1e-14


@pytest.mark.parametrize("variant", ["B", "F"])
@pytest.mark.parametrize("seed", range(6))
def test_a_repaired_multiplier_is_feasible_and_has_the_vector_as_eigenvector(variant: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    D = rng.normal(size=(24, 7)) @ (np.eye(7) + 0.3 * rng.normal(size=(7, 7)))
    A = D.T @ D / 24
    alpha = 0.1 * float(np.abs(A).max())
    result = sparse_subspace(A, 7, alpha, variant)
    C = A if variant == "B" else -A
    for step, proof in enumerate(result.certificates):
        V, v = result.sequence[:, :step], result.sequence[:, step]
        problem = ComponentProblem(C, alpha, V, 1e-12)
        rough = alpha * np.clip(rng.normal(size=(7, 7)), -1, 1)
        U = repair(problem, v, stationarity(problem, v, problem.objective(v)), 0.5 * (rough + rough.T))
        assert (U == U.T).all()
        assert (np.abs(U) <= alpha).all()
        # The diagonal's constant alpha is left out inside the solver.
        assert (np.diag(U) == 0).all()
        on = v != 0
        wanted = alpha * np.outer(np.sign(v[on]), np.sign(v[on]))
        np.fill_diagonal(wanted, 0.0)
        assert (U[np.ix_(on, on)] == wanted).all()
        if not proof.rank_one:
            continue
        b = stationarity(problem, v, proof.upper - alpha)
        reach = alpha * np.abs(v).sum()
        if (np.abs(b[~on]) <= reach).all():
            # U v = b off the support, exactly, so that v is an eigenvector of N'(C + U)N at the objective.
            assert np.abs(U[~on] @ v - b[~on]).max(initial=0.0) <= 1e-13 * reach
            N = problem.N
            residual = N.T @ (C + U) @ v - (proof.upper - alpha) * (N.T @ v)
            assert np.abs(residual).max() <= 1e-6 * max(abs(proof.upper), alpha)


def correlated(seed: int, p: int = 24) -> np.ndarray:
    """Groups of columns that go together, and one column that is nearly another."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, p)) + np.repeat(rng.normal(size=(300, p // 4)), 4, axis=1)
    X[:, 0] = X[:, 7] + 0.1 * rng.normal(size=300)
    C = np.corrcoef(X.T)
    return 0.5 * (C + C.T)


def reflections(problem: ComponentProblem, best: Candidate) -> Reflections:
    b = stationarity(problem, best.v, best.value)
    return Reflections(problem, best, b, problem.closed_form_dual())


def optimum(problem: ComponentProblem) -> Candidate:
    found = [active_set(problem, start) for start in make_pair_starts(problem, 20)]
    return min((one for one in found if one is not None), key=lambda one: one.value)


@pytest.mark.parametrize("earlier", [0, 2])
@pytest.mark.parametrize("seed", range(6))
def test_each_step_is_feasible_and_the_optimum_is_proved(seed: int, earlier: int) -> None:
    C = correlated(seed)
    V = np.zeros((len(C), 0))
    for _ in range(earlier):
        V = np.column_stack([V, optimum(ComponentProblem(C, 0.3, V, 1e-9)).v])
    problem = ComponentProblem(C, 0.3, V, 1e-9)
    best = optimum(problem)
    method = reflections(problem, best)
    steps = 0
    while not (steps and method.near(1e-9)):
        assert not method.over, "the gap has stalled, although the vector is the optimum"
        method.step()
        steps += 1
        assert np.abs(method.U).max() <= problem.alpha
        assert (np.diag(method.U) == 0).all()
        assert (method.U == method.U.T).all()
        # Whatever U is, its bound holds.
        assert problem.dual(method.U)[0] <= best.value + 1e-9
    assert problem.dual(method.U)[0] >= best.value - 1e-8
    # The gap that was reported is that of the obvious computation.
    low = smallest_eigenvalue_beside(C + method.U, np.column_stack([V, best.v]))
    assert low >= best.value - 1e-9


def test_a_vector_that_is_not_the_optimum_is_given_up() -> None:
    C = correlated(0)
    problem = ComponentProblem(C, 0.3, np.zeros((len(C), 0)), 1e-9)
    unit = np.eye(len(C))[11]
    worse = Candidate(unit, problem.objective(unit))
    method = reflections(problem, worse)
    steps = 0
    while not method.over:
        method.step()
        steps += 1
        assert steps < 200
        assert problem.dual(method.U)[0] <= optimum(problem).value + 1e-9


def test_what_stays_below_points_to_better_vectors() -> None:
    C = correlated(1)
    problem = ComponentProblem(C, 0.3, np.zeros((len(C), 0)), 1e-9)
    second = sorted(
        (one for one in (active_set(problem, start) for start in make_pair_starts(problem, 20)) if one is not None),
        key=lambda one: one.value,
    )[-1]
    method = reflections(problem, second)
    method.step()
    # What lies below the value of a vector that is not the optimum has a share of one that is better.
    for f in method.lowest.T:
        assert abs(float(f @ second.v)) <= 1e-8
        assert float(f @ (C + method.U) @ f) < second.value + 1e-3
