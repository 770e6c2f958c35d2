"""The Newton matrix put together from smaller products against its definition, and steps by it against the optimum."""

from __future__ import annotations

import numpy as np
import pytest

from aspca.sparse_pca import interior_point
from aspca.sparse_pca.interior_point import InteriorPoint
from aspca.sparse_pca.problem import ComponentProblem


def problem_of(p: int, k: int, seed: int) -> ComponentProblem:
    rng = np.random.default_rng(seed)
    A = np.corrcoef(rng.standard_normal((3 * p, p)) @ rng.standard_normal((p, p)), rowvar=False)
    V = np.linalg.qr(rng.standard_normal((p, p)))[0][:, :k]
    return ComponentProblem(A, 0.1, V, 1e-9)


@pytest.mark.parametrize(("p", "m"), [(2, 1), (2, 2), (5, 5), (7, 3), (9, 8)])
def test_pieces_add_up_to_the_sum_over_all_pairs(p: int, m: int) -> None:
    rng = np.random.default_rng(p * m)
    G = rng.standard_normal((p, m))
    e = rng.uniform(0.1, 10.0, p * (p - 1) // 2)
    E = np.zeros((p, p))
    E[np.triu_indices(p, 1)] = e
    found = interior_point._by_pieces(G, E + E.T, interior_point._Memory(p, m))
    expected = np.zeros_like(found)
    for weight, i, j in zip(e, *np.triu_indices(p, 1), strict=True):
        both = np.outer(G[i], G[j]) + np.outer(G[j], G[i])
        pair = both[np.triu_indices(m)]
        expected += weight * np.outer(pair, pair)
    np.testing.assert_allclose(np.tril(found), np.tril(expected), rtol=1e-12, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("k", [0, 1, 4])
def test_far_and_near_take_the_same_step(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However the matrix is made, the solution of the Newton system is one and the same."""
    problem = problem_of(10, k, 3)
    after = []
    for far in (0.0, np.inf):
        monkeypatch.setattr(interior_point, "_FAR", far)
        method = InteriorPoint(problem, problem.N @ problem.N.T / problem.free, problem.closed_form_dual(), 0.0)
        for _ in range(3):
            assert method.step()
        after.append((method.gap, method.U, method.factor @ method.factor.T))
    for one, other in zip(*after, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("k", [0, 2, 8])
def test_steps_end_at_the_optimum(k: int) -> None:
    """X and U are feasible, and their values meet: nothing else needs to be believed."""
    problem = problem_of(12, k, 5)
    method = InteriorPoint(problem, problem.N @ problem.N.T / problem.free, problem.closed_form_dual(), 1e-6)
    while method.step():
        pass
    assert np.abs(method.U).max() <= problem.alpha
    assert np.abs(problem.V.T @ method.factor).max(initial=0.0) <= 1e-12
    assert (method.factor**2).sum() == pytest.approx(1.0, abs=1e-12)
    value, bound = problem.primal(method.factor), problem.dual(method.U)[0]
    assert bound <= value <= bound + 2e-6 * max(abs(value + problem.alpha), problem.alpha)
