"""What is known of one step of the sequence: in the solver's units, and as the certificate that a user reads."""

from __future__ import annotations

from dataclasses import dataclass

from aspca.linalg.arrays import Floats
from aspca.sparse_pca.verify.claims import Status


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


@dataclass(frozen=True)
class Step:
    """One component of the sequence: bounds on the whole problem, over all features.

    Values leave out the constant alpha, as in `problem`.
    """

    lower: float
    upper: float
    primal: float
    factor: Floats | None  # X = factor factor' where it is better than v v', else None
    rank_one: bool
    tie: bool
    iterations: int
    status: Status

    def certificate(self, alpha: float, unit: float, floor: float) -> Certificate:
        """The step in the units of A, with the constant alpha that the solver leaves out."""
        lower, upper, primal = (value / unit + alpha for value in (self.lower, self.upper, self.primal))

        def gap(value: float) -> float:
            size = max(abs(value), alpha, floor)
            return max(value - lower, 0.0) / size if size > 0 else 0.0

        return Certificate(
            *(lower, upper, gap(upper), primal, gap(primal)),
            *(self.rank_one, self.tie, self.iterations, self.status.value),
        )
