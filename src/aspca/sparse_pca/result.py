"""A sparse, orthonormal, certified basis of the abnormal subspace, as a frozen value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from aspca.linalg.arrays import Floats
from aspca.sparse_pca.verify.check import check
from aspca.sparse_pca.verify.claims import Claims, Verification, Witness

_NO_PROOF = (
    "This subspace was read from a model file, which holds its certificates but not their proof: verify it where it "
    "was fitted, or fit again."
)


@dataclass(frozen=True)
class Certificate:
    """What is proved about one step of the sequence.

    All values are about the *minimised* objective v'Cv + alpha ||v||_1^2 over unit v orthogonal to the earlier
    steps, C = A for the backward variants and -A for the forward ones (alpha = 0 for variant G).

    Attributes
    ----------
    lower : float
        A bound below the optimum of the convex problem, so below every vector's objective; safe against rounding.
    upper : float
        The objective of the vector that was taken.
    gap : float
        (upper - lower) / max(|upper|, alpha, 1e-9 tr(A)/p).
    primal : float
        The convex problem's objective at its best known point.
    sdp_gap : float
        How well the convex problem itself was solved: the same quotient with `primal` for `upper`.
    rank_one : bool
        Whether a vector attains the convex optimum within the tolerance, so that nothing is lost by rounding.
    tie : bool
        Whether other vectors are as good: the one of lowest feature index was taken.
    iterations : int
        Steps of the convex solvers.
    status : str
        How the solve ended, as a sentence.
    """

    lower: float
    upper: float
    gap: float
    primal: float
    sdp_gap: float
    rank_one: bool
    tie: bool
    iterations: int
    status: str


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
        self._refuse_odd_lift()
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
            remarks=(
                self.variant,
                self.rounding,
                float(self.alpha).hex(),
                *(f"{x.tie} {x.iterations}" for x in c),
            ),
        )

    def _refuse_odd_lift(self) -> None:
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
        # The solvers need this module.
        from aspca.sparse_pca.extraction import sparse_subspace

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
