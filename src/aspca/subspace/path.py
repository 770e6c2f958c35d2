"""A path of penalties: each solve starts where its neighbour ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aspca.linalg.arrays import Floats
from aspca.subspace.extraction import sparse_subspace
from aspca.subspace.result import SparseSubspace


def sparse_subspace_path(
    A: Floats,
    n_components: int,
    alphas: Sequence[float],
    variant: str = "BG",
    rounding: str = "sparse",
    *,
    proof: str = "quick",
    **options: Any,
) -> list[SparseSubspace]:
    """`sparse_subspace` for each alpha, in the order given.

    Solved from the largest alpha down, where blocks are smallest and vectors sparsest; each result's vectors and
    multipliers (clipped to the new box) start the next. A path is looked at before one of its results is taken: so
    their proofs are quick ones unless asked for, and `certify` completes the one that counts. `options` are those of
    `sparse_subspace`.
    """
    results: dict[int, SparseSubspace] = {}
    previous: SparseSubspace | None = None
    for index in sorted(range(len(alphas)), key=lambda k: -alphas[k]):
        previous = sparse_subspace(
            A, n_components, alphas[index], variant, rounding, proof=proof, warm_start=previous, **options
        )
        results[index] = previous
    return [results[index] for index in range(len(alphas))]
