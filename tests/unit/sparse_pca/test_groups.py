"""The exact split against a plain search through the graph."""

from __future__ import annotations

import numpy as np
import pytest

from aspca.sparse_pca.groups import split_features


def twin(A: np.ndarray, alpha: float) -> list[list[int]]:
    """Walk from each feature that no walk has reached yet."""
    p, seen, groups = len(A), set(), []
    for start in range(p):
        if start in seen:
            continue
        group, waiting = set(), [start]
        while waiting:
            i = waiting.pop()
            if i not in group:
                group.add(i)
                waiting += [j for j in range(p) if j != i and abs(A[i, j]) > alpha]
        seen |= group
        groups.append(sorted(group))
    return groups


@pytest.mark.parametrize("seed", range(10))
def test_it_is_what_a_walk_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = int(rng.integers(1, 25))
    A = rng.normal(size=(p, p)) * (rng.uniform(size=(p, p)) < 0.15)
    A = A + A.T
    for alpha in (0.0, 0.3, 1.0, 2.5, 100.0):
        assert [block.tolist() for block in split_features(A, alpha)] == twin(A, alpha)


def test_only_what_exceeds_the_penalty_connects() -> None:
    A = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, -0.5], [0.0, -0.5, 1.0]])
    assert [block.tolist() for block in split_features(A, 0.5)] == [[0], [1], [2]]
    assert [block.tolist() for block in split_features(A, np.nextafter(0.5, 0))] == [[0, 1, 2]]
    # The diagonal connects nothing, nor does a zero at no penalty.
    assert [block.tolist() for block in split_features(np.diag([9.0, 9.0]), 0.0)] == [[0], [1]]
