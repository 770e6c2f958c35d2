"""Rows to learn from and rows to judge, of which the truth is known: which are anomalies, and what was moved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, kw_only=True)
class Labelled:
    """
    Attributes
    ----------
    train : ndarray of shape (n, p)
        Normal rows.
    test : ndarray of shape (n_test, p)
    labels : ndarray of shape (n_test,)
        1 for an anomaly.
    changed : ndarray of shape (n_test,)
        The feature moved; -1 in normal rows.
    """

    train: Floats
    test: Floats
    labels: Ints
    changed: Ints

    @property
    def anomalous(self) -> Bools:
        return np.asarray(self.labels == 1)


def move_features(test: Floats, donors: Floats, features: Ints) -> tuple[Ints, Ints]:
    """Give the last rows one feature each of their donors, in place; returns `labels` and `changed` of all rows."""
    n_normal = len(test) - len(donors)
    test[np.arange(n_normal, len(test)), features] = donors[np.arange(len(donors)), features]
    labels = np.repeat([0, 1], [n_normal, len(donors)])
    return labels, np.concatenate([np.full(n_normal, -1), features])
