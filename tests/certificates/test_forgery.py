"""Nothing false can be proved: no witness lifts a lower bound above the optimum."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from aspca import Certificate, SparseSubspace, sparse_subspace
from aspca.verify.claims import Multiplier, Witness, probe_vector
from aspca.verify.status import Status
from certified import resealed, scatter


def forged(A: np.ndarray, alpha: float, v: np.ndarray, lower: float, blocks, packed) -> SparseSubspace:
    """A backward result of one vector with an honest upper bound and whatever lower bound is wished for."""
    upper = float(v @ A @ v + alpha * np.abs(v).sum() ** 2)
    gap = max(upper - lower, 0.0) / max(abs(upper), alpha, 1e-9 * np.trace(A) / A.shape[0])
    witness = Witness(
        blocks=tuple(blocks),
        multipliers=tuple(Multiplier(k, 0, packed[k]) for k in range(len(blocks))),
        factors=(None,),
        fingerprint=A @ probe_vector(A.shape[0]),
    )
    status = Status.CERTIFIED if gap <= 1e-6 else Status.PRECISION
    certificate = Certificate(lower, upper, gap, upper, gap, gap <= 1e-6, False, 0, status.value)
    column = v[:, None]
    made_up = SparseSubspace(1, alpha, "B", "sparse", 1e-6, column, np.eye(1), column, (certificate,), witness)
    return resealed(made_up)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-9, 1e-6, 1e-2, 1.0]), st.booleans())
def test_a_lower_bound_above_the_optimum_never_verifies(seed, excess, tight):
    rng = np.random.default_rng(seed)
    p = int(rng.integers(2, 8))
    A = scatter(seed, p)
    alpha = float(rng.choice([0.01, 0.1, 0.5]))
    best = sparse_subspace(A, 1, alpha, "B")
    optimum, true = best.certificates[0], best.witness
    rows, cols = np.triu_indices(p, 1)
    U = np.zeros((p, p))
    for m in true.multipliers:
        block = true.blocks[m.block]
        i, j = np.triu_indices(block.size, 1)
        U[block[i], block[j]] = m.packed
    # A wrong vector: random, sparse or not; tight forgeries claim that it is the optimum itself.
    v = rng.normal(size=p) * (rng.random(p) < 0.7)
    v[int(rng.integers(p))] += 1.0
    v /= np.linalg.norm(v)
    upper = float(v @ A @ v + alpha * np.abs(v).sum() ** 2)
    lower = upper if tight else optimum.primal + excess * max(abs(optimum.primal), alpha)
    if lower <= optimum.primal + 1e-9 * max(abs(optimum.primal), alpha):
        return
    whole, alone = (np.arange(p),), tuple(np.array([i]) for i in range(p))
    noise = rng.uniform(-1, 1, size=rows.size)
    multipliers = [
        U[rows, cols],
        alpha * noise,
        alpha * np.sign(noise),
        np.clip(U[rows, cols] + 0.1 * alpha * noise, -alpha, alpha),
        -np.clip(A[rows, cols], -alpha, alpha),
        # Out of the box, where any bound can be had.
        -A[rows, cols],
        U[rows, cols] * 10.0,
        np.full(rows.size, np.nan),
        np.full(rows.size, np.inf),
    ]
    attempts = [(whole, (packed,)) for packed in multipliers]
    attempts.append((alone, (np.zeros(0),) * p))
    attempts.append((true.blocks, tuple(np.zeros(b.size * (b.size - 1) // 2) for b in true.blocks)))
    for blocks, packed in attempts:
        assert not forged(A, alpha, v, lower, blocks, packed).verify(A)


def test_the_forger_is_good_enough():
    """With the truth in his hands his work verifies: the test above fails him for what is false, not for clumsiness."""
    A = scatter(21, 6)
    best = sparse_subspace(A, 1, 0.1, "B")
    m = best.witness.multipliers
    packed = [next(x.packed for x in m if x.block == k) for k in range(len(best.witness.blocks))]
    honest = forged(A, 0.1, best.sequence[:, 0], best.certificates[0].lower, best.witness.blocks, packed)
    assert honest.verify(A), str(honest.verify(A))
