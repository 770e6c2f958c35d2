"""The claims that a sparse subspace makes, as plain arrays: all that verification may know besides A.

And what comes of them: how a step ended, and what a verification found.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Multiplier:
    """A dual variable U of one block of m features, in force from step `since` until the block's next one.

    `packed` (m(m-1)/2,) holds the strict upper triangle row by row; the diagonal is alpha.
    """

    block: int
    since: int
    packed: Floats


@dataclass(frozen=True)
class Witness:
    """What proves the lower bounds, and which matrix they speak of.

    Size: one multiplier of m(m-1)/2 numbers for every solve of a block of m features (at most one per step
    and block), a factor (p, r) for every step whose convex optimum is not rank one, and p numbers to recognise A.
    """

    blocks: tuple[Ints, ...]
    multipliers: tuple[Multiplier, ...]
    factors: tuple[Floats | None, ...]  # per step, X = factor factor' where it is better than v v'
    fingerprint: Floats  # A times a fixed vector: another matrix has another one
    seal: str = field(default="")  # digest of all claims and of the rest of the witness: nothing was altered since

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        arrays = [*self.blocks, *(m.packed for m in self.multipliers), self.fingerprint]
        return sum(a.nbytes for a in arrays) + sum(f.nbytes for f in self.factors if f is not None)


@dataclass(frozen=True)
class Claims:
    """A sequence, its rotation and its bounds.

    `bounds` (steps, 5): lower, upper, primal, gap, sdp_gap of each step, about the minimised objective
    v'Cv + alpha ||v||_1^2, with C = A (backward) or -A (forward). The rotation is the identity unless `rotated`.
    `statuses` are the sentences on how each step ended.
    """

    forward: bool
    rotated: bool
    alpha: float
    n_components: int
    tol: float
    sequence: Floats
    rotation: Floats
    loadings: Floats
    bounds: Floats
    rank_one: tuple[bool, ...]
    statuses: tuple[str, ...]
    witness: Witness
    # What is said besides and cannot be checked (ties, iterations): under the seal like the rest.
    remarks: tuple[str, ...] = ()


def probe_vector(p: int) -> Floats:
    """The fixed vector of the fingerprint: no zero, no two entries alike."""
    return 1.0 + 0.5 * np.cos(np.arange(1, p + 1, dtype=np.float64))


def seal(claims: Claims) -> str:
    """Digest of everything but the seal itself, over exact bytes."""
    digest = hashlib.sha256()
    head = (
        claims.forward,
        claims.rotated,
        float(claims.alpha).hex(),
        claims.n_components,
        float(claims.tol).hex(),
        tuple(map(bool, claims.rank_one)),
        claims.statuses,
        claims.remarks,
    )
    digest.update(repr(head).encode())
    witness = claims.witness
    arrays: list[tuple[str, Floats | Ints | None]] = [
        ("sequence", claims.sequence),
        ("rotation", claims.rotation),
        ("loadings", claims.loadings),
        ("bounds", claims.bounds),
        ("fingerprint", witness.fingerprint),
        *(("block", block) for block in witness.blocks),
        *((f"multiplier {m.block} {m.since}", m.packed) for m in witness.multipliers),
        *(("factor", factor) for factor in witness.factors),
    ]
    for name, array in arrays:
        if array is None:
            digest.update(f"{name}: none;".encode())
            continue
        digest.update(f"{name} {array.shape};".encode())
        # Row by row, a multiplier being one, so that no more is copied; atleast_2d, for scalars that were smuggled in.
        for row in np.atleast_2d(array):
            # Integers below 2**53 are exact as floats; adding 0.0 makes -0.0 and 0.0 one number.
            plain = np.ascontiguousarray(row, dtype="<f8") + 0.0
            digest.update(plain.data)
    return digest.hexdigest()


class Status(Enum):
    """How a component's solve ended; the value is the sentence a user reads."""

    CERTIFIED = "the vector attains the optimum of the convex problem, within the tolerance or within rounding"
    RELAXED = "the convex problem is solved, but its optimum is not rank one: the best vector may be better by the gap"
    ITERATIONS = "the iteration limit ended the convex solver early: the bounds are valid but apart"
    PRECISION = "float64 precision ended the convex solver early: the bounds are valid but apart"
    QUICK = "only a quick proof was asked for: the bounds are valid but apart, and certify(A) brings them together"
    BUDGET = "the time budget ended the convex solver early: the bounds are valid but apart"


# What ended a solve early cannot be seen in its bounds; that it ended early can.
_EARLY = frozenset({Status.ITERATIONS.value, Status.PRECISION.value, Status.QUICK.value, Status.BUDGET.value})


def sentences(*, attained: bool, solved: bool) -> frozenset[str]:
    """What may be said of a step whose vector attains the convex optimum, or whose convex problem is solved, or not."""
    if attained:
        return frozenset({Status.CERTIFIED.value})
    return frozenset({Status.RELAXED.value}) if solved else _EARLY


@dataclass(frozen=True)
class Verification:
    """Truthy if every claim holds; otherwise `problems` says, in sentences, which do not."""

    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not self.problems

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        if self.ok:
            return "Verified: every claim of the certificate holds for this matrix."
        return "Not verified:\n" + "\n".join(f"  - {problem}" for problem in self.problems)
