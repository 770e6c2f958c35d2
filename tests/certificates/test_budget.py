"""Interrupted, watched and warm-started solves keep every promise."""

from __future__ import annotations

import numpy as np
import pytest

from aspca import SparseSubspace, sparse_subspace, sparse_subspace_path
from certified import scatter

ENDED = "the time budget ended the convex solver early: the bounds are valid but apart"


def size_of(A: np.ndarray, alpha: float, value: float) -> float:
    return max(abs(value), alpha, 1e-9 * np.trace(A) / A.shape[0])


# ---- a budget


@pytest.mark.parametrize("variant", ["F", "B", "FG", "BG"])
@pytest.mark.parametrize("rounding", ["sparse", "dominant"])
def test_no_time_at_all_still_gives_a_full_certified_basis(variant, rounding):
    A, alpha, d = scatter(1, 15), 0.03, 6
    found = sparse_subspace(A, d, alpha, variant, rounding, time_budget=0.0)
    assert found.loadings.shape == (15, d)
    assert found.sequence.shape == (15, 15 if variant in ("F", "FG") else d)
    for basis in (found.loadings, found.sequence, found.rotation):
        np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-12)
    assert found.verify(A), str(found.verify(A))
    for c in found.certificates:
        assert (c.status == ENDED) == (c.sdp_gap > found.tol)
        assert np.isfinite([c.lower, c.upper, c.primal, c.gap, c.sdp_gap]).all()
        assert c.lower <= c.primal <= c.upper
        assert c.rank_one == (c.gap <= found.tol)
    assert sum(c.status == ENDED for c in found.certificates) >= 3


@pytest.mark.parametrize("forward", [False, True], ids=["backward", "forward"])
def test_bounds_without_time_are_bounds_on_the_true_optimum(forward):
    """Step by step: the interrupted lower bound, then the optimum of the very same problem, then the vector."""
    A, alpha = scatter(2, 10), 0.05
    found = sparse_subspace(A, 10, alpha, "F" if forward else "B", time_budget=0.0)
    open_steps = 0
    for k, c in enumerate(found.certificates):
        low, high = _optimum(-A if forward else A, alpha, found.sequence[:, :k])
        slack = 1e-9 * size_of(A, alpha, c.upper)
        assert c.lower <= high + slack
        assert low <= c.primal + slack
        open_steps += c.sdp_gap > 1e-6
    assert open_steps >= 3


def _optimum(C: np.ndarray, alpha: float, V: np.ndarray) -> tuple[float, float]:
    """Both bounds of one problem from the solver with all the time it wants, checked against Clarabel elsewhere."""
    from aspca.problems.component import ComponentProblem
    from aspca.solvers.component import Effort, Warmth, solve_component

    problem = ComponentProblem(C, alpha, V, 1e-9 * abs(np.trace(C)) / C.shape[0])
    effort = Effort(tol=1e-7, max_iter=5000, deadline=np.inf)
    solution = solve_component(problem, effort, dominant=False, warmth=Warmth(V[:, :0], ()))
    assert solution.primal - solution.lower <= 1e-6 * max(abs(solution.primal), alpha)
    # The solver leaves out the constant alpha.
    return solution.lower + alpha, solution.primal + alpha


def test_enough_time_is_as_good_as_no_limit():
    A = scatter(3, 8)
    free, limited = sparse_subspace(A, 3, 0.1, "BG"), sparse_subspace(A, 3, 0.1, "BG", time_budget=600.0)
    np.testing.assert_allclose(free.loadings, limited.loadings, atol=1e-12)
    assert [c.status for c in free.certificates] == [c.status for c in limited.certificates]


def test_a_limit_of_iterations_says_so():
    """Above the size of the second-order method, first-order steps are all there is."""
    A, alpha = scatter(4, 55), 0.01
    found = sparse_subspace(A, 2, alpha, "B", max_iter=1)
    assert found.verify(A), str(found.verify(A))
    assert any("iteration limit" in c.status for c in found.certificates)
    assert all(("iteration limit" in c.status) == (c.sdp_gap > found.tol) for c in found.certificates)


# ---- a watcher


@pytest.mark.parametrize("variant", ["F", "B", "FG", "BG", "G"])
@pytest.mark.parametrize("budget", [None, 0.0])
def test_the_callback_hears_of_every_step(variant, budget):
    A = scatter(5, 7)
    heard = []
    found = sparse_subspace(A, 3, 0.1, variant, time_budget=budget, callback=lambda *said: heard.append(said))
    n = 7 if variant in ("F", "FG") else 3
    assert heard == [(k + 1, n, c.gap) for k, c in enumerate(found.certificates)]
    assert len(heard) == n


def test_what_the_callback_raises_is_not_swallowed():
    def stop(step, steps, gap):
        if step == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sparse_subspace(scatter(5, 7), 3, 0.1, "B", callback=stop)


# ---- warm starts


def objectives(found: SparseSubspace) -> np.ndarray:
    return np.array([c.upper for c in found.certificates])


@pytest.mark.parametrize("variant", ["B", "BG", "F"])
@pytest.mark.parametrize("seed", [6, 7, 8])
def test_a_path_finds_what_cold_solves_find(variant, seed):
    """The convex optimum is a number, so both must have it, as long as both took the same vectors before."""
    A = scatter(seed, 9)
    alphas = [0.05, 0.3, 0.1, 0.2]
    path = sparse_subspace_path(A, 4, alphas, variant, proof="full")
    assert [found.alpha for found in path] == alphas
    compared = 0
    for alpha, warm in zip(alphas, path, strict=True):
        assert warm.verify(A), str(warm.verify(A))
        cold = sparse_subspace(A, 4, alpha, variant)
        for k, (ours, theirs) in enumerate(zip(warm.certificates, cold.certificates, strict=True)):
            size = size_of(A, alpha, theirs.primal)
            if not np.allclose(warm.sequence[:, :k], cold.sequence[:, :k], atol=1e-7):
                break
            assert abs(ours.primal - theirs.primal) <= 2e-6 * size
            assert ours.sdp_gap <= warm.tol
            assert ours.rank_one == theirs.rank_one
            if theirs.rank_one:
                assert abs(ours.upper - theirs.upper) <= 2e-6 * size
            compared += 1
    assert compared >= 10


def test_a_path_on_breast_cancer(made):
    """The paper's penalties, downwards: the same objective values as alone, and all of it verifies."""
    A = made.scatter("breast_cancer")
    alphas = [10.0, 5.0, 3.0]
    for alpha, warm in zip(alphas, sparse_subspace_path(A, 10, alphas, "B", proof="full"), strict=True):
        cold = sparse_subspace(A, 10, alpha, "B")
        assert warm.verify(A), str(warm.verify(A))
        if all(c.rank_one for c in cold.certificates):
            np.testing.assert_allclose(objectives(warm), objectives(cold), rtol=2e-6)
        assert max(c.sdp_gap for c in warm.certificates) <= 1e-6


def test_a_bad_warm_start_does_no_harm():
    """A result for quite another matrix: bounds rest on A alone."""
    A = scatter(9, 8)
    other = sparse_subspace(scatter(10, 8)[::-1, ::-1], 3, 0.3, "B")
    warm, cold = sparse_subspace(A, 3, 0.1, "B", warm_start=other), sparse_subspace(A, 3, 0.1, "B")
    assert warm.verify(A), str(warm.verify(A))
    for ours, theirs in zip(warm.certificates, cold.certificates, strict=True):
        assert abs(ours.primal - theirs.primal) <= 2e-6 * size_of(A, 0.1, theirs.primal)
    with pytest.raises(ValueError, match="warm_start has 8 features, A has 6"):
        sparse_subspace(scatter(11, 6), 2, 0.1, "B", warm_start=other)


# ---- quick proofs


@pytest.mark.parametrize("variant", ["B", "BG", "F", "FG"])
@pytest.mark.parametrize("seed", [6, 7])
def test_a_quick_proof_is_a_proof(variant, seed):
    """Its bounds hold for the best that a full one finds, and it says of each step whether they meet."""
    A = scatter(seed, 12)
    quick = sparse_subspace(A, 5, 0.2, variant, proof="quick")
    assert quick.verify(A), str(quick.verify(A))
    full = sparse_subspace(A, 5, 0.2, variant)
    for k, (ours, theirs) in enumerate(zip(quick.certificates, full.certificates, strict=True)):
        if not np.allclose(quick.sequence[:, :k], full.sequence[:, :k], atol=1e-7):
            break
        size = size_of(A, 0.2, theirs.primal)
        assert ours.lower <= theirs.primal + 1e-9 * size
        assert ours.upper >= theirs.lower - 1e-9 * size
    apart = [step for step in quick.certificates if step.sdp_gap > 1e-5]
    assert all("certify" in step.status for step in apart)


def test_certify_brings_the_bounds_together(made):
    A = made.scatter("breast_cancer")
    quick = sparse_subspace(A, 10, 1.0, "B", proof="quick")
    assert max(c.sdp_gap for c in quick.certificates) > 1e-3
    whole = quick.certify(A)
    assert whole.verify(A), str(whole.verify(A))
    assert max(c.sdp_gap for c in whole.certificates) <= 1e-6
    assert (whole.n_components, whole.alpha, whole.variant, whole.tol) == (10, 1.0, "B", quick.tol)
    first, cold = whole.certificates[0], sparse_subspace(A, 1, 1.0, "B").certificates[0]
    assert first.primal == pytest.approx(cold.primal, rel=2e-6)


def test_a_path_is_proved_quickly_unless_asked(made):
    A = made.scatter("breast_cancer")
    quick, full = (sparse_subspace_path(A, 4, [5.0, 1.0], "B", **asked) for asked in ({}, {"proof": "full"}))
    assert all(found.verify(A) for found in (*quick, *full))
    assert max(c.sdp_gap for found in full for c in found.certificates) <= 1e-6
    assert max(c.sdp_gap for found in quick for c in found.certificates) > 1e-3


def test_an_unknown_proof_is_refused():
    with pytest.raises(ValueError, match="proof must be one of full, quick, got 'none'"):
        sparse_subspace(scatter(5, 7), 3, 0.1, proof="none")
