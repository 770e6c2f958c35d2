"""Which of our components is which of the paper's: by their features, whatever the order and the sign."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from aspca.linalg.arrays import Floats
from aspca.reproduction.published import Number


@dataclass(frozen=True, eq=False)
class Matched:
    """Our components under the paper's numbers.

    Attributes
    ----------
    loadings : ndarray of shape (p, d)
        Ours in the paper's order, those it does not print in the places between; signs as printed.
    positions : mapping of the paper's numbers to columns
    """

    loadings: Floats
    positions: Mapping[str, int]

    @property
    def labels(self) -> tuple[str, ...]:
        """The paper's number of each column, in brackets where it prints none."""
        printed = {position: number for number, position in self.positions.items()}
        return tuple(printed.get(k, f"({k + 1})") for k in range(self.loadings.shape[1]))


def matched(loadings: Floats, names: tuple[str, ...], printed: Mapping[str, Mapping[str, Number]]) -> Matched:
    """The assignment that makes the printed vectors and ours most alike in all."""
    targets = np.zeros((len(names), len(printed)))
    for k, terms in enumerate(printed.values()):
        for name, value in terms.items():
            targets[names.index(name), k] = float(value)
    likeness = targets.T @ loadings
    wanted, ours = linear_sum_assignment(-np.abs(likeness))
    d = loadings.shape[1]
    order = np.full(d, -1, dtype=np.intp)
    signs = np.ones(d)
    positions = {}
    for k, column in zip(wanted.tolist(), ours.tolist(), strict=True):
        number = list(printed)[k]
        place = int(number) - 1
        order[place], signs[place] = column, np.sign(likeness[k, column]) or 1.0
        positions[number] = place
    order[order < 0] = sorted(set(range(d)) - set(ours.tolist()))
    return Matched(loadings[:, order] * signs, positions)
