"""One regression, and all those on fewer of its terms, from a single factorisation.

* On the first m terms (`Nested`): the leading part of a Cholesky factor is the factor of the leading part.
* Without some of them (`Sweep`): the inverse K of the correlations of pivot p and terms holds the regression. Its
  coefficients are -K_jp / K_pp, and 1 / K_pp is what is left of the pivot's variance; terms leave by an update of low
  rank. So a rule is shortened term by term at the cost of one inverse.

Not for exact rules: there all of it is what rounding makes of it.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dtrtrs

from aspca.linalg.arrays import Floats, Ints


class Nested:
    """Regressions of one column on the first m of k terms, for any m."""

    def __init__(self, factor: Floats, reduced: Floats) -> None:
        self._factor, self._reduced = factor, reduced
        self._explained = np.cumsum(np.square(reduced))

    @classmethod
    def of(cls, correlations: Floats, right: Floats) -> Nested | None:
        """From the correlations (k, k) of the terms and those with the column (k,); None where not definite."""
        if not right.size:
            return None
        factor, failed = dpotrf(correlations, lower=1)
        if failed:
            return None
        return cls(factor, dtrtrs(factor, right, lower=1)[0])

    def coefficients(self, m: int) -> Floats:
        """On the first m terms (m,)."""
        leading = self._factor[:m, :m]
        return np.asarray(dtrtrs(leading, self._reduced[:m], lower=1, trans=1)[0])

    def explained(self, m: int) -> float:
        """How much of the column's variance they explain."""
        return float(self._explained[m - 1])


class Sweep:
    """The regression of a pivot on terms, `K` (k + 1, k + 1) with the pivot first."""

    def __init__(self, K: Floats) -> None:
        self.K = K

    @classmethod
    def of(cls, correlations: Floats) -> Sweep | None:
        """From the correlations (k + 1, k + 1) of pivot and terms; None where they are not definite to rounding."""
        factor, failed = dpotrf(correlations, lower=1)
        if failed:
            return None
        half = dpotri(factor, lower=1)[0]
        lower = np.tril(half)
        return cls(lower + np.tril(half, -1).T)

    @property
    def variance(self) -> float:
        """What the terms leave of the pivot's variance."""
        return float(1.0 / self.K[0, 0])

    @property
    def entries(self) -> Floats:
        """The entries (k,) of the rule `pivot minus its regression`, at the terms."""
        return np.asarray(self.K[1:, 0] / self.K[0, 0])

    @property
    def losses(self) -> Floats:
        """By how much that variance rises without each term (k,)."""
        K = self.K
        inverse = np.diag(K)[1:] - np.square(K[1:, 0]) / K[0, 0]
        return np.asarray(np.square(self.entries) / inverse)

    def without(self, dropped: Ints) -> Sweep:
        """The regression without the terms at these positions."""
        gone = np.zeros(len(self.K), dtype=np.bool_)
        gone[np.asarray(dropped) + 1] = True
        K = self.K[~gone]
        across = K[:, gone]
        return Sweep(K[:, ~gone] - across @ np.linalg.solve(self.K[gone][:, gone], across.T))
