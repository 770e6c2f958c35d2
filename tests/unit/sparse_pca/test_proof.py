"""What a result offers to a neighbouring solve, against whole matrices."""

from __future__ import annotations

import numpy as np
import pytest

from aspca import sparse_subspace
from aspca.sparse_pca.solve import start_from
from aspca.sparse_pca.subspace import SparseSubspace


def multiplier_twin(result: SparseSubspace, step: int, unit: float) -> np.ndarray:
    """All multipliers up to a step written into one (p, p) matrix, later ones over earlier ones."""
    p = result.sequence.shape[0]
    U = np.zeros((p, p))
    for multiplier in result.witness.multipliers:
        if multiplier.since <= step:
            block = result.witness.blocks[multiplier.block]
            rows, columns = np.triu_indices(block.size, 1)
            U[block[rows], block[columns]] = U[block[columns], block[rows]] = multiplier.packed * unit
    return U


@pytest.mark.parametrize("variant", ["B", "F"])
def test_warmth_is_the_part_of_the_whole(variant: str) -> None:
    rng = np.random.default_rng(2)
    p = 12
    G = rng.normal(size=(30, p)) * (1.0 + np.arange(p) % 3)
    A = G.T @ G
    alpha = float(np.quantile(np.abs(A[np.triu_indices(p, 1)]), 0.8))
    result = sparse_subspace(A, 5, alpha, variant)
    assert len(result.witness.blocks) > 1
    warmth = start_from(result.sequence, result.witness, p, 0.25)
    for step in (0, 2, 4, 100):
        whole = multiplier_twin(result, step, 0.25)
        for size in (1, 3, p):
            features = np.sort(rng.choice(p, size, replace=False))
            found = warmth(step, features)
            (U,) = found.multipliers
            assert np.array_equal(U, whole[np.ix_(features, features)])
            inside = result.sequence[features]
            assert np.array_equal(found.vectors, inside[:, np.linalg.norm(inside, axis=0) > 0.5])


def test_nothing_comes_of_nothing() -> None:
    found = start_from(np.eye(3), None, 3, 1.0)(0, np.arange(3))
    assert found.vectors.shape == (3, 0)
    assert found.multipliers == ()


def test_the_features_must_be_the_same() -> None:
    result = sparse_subspace(np.eye(3), 1, 0.1, "B")
    with pytest.raises(ValueError, match="warm_start has 3 features, A has 4"):
        sparse_subspace(np.eye(4), 1, 0.1, "B", warm_start=result)
