"""The method: scale the matrix, extract the sequence, rotate what is kept of it, and keep the proof."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aspca.linalg.arrays import Floats, Ints, frozen
from aspca.linalg.threads import blas_threads_for
from aspca.settings import PROOFS, ROTATIONS, ROUNDINGS, VARIANTS
from aspca.sparse_pca.certificate import Certificate, Step
from aspca.sparse_pca.component import Effort, WarmStart
from aspca.sparse_pca.matrix import ScaledMatrix, scale_matrix
from aspca.sparse_pca.rotation.search import rotate_levels
from aspca.sparse_pca.sequence import Sequence, WarmStartAt, extract, start_cold
from aspca.sparse_pca.verify.claims import Multiplier, Witness, probe_vector
from aspca.sparse_pca.verify.form import LARGEST_TOL

# A warm vector with less than this of its length in a block belongs to another one.
_AT_HOME = 0.5

# Called with the number of the step from 1, how many there will be, and its gap.
Callback = Callable[[int, int, float], None]


class TiedSubspaceWarning(UserWarning):
    """Eigenvalues tie across the cut, so the PCA subspace is not unique."""


@dataclass(frozen=True)
class Options:
    """Those of `sparse_subspace`."""

    n_components: int
    alpha: float
    variant: str
    rounding: str
    rotation: str
    proof: str
    tol: float
    max_iter: int
    time_budget: float | None

    @property
    def forward(self) -> bool:
        return self.variant in ("F", "FG")

    @property
    def penalty(self) -> float:
        """The alpha that is used."""
        return 0.0 if self.variant == "G" else float(self.alpha)

    def validate(self, p: int) -> None:
        """Raise ValueError for what cannot be asked of a matrix of p features."""
        if not isinstance(self.n_components, (int, np.integer)) or not 1 <= self.n_components <= p:
            raise ValueError(
                f"n_components must be an integer between 1 and {p} (the features), got {self.n_components!r}."
            )
        if not np.isfinite(self.alpha) or self.alpha < 0:
            raise ValueError(f"alpha must be a finite number >= 0, got {self.alpha!r}.")
        allowed = {"variant": VARIANTS, "rounding": ROUNDINGS, "rotation": ROTATIONS, "proof": PROOFS}
        for name, values in allowed.items():
            if getattr(self, name) not in values:
                raise ValueError(f"{name} must be one of {', '.join(values)}, got {getattr(self, name)!r}.")
        if not 0 < self.tol <= LARGEST_TOL:
            raise ValueError(f"tol must be above 0 and at most {LARGEST_TOL}, got {self.tol!r}.")
        if self.max_iter < 1:
            raise ValueError(f"max_iter must be at least 1, got {self.max_iter!r}.")
        if self.time_budget is not None and not self.time_budget >= 0:
            raise ValueError(f"time_budget must be None or seconds >= 0, got {self.time_budget!r}.")


@dataclass(frozen=True)
class Solution:
    """The fields of `SparseSubspace` that are found."""

    sequence: Floats
    rotation: Floats
    loadings: Floats
    certificates: tuple[Certificate, ...]
    witness: Witness


def solve(
    A: npt.ArrayLike, options: Options, callback: Callback | None, previous: tuple[Floats, Witness | None] | None
) -> Solution:
    """The basis of the abnormal subspace of A (p, p), and its proof; `previous`, sequence and proof to start from."""
    matrix = scale_matrix(A)
    p = len(matrix.values)
    options.validate(p)
    deadline = np.inf if options.time_budget is None else time.perf_counter() + options.time_budget
    effort = Effort(tol=options.tol, max_iter=options.max_iter, deadline=deadline, quick=options.proof == "quick")
    with blas_threads_for(p):
        if options.variant == "G":
            _warn_of_ties(matrix.values, options.n_components)
        warm = start_cold if previous is None else start_from(*previous, p, matrix.unit)
        sequence, certificates = _extract_sequence(matrix, options, effort, callback, warm)
        kept = sequence.vectors[:, -options.n_components :]
        if options.variant.endswith("G"):
            rotation, loadings = rotate_levels(matrix.values, kept, options.rotation, deadline, effort.quick)
        else:
            rotation, loadings = np.eye(options.n_components), kept
        proof = make_proof(sequence, matrix.values, matrix.unit)
    return Solution(sequence.vectors, frozen(rotation), frozen(loadings + 0.0), certificates, proof)


def _extract_sequence(
    matrix: ScaledMatrix, options: Options, effort: Effort, callback: Callback | None, warm: WarmStartAt
) -> tuple[Sequence, tuple[Certificate, ...]]:
    """The vectors in order, and what is proved of each."""
    values, unit = matrix.values, matrix.unit
    p = len(values)
    scale = 1e-9 * float(np.trace(values)) / p
    certificates: list[Certificate] = []

    def record(number: int, count: int, step: Step) -> None:
        certificates.append(step.certificate(options.penalty, unit, scale / unit))
        if callback is not None:
            callback(number, count, certificates[-1].gap)

    # The other sign, and back, in the same memory.
    if options.forward:
        np.negative(values, out=values)
    sequence = extract(
        values,
        # A penalty above every entry does the same however large it is.
        min(options.penalty, 2.0 * matrix.largest) * unit,
        p if options.forward else options.n_components,
        effort,
        scale=scale,
        dominant=options.rounding == "dominant",
        warm=warm,
        progress=record,
    )
    if options.forward:
        np.negative(values, out=values)
    sequence.vectors.flags.writeable = False
    return sequence, tuple(certificates)


def _warn_of_ties(A: Floats, d: int) -> None:
    values = np.linalg.eigvalsh(A)
    if d < values.size and values[d] - values[d - 1] <= 1e-9 * values[-1]:
        warnings.warn(
            f"Eigenvalues {d} and {d + 1} from below tie, so PCA's abnormal subspace of {d} directions is not unique; "
            "the directions of lowest feature index were taken.",
            TiedSubspaceWarning,
            # Where sparse_subspace was called.
            stacklevel=4,
        )


# ---- what a result keeps of its solve: the proof of its bounds, which is also where the next solve may start


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
