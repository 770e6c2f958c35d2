"""What the paper prints of a subspace, for vectors that need not be orthogonal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import roc_auc_score

from aspca.linalg.arrays import Floats, Ints
from aspca.sparse_pca.rotation.descent import paper_rotation
from library.loose import largest_product, orthonormal
from library.report import Row

L1, TENTH, HUNDREDTH = "L1", "> 0.1", "> 0.01"
VARIANCE, SPAN, AUC, AUC_SPAN, PRODUCT = "variance", "of the span", "AUC", "of the span's", "largest product"
DIGITS = {L1: 2, VARIANCE: 4, SPAN: 4, AUC: 4, AUC_SPAN: 4, PRODUCT: 5}


@dataclass(frozen=True)
class Scaled:
    """Centred and scaled rows D (n, p), their labels, and D'D."""

    D: Floats
    labels: Ints
    A: Floats

    @classmethod
    def of(cls, data: Floats, labels: Ints, sizes: Floats | None = None) -> Scaled:
        """Centred, divided by the largest size of each column, or by `sizes` (p,)."""
        D = data - data.mean(axis=0)
        largest = np.abs(D).max(axis=0) if sizes is None else sizes
        D = D / np.where(largest > 0, largest, 1.0)
        return cls(D, labels, D.T @ D)

    def row(self, name: str, V: Floats, span: Floats | None = None) -> Row:
        """Figures of vectors V (p, d) as they are; and of a subspace, the one they span by default."""
        Q = orthonormal(V) if span is None else span
        return {
            "": name,
            **sizes(V),
            VARIANCE: self._variance(V),
            AUC: self._auc(V),
            SPAN: self._variance(Q),
            AUC_SPAN: self._auc(Q),
            PRODUCT: largest_product(V),
        }

    def _variance(self, V: Floats) -> float:
        return float(np.vdot(V, self.A @ V))

    def _auc(self, V: Floats) -> float:
        return float(roc_auc_score(self.labels, ((self.D @ V) ** 2).sum(axis=1)))


def sizes(V: Floats) -> dict[str, float | int]:
    """L1 norm, and how many entries are above 0.1 and 0.01."""
    size = np.abs(V)
    return {L1: float(size.sum()), TENTH: int((size > 0.1).sum()), HUNDREDTH: int((size > 0.01).sum())}


def printed(name: str, text: str) -> Row:
    """A row of the paper: L1, cards, variance, AUC as it prints them; "-" where it does not."""
    return dict(zip(("", L1, TENTH, HUNDREDTH, VARIANCE, AUC), (name, *text.split()), strict=True))


def rotated(V: Floats) -> Floats:
    """By the paper's own alternation."""
    return np.asarray(V @ paper_rotation(V))
