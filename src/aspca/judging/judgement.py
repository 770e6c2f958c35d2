"""One verdict per row, computed once: its score, what it is made of, the rules it breaks, and if it is an anomaly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from aspca.judging.alarms import Alarms
from aspca.judging.metric import READABLE
from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.linalg.row_blocks import across, any_in_row
from aspca.preparation.bad_cells import BadCell

# What lies outside the rules as parts of the score (n,): as usual, and beyond its limit.
Outside = tuple[Floats, Floats]

# Squares of deviations beyond this are as large as a sum of them may be.
_LARGEST = 1e150
# A rule that is broken by less than rounding is broken all the same.
_JUST_ABOVE = 1.0 + 1e-9
VERDICTS = ("normal", "unusual", "error")
# A rule stands out from three spreads on.
_STANDS_OUT = 9.0


@dataclass(frozen=True, eq=False)
class Judgement:
    """Rows judged (n of them, by m rules).

    Attributes
    ----------
    scores : ndarray of shape (n,)
        ``contributions.sum(axis=1) + outside``.
    contributions : ndarray of shape (n, k + m)
        The part of each rule, never negative: of k identities, then of m relations.
    outside : ndarray of shape (n,)
        The part of what lies outside the rules, never negative.
    deviations : ndarray of shape (n, k + m)
        Signed: from identities in multiples of the tolerance, from relations in the scaled space; NaN where a value is
        missing that the rule cannot do without.
    weighted : ndarray of shape (n, m)
        From relations, in the units of the score, decorrelated.
    broken : ndarray of shape (n, k + m), or None
        Which rules are beyond their own limit; None while these wait for rows.
    anomalies : ndarray of shape (n,), or None
        The verdict; None while the threshold waits for rows.
    errors : ndarray of shape (n,), or None
        Which anomalies are errors; None where rows are not judged by tail models.
    p_values : ndarray of shape (n,), or None
        The same.
    bad_cells : ndarray of shape (n,), or None
        Tuples of `BadCell`, empty for most rows: what was not what its column holds when the row was read. Such a row
        is an anomaly, whatever its score is. None where nothing was.
    """

    scores: Floats
    contributions: Floats
    outside: Floats
    deviations: Floats
    weighted: Floats
    broken: Bools | None
    anomalies: Bools | None
    errors: Bools | None = None
    p_values: Floats | None = None
    bad_cells: npt.NDArray[np.object_] | None = None

    def __len__(self) -> int:
        return int(self.scores.size)

    def with_identities(self, multiples: Floats, parts: Floats, accusing: Bools, alarms: Alarms) -> Judgement:
        """The same rows, judged by identities first: their residuals in multiples of the tolerance (n, k), and what
        they add to the scores (n, k)."""
        scores = self.scores + parts.sum(axis=1)
        broken = self.broken
        if broken is not None:
            with np.errstate(invalid="ignore"):
                broken = np.hstack([(np.abs(multiples) > 1.0) & accusing, broken])
        return replace(
            self,
            scores=scores,
            contributions=np.hstack([parts, self.contributions]),
            deviations=np.hstack([multiples, self.deviations]),
            broken=broken,
            anomalies=verdicts(scores, broken, alarms),
        )

    @property
    def has_bad_cells(self) -> Bools:
        """Which rows have such cells (n,)."""
        if self.bad_cells is None:
            return np.zeros(len(self), dtype=np.bool_)
        return np.array([bool(cells) for cells in self.bad_cells], dtype=np.bool_)

    def with_bad_cells(self, bad_cells: Sequence[tuple[BadCell, ...]]) -> Judgement:
        """The same, the rows that have such cells anomalies."""
        cells = np.empty(len(self), dtype=object)
        cells[:] = bad_cells
        found = replace(self, bad_cells=cells)
        bad = found.has_bad_cells
        return replace(
            found,
            anomalies=None if self.anomalies is None else self.anomalies | bad,
            errors=None if self.errors is None else self.errors | bad,
        )

    def take(self, rows: Ints) -> Judgement:
        """The judgement of some of the rows."""
        parts: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        taken: dict[str, Any] = {name: None if part is None else part[rows] for name, part in parts.items()}
        return Judgement(**taken)

    @classmethod
    def joined(cls, parts: Iterable[Judgement], n_rows: int) -> Judgement:
        """One after the other, at least one, of so many rows in all; no two of them are held at once."""
        whole: dict[str, Any] = {}
        start = 0
        for part in parts:
            if len(part) == n_rows:
                return part
            for field in fields(cls):
                array = getattr(part, field.name)
                if not start:
                    whole[field.name] = None if array is None else np.empty((n_rows, *array.shape[1:]), array.dtype)
                if array is not None:
                    whole[field.name][start : start + len(part)] = array
            start += len(part)
        return cls(**whole)

    @property
    def verdicts(self) -> list[str | None]:
        """In words: error, unusual or normal; None where the threshold waits for rows."""
        if self.anomalies is None:
            return [None] * len(self)
        errors = np.zeros(len(self), dtype=np.bool_) if self.errors is None else self.errors
        return [VERDICTS[grade] for grade in (self.anomalies.astype(np.intp) + (self.anomalies & errors)).tolist()]

    @property
    def share_of_rules(self) -> Floats:
        """The share of rules that could be computed (n,): below one where values were missing."""
        lacking = np.isnan(self.deviations).sum(axis=1)
        return np.asarray(1.0 - lacking / max(self.deviations.shape[1], 1))


def judged(deviations: Floats, weighted: Floats, outside: Outside, alarms: Alarms) -> Judgement:
    """The judgement of deviations (n, m), the same weighted, and the parts outside the rules.

    What chance alone makes of many rules is counted with those that stand out; the paper's scores are split by plain
    squares.
    """
    split = alarms.settings.score in READABLE
    contributions = squared(weighted)
    usual, beyond = _bounded(outside)
    apart = usual + beyond
    total = contributions.sum(axis=1)
    scores = total + apart
    broken = None
    if alarms.rules is not None:
        # A deviation that is not known breaks nothing.
        squares = squared(deviations)
        unknown = np.isnan(squares)
        if unknown.any():
            squares[unknown] = 0.0
        limits = alarms.the_rules()
        broken = across(np.greater, squares, limits)
        rows = np.flatnonzero(any_in_row(broken)) if split else np.empty(0, dtype=np.intp)
        # Where a rule is broken, what is usual outside of them is no reason either.
        total[rows] += usual[rows]
        apart[rows] = beyond[rows]
    if split:
        contributions = _beyond_chance(contributions, total)
    if broken is not None and alarms.lift is not None:
        rows = np.flatnonzero(any_in_row(broken))
        excess = np.where(broken[rows], multiples_of(squares[rows], limits), 0.0)
        _lift(contributions, scores, apart, rows, excess, alarms.lift)
    return Judgement(scores, contributions, apart, deviations, weighted, broken, verdicts(scores, broken, alarms))


def apart_of(outside: Outside) -> Floats:
    """What lies outside the rules, of a score (n,)."""
    usual, beyond = _bounded(outside)
    return np.asarray(usual + beyond)


def _bounded(outside: Outside) -> Outside:
    return np.minimum(outside[0], _LARGEST**2), np.minimum(outside[1], _LARGEST**2)


def squared(deviations: Floats) -> Floats:
    """Squares that are finite, and whose sums are."""
    clipped = np.clip(deviations, -_LARGEST, _LARGEST)
    return np.asarray(np.square(clipped, out=clipped))


def multiples_of(squares: Floats, limits: Floats) -> Floats:
    """Squared deviations (n, m) in multiples of their limits (m,), as large as such a square at most."""
    with np.errstate(over="ignore"):
        return np.asarray(np.minimum(squares / np.maximum(limits, 1e-300), _LARGEST**2))


def _beyond_chance(squares: Floats, total: Floats) -> Floats:
    """A total (n,), shared by the rules (n, m) that stand out.

    Of many rules every normal row is a little off, and together they make up much of its score: a share of 40 rules is
    no reason. So each counts by its square c times (c / (c + 9))^2: in full from three spreads on, hardly below one.
    """
    weights = squares + _STANDS_OUT
    np.divide(squares, weights, out=weights)
    np.square(weights, out=weights)
    weights *= squares
    counted = weights.sum(axis=1)
    # A row on every rule has nothing to share, and squares of 1e-100 have no squares.
    nothing = np.flatnonzero(~(counted > 0.0))
    if nothing.size:
        weights[nothing] = squares[nothing]
        counted[nothing] = weights[nothing].sum(axis=1)
    weights *= (total / np.maximum(counted, 1e-300))[:, None]
    return weights


def verdicts(scores: Floats, broken: Bools | None, alarms: Alarms) -> Bools | None:
    """Which rows are anomalies (n,); None while a limit that decides waits for rows."""
    if alarms.total is None or (broken is None and alarms.settings.alarm == "any"):
        return None
    return np.asarray(scores > alarms.total.value)


def decisions(judgement: Judgement, alarms: Alarms) -> Floats:
    """Negative for anomalies (n,): the threshold less the score."""
    if alarms.settings.alarm == "any":
        # While they wait for rows, says what to do.
        alarms.the_rules()
    return np.asarray(alarms.the_total() - judgement.scores)


def _lift(contributions: Floats, scores: Floats, outside: Floats, broken: Ints, excess: Floats, lift: float) -> None:
    """Make scores of rows with broken rules no less than the worst asks for; what is added is the rules' part.

    `broken` (k,) are these rows, `excess` (k, m) how many times its limit they break each rule.
    """
    worst = excess.max(axis=1, initial=0.0)
    wanted = np.minimum(lift * np.maximum(worst, _JUST_ABOVE), _LARGEST**2)
    those = np.flatnonzero((worst > 0.0) & (wanted > scores[broken]))
    if those.size:
        rows, wanted = broken[those], wanted[those]
        shares = excess[those] / worst[those, None]
        contributions[rows] += (wanted - scores[rows])[:, None] * (shares / shares.sum(axis=1, keepdims=True))
        scores[rows] = np.maximum(contributions[rows].sum(axis=1) + outside[rows], wanted)
