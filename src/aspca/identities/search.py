"""The search for identities: in a sample of rows, then counted in all of them.

Rows and columns are searched in an order of their own, which depends on nothing but what they hold: so the same
identities are found in any order of rows and columns, any unit and any sign.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

import numpy as np

from aspca.identities.accept import SHARE, Pattern, is_credible, pattern_of
from aspca.identities.candidate import LIFTS, Candidate, Count, Sample, count, fit, lift
from aspca.identities.counting import count_rows
from aspca.identities.formula import FLOATS, WHOLE, Factor, Formula, Term
from aspca.identities.identity import HOLDS, Identities, Identity
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
from aspca.identities.resolution import Cells, Resolution
from aspca.identities.sampling import LeastRows, RowHash, mix
from aspca.identities.simplify import SHORT, orient, settle_simply
from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.moments.rows import Rows
from aspca.preparation.feature import Feature, features_of_numbers

# Rows in which proposals are made and screened; what survives is counted in all rows.
SAMPLE = 1500
_LEAST_ROWS = 20
# Proposals tried of one length, short numbers of columns first.
_MOST = 300
# A column is negative if this share of it is.
_ONE_SIDE = 0.9
# Rounding may move a fitted power by this.
_NEAR = 0.1
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
# Up to this share of rows that are off by less than six digits, these are errors.
_FEW_NEARLY = 0.01
# Two columns are copies of each other from this share on, if they have more than so many values (AER/STAR: pupils who
# changed schools or systems are 0.5 to 4 %).
_COPY, _FEW_VALUES = 0.995, 10
# What computing in float64 leaves of a sum, as a part of what an author's own sums may.
_CLOSE = 1e-3
# A column is told by so many quantiles.
_QUANTILES = 65


def find_identities(X: Floats, names: Sequence[str] | None = None) -> Identities:
    """The identities of rows (n, p), NaN where values are missing."""
    X = np.ascontiguousarray(X, dtype=np.float64)
    shown = [f"x{j}" for j in range(X.shape[1])] if names is None else list(names)
    known = np.isfinite(X).any(axis=0)
    low, high = (np.full(X.shape[1], np.nan) for _ in range(2))
    low[known], high[known] = np.nanmin(X[:, known], axis=0), np.nanmax(X[:, known], axis=0)
    return search_identities(Rows.here(lambda: iter([X])), low, high, features_of_numbers(tuple(shown)))


def search_identities(
    rows: Rows, low: Floats, high: Floats, features: tuple[Feature, ...], given: Sequence[tuple[str, Formula]] = ()
) -> Identities:
    """The identities of all rows, those first that were given.

    Parameters
    ----------
    low, high : ndarray of shape (p,)
        The extremes of each column.
    features : tuple of p Feature
    given : sequence of (text, Formula)
        Rules that the user wrote: they are counted like others, and never left out.
    """
    hashes = RowHash.between(low, high)
    sampled = rows.gather(lambda: LeastRows(hashes, SAMPLE)).found(low.size)
    resolutions = tuple(Resolution.of(column) for column in sampled.T)
    cells = Cells.of(sampled, resolutions)
    found = [(formula, count(formula, cells).tier) for _, formula in given]
    search = _Search(sampled, hashes, features)
    if len(sampled) >= _LEAST_ROWS:
        # Squares, products and reciprocals of any column are tried: what overflows satisfies nothing.
        with np.errstate(all="ignore"):
            search.run([formula for _, formula in given])
        found += [(search.original(one.candidate), one.counted.tier) for one in search.found]
    formulas, tiers = tuple(formula for formula, _ in found), tuple(tier for _, tier in found)
    counts = count_rows(rows, formulas, tiers, resolutions, hashes)
    identities, told = [], [set(formula.columns) for _, formula in given]
    for k, (formula, tier) in enumerate(found):
        n_kept, n_broken, n_nearly = (int(one[k]) for one in (counts.n_kept, counts.n_broken, counts.n_nearly))
        # Rows that are off by less than six digits are an author's rounding where they are many or have many digits;
        # where sums of short decimals are exact, a step is an error like any other.
        short = tier == FLOATS and all(resolutions[j].is_short for j in formula.columns)
        strict = short and n_nearly <= _FEW_NEARLY * (n_kept + n_broken + n_nearly)
        n_broken += n_nearly if strict else 0
        identity = Identity(formula, features, resolutions, tier, n_kept, n_broken, strict=strict)
        if k < len(given):
            # What few rows satisfy is no identity, but may be a relation; so may what is near for its size alone.
            off = np.abs(formula.residual(sampled))
            near = (off <= _CLOSE * formula.noise(sampled)).sum() > HOLDS * (~np.isnan(off)).sum()
            if identity.share > HOLDS and (near or tier != FLOATS):
                identities.append(replace(identity, written=given[k][0]))
        elif identity.share >= SHARE and set(formula.columns) not in told:
            broken = Cells.of(counts.broken[k].found(low.size), resolutions)
            kept = sampled[count(formula, cells, tier).kept]
            pattern = pattern_of(formula, identity.share, broken, kept)
            if pattern is None and n_broken and _is_loose_copy(formula, identity.share, kept):
                pattern = Pattern("the two columns may well differ")
            if pattern is not None:
                formula = replace(formula, condition=pattern.condition)
                identity = replace(identity, formula=formula, exceptions=pattern.text)
            identities.append(identity)
    whole = _without_partial(identities)
    return Identities(whole, _quantiles(sampled) if whole else None, len(sampled), search.unsearched)


def _is_loose_copy(formula: Formula, share: float, kept: Floats) -> bool:
    """Whether one column is another in most rows only, or both have few values: two facts that usually agree."""
    if formula != Formula(formula.left, (Term(1.0, formula.terms[0].factors),)) or len(formula.columns) != 2:
        return False
    if any(factor != Factor(factor.column) for term in (formula.left, *formula.terms) for factor in term.factors):
        return False
    return share < _COPY or np.unique(kept[:, formula.determined]).size <= _FEW_VALUES


def _without_partial(found: list[Identity]) -> tuple[Identity, ...]:
    """Those that no longer one explains: what fewer rows satisfy, of columns that are all in another."""

    def partial(one: Identity) -> bool:
        return not one.given and any(
            set(one.columns) < set(other.columns)
            and (other.share > one.share + 0.5 * (1.0 - one.share) or one.tier > other.tier)
            for other in found
        )

    return tuple(one for one in found if not partial(one))


def _quantiles(sampled: Floats) -> Floats:
    """Of each column (p, q), by whole ranks; of one without values, NaN."""
    found = np.full((sampled.shape[1], _QUANTILES), np.nan)
    for j, column in enumerate(sampled.T):
        known = np.sort(column[~np.isnan(column)])
        if known.size:
            found[j] = known[np.rint(np.linspace(0.0, known.size - 1.0, _QUANTILES)).astype(np.intp)]
    return found


class _Option(NamedTuple):
    """A candidate with its numbers: how long these are, and which rows satisfy it."""

    candidate: Candidate
    complexity: int
    counted: Count

    @property
    def effort(self) -> tuple[int, int]:
        """How exact it is, and how simple."""
        return self.counted.tier, self.complexity + sum(name != "x" for name in self.candidate.functions)


class _Found(NamedTuple):
    """What was accepted; partial: the rows that violate it have a pattern."""

    candidate: Candidate
    counted: Count
    partial: bool

    @property
    def certain(self) -> bool:
        return not self.partial and self.counted.share > _CERTAIN and self.counted.tier < WHOLE


class _Search:
    """The search in a sample, in an order of rows and columns of its own."""

    def __init__(self, sampled: Floats, hashes: RowHash, features: tuple[Feature, ...]) -> None:
        self.found: list[_Found] = []
        self.unsearched: tuple[str, ...] = ()
        self._order = _column_order(sampled, hashes, features)
        values = sampled[:, self._order]
        # Columns of negative values are turned: they have logarithms then.
        with np.errstate(invalid="ignore"):
            below, above = (values < 0.0).sum(axis=0), (values > 0.0).sum(axis=0)
        self._signs = np.where(below > _ONE_SIDE * (below + above), -1.0, 1.0)
        by_name = np.argsort([features[j].name for j in self._order], kind="stable")
        ranks = np.empty(len(features), dtype=np.intp)
        ranks[by_name] = np.arange(len(features))
        self._sample = Sample.of(values * self._signs, ranks)
        self._rng = np.random.default_rng(0)
        self._partners: list[tuple[int, int]] = []
        self._p = len(features)
        self._basis = np.zeros((0, len(LIFTS) * self._p))
        self._exact_basis = self._basis
        with np.errstate(all="ignore"):
            scales = [_deviations(lift(f, self._sample.X)) for f in LIFTS]
        self._scale = np.concatenate(scales).clip(1e-100, 1e100)

    def original(self, candidate: Candidate) -> Formula:
        """A candidate in the order and with the signs of the table."""
        return _turned(candidate.formula, self._signs).with_columns(self._order.tolist())

    def run(self, given: Sequence[Formula]) -> None:
        """Find candidates, short ones first, none implied by those before it."""
        X = self._sample.X
        varying = np.flatnonzero([np.unique(column[~np.isnan(column)]).size > 1 for column in X.T])
        if varying.size < 2:
            return
        self._known_already(given)
        lifted = Lifted.of(self._sample, varying)
        self._accept_pairs(lifted)
        drawer = Drawer(lifted, self._rng)
        self._partners = self._copies()
        families = [lifted.places(name, {one for one, _ in self._partners}) for name in ("x", "log")]
        if varying.size > _MOST_COLUMNS:
            self.unsearched = (
                f"Of {varying.size:,} columns only pairs, squares and products were searched for exact relations, not "
                f"sums: that takes at most {_MOST_COLUMNS} columns.",
            )
        proposals: dict[tuple[int, ...], tuple[Candidate, Ints | None]] = {}
        only_varying = np.full(X.shape, np.nan)
        only_varying[:, varying] = X[:, varying]
        for z, x, y in propose_products(only_varying, self._rng):
            if x == y:
                candidate = Candidate((z, x), ("x", "square"), np.ones(1), 0.0)
            else:
                candidate = Candidate((z, x, y), ("x", "x", "x"), np.ones(2), 1.0, product=True)
            proposals[z, x, y] = candidate, None
        broken = self._broken()
        for family in families if varying.size <= _MOST_COLUMNS else ():
            for draw in drawer.draws(family, 15, 16 if family.size <= 80 else 6, broken):
                for places in propose_triples(draw):
                    proposals.setdefault(tuple(sorted(places.tolist())), (lifted.candidate(places), draw.rows))
        self._accept_all(proposals.values())
        for family in (*families, np.concatenate(families)) if varying.size <= _MOST_COLUMNS else ():
            proposals, broken = {}, self._broken()
            q = family.size
            for draw in chain(
                drawer.draws(family, int(1.2 * q) + 12, 14, broken), drawer.draws(family, 2 * q + 30, 4, broken)
            ):
                for places in self._circuits(lifted, draw):
                    proposals.setdefault(tuple(sorted(places.tolist())), (lifted.candidate(places), draw.rows))
            self._accept_all(proposals.values())

    def _known_already(self, given: Sequence[Formula]) -> None:
        """What the user gave is not found again."""
        places = np.argsort(self._order).tolist()
        for formula in given:
            candidate = _candidate_of(_turned(formula.with_columns(places), self._signs))
            if candidate is not None:
                self._extend_basis(candidate, exact=True)

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

    def _copies(self) -> list[tuple[int, int]]:
        """Columns that are linear functions of one other, and that."""
        pairs = [one.candidate for one in self.found if one.certain and len(one.candidate.columns) == 2]
        return [(c.columns[0], c.columns[1]) for c in pairs if c.functions == ("x", "x") and not c.product]

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

    def _accept_all(self, proposals: Iterable[tuple[Candidate, Ints | None]]) -> None:
        """Accept proposals, those of few columns first; of one length the most exact, then the simplest."""
        by_length: dict[int, dict[frozenset[int], list[tuple[Candidate, Ints | None]]]] = {}
        for candidate, rows in proposals:
            columns = frozenset(candidate.columns)
            if len(columns) == len(candidate.columns):
                by_length.setdefault(len(columns), {}).setdefault(columns, []).append((candidate, rows))
        for length, groups in sorted(by_length.items()):
            options = []
            for columns, several in list(groups.items())[:_MOST]:
                if not self._has(columns):
                    settled = [self._settled(one, rows) for one, rows in several for one in self._variants(one)]
                    options.append(list(filter(None, settled)))
                if length > _TOGETHER:
                    self._accept_options(options)
                    options = []
            self._accept_options(options)

    def _variants(self, candidate: Candidate) -> Iterator[Candidate]:
        """The candidate, and with a copy in place of a column: what is simplest is taken."""
        yield candidate
        for copy, column in self._partners:
            if column in candidate.columns and copy not in candidate.columns:
                yield replace(candidate, columns=tuple(copy if j == column else j for j in candidate.columns))

    def _settled(self, candidate: Candidate, rows: Ints | None) -> _Option | None:
        if rows is None:
            settled: tuple[Candidate, int] | None = (orient(candidate, self._sample), 0)
        else:
            first = fit(candidate, self._sample, rows)
            if first is None or not _has_simple_powers(first, _NEAR):
                return None
            drawn = self._sample.X[rows]
            exact = bool((np.abs(first.formula.residual(drawn)) <= 1e2 * first.formula.noise(drawn)).mean() > 0.5)
            if self._is_implied(first, exact=exact):
                return None
            settled = settle_simply(first, self._sample, rows, SHARE)
        if settled is None or not _has_simple_powers(settled[0], 1e-9):
            return None
        counted = count(settled[0].formula, self._sample.cells)
        return _Option(*settled, counted) if counted.share >= SHARE else None

    def _accept_options(self, options: list[list[_Option]]) -> None:
        """Of each set of columns at most one writing: what most rows satisfy, most exactly, then the simplest.

        Simple relations go first: others may follow from them.
        """
        for several in options:
            several.sort(key=lambda option: (-round(option.counted.share, 2), *option.effort))
        for several in sorted(filter(None, options), key=lambda several: several[0].effort):
            for option in several:
                if self._is_new(option) and is_credible(*option, self._sample, self._rng):
                    self._take(option)
                    break

    def _take(self, option: _Option) -> None:
        cells, counted = self._sample.cells, option.counted
        partial = False
        if counted.broken.any():
            broken, kept = cells.only(counted.broken), cells.X[counted.kept]
            partial = pattern_of(option.candidate.formula, counted.share, broken, kept) is not None
        self.found.append(_Found(option.candidate, counted, partial))
        self._extend_basis(option.candidate, exact=counted.tier == FLOATS)

    def _is_new(self, option: _Option) -> bool:
        """Whether it does not follow from what is known; what is not short may be an approximation of that."""
        candidate = option.candidate
        exact = option.counted.tier == FLOATS
        if self._is_implied(candidate, exact=exact) or self._holds_known(candidate, option.counted.tier):
            return False
        return option.complexity <= SHORT or not self._determines(candidate.columns)

    def _has(self, columns: frozenset[int]) -> bool:
        return any(frozenset(one.candidate.columns) == columns for one in self.found)

    def _holds_known(self, candidate: Candidate, tier: int) -> bool:
        """Whether some of its terms are related by themselves, as exactly: then it is not as short as it could be."""
        places = np.flatnonzero(candidate.vectors(self._p)[0])
        return len(places) > 2 and self._n_known(places, tier) > 0

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
        basis, least = (self._exact_basis, _IMPLIED_EXACTLY) if exact else (self._basis, _IMPLIED)
        if not len(basis):
            return False
        vectors = candidate.vectors(self._p) * self._scale
        rest = vectors - vectors @ basis.T @ basis
        return bool((np.linalg.norm(rest, axis=1) < least * np.linalg.norm(vectors, axis=1)).any())

    def _extend_basis(self, candidate: Candidate, *, exact: bool) -> None:
        vectors = candidate.vectors(self._p) * self._scale
        self._basis = _extended(self._basis, vectors)
        if exact:
            self._exact_basis = _extended(self._exact_basis, vectors)

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


def _has_simple_powers(candidate: Candidate, near: float) -> bool:
    """Whether a product of three columns or more has powers near those that people write: halves up to four."""
    halves = 2.0 * candidate.coefficients
    simple = (np.abs(halves - np.rint(halves)) <= near) & (np.rint(np.abs(halves)) <= 8.0)
    return not candidate.product or len(candidate.columns) < 3 or bool(simple.all())


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


def _turned(formula: Formula, signs: Floats) -> Formula:
    """A formula of columns times their signs (p,) as one of the columns themselves."""
    left, times = _turned_term(formula.left, signs)
    terms = []
    for term in formula.terms:
        turned, sign = _turned_term(term, signs)
        terms.append(turned._replace(coefficient=turned.coefficient * sign * times))
    return replace(formula, left=left, terms=tuple(terms), constant=formula.constant * times + 0.0)


def _turned_term(term: Term, signs: Floats) -> tuple[Term, float]:
    """The term without its sign, and its sign."""
    sign, factors = 1.0, []
    for factor in term.factors:
        if signs[factor.column] > 0.0:
            factors.append(factor)
        elif factor.function == "x" and float(factor.exponent).is_integer():
            sign *= -1.0 if factor.exponent % 2 else 1.0
            factors.append(factor)
        else:
            factors.append(factor._replace(sign=-factor.sign))
    return Term(term.coefficient, tuple(factors)), sign


def _candidate_of(formula: Formula) -> Candidate | None:
    """A formula as the search knows it; None where it has another form."""
    if formula.condition is not None or len(formula.left.factors) != 1:
        return None
    left = formula.left.factors[0]
    if formula.is_product and left.function == "x" and left.exponent == 1.0:
        factors = formula.terms[0].factors
        if all(factor.function == "x" for factor in factors):
            columns = left.column, *(factor.column for factor in factors)
            exponents = np.array([factor.exponent for factor in factors])
            names = ("x",) * len(columns)
            return Candidate(columns, names, exponents, formula.terms[0].coefficient, product=True)
    if any(len(term.factors) != 1 for term in formula.terms):
        return None
    factors = (left, *(term.factors[0] for term in formula.terms))
    names_of = [_lift_of(factor) for factor in factors]
    if any(name is None for name in names_of):
        return None
    coefficients = np.array([term.coefficient for term in formula.terms])
    columns = tuple(factor.column for factor in factors)
    return Candidate(columns, tuple(str(name) for name in names_of), coefficients, formula.constant)


def _lift_of(factor: Factor) -> str | None:
    return next((name for name, lifted in LIFTS.items() if lifted == (factor.function, factor.exponent)), None)
