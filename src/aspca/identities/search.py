"""The search for identities in a sample of rows.

Rows and columns are searched in an order of their own, which depends on nothing but what they hold: so the same
identities are found in any order of rows and columns, any unit and any sign.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from aspca.identities.accept import SHARE, find_pattern, is_credible, is_tighter_than_rounding
from aspca.identities.candidate import (
    LIFTS,
    SHORT,
    Candidate,
    Count,
    as_candidate,
    count,
    count_signs,
    fit,
    fit_simply,
    orient,
    transform,
)
from aspca.identities.formula import FLOATS, WHOLE, Formula, change_signs
from aspca.identities.propose import (
    EXACT,
    Draw,
    Drawer,
    Lifted,
    propose_circuits,
    propose_pairs,
    propose_products,
    propose_triples,
)
from aspca.identities.resolution import Sample
from aspca.identities.sampling import RowHash
from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.moments.row_hash import mix
from aspca.preparation.feature import Feature

# Proposals tried of one length, short numbers of columns first.
_MOST = 300
# Up to this length the simplest of all proposals goes first; longer ones are tried as they come, since what follows
# from others is soon told.
_TOGETHER = 3
# Columns up to which triples and longer identities are looked for among all of them.
_MOST_COLUMNS = 400
# A relation is implied by others if this part of it, at most, is not made up of them: the noise of fitted numbers.
_IMPLIED, _NEW = 2e-3, 1e-7
# Of exact ones, whose numbers are simple or have all digits.
_IMPLIED_EXACTLY = 1e-6
# Of identities satisfied by nearly all rows, and to more than whole numbers, others are made up.
_CERTAIN = 0.98


# A candidate, and the rows that it was found in; None: its numbers are known.
_Proposal = tuple[Candidate, Ints | None]
_Proposals = dict[tuple[int, ...], _Proposal]


class Option(NamedTuple):
    """A candidate with its numbers."""

    candidate: Candidate
    complexity: int  # How long these are.
    counted: Count  # Which rows satisfy it.
    partial: bool = False  # The rows that violate it have a pattern.

    @property
    def effort(self) -> tuple[int, int, int]:
        """How exact it is, how simple, and how long."""
        curves = sum(name != "x" for name in self.candidate.functions)
        return self.counted.tier, self.complexity + curves, count_signs(self.candidate)

    @property
    def exact(self) -> bool:
        return self.counted.tier == FLOATS

    @property
    def certain(self) -> bool:
        return not self.partial and self.counted.share > _CERTAIN and self.counted.tier < WHOLE


class Search:
    """The search in a sample, in an order of rows and columns of its own."""

    def __init__(self, sampled: Floats, hashes: RowHash, features: tuple[Feature, ...]) -> None:
        self.found: list[Option] = []
        self.unsearched: tuple[str, ...] = ()
        self._order = _column_order(sampled, hashes, features)
        values = sampled[:, self._order]
        # Columns of which nine tenths are negative are turned: they have logarithms then.
        with np.errstate(invalid="ignore"):
            below, above = (values < 0.0).sum(axis=0), (values > 0.0).sum(axis=0)
        self._signs = np.where(below > 0.9 * (below + above), -1.0, 1.0)
        by_name = np.argsort([features[j].name for j in self._order], kind="stable")
        ranks = np.empty(len(features), dtype=np.intp)
        ranks[by_name] = np.arange(len(features))
        self._sample = Sample.of(values * self._signs, ranks)
        self._rng = np.random.default_rng(0)
        self._copies: list[tuple[int, ...]] = []
        self._p = len(features)
        self._logs = np.array([features[j].kind == "log" for j in self._order], dtype=np.bool_)
        # What is known, and what is known exactly.
        self._bases = [np.zeros((0, len(LIFTS) * self._p))] * 2
        with np.errstate(all="ignore"):
            scales = [_deviations(transform(f, self._sample.X)) for f in LIFTS]
        self._scale = np.concatenate(scales).clip(1e-100, 1e100)

    def original(self, candidate: Candidate) -> Formula:
        """A candidate in the order and with the signs of the table."""
        return change_signs(candidate.formula, self._signs).with_columns(self._order.tolist())

    def run(self, given: Sequence[Formula]) -> None:
        """Find candidates, short ones first, none implied by those before it."""
        X = self._sample.X
        varying = np.flatnonzero([np.unique(column[~np.isnan(column)]).size > 1 for column in X.T])
        if varying.size < 2:
            return
        self._extend_by(given)
        wide = varying.size > _MOST_COLUMNS
        lifted = Lifted.of(self._sample, varying, curves=not wide)
        self._accept_pairs(lifted)
        drawer = Drawer(lifted, self._rng)
        # Columns that are linear functions of one other, to the last digits, and that: what is so to rounding only may
        # have a third column in it.
        pairs = [one.candidate for one in self.found if one.certain and one.exact and len(one.candidate.columns) == 2]
        self._copies = [c.columns[:2] for c in pairs if c.functions == ("x", "x") and not c.product]
        families = [lifted.places(name, {one for one, _ in self._copies}) for name in ("x", "log")]
        if wide:
            families = []
            self.unsearched = (
                f"Of {varying.size:,} columns only pairs in proportion and products of two were searched for exact "
                f"relations: sums of several columns and curves take at most {_MOST_COLUMNS} columns.",
            )
        proposals: _Proposals = {}

        def propose(draws: Iterator[Draw], among: Callable[[Draw], Iterable[Ints]]) -> None:
            for draw in draws:
                for places in among(draw):
                    proposals.setdefault(tuple(sorted(places.tolist())), (lifted.candidate(places), draw.rows))

        only_varying = np.full(X.shape, np.nan)
        only_varying[:, varying] = X[:, varying]
        for z, x, y in propose_products(only_varying, self._rng):
            square = Candidate((z, x), ("x", "square"), np.ones(1), 0.0)
            product = Candidate((z, x, y), ("x", "x", "x"), np.ones(2), 1.0, product=True)
            proposals[z, x, y] = square if x == y else product, None
        broken = self._broken()
        for family in families:
            propose(drawer.draws(family, 15, 16 if family.size <= 80 else 6, broken), propose_triples)
        self._accept_all(proposals.values())
        for family in (*families, np.concatenate(families)) if families else ():
            proposals, broken, q = {}, self._broken(), family.size
            for many, times in ((int(1.2 * q) + 12, 14), (2 * q + 30, 4)):
                propose(drawer.draws(family, many, times, broken), partial(self._circuits, lifted))
            self._accept_all(proposals.values())
        self._drop_implied(given)

    def _drop_implied(self, given: Sequence[Formula]) -> None:
        """Leave out what follows from others, exact ones first: a rounded pair may follow from a later sum and another
        pair."""
        found = sorted(self.found, key=lambda one: one.counted.tier)
        self.found = []
        self._bases = [basis[:0] for basis in self._bases]
        self._extend_by(given)
        for one in found:
            if not self._is_implied(one.candidate, exact=one.exact):
                self.found.append(one)
                self._extend_bases(one.candidate, exact=one.exact)

    def _extend_by(self, given: Sequence[Formula]) -> None:
        """What the user gave is not found again."""
        places = np.argsort(self._order).tolist()
        for formula in given:
            candidate = as_candidate(change_signs(formula.with_columns(places), self._signs))
            if candidate is not None:
                self._extend_bases(candidate, exact=True)

    def _circuits(self, lifted: Lifted, draw: Draw) -> Iterable[Ints]:
        names = list(LIFTS)
        functions, columns = lifted.functions[draw.places].tolist(), lifted.origins[draw.places].tolist()
        places = np.array([names.index(f) * self._p + j for f, j in zip(functions, columns, strict=True)])
        exact = np.full(places.size, EXACT)
        rounded = np.maximum(np.where(draw.rounding < 0.03, draw.rounding, 0.0), EXACT)
        for sigma, tier in ((exact, FLOATS), (rounded, WHOLE)):
            yield from propose_circuits(draw, sigma, self._n_known(places, tier), self._rng)

    # ---- accepting

    def _broken(self) -> Bools:
        """Rows of the sample that violate an identity found so far, as errors do (n,): to leave out those that have a
        pattern would hide the longer identity that explains them."""
        broken = np.zeros(len(self._sample), dtype=np.bool_)
        for one in self.found:
            if not one.partial:
                broken |= one.counted.broken
        return broken

    def _accept_pairs(self, lifted: Lifted) -> None:
        proposals = []
        for (i, j), (misfit, rows) in propose_pairs(lifted, self._rng).items():
            product = bool(lifted.functions[i] == "log")
            functions = ("x", "x") if product else (str(lifted.functions[i]), str(lifted.functions[j]))
            columns = int(lifted.origins[i]), int(lifted.origins[j])
            proposals.append((misfit, Candidate.unfitted(columns, functions, product=product), rows))
        # The most exact first, in case there are too many.
        proposals.sort(key=lambda proposal: (proposal[0] > 1e-9, proposal[1].columns))
        self._accept_all([(candidate, rows) for _, candidate, rows in proposals])

    def _accept_all(self, proposals: Iterable[_Proposal]) -> None:
        """Accept proposals, those of few columns first; of one length the most exact, then the simplest."""
        by_length: dict[int, dict[frozenset[int], list[_Proposal]]] = {}
        for candidate, rows in proposals:
            columns = frozenset(candidate.columns)
            if len(columns) == len(candidate.columns):
                by_length.setdefault(len(columns), {}).setdefault(columns, []).append((candidate, rows))
        for length, groups in sorted(by_length.items()):
            options = []
            for columns, several in list(groups.items())[:_MOST]:
                if all(frozenset(one.candidate.columns) != columns for one in self.found):
                    settled = [self._fit(one, rows) for one, rows in several for one in self._variants(one)]
                    options.append(list(filter(None, settled)))
                if length > _TOGETHER:
                    self._accept_options(options)
                    options = []
            self._accept_options(options)

    def _variants(self, candidate: Candidate) -> Iterator[Candidate]:
        """The candidate, and with a copy in place of a column: what is simplest is taken."""
        yield candidate
        for copy, column in self._copies:
            if column in candidate.columns and copy not in candidate.columns:
                yield replace(candidate, columns=tuple(copy if j == column else j for j in candidate.columns))

    def _fit(self, candidate: Candidate, rows: Ints | None) -> Option | None:
        if rows is None:
            settled: tuple[Candidate, int] | None = (orient(candidate, self._sample), 0)
        else:
            first = fit(candidate, self._sample, rows)
            # Rounding may move a fitted power a little.
            if first is None or not self._has_simple_powers(first, 0.1):
                return None
            drawn = self._sample.X[rows]
            exact = bool((np.abs(first.formula.residual(drawn)) <= 1e2 * first.formula.noise(drawn)).mean() > 0.5)
            if self._is_implied(first, exact=exact):
                return None
            settled = fit_simply(first, self._sample, rows, SHARE)
        if settled is None or not self._has_simple_powers(settled[0], 1e-9):
            return None
        counted = count(settled[0].formula, self._sample.cells)
        return Option(*settled, counted) if counted.share >= SHARE else None

    def _accept_options(self, options: list[list[Option]]) -> None:
        """Of each set of columns at most one writing: what most rows satisfy, most exactly, then the simplest.

        Simple relations go first: others may follow from them.
        """
        for several in options:
            several.sort(key=lambda option: (-round(option.counted.share, 2), *option.effort))
        for several in sorted(filter(None, options), key=lambda several: several[0].effort):
            if any(is_tighter_than_rounding(one.candidate, one.counted, self._sample) for one in several):
                continue
            for option in several:
                if self._is_implied(option.candidate, exact=option.exact):
                    # How these columns are related is known; what is left are other writings of it.
                    break
                if self._is_new(option) and is_credible(*option[:3], self._sample, self._rng):
                    cells, counted = self._sample.cells, option.counted
                    if counted.broken.any():
                        formula, kept = option.candidate.formula, cells.X[counted.kept]
                        pattern = find_pattern(formula, counted.share, cells.only(counted.broken), kept)
                        option = option._replace(partial=pattern is not None)
                    self.found.append(option)
                    self._extend_bases(option.candidate, exact=option.exact)
                    break

    def _is_new(self, option: Option) -> bool:
        """Whether it does not follow from what is known; what is not short may be an approximation of that."""
        # Where some of its terms are related by themselves, as exactly, it is not as short as it could be.
        places = np.flatnonzero(option.candidate.vectors(self._p)[0])
        if len(places) > 2 and self._n_known(places, option.counted.tier) > 0:
            return False
        return option.complexity <= SHORT or not self._determines(option.candidate.columns)

    def _has_simple_powers(self, candidate: Candidate, near: float) -> bool:
        """Whether a product of three columns or more, or a sum of features that are logarithms, has powers near those
        that people write: halves up to four."""
        terms = zip(candidate.functions, candidate.columns, strict=True)
        product = candidate.product or all(name == "log" or (name == "x" and self._logs[j]) for name, j in terms)
        halves = 2.0 * candidate.coefficients
        simple = (np.abs(halves - np.rint(halves)) <= near) & (np.rint(np.abs(halves)) <= 8.0)
        return not product or len(candidate.columns) < 3 or bool(simple.all())

    def _n_known(self, places: Ints, tier: int) -> int:
        """How many relations among these lifted columns are known, as exactly as this or more."""
        certain = [one.candidate for one in self.found if one.certain and one.counted.tier <= tier]
        vectors = [v * self._scale for candidate in certain for v in candidate.vectors(self._p)]
        if not vectors:
            return 0
        lines = np.array([v / np.linalg.norm(v) for v in vectors])
        lines = lines[lines[:, places].any(axis=1)]
        return _rank(lines) - _rank(np.delete(lines, places, axis=1))

    def _is_implied(self, candidate: Candidate, *, exact: bool) -> bool:
        """Whether it is made up of others; what is exact, of exact ones only."""
        basis, least = self._bases[exact], _IMPLIED_EXACTLY if exact else _IMPLIED
        if not len(basis):
            return False
        vectors = candidate.vectors(self._p) * self._scale
        rest = vectors - vectors @ basis.T @ basis
        return bool((np.linalg.norm(rest, axis=1) < least * np.linalg.norm(vectors, axis=1)).any())

    def _extend_bases(self, candidate: Candidate, *, exact: bool) -> None:
        vectors = candidate.vectors(self._p) * self._scale
        for k in range(1 + exact):
            self._bases[k] = _extended(self._bases[k], vectors)

    def _determines(self, columns: Sequence[int]) -> bool:
        """Whether identities found so far give one of these columns from the others."""
        sets = [set(one.candidate.columns) for one in self.found]
        for column in columns:
            known, grew = set(columns) - {column}, True
            while grew and column not in known:
                new = {j for each in sets if len(rest := each - known) == 1 for j in rest}
                known, grew = known | new, bool(new)
            if column in known:
                return True
        return False


def _extended(basis: Floats, vectors: Floats) -> Floats:
    """An orthonormal basis with what is new in some vectors."""
    for vector in vectors:
        rest = vector / np.linalg.norm(vector)
        for _ in range(2):
            rest = rest - basis.T @ (basis @ rest)
        length = float(np.linalg.norm(rest))
        if length > _NEW:
            basis = np.vstack([basis, rest / length])
    return basis


def _rank(vectors: Floats) -> int:
    return int(np.linalg.matrix_rank(vectors, tol=1e-6)) if vectors.size else 0


def _deviations(values: Floats) -> Floats:
    """Standard deviations (p,), one where nothing is known."""
    known = np.isfinite(values)
    n = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, values, 0.0).sum(axis=0) / n
    found = np.sqrt((np.where(known, values - mean, 0.0) ** 2).sum(axis=0) / n)
    return np.where(np.isfinite(found) & known.any(axis=0), found, 1.0)


def _column_order(sampled: Floats, hashes: RowHash, features: tuple[Feature, ...]) -> Ints:
    """Columns in an order that depends on what they hold; equal ones by their names."""
    keys = mix(hashes.cells(sampled) ^ hashes.keys(sampled)[:, None]).sum(axis=0, dtype=np.uint64)
    return np.array(sorted(range(keys.size), key=lambda j: (int(keys[j]), features[j].name)), dtype=np.intp)
