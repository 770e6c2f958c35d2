"""The peers: a Mahalanobis distance that looks into every direction, and an isolation forest.

Both take the columns as the model does: logarithms where the table's identities are products.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.ensemble import IsolationForest

from .table import Floats, Table

# Eigenvalues of the correlations below this are taken for it: exact identities have none at all.
_FLOOR = 1e-12


@dataclass(frozen=True)
class Mahalanobis:
    """M (p, p) is the inverse of the correlations; rows are standardised."""

    table: Table
    mean: Floats
    deviation: Floats
    inverse: Floats

    @classmethod
    def fitted(cls, table: Table, frame: pd.DataFrame) -> Mahalanobis:
        values = table.transformed(frame).to_numpy()
        deviation = values.std(axis=0)
        deviation = np.where(deviation > 0.0, deviation, 1.0)
        standard = (values - values.mean(axis=0)) / deviation
        eigenvalues, vectors = np.linalg.eigh(standard.T @ standard / len(standard))
        inverse = (vectors / np.maximum(eigenvalues, _FLOOR)) @ vectors.T
        return cls(table, values.mean(axis=0), deviation, inverse)

    def scores(self, frame: pd.DataFrame) -> Floats:
        standard = self._standard(frame)
        return np.asarray(np.einsum("ij,jk,ik->i", standard, self.inverse, standard), dtype=np.float64)

    def blamed(self, row: pd.DataFrame) -> str:
        """The column whose best change takes most off the distance: largest (M y)_j^2 / M_jj."""
        pull = (self._standard(row) @ self.inverse)[0]
        return str(row.columns[int((pull**2 / np.diagonal(self.inverse)).argmax())])

    def _standard(self, frame: pd.DataFrame) -> Floats:
        return np.asarray((self.table.transformed(frame).to_numpy() - self.mean) / self.deviation, dtype=np.float64)


@dataclass(frozen=True)
class Forest:
    table: Table
    trees: IsolationForest

    @classmethod
    def fitted(cls, table: Table, frame: pd.DataFrame) -> Forest:
        return cls(table, IsolationForest(random_state=0).fit(table.transformed(frame).to_numpy()))

    def scores(self, frame: pd.DataFrame) -> Floats:
        return -np.asarray(self.trees.score_samples(self.table.transformed(frame).to_numpy()), dtype=np.float64)
