"""What any method says of the rows of a table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .loading import Floats

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Verdicts:
    """Of n rows and p columns.

    Attributes
    ----------
    scores : (n,)
        Higher is more abnormal.
    errors, unusual : (n,)
        Classified as error, and as unusual or worse; the same for a method that knows one class only.
    contributions : (n, p) or None
        Of each column; None for a method that names none.
    fit_seconds, judge_seconds : float
    """

    scores: Floats
    errors: Bools
    unusual: Bools
    contributions: Floats | None
    fit_seconds: float
    judge_seconds: float

    def __post_init__(self) -> None:
        if np.isnan(self.scores).any():
            raise ValueError(f"{int(np.isnan(self.scores).sum())} scores are not numbers")

    def name_columns(self) -> npt.NDArray[np.int64] | None:
        """The column of the largest contribution (n,), -1 where none contributes; None if columns are not named."""
        if self.contributions is None:
            return None
        known = np.nan_to_num(self.contributions, nan=0.0)
        return np.where(known.max(axis=1) > 0, known.argmax(axis=1), -1)


def find_in_first(scores: Floats, k: int) -> Floats:
    """Per row the chance to be among the k rows of highest score (n,): 0 or 1 but for ties with the k-th."""
    kth = np.sort(scores)[-k]
    above, tied = scores > kth, scores == kth
    return np.where(above, 1.0, np.where(tied, (k - above.sum()) / tied.sum(), 0.0))
