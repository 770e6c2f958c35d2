"""Reflections: every multiplier on the way is feasible, the optimum is proved, and anything else is not."""

from __future__ import annotations

import numpy as np
import pytest
from tests.twins import smallest_eigenvalue_beside

from aspca.sparse_pca.active_set import Candidate, active_set, stationarity
from aspca.sparse_pca.multipliers import Reflections
from aspca.sparse_pca.problem import ComponentProblem
from aspca.sparse_pca.starts import pair_starts


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
    found = [active_set(problem, start) for start in pair_starts(problem, 20)]
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
        (one for one in (active_set(problem, start) for start in pair_starts(problem, 20)) if one is not None),
        key=lambda one: one.value,
    )[-1]
    method = reflections(problem, second)
    method.step()
    # What lies below the value of a vector that is not the optimum has a share of one that is better.
    for f in method.lowest.T:
        assert abs(float(f @ second.v)) <= 1e-8
        assert float(f @ (C + method.U) @ f) < second.value + 1e-3
