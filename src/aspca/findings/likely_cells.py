"""The cell of a row that is most likely wrong where no identity tells which, and what would fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aspca.findings.proposals import round_estimate
from aspca.linalg.arrays import Ints
from aspca.linalg.ranking import round_for_ranking

if TYPE_CHECKING:
    from aspca.findings.explanation import Explanation


def likely_wrong_cells(why: Explanation) -> dict[int, tuple[int, float]]:
    """For every error that violates no identity, by its position, a feature and the value to be expected."""
    evidence = why.model.evidence
    if evidence is None or why.judgement.errors is None:
        return {}
    rows = np.array([row for row in np.flatnonzero(why.judgement.errors).tolist() if row not in why.repairs], int)
    if not rows.size:
        return {}
    columns = _choose_columns(why, rows)
    X = why.values[rows].copy()
    X[np.arange(rows.size), columns] = np.nan
    expected = evidence.expect(X)
    found = {}
    space = why.model.space
    for k, (row, column) in enumerate(zip(rows.tolist(), columns.tolist(), strict=True)):
        if not np.isnan(expected[k, column]) and not np.isnan(why.values[row, column]):
            decimals, deviation = int(space.decimals[column]), float(space.deviations[column])
            found[row] = (column, round_estimate(float(expected[k, column]), decimals, deviation))
    return found


def _choose_columns(why: Explanation, rows: Ints) -> Ints:
    """The column of each row that is most likely wrong: that of the largest part.

    Unless it stands in a broken relation and in one that is kept, and another of the broken one does not: then of these
    (Fellegi and Holt 1976: what is changed must break nothing that holds).
    """
    parts = round_for_ranking(why.feature_contributions[rows])
    columns = parts.argmax(axis=1)
    first = why.model.n_identities
    if not len(why.model.table):
        return np.asarray(columns)
    used = (why.model.table.loadings != 0.0).T.astype(np.float64)
    broken, known = why.judgement.broken[rows, first:], ~np.isnan(why.judgement.deviations[rows, first:])
    in_broken, in_kept = (those.astype(np.float64) @ used > 0.0 for those in (broken, known & ~broken))
    able = in_broken & ~in_kept
    doubtful = (in_broken & in_kept)[np.arange(rows.size), columns] & able.any(axis=1)
    return np.asarray(np.where(doubtful, np.where(able, parts, -1.0).argmax(axis=1), columns))
