"""Memory beside the input, as a formula in p: one more p x p temporary anywhere would break it.

NumPy reports what it allocates to tracemalloc, and LAPACK's work arrays are NumPy's.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from aspca import ASPCA, Moments, sparse_subspace
from aspca.sparse_pca.component import Effort
from aspca.sparse_pca.groups import split_features
from aspca.sparse_pca.matrix import scale_matrix
from aspca.sparse_pca.sequence import Sequence, extract
from aspca.sparse_pca.solve import make_proof
from aspca.sparse_pca.verify.claims import Multiplier

# Tiles, slices and Python's own objects, whatever p is.
SMALL = 2**20
# What a merge holds of a few rows at a time, whatever the number of columns.
TEMPORARIES = 20 * 8 * 2**15
SIZES = pytest.mark.parametrize("p", [600, 1000, pytest.param(2000, marks=pytest.mark.long)])
STEPS = 5
ALPHA = 0.5


def peak(call: Callable[[], object]) -> int:
    """Bytes allocated at once during a call, beside what there was before."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        call()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def in_blocks(p: int, m: int = 5) -> np.ndarray:
    """A covariance of independent groups of m features."""
    rng = np.random.default_rng(p)
    A = np.zeros((p, p))
    for start in range(0, p, m):
        G = rng.normal(size=(m + 2, m))
        A[start : start + m, start : start + m] = G.T @ G
    return A


def per_feature(p: int) -> int:
    """Vectors of the result and of its making, blocks, multipliers of the blocks: a few hundred bytes each."""
    return p * (8 * 6 * STEPS + 800)


@pytest.fixture(autouse=True)
def _caches_are_filled() -> None:
    sparse_subspace(in_blocks(20), STEPS, ALPHA, "BG")


@SIZES
def test_a_matrix_of_blocks_takes_one_copy(p: int) -> None:
    A = in_blocks(p)
    for variant in ("B", "BG"):
        assert peak(lambda v=variant: sparse_subspace(A, STEPS, ALPHA, v)) <= 8 * p**2 + per_feature(p) + SMALL


@SIZES
def test_a_warm_start_takes_no_matrix(p: int) -> None:
    A = in_blocks(p)
    near = sparse_subspace(A, STEPS, 1.2 * ALPHA, "B")
    taken = peak(lambda: sparse_subspace(A, STEPS, ALPHA, "B", warm_start=near))
    assert taken <= 8 * p**2 + per_feature(p) + SMALL


@SIZES
def test_the_sequence_takes_no_matrix(p: int) -> None:
    C = -in_blocks(p)
    effort = Effort(tol=1e-6, max_iter=5000, deadline=np.inf)
    taken = peak(lambda: extract(C, ALPHA, STEPS, effort, scale=1e-9, dominant=False))
    assert taken <= per_feature(p) + SMALL


@SIZES
@pytest.mark.parametrize("symmetric", [True, False])
def test_checking_a_matrix_takes_its_copy(p: int, symmetric: bool) -> None:
    A = in_blocks(p)
    A[0, -1] += 0.0 if symmetric else 1e-12
    assert peak(lambda: scale_matrix(A)) <= 8 * p**2 + 16 * p + SMALL


@pytest.mark.parametrize("p", [600, 1000])
def test_splitting_takes_vectors_only(p: int) -> None:
    A = in_blocks(p)
    for alpha in (0.0, ALPHA, 100.0):
        # What is loaded at the first call, in a fresh clone compiled too, is no memory of the split.
        split_features(A, alpha)
        assert peak(lambda a=alpha: split_features(A, a)) <= 400 * p
    # One block: a graph of p^2 edges.
    assert peak(lambda: split_features(np.broadcast_to(1.0, (p, p)), 0.5)) <= 400 * p


@pytest.mark.parametrize("p", [600, 1000])
def test_the_witness_of_one_block_takes_what_the_solver_kept(p: int) -> None:
    A = np.zeros((p, p))
    kept = [Multiplier(0, step, np.ones(p * (p - 1) // 2)) for step in range(2)]
    sequence = Sequence(np.zeros((p, 2)), [np.arange(p)], [], kept)
    assert peak(lambda: make_proof(sequence, A, 0.5)) <= 100 * p + 10_000


@pytest.mark.parametrize("p", [600, 1000])
def test_moments_take_two_parts_and_their_sum(p: int) -> None:
    # Two blocks of p rows each: the most that are merged at once, whatever the number of rows, besides one part for
    # every doubling of it. A scatter is two numbers.
    X = np.random.default_rng(0).normal(size=(2 * p, p))
    assert peak(lambda: Moments.from_array(X)) <= 6 * 8 * p**2 + 200 * p + SMALL + TEMPORARIES


def one_block(p: int) -> np.ndarray:
    """A correlation matrix of a dense factor model with twenty sums: connected at a tenth of its largest entry."""
    rng = np.random.default_rng(p)
    X = rng.normal(size=(3 * p, 8)) @ rng.normal(size=(8, p)) + rng.normal(size=(3 * p, p))
    for j in range(0, 60, 3):
        X[:, j] = X[:, j + 1] + X[:, j + 2] + 0.1 * rng.normal(size=3 * p)
    return np.corrcoef(X.T)


@pytest.mark.parametrize("steps", [1, 4])
@pytest.mark.parametrize("p", [200, pytest.param(400, marks=pytest.mark.long)])
def test_one_dense_block(p: int, steps: int) -> None:
    """Sixteen matrices at most: the copy, five of the first-order method, its eigenvectors, bounds and pairs of
    features; half a one for each step's multiplier; two for what is orthogonal to earlier components."""
    A = one_block(p)
    alpha = 0.1 * float(np.abs(A - np.eye(p)).max())
    assert len(split_features(A, alpha)) == 1
    taken = peak(lambda: sparse_subspace(A, steps, alpha, "B", tol=1e-4))
    assert taken <= 8 * p**2 * (16 + 0.5 * steps + (2 if steps > 1 else 0)) + SMALL


def test_explanations_are_linear_in_their_rows() -> None:
    """Per row: p values, d projections, contributions, shares, multiples and deviations, p contributions, p repairs."""
    p, d = 41, 20
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, p))
    X[:, :d] = X[:, d : 2 * d] + 0.1 * rng.normal(size=(10_000, d))
    model = ASPCA(n_components=d, scaling="standard", score="standardized").fit(X)

    def explain(n: int) -> None:
        explained = model.explain(X[:n])
        for name in ("scores", "rule_contributions", "feature_contributions", "shares", "multiples", "deviations"):
            assert len(getattr(explained, name)) == n
        assert explained.repaired.shape == (n, p)
        assert explained.signatures
        assert explained.text(n - 1)
        assert sum(group.count for group in explained.groups()) == explained.anomalies.sum()

    explain(100)
    per_row = 8 * (3 * p + 8 * d) + 400
    for n in (2_500, 10_000):
        assert peak(lambda n=n: explain(n)) <= n * per_row + SMALL
