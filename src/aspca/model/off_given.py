"""Rows that are far off rules that somebody wrote: they are not learned from, however many there are.

What a tail makes of a few such rows it makes without this. Of many it learns that they are usual, which a rule that is
known denies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.model.constants import CENSORED, FAR_OUT
from aspca.rules.given import GivenRule

# A quarter of Gaussian deviations is smaller than this, in standard deviations: where up to half of the rows are wrong,
# these are right ones.
_LEAST_QUARTER = 0.3186393639643752
# Limits settle in a few rounds.
_ROUNDS = 50


@dataclass(frozen=True, eq=False)
class OffGiven:
    """A rule that holds in most rows, and from where on others are far off.

    Attributes
    ----------
    columns : ndarray of shape (k,)
    coefficients : ndarray of shape (k,)
    constant, limit : float
    """

    columns: Ints
    coefficients: Floats
    constant: float
    limit: float

    def far(self, X: Floats) -> Bools:
        """Which rows (n, p) are far off; none of which a value is missing."""
        with np.errstate(invalid="ignore", over="ignore"):
            return np.asarray(np.abs(X[:, self.columns] @ self.coefficients - self.constant) > self.limit)


def far_off_given(rules: Sequence[GivenRule], free: Ints, X: Floats) -> tuple[OffGiven, ...]:
    """Of rules of some columns (q,) those that more rows (n, p) are far off than a tail takes for gross, and that hold
    in the others as they are written."""
    found = []
    for rule in rules:
        used = np.flatnonzero(rule.coefficients)
        columns, coefficients = free[used], rule.coefficients[used]
        off = X[:, columns] @ coefficients - rule.constant
        sizes = np.abs(off[~np.isnan(off)])
        kept = sizes
        for _ in range(_ROUNDS):
            limit = FAR_OUT * float(np.quantile(kept, 0.25)) / _LEAST_QUARTER if kept.size else 0.0
            before, kept = kept.size, sizes[sizes <= limit]
            if kept.size == before:
                break
        near = off[np.abs(off) <= limit]
        many = 2 * near.size > sizes.size and sizes.size - near.size > CENSORED * sizes.size
        if many and limit > 0.0 and abs(float(near.mean())) <= float(near.std()):
            found.append(OffGiven(columns, coefficients, rule.constant, limit))
    return tuple(found)
