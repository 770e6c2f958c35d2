"""The cell of a row that is most likely wrong where no identity tells which, and what would fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aspca.judging.proposals import rounded
from aspca.linalg.ranking import round_for_ranking

if TYPE_CHECKING:
    from aspca.judging.explanation import Explanation


def likely_wrong_cells(why: Explanation) -> dict[int, tuple[int, float]]:
    """For every error that violates no identity, by its position, a feature and the value to be expected."""
    evidence = why.model.evidence
    if evidence is None or why.judgement.errors is None:
        return {}
    rows = np.array([row for row in np.flatnonzero(why.judgement.errors).tolist() if row not in why.repairs], int)
    if not rows.size:
        return {}
    columns = round_for_ranking(why.feature_contributions[rows]).argmax(axis=1)
    X = why.values[rows].copy()
    X[np.arange(rows.size), columns] = np.nan
    expected = evidence.expect(X)
    found = {}
    space = why.model.space
    for k, (row, column) in enumerate(zip(rows.tolist(), columns.tolist(), strict=True)):
        if not np.isnan(expected[k, column]) and not np.isnan(why.values[row, column]):
            decimals, most = int(space.decimals[column]), 100.0 * float(space.deviations[column])
            found[row] = (column, rounded(float(expected[k, column]), decimals, most))
    return found
