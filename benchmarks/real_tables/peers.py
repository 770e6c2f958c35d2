"""The peers: a Mahalanobis distance that looks into every direction, and an isolation forest.

Both take the columns as the model does: logarithms where the table's identities are products.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from library.rivals import Fitted, Rival, forest, whole_covariance

from .table import Floats, Table


@dataclass(frozen=True)
class Peer:
    """A detector fitted to the columns of a table."""

    table: Table
    detector: Fitted

    @classmethod
    def fitted(cls, table: Table, frame: pd.DataFrame, rival: Rival) -> Peer:
        return cls(table, rival(table.transformed(frame).to_numpy()))

    def scores(self, frame: pd.DataFrame) -> Floats:
        return self.detector.score(self.table.transformed(frame).to_numpy())

    def blamed(self, row: pd.DataFrame) -> str:
        """The column with the largest contribution; of the distance, the one whose best change takes most off it."""
        parts = self.detector.contributions(self.table.transformed(row).to_numpy())[0]
        return str(row.columns[int(np.argmax(parts))])


def distance_of(table: Table, frame: pd.DataFrame) -> Peer:
    return Peer.fitted(table, frame, whole_covariance)


def forest_of(table: Table, frame: pd.DataFrame) -> Peer:
    return Peer.fitted(table, frame, forest)
