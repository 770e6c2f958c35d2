"""What was missing in the rows that a model was fitted to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aspca.linalg.arrays import Ints

if TYPE_CHECKING:
    from aspca.moments import IncompleteMoments, Moments


@dataclass(frozen=True, eq=False)
class Gaps:
    """What was missing in the rows that a model was fitted to.

    Attributes
    ----------
    missing : ndarray of shape (p,)
        How many values of each feature.
    iterations : int
        Steps of the estimate of mean and covariance from the values that are there.
    converged : bool
    left_out : int
        Rows that took no part in it.
    """

    missing: Ints
    iterations: int
    converged: bool
    left_out: int


def completed(rows: IncompleteMoments) -> tuple[Moments, Gaps | None]:
    """The moments to fit to rows with gaps, and what was missing."""
    found = rows.completed()
    return found.moments, Gaps(rows.n_missing, found.iterations, found.converged, found.n_rows_left_out)
