"""Rows sifted: the score and the verdict of each, and all else only of those that may be anomalies.

Most rows are normal, and of a normal row nobody asks which rule adds what. So of a block of rows, while it is in the
cache, only the plain score is summed up, and whether some rule may be broken. Whatever is not plainly normal is judged
in full, by the code that judges all rows elsewhere: scores and verdicts are the same to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from aspca.judging.judgement import Judgement, apart_of
from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.linalg.steady import across, any_in_row

if TYPE_CHECKING:
    from aspca.judging.model import Model
    from aspca.judging.projector import Rows


@dataclass(frozen=True, eq=False)
class Sifted:
    """Rows judged (n of them), as much as a table of scores needs.

    Attributes
    ----------
    scores : ndarray of shape (n,)
    anomalies : ndarray of shape (n,), or None
        None while the threshold waits for rows.
    share_of_rules : ndarray of shape (n,)
        As in `Judgement`.
    flagged : ndarray of shape (k,)
        Positions of the anomalies.
    judgement : Judgement
        Of these.
    """

    scores: Floats
    anomalies: Bools | None
    share_of_rules: Floats
    flagged: Ints
    judgement: Judgement


def sifted(model: Model, X: Rows) -> Sifted:
    """The verdict on rows (n, p), in which NaN is a value that is missing; what `Model.judge` says of them."""
    total, rules = model.alarms.total, model.alarms.rules
    waits = total is None or (rules is None and model.settings.alarm != "total")
    if waits or not len(X):
        whole = model.judge(X)
        flagged = np.flatnonzero(whole.anomalies) if whole.anomalies is not None else np.empty(0, dtype=np.intp)
        return Sifted(whole.scores, whole.anomalies, whole.share_of_rules, flagged, whole.take(flagged))
    missing = np.isnan(X) if model.allows_gaps else None
    scores, doubtful = _plain(model, X if missing is None else np.where(missing, model.space.mean, X))
    if missing is not None:
        doubtful |= missing.any(axis=1)
    anomalies, shares = np.zeros(len(X), dtype=np.bool_), np.ones(len(X))
    rows = np.flatnonzero(doubtful)
    judgement = model.judge(X[rows])
    verdicts = np.asarray(judgement.anomalies)
    scores[rows], anomalies[rows], shares[rows] = judgement.scores, verdicts, judgement.share_of_rules
    kept = np.flatnonzero(verdicts)
    return Sifted(scores, anomalies, shares, rows[kept], judgement.take(kept))


def _plain(model: Model, X: Rows) -> tuple[Floats, Bools]:
    """Scores (n,) of rows without gaps that break no rule, and which rows (n,) may be anomalies, so that theirs is
    another."""
    m, limit = len(model.table), model.alarms.the_total()
    accusing = model.identities.accusing
    limits = None if model.alarms.rules is None else model.alarms.the_rules()
    scores, doubtful = np.empty(len(X)), np.zeros(len(X), dtype=np.bool_)
    # What overflows is beyond every limit.
    with np.errstate(over="ignore", invalid="ignore"):
        for rows, projections in model.projected(X):
            weighted = projections[:, m : 2 * m]
            beside = projections[:, 2 * m :]
            outside = model.metric.outside_parts(np.einsum("ij,ij->i", beside, beside))
            total = (weighted * weighted).sum(axis=1) + apart_of((outside[0], outside[1]))
            scores[rows] = total
            doubtful[rows] = ~(total <= limit)
            if limits is not None:
                squares = np.square(projections[:, :m])
                doubtful[rows] |= any_in_row(across(np.greater, squares, limits))
            if accusing.any():
                multiples = model.identities.multiples(np.asarray(X[rows], dtype=np.float64))
                doubtful[rows] |= (np.abs(multiples[:, accusing]) > 1.0).any(axis=1)
    return scores, doubtful
