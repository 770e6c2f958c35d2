"""`sparse_subspace`: from a covariance-like matrix to a certified sparse basis of its abnormal subspace."""

from __future__ import annotations

import dataclasses
import time
import warnings
from collections.abc import Callable

import numpy as np

from aspca.linalg.arrays import Floats, Ints, frozen
from aspca.linalg.ranking import ascending, sign_of
from aspca.linalg.threads import blas_threads_for
from aspca.settings import LIFTINGS, PROOFS, ROTATIONS, ROUNDINGS, VARIANTS
from aspca.sparse_pca.component import Effort
from aspca.sparse_pca.defaults import finest_variance
from aspca.sparse_pca.groups import levels_of
from aspca.sparse_pca.matrix import ScaledMatrix, lifted_covariance, scaled_matrix
from aspca.sparse_pca.proof import warmth_from, witness_of
from aspca.sparse_pca.result import Certificate, SparseSubspace
from aspca.sparse_pca.rotation import rough_rotation, sparse_rotation
from aspca.sparse_pca.sequence import Step, extract
from aspca.sparse_pca.verify.claims import seal
from aspca.sparse_pca.verify.form import LARGEST_TOL


class TiedSubspaceWarning(UserWarning):
    """Eigenvalues tie across the cut, so the PCA subspace is not unique."""


def sparse_subspace(
    A: Floats,
    n_components: int,
    alpha: float,
    variant: str = "BG",
    rounding: str = "sparse",
    *,
    lift: str | None = None,
    rotation: str = "all",
    proof: str = "full",
    tol: float = 1e-6,
    max_iter: int = 5000,
    time_budget: float | None = None,
    callback: Callable[[int, int, float], None] | None = None,
    warm_start: SparseSubspace | None = None,
) -> SparseSubspace:
    """Sparse orthonormal basis of the abnormal (low-variance) subspace of A, with a certificate per step.

    Step by step, each vector v minimises v'Cv + alpha ||v||_1^2 over unit vectors orthogonal to the earlier ones,
    through the semidefinite relaxation of the paper.

    Parameters
    ----------
    A : array-like of shape (p, p)
        A symmetric positive semidefinite matrix; the paper's D'D. It is neither scaled nor divided by n. With `lift`, a
        table of rows (n, columns) instead.
    n_components : int in [1, p]
        How many *abnormal* directions to keep, whatever the variant.
    alpha : float >= 0
        The weight of sparsity, the paper's lambda, on the scale of A.
    variant : {"F", "B", "FG", "BG", "G"}
        F takes the most significant directions first and keeps the last ones; B takes the least significant ones first;
        a trailing G rotates the basis inside its subspace to lower its l1 norm. G alone is PCA's exact abnormal
        subspace, only rotated (`alpha` is not used).
    rounding : {"sparse", "dominant"}
        Where the relaxation's optimum is not rank one: the best sparse vector found, or the paper's top eigenvector.
    lift : {"auto"} or None
        "auto": A is a table, an array or a data frame. Its columns, the logarithms of those that are positive and the
        squares of those with more than five values (`preparation.lifting`) are standardized, and their covariance
        matrix is what is solved: `lifted_covariance` of the result, whose `lifted_names` name its p rows. So
        `n_components` and `alpha` are of that matrix.
    rotation : {"all", "levels"}
        Which directions a trailing G rotates together: all of them, as in the paper, or those of one level of
        tightness, so that no tight rule is mixed with a loose one. A level ends where the next larger variance v'Av is
        more than tenfold (`subspace.levels`). The span is the same, and so are its sum of squares and whitened score.
    proof : {"full", "quick"}
        Whether every step is solved until its bounds meet, or only as far as most are after a few iterations: the
        vectors are those of a descent then, and their bounds valid, but some of them apart. `SparseSubspace.certify`
        brings them together.
    tol : float in (0, 0.01]
        Relative gap at which a step counts as solved.
    max_iter : int
        Limit of the first-order iterations per step.
    time_budget : float or None
        Seconds after which the remaining steps take the best vector at hand, with bounds that are valid but apart; the
        certificates say so.
    callback : callable or None
        Called as ``callback(i, n_steps, gap)`` after each step.
    warm_start : SparseSubspace or None
        A result for the same features and a nearby alpha: its vectors and multipliers are tried first.

    Returns
    -------
    SparseSubspace
        Exact zeros; columns orthonormal to 1e-12. Signs: each column's largest entry is positive (the first of them at
        a tie). Order: F and B keep the order of extraction; rotated bases ascend in variance v'Av.
    """
    if lift is not None:
        if lift not in LIFTINGS:
            raise ValueError(f'lift must be None or "auto", got {lift!r}.')
        names, covariance = lifted_covariance(A)
        found = sparse_subspace(
            covariance,
            n_components,
            alpha,
            variant,
            rounding,
            rotation=rotation,
            proof=proof,
            tol=tol,
            max_iter=max_iter,
            time_budget=time_budget,
            callback=callback,
            warm_start=warm_start,
        )
        return dataclasses.replace(found, lifted_names=names, lifted_covariance=covariance)
    matrix = scaled_matrix(A)
    p = matrix.values.shape[0]
    _check_options(p, n_components, alpha, variant, rounding, rotation, proof, tol, max_iter, time_budget)
    deadline = np.inf if time_budget is None else time.perf_counter() + time_budget
    with blas_threads_for(p):
        if variant == "G":
            _warn_of_ties(matrix.values, n_components)
        return _solve(
            matrix,
            n_components,
            float(alpha),
            variant,
            rounding,
            rotation,
            Effort(tol=tol, max_iter=max_iter, deadline=deadline, quick=proof == "quick"),
            callback,
            warm_start,
        )


def _solve(
    matrix: ScaledMatrix,
    n_components: int,
    alpha: float,
    variant: str,
    rounding: str,
    together: str,
    effort: Effort,
    callback: Callable[[int, int, float], None] | None,
    warm_start: SparseSubspace | None,
) -> SparseSubspace:
    A, unit = matrix.values, matrix.unit
    p = A.shape[0]
    forward = variant in ("F", "FG")
    penalty = 0.0 if variant == "G" else alpha
    # A penalty above every entry does the same however large it is.
    enough = min(penalty, 2.0 * matrix.largest)
    scale = 1e-9 * float(np.trace(A)) / p
    certificates: list[Certificate] = []

    def progress(number: int, count: int, step: Step) -> None:
        certificates.append(_certificate(step, penalty, unit, scale / unit))
        if callback is not None:
            callback(number, count, certificates[-1].gap)

    # The other sign, and back, in the same memory.
    C = np.negative(A, out=A) if forward else A
    sequence = extract(
        C,
        enough * unit,
        p if forward else n_components,
        effort,
        scale=scale,
        dominant=rounding == "dominant",
        warm=warmth_from(warm_start, p, unit),
        progress=progress,
    )
    A = np.negative(C, out=C) if forward else C
    sequence.vectors.flags.writeable = False
    kept = sequence.vectors[:, -n_components:]
    if variant.endswith("G"):
        rotation, loadings = rotated(A, kept, together, effort.deadline, effort.quick)
    else:
        rotation, loadings = np.eye(n_components), kept
    witness = witness_of(sequence, A, unit)
    result = SparseSubspace(
        n_components=int(n_components),
        alpha=alpha,
        variant=variant,
        rounding=rounding,
        tol=float(effort.tol),
        sequence=sequence.vectors,
        rotation=frozen(rotation),
        loadings=frozen(loadings + 0.0),
        certificates=tuple(certificates),
        witness=witness,
    )
    sealed = dataclasses.replace(witness, seal=seal(result.claims))
    return dataclasses.replace(result, witness=sealed)


def _check_options(
    p: int,
    n_components: int,
    alpha: float,
    variant: str,
    rounding: str,
    rotation: str,
    proof: str,
    tol: float,
    max_iter: int,
    budget: float | None,
) -> None:
    if not isinstance(n_components, (int, np.integer)) or not 1 <= n_components <= p:
        raise ValueError(f"n_components must be an integer between 1 and {p} (the features), got {n_components!r}.")
    if not np.isfinite(alpha) or alpha < 0:
        raise ValueError(f"alpha must be a finite number >= 0, got {alpha!r}.")
    if variant not in VARIANTS:
        raise ValueError(f"variant must be one of {', '.join(VARIANTS)}, got {variant!r}.")
    if rounding not in ROUNDINGS:
        raise ValueError(f"rounding must be one of {', '.join(ROUNDINGS)}, got {rounding!r}.")
    if rotation not in ROTATIONS:
        raise ValueError(f"rotation must be one of {', '.join(ROTATIONS)}, got {rotation!r}.")
    if proof not in PROOFS:
        raise ValueError(f"proof must be one of {', '.join(PROOFS)}, got {proof!r}.")
    if not 0 < tol <= LARGEST_TOL:
        raise ValueError(f"tol must be above 0 and at most {LARGEST_TOL}, got {tol!r}.")
    if max_iter < 1:
        raise ValueError(f"max_iter must be at least 1, got {max_iter!r}.")
    if budget is not None and not budget >= 0:
        raise ValueError(f"time_budget must be None or seconds >= 0, got {budget!r}.")


def _warn_of_ties(A: Floats, d: int) -> None:
    values = np.linalg.eigvalsh(A)
    if d < values.size and values[d] - values[d - 1] <= 1e-9 * values[-1]:
        warnings.warn(
            f"Eigenvalues {d} and {d + 1} from below tie, so PCA's abnormal subspace of {d} directions is not unique; "
            "the directions of lowest feature index were taken.",
            TiedSubspaceWarning,
            stacklevel=3,
        )


def roughly_rotated(A: Floats, kept: Floats, together: str, near: Floats) -> Floats:
    """What `rotated` gives (p, d) to within degrees, in another order; `near` is such a basis of nearly the same."""
    loadings = np.zeros(kept.shape)
    for part in _parts(A, kept, together):
        loadings[:, part] = rough_rotation(kept[:, part], near)
    return loadings


def _parts(A: Floats, kept: Floats, together: str) -> list[Ints]:
    """The columns that are rotated together."""
    return [np.arange(kept.shape[1])] if together == "all" else levels_of(_variances(A, kept), finest_variance(A))


def rotated(A: Floats, kept: Floats, together: str, deadline: float, quick: bool) -> tuple[Floats, Floats]:
    """The rotation Q (d, d) and kept Q (p, d), each level by itself unless all directions go together."""
    d = kept.shape[1]
    parts = _parts(A, kept, together)
    rotation, loadings = np.zeros((d, d)), np.zeros(kept.shape)
    for part in parts:
        left = None if deadline == np.inf else max(0.0, deadline - time.perf_counter())
        found = sparse_rotation(kept[:, part], time_limit=left, quick=quick)
        rotation[np.ix_(part, part)] = found.rotation
        loadings[:, part] = found.loadings
    order = ascending(_variances(A, loadings), loadings, unit=float(np.trace(A)) / A.shape[0])
    rotation, loadings = rotation[:, order], loadings[:, order]
    signs = np.array([sign_of(column) for column in loadings.T])
    return rotation * signs, loadings * signs


def _variances(A: Floats, vectors: Floats) -> Floats:
    return np.asarray(np.einsum("ij,ij->j", vectors, A @ vectors), dtype=np.float64)


def _certificate(step: Step, alpha: float, unit: float, floor: float) -> Certificate:
    """A step in the units of A, with the constant alpha that the solver leaves out."""
    lower, upper, primal = (value / unit + alpha for value in (step.lower, step.upper, step.primal))

    def gap(value: float) -> float:
        size = max(abs(value), alpha, floor)
        return max(value - lower, 0.0) / size if size > 0 else 0.0

    return Certificate(
        lower=lower,
        upper=upper,
        gap=gap(upper),
        primal=primal,
        sdp_gap=gap(primal),
        rank_one=step.rank_one,
        tie=step.tie,
        iterations=step.iterations,
        status=step.status.value,
    )
