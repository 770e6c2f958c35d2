"""What a result keeps of its solve: the proof of its bounds, which is also where the next solve may start."""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats, Ints, frozen
from aspca.sparse_pca.component import WarmStart
from aspca.sparse_pca.sequence import Sequence, WarmStartAt, start_cold
from aspca.sparse_pca.verify.claims import Multiplier, Witness, probe_vector

# A warm vector with less than this of its length in a block belongs to another one.
_AT_HOME = 0.5


def make_proof(sequence: Sequence, values: Floats, unit: float) -> Witness:
    """The proof, in the user's units, of a sequence found on `values`, the user's matrix times `unit`.

    The sequence gives its multipliers away: they are rescaled in place.
    """
    for multiplier in sequence.multipliers:
        np.divide(multiplier.packed, unit, out=multiplier.packed)
        multiplier.packed.flags.writeable = False
    return Witness(
        blocks=tuple(sequence.blocks),
        multipliers=tuple(sequence.multipliers),
        factors=tuple(None if step.factor is None else frozen(step.factor) for step in sequence.steps),
        fingerprint=frozen(values @ probe_vector(values.shape[0]) / unit),
    )


def start_from(vectors: Floats, proof: Witness | None, p: int, unit: float) -> WarmStartAt:
    """What an earlier result offers to a step on some features: its vectors (p, k) there, and its multipliers then."""
    if vectors.shape[0] != p:
        raise ValueError(f"warm_start has {vectors.shape[0]} features, A has {p}.")
    if proof is None:
        # Read from a model file, without the multipliers that a step would start from.
        return start_cold
    blocks = proof.blocks
    home = np.empty(p, dtype=np.intp)
    history: list[list[Multiplier]] = [[] for _ in blocks]
    for index, block in enumerate(blocks):
        home[block] = index
    for multiplier in proof.multipliers:
        history[multiplier.block].append(multiplier)

    def warmth(step: int, features: Ints) -> WarmStart:
        U = np.zeros((features.size, features.size))
        for index in np.unique(home[features]):
            latest = [m for m in history[index] if m.since <= step][-1]
            here = np.flatnonzero(home[features] == index)
            there = np.searchsorted(blocks[index], features[here])
            U[np.ix_(here, here)] = _unpacked(latest.packed, blocks[index].size)[np.ix_(there, there)] * unit
        inside = vectors[features]
        return WarmStart(inside[:, np.linalg.norm(inside, axis=0) > _AT_HOME], (U,))

    return warmth


def _unpacked(packed: Floats, m: int) -> Floats:
    U = np.zeros((m, m))
    U[~np.tri(m, dtype=np.bool_)] = packed
    U += U.T
    return U
