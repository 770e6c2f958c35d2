"""`sparse_subspace`, and its result: a sparse, orthonormal, certified basis of the abnormal subspace, frozen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from aspca.linalg.arrays import Floats
from aspca.settings import LIFTINGS
from aspca.sparse_pca.certificate import Certificate
from aspca.sparse_pca.verify.check import check
from aspca.sparse_pca.verify.claims import Claims, Verification, Witness, seal

_NO_PROOF = (
    "This subspace was read from a model file, which holds its certificates but not their proof: verify it where it "
    "was fitted, or fit again."
)


@dataclass(frozen=True, eq=False)
class SparseSubspace:
    """Result of `sparse_subspace`.

    Attributes
    ----------
    sequence : ndarray of shape (p, n_steps)
        The vectors in the order of extraction: p of them for F and FG, `n_components` otherwise.
    rotation : ndarray of shape (d, d)
        The orthogonal Q applied to the vectors kept; the identity for F and B.
    loadings : ndarray of shape (p, d)
        The sparse orthonormal basis: the last d vectors of the sequence, times Q.
    certificates : tuple of Certificate
        One per vector of the *sequence*: rotation changes no score, so the subspace's certificate is the sequence's.
    witness : Witness or None
        What `verify` needs besides the matrix; None for a result read from a model file, which keeps no proof.
    lifted_names : tuple of p str or None
        With ``lift="auto"``, the lifted columns that the rows of `loadings` are, as in ``tenure``, ``tenure^2``.
    lifted_covariance : ndarray of shape (p, p) or None
        And the covariance matrix of these columns, standardized: the A that was solved, to be given to `verify`.
    """

    n_components: int
    alpha: float
    variant: str
    rounding: str
    tol: float
    sequence: Floats
    rotation: Floats
    loadings: Floats
    certificates: tuple[Certificate, ...]
    witness: Witness | None
    lifted_names: tuple[str, ...] | None = None
    lifted_covariance: Floats | None = None

    def __repr__(self) -> str:
        p, d = self.loadings.shape
        gap = max(step.gap for step in self.certificates)
        return (
            f"SparseSubspace({d} of {p} directions, variant={self.variant!r}, alpha={self.alpha:.6g}, "
            f"{int((self.loadings != 0).sum())} non-zero loadings, largest gap {gap:.1e})"
        )

    @property
    def kept(self) -> Floats:
        """The vectors of the sequence that span the abnormal subspace, before rotation (p, d)."""
        return self.sequence[:, -self.n_components :]

    @property
    def claims(self) -> Claims:
        """All that is claimed, as plain arrays for the verifier; refused where the witness is missing."""
        if self.witness is None:
            raise ValueError(_NO_PROOF)
        self._refuse_odd_columns()
        c = self.certificates
        return Claims(
            forward=self.variant in ("F", "FG"),
            rotated=self.variant in ("FG", "BG", "G"),
            alpha=0.0 if self.variant == "G" else self.alpha,
            n_components=self.n_components,
            tol=self.tol,
            sequence=self.sequence,
            rotation=self.rotation,
            loadings=self.loadings,
            bounds=np.array([[x.lower, x.upper, x.primal, x.gap, x.sdp_gap] for x in c]),
            rank_one=tuple(x.rank_one for x in c),
            statuses=tuple(x.status for x in c),
            witness=self.witness,
            remarks=(self.variant, self.rounding, float(self.alpha).hex(), *(f"{x.tie} {x.iterations}" for x in c)),
        )

    def _refuse_odd_columns(self) -> None:
        """Raise ValueError unless both or none of what says what was lifted are there, as they are made."""
        names, covariance, p = self.lifted_names, self.lifted_covariance, len(self.loadings)
        if names is None and covariance is None:
            return
        named = type(names) is tuple and len(names) == p and all(type(name) is str for name in names)
        if not named or type(covariance) is not np.ndarray or covariance.shape != (p, p):
            raise ValueError(f"lifted_names must be {p} texts and lifted_covariance a matrix of {p} rows and columns.")

    def certify(self, A: npt.ArrayLike, **options: Any) -> SparseSubspace:
        """The same problem solved until the bounds of every step meet, as far as float64 lets them, from where it is.

        For results with ``proof="quick"``, or that a time budget ended. Vectors may change where a better one is found.
        `options` are those of `sparse_subspace` (`rotation`, where it was not "all").
        """
        asked = {"tol": self.tol, **options, "proof": "full", "warm_start": self}
        found = sparse_subspace(
            np.asarray(A, dtype=np.float64), self.n_components, self.alpha, self.variant, self.rounding, **asked
        )
        return replace(found, lifted_names=self.lifted_names, lifted_covariance=self.lifted_covariance)

    def verify(self, A: npt.ArrayLike) -> Verification:
        """Check every claim from A, the vectors and the witness alone, by code that shares nothing with the solver.

        Feasibility and orthonormality, Q'Q = I, that the rotation did not raise the l1 norm, and both bounds of
        every step, whether it is rank one, and its status. The result is truthy if all hold; else its `problems` are
        sentences: nothing raises, whatever was made of A or of the result. A result read from a model file holds no
        proof, and so is not verified.
        """
        if self.witness is None:
            return Verification((_NO_PROOF,))
        try:
            claims = self.claims
        # A field may have been replaced by anything, and that may raise anything.
        except Exception:
            return Verification(("The result cannot be read: one of its fields is of another kind than was made.",))
        return check(A, claims)


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
        more than tenfold (`sparse_pca.groups`). The span is the same, and so are its sum of squares and whitened score.
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
    # Loads the solver and most of SciPy: a second that scoring by a stored model need not wait for.
    from aspca.sparse_pca.matrix import compute_table_covariance
    from aspca.sparse_pca.solve import Options, solve

    names = covariance = None
    if lift is not None:
        if lift not in LIFTINGS:
            raise ValueError(f'lift must be None or "auto", got {lift!r}.')
        names, covariance = compute_table_covariance(A)
    options = Options(n_components, alpha, variant, rounding, rotation, proof, tol, max_iter, time_budget)
    previous = None if warm_start is None else (warm_start.sequence, warm_start.witness)
    found = solve(A if covariance is None else covariance, options, callback, previous)
    result = SparseSubspace(
        int(n_components),
        float(alpha),
        variant,
        rounding,
        float(tol),
        **vars(found),
        lifted_names=names,
        lifted_covariance=covariance,
    )
    return replace(result, witness=replace(found.witness, seal=seal(result.claims)))


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


def find_capped_subspace(
    covariance: Floats,
    max_features: int,
    smallest: float,
    solve: Callable[[float, SparseSubspace | None], SparseSubspace],
) -> SparseSubspace:
    """The subspace of the smallest penalty along a path, not below `smallest`, whose rules keep to `max_features`.

    Above the largest off-diagonal entry every rule is one feature alone, which any cap allows. From there the penalty
    falls by halves, each solve starting from the last, until a rule exceeds the cap; between that penalty and the last
    good one it is halved four times more (to 5 %). What is returned keeps the cap. That no smaller penalty further down
    does so again cannot be promised: the number of features need not grow evenly.

    `smallest` is the penalty to stop at if the cap holds there: what would be used without a cap. `solve` gives the
    subspace at a penalty, from a warm start or None.
    """
    off_diagonal = np.abs(covariance - np.diag(np.diag(covariance)))
    good = max(float(off_diagonal.max(initial=0.0)), smallest)
    kept, bad = solve(good, None), good
    while good > smallest and bad == good:
        bad = max(0.5 * good, smallest)
        tried = solve(bad, kept)
        if _count_features(tried) <= max_features:
            kept, good = tried, bad
    # Each step of the path halves the penalty; the last one is then halved four times, in the logarithm.
    for _ in range(4 if bad < good else 0):
        middle = float(np.sqrt(good * bad))
        tried = solve(middle, kept)
        if _count_features(tried) <= max_features:
            kept, good = tried, middle
        else:
            bad = middle
    return kept


def _count_features(subspace: SparseSubspace) -> int:
    """The number of features of the largest rule."""
    return int((subspace.loadings != 0).sum(axis=0).max())
