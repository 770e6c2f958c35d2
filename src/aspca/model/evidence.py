"""The evidence against a row: one p-value for each thing it is judged by, and one for the row.

Kinds of evidence: identities (how rarely and by how much they are violated), relations (residuals of rules), ranges
(a column by itself), conditionals (a column given the others), and the whole row (its distance from the middle, which
is counted and never extrapolated: it names no cell, so alone it makes a row unusual, not wrong).

The score of a row is the weighted mean of the odds 1 / p - 1 over all of them, each kind the same weight, within a kind
each test the same (the harmonic mean p-value, Wilson 2019): parts are non-negative and add up as they are, and
dependence between tests does no harm. What the largest of a kind's odds reaches by chance in a few rows of a hundred
says nothing by itself: it counts in the whole row only. The score becomes the row's p-value by the scores of rows that
were not fitted.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from aspca.linalg.arrays import Bools, Floats, Ints, frozen
from aspca.linalg.row_blocks import sum_rows
from aspca.model.columns import Distance, View, shrink, to_shares
from aspca.model.constants import BY_CHANCE, CENSORED, FAR_OUT, FEWEST_CENSORED, GAUSSIAN_SIZE, GROSS, TIGHT
from aspca.model.tails import Tail


@dataclass(frozen=True, eq=False)
class Steady:
    """Columns that hardly ever leave one value: how rare that is, is counted."""

    columns: Ints  # (s,)
    values: Floats  # (s,): the value of nearly all rows, and the log share of the others
    log_p: Floats  # (s,), as values

    def log_p_values(self, X: Floats) -> Floats:
        """log p-values (n, s) of rows (n, p)."""
        values = X[:, self.columns]
        return np.where((values == self.values) | np.isnan(values), 0.0, self.log_p)


@dataclass(frozen=True, eq=False)
class Cells:
    """log p-values of the columns of rows: by themselves and given the others (n, q), of columns that hardly ever leave
    one value (n, s), and of whole rows (n,)."""

    ranges: Floats
    conditionals: Floats
    steady: Floats
    rows: Floats


@dataclass(frozen=True, eq=False)
class Parts:
    """What makes scores: of identities (n, k), of relations (n, m), of columns given the others (n, q), and of all else
    (n,)."""

    identities: Floats
    relations: Floats
    conditionals: Floats
    rest: Floats

    @property
    def outside(self) -> Floats:
        """What neither identities nor relations make (n,)."""
        return np.asarray(self.rest + sum_rows(self.conditionals))

    @property
    def scores(self) -> Floats:
        """Their sum (n,)."""
        return np.asarray(sum_rows(self.identities) + sum_rows(self.relations) + self.outside)

    def assign_to_relations(self, broken: Bools, used: Bools) -> Parts:
        """The same, where rows break relations (n, m) the parts of the columns of these (q, m) told as theirs.

        That a column is off the others' word is what the relation says, in other words.
        """
        relations, conditionals = self.relations.copy(), self.conditionals.copy()
        for k in np.flatnonzero(broken.any(axis=0)).tolist():
            rows, columns = np.flatnonzero(broken[:, k]), np.flatnonzero(used[:, k])
            relations[rows, k] += sum_rows(conditionals[np.ix_(rows, columns)])
            conditionals[np.ix_(rows, columns)] = 0.0
        return Parts(self.identities, relations, conditionals, self.rest)


@dataclass(frozen=True, eq=False)
class Evidence:
    """Tail models of all that rows are judged by."""

    # of q columns that no identity determines: all as they are, and, where some are skewed, these as logarithms
    views: tuple[View, ...]
    chosen: Ints  # (q,): the view by which each column is judged given the others: that of the smaller residuals
    ranges: tuple[Tail | None, ...]  # None: the column is not judged, since it has few values
    conditionals: tuple[Tail | None, ...]  # , as ranges
    distance: Distance  # of whole rows from the middle, in the first view
    whole: Tail  # of this distance
    steady: Steady  # other columns
    # (2, q): log p-values of outlying, and of gross cells are no smaller where what a column accuses looks like another
    # kind of rows; else -inf
    caps: Floats
    rounding: Floats  # (q,): what rounding of the columns may make of residuals: no more than that is as expected
    relations: tuple[Tail, ...] = ()
    relation_caps: Floats = field(default_factory=lambda: np.zeros((2, 0)))  # (2, m)
    relation_rounding: Floats = field(default_factory=lambda: np.zeros(0))  # (m,)
    law: RowLaw | None = None  # None while it is being learned

    @property
    def columns(self) -> Ints:
        """Which columns of a row these are (q,)."""
        return self.views[0].scales.columns

    @cached_property
    def judged(self) -> Bools:
        """Which of them have tails (q,)."""
        return np.array([tail is not None for tail in self.ranges], dtype=np.bool_)

    def cells(self, X: Floats) -> Cells:
        """log p-values of the columns of rows (n, p)."""
        return self.judge_cells(X, self.residuals(X), self.distance.distances(self.views[0].scales.standardise(X)))

    def residuals(self, X: Floats, *, careful: bool = True) -> Floats:
        """What each column of rows (n, p) is off the others' word (n, q), by the view chosen for it."""
        residuals = self.views[0].residuals(X, careful=careful)
        for number, view in enumerate(self.views[1:], 1):
            mine = self.chosen == number
            if mine.any():
                residuals[:, mine] = view.residuals(X, careful=careful)[:, mine]
        return shrink(residuals, self.rounding)

    def far_off(self, X: Floats) -> Bools:
        """Which cells of rows (n, p) are far off the others' plain word (n, q), in columns that these tell tightly.

        None of rows with gaps, where they tell less.
        """
        found, residuals = np.zeros((len(X), self.columns.size), dtype=np.bool_), self.residuals(X, careful=False)
        for k, tail in enumerate(self.conditionals):
            if tail is not None and tail.unit <= TIGHT * GAUSSIAN_SIZE:
                found[:, k] = np.abs(residuals[:, k] - tail.middle) > FAR_OUT * tail.unit / GAUSSIAN_SIZE
        return found & ~np.isnan(residuals).any(axis=1, keepdims=True)

    def judge_cells(self, X: Floats, residuals: Floats, distances: Floats) -> Cells:
        """The same, of rows whose residuals (n, q) and distances (n,) are known."""
        values = X[:, self.columns]
        ranges, conditionals = np.zeros(values.shape), np.zeros(values.shape)
        for k in np.flatnonzero(self.judged).tolist():
            by_itself, given_others = self.ranges[k], self.conditionals[k]
            if by_itself is not None:
                ranges[:, k] = _cap(by_itself.log_p_values(values[:, k]), self.caps[:, k])
            if given_others is not None:
                conditionals[:, k] = _cap(given_others.log_p_values(residuals[:, k]), self.caps[:, k])
        return Cells(ranges, conditionals, self.steady.log_p_values(X), self.whole.log_p_values(distances))

    def confirm_cells(self, cells: Cells, confirmed: Bools) -> Cells:
        """The same cells, those that an exact relation confirms (n, p) counted and not extrapolated, as whole rows are:
        they may be unusual, but are not wrong by themselves."""
        least = np.where(confirmed[:, self.columns], float(self.whole.log_p.min()), -np.inf)
        return replace(
            cells, ranges=np.maximum(cells.ranges, least), conditionals=np.maximum(cells.conditionals, least)
        )

    def relation_log_p(self, deviations: Floats) -> Floats:
        """log p-values (n, m) of deviations from relations."""
        found, beyond = np.zeros(deviations.shape), shrink(deviations, self.relation_rounding)
        for k, tail in enumerate(self.relations):
            found[:, k] = _cap(tail.log_p_values(beyond[:, k]), self.relation_caps[:, k])
        return found

    def parts(self, identity_p: Floats, accusing: Bools, deviations: Floats, cells: Cells) -> Parts:
        """The parts of scores: from p-values of identities (n, k), of which some accuse (k,), deviations from relations
        (n, m), and cells."""
        n_judged, n_identities, m = int(self.judged.sum()), int(accusing.sum()), len(self.relations)
        n_ranges = n_judged + self.steady.columns.size
        several, kinds = self._several, self.n_types
        identities = np.where(accusing, _odds(np.log(np.maximum(identity_p, 1e-300))), 0.0)
        relations = _odds(self.relation_log_p(deviations), m)
        rest = _odds(cells.rows)
        if n_ranges:
            ranges = np.hstack([cells.ranges[:, self.judged], cells.steady])
            rest = rest + sum_rows(_odds(ranges, n_ranges)) / n_ranges
        conditionals = np.zeros(cells.conditionals.shape)
        if several:
            conditionals[:, self.judged] = _odds(cells.conditionals[:, self.judged], n_judged) / (kinds * n_judged)
        return Parts(
            identities / (kinds * max(n_identities, 1)), relations / (kinds * max(m, 1)), conditionals, rest / kinds
        )

    @property
    def _several(self) -> bool:
        """Whether columns are judged given others."""
        return any(tail is not None for tail in self.conditionals)

    @property
    def n_types(self) -> int:
        """How many kinds of evidence there are beside identities, which take no weight from the others."""
        ranges = bool(self.judged.any()) or bool(self.steady.columns.size)
        return bool(self.relations) + ranges + self._several + 1

    def seen_in(self, slopes: Floats, offsets: Floats) -> Evidence:
        """The same of rows t (n, p) in other units: what these are learned from is ``slopes * t + offsets``."""
        ranges = tuple(
            tail and replace(tail, middle=(tail.middle - offsets[j]) / slopes[j], unit=tail.unit / slopes[j])
            for j, tail in zip(self.columns.tolist(), self.ranges, strict=True)
        )
        steady = self.steady.columns
        return replace(
            self,
            views=tuple(replace(view, scales=view.scales.seen_in(slopes, offsets)) for view in self.views),
            ranges=ranges,
            steady=replace(self.steady, values=(self.steady.values - offsets[steady]) / slopes[steady]),
        )

    def with_law(self, law: RowLaw) -> Evidence:
        """The same, with the law of scores."""
        return replace(self, law=law)

    def expect(self, X: Floats) -> Floats:
        """What the other columns let expect of each column (n, p), NaN where nothing is; missing ones are as usual."""
        found = np.full(X.shape, np.nan)
        for number, view in enumerate(self.views):
            mine = self.chosen == number
            if mine.any():
                found[:, self.columns[mine]] = view.expect(X)[:, mine]
        return found

    def attribute(self, X: Floats, others: Floats) -> Floats:
        """Parts of scores (n,) that identities have no part in, split over the columns (n, p).

        By the evidence that a column has of its own, -log p by itself and given the others, and by its part in the
        distance of the row: the first knows tails, the second what moves together. Sharply where one change explains
        the row.
        """
        cells, Z = self.cells(X), self.views[0].scales.standardise(X)
        own, one, several = np.zeros(X.shape), np.zeros(X.shape), np.zeros(X.shape)
        own[:, self.columns] = np.square(np.where(np.isnan(Z), 0.0, cells.ranges + cells.conditionals))
        # Given the others it is as rare.
        own[:, self.steady.columns] = np.square(2.0 * cells.steady)
        one[:, self.columns], several[:, self.columns], alone = self.distance.split(Z)
        one, several = (
            to_shares(np.square(to_shares(parts) + shares)) for parts, shares in ((np.square(own), one), (own, several))
        )
        # A row of which nothing is known has nothing said against it.
        return np.asarray((alone * one + (1.0 - alone) * several) * others[:, None])


def _cap(log_p: Floats, caps: Floats) -> Floats:
    """log p-values (n,), outlying and gross ones no smaller than the caps (2,)."""
    return np.asarray(np.maximum(log_p, np.where(log_p < np.log(GROSS), caps[1], caps[0])))


def _odds(log_p: Floats, n_tests: int = 0) -> Floats:
    """1 / p - 1, less what one of so many tests reaches by chance."""
    # exp of more would overflow.
    return np.asarray(np.maximum(np.expm1(-np.maximum(log_p, -600.0)) - n_tests / BY_CHANCE, 0.0))


@dataclass(frozen=True, eq=False)
class RowLaw:
    """p-values and verdicts of scores."""

    # (k,): ascending log(1 + score), and log p there; beyond the last, p is inversely proportional to 1 + score
    knots: Floats
    log_p: Floats  # (k,), as knots
    unusual: float  # scores above which rows are unusual, and errors
    error: float  # , as unusual
    n_rows: int  # how many rows are learned from: so many times p is how often chance would do as much

    def p_values(self, scores: Floats) -> Floats:
        """p-values (n,) of scores."""
        places = np.log1p(scores)
        beyond = np.maximum(places - self.knots[-1], 0.0)
        return np.asarray(np.exp(np.interp(places, self.knots, self.log_p) - beyond))


def learn_law(scores: Floats, level: float, rate: float, n_rows: int) -> RowLaw:
    """The law of the scores of rows that were not fitted (n,), of n_rows in all.

    Counted in the bulk. Beyond the anchor, where as many rows may be errors as stand out, p falls as 1 + score rises:
    its parts already know how sure they are.
    """
    places = np.sort(np.log1p(scores))
    n = places.size
    outlying = float((np.exp(-places) <= max(largest_rejected(np.exp(-places), rate), rate / n_rows)).mean())
    beyond = min(max(int(np.ceil((CENSORED + outlying) * n)), FEWEST_CENSORED), n - 1)
    anchor = places[n - 1 - beyond]
    log_beyond = np.log((beyond + 0.5 + np.sqrt(beyond)) / (n + 0.5))
    first = np.searchsorted(places, places * (1.0 - 1e-9), "left")
    falling = np.where(places > anchor, log_beyond - (places - anchor), 0.0)
    # Errors among all rows; unusual rows among those that do not stand out, or there were none where many do.
    others = n - round(outlying * n)
    of_all, log_p = (
        np.minimum(np.minimum(np.log((np.maximum(m - first, 0.0) + 0.5) / (m + 0.5)), falling), 0.0)
        for m in (n, others)
    )
    threshold = np.log(max(largest_rejected(np.exp(of_all), rate), rate / n_rows))
    knots, log_p_at = _thin(places, log_p)
    # Beyond the last score.
    last = places[-1] + 1e-9 * (1.0 + abs(places[-1]))
    knots = np.append(knots, last)
    at_last = float(log_beyond - (last - anchor)) if last > anchor else 0.0
    log_p_at = np.append(log_p_at, min(float(log_p_at[-1]), at_last))
    limits = ((log_p, float(np.log1p(-level))), (of_all, float(threshold)))
    edges = (_edge(places, values, limit, knots, log_p_at) for values, limit in limits)
    # Of log(1 + score), no more than a float64 holds.
    unusual, error = (float(np.expm1(min(edge, 690.0))) for edge in edges)
    return RowLaw(frozen(knots), frozen(log_p_at), unusual, max(error, unusual), n_rows)


def _thin(places: Floats, log_p: Floats) -> tuple[Floats, Floats]:
    """Some points of the law, evenly in log p, each place once."""
    values, first = np.unique(places, return_index=True)
    at = log_p[first]
    # The law is written down at so many points.
    wanted = np.linspace(at[0], at[-1], 200)
    chosen = np.searchsorted(-at, -wanted)
    chosen = np.unique(np.concatenate([chosen[chosen < values.size], [0, values.size - 1]]))
    return values[chosen], at[chosen]


def _edge(places: Floats, log_p: Floats, threshold: float, knots: Floats, log_p_at: Floats) -> float:
    """The place above which log p is at most this, between those of two rows."""
    reached = np.flatnonzero(log_p <= threshold)
    if not reached.size:
        return float(knots[-1] + max(log_p_at[-1] - threshold, 0.0))
    first = int(np.searchsorted(places, places[reached[0]] * (1.0 - 1e-9), "left"))
    if first == 0:
        return float(places[0] * (1.0 - 1e-9))
    # A threshold lies between the scores of two rows: rounding on another machine moves no verdict.
    return float(places[first - 1] + 0.5 * (places[first] - places[first - 1]))


def largest_rejected(p: Floats, rate: float) -> float:
    """The largest p-value that Benjamini and Hochberg reject at this rate; 0 where none is."""
    ordered = np.sort(p)
    below = np.flatnonzero(ordered <= rate * np.arange(1, ordered.size + 1) / ordered.size)
    return float(ordered[below[-1]]) if below.size else 0.0
