"""The identities of a table: searched for in a sample of rows, counted in all of them, and told from partial ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from aspca.identities.accept import SHARE, Pattern, find_pattern
from aspca.identities.candidate import count
from aspca.identities.formula import FLOATS, Formula, Term
from aspca.identities.identity import HOLDS, Identities, Identity, choose_determined
from aspca.identities.resolution import Cells, Resolution
from aspca.identities.sampling import LeastRows, RowHash
from aspca.identities.search import Search
from aspca.linalg.arrays import Floats, Ints
from aspca.moments.accumulator import Rows
from aspca.preparation.feature import Feature, make_features

# Rows in which proposals are made and screened; what survives is counted in all rows.
SAMPLE = 1500
# Two columns are copies of each other from this share on, if they have more than so many values (AER/STAR: pupils who
# changed schools or systems are 0.5 to 4 %).
_COPY, _FEW_VALUES = 0.995, 10


@dataclass(eq=False)
class Counts:
    """How many rows keep, break and nearly keep each formula (3, k), and some that break it; an accumulator."""

    stays_here: ClassVar[tuple[str, ...]] = ("formulas", "resolutions")

    formulas: tuple[tuple[Formula, int], ...]  # Each with its tier.
    resolutions: tuple[Resolution, ...]
    counts: Ints
    broken: list[LeastRows]

    def add(self, rows: Floats, numbers: Ints) -> None:
        # What is computed of so many rows at once stays in the cache.
        for start in range(0, len(rows), 4096):
            some = np.asarray(rows[start : start + 4096], dtype=np.float64)
            for k, (formula, tier) in enumerate(self.formulas):
                residual = formula.residual(some)
                # Most rows satisfy it to the last digits, and need not be asked how they are rounded.
                exact = np.abs(residual) <= formula.noise(some)
                others = some[~exact & ~np.isnan(residual)]
                self.counts[0, k] += int(exact.sum())
                if len(others):
                    found = count(formula, Cells.of(others, self.resolutions, formula.columns), tier)
                    self.counts[:, k] += [int(one.sum()) for one in (found.kept, found.broken, found.nearly)]
                    self.broken[k].add(others[found.broken], numbers)

    def merge(self, later: Counts) -> None:
        self.counts = self.counts + later.counts
        for mine, following in zip(self.broken, later.broken, strict=True):
            mine.merge(following)


def find_identities(X: Floats, names: Sequence[str] | None = None) -> Identities:
    """The identities of rows (n, p), NaN where values are missing."""
    X = np.ascontiguousarray(X, dtype=np.float64)
    shown = [f"x{j}" for j in range(X.shape[1])] if names is None else list(names)
    known = np.isfinite(X).any(axis=0)
    low, high = (np.full(X.shape[1], np.nan) for _ in range(2))
    low[known], high[known] = np.nanmin(X[:, known], axis=0), np.nanmax(X[:, known], axis=0)
    return search_identities(Rows.here(lambda: iter([X])), low, high, make_features(tuple(shown)))


def search_identities(
    rows: Rows,
    low: Floats,
    high: Floats,
    features: tuple[Feature, ...],
    given: Sequence[tuple[str, Formula]] = (),
    sampled: Floats | None = None,
) -> Identities:
    """The identities of all rows, whose columns have these extremes (p,), those first that were given: what the user
    wrote is counted like others, and never left out. `sampled` (m, p) are the rows to search in, if they were drawn."""
    hashes = RowHash.between(low, high)
    if sampled is None:
        sampled = rows.reduce(lambda: LeastRows(hashes, SAMPLE)).found(low.size)
    resolutions = tuple(Resolution.of(column) for column in sampled.T)
    cells = Cells.of(sampled, resolutions)
    found = [(formula, count(formula, cells).tier) for _, formula in given]
    search = Search(sampled, hashes, features)
    if len(sampled) >= 20:
        # Squares, products and reciprocals of any column are tried: what overflows satisfies nothing.
        with np.errstate(all="ignore"):
            search.run([formula for _, formula in given])
        found += [(search.original(one.candidate), one.counted.tier) for one in search.found]
    counted = rows.reduce(
        lambda: Counts(
            tuple(found), resolutions, np.zeros((3, len(found)), dtype=np.intp), [LeastRows(hashes, 400) for _ in found]
        )
    )
    identities, told = [], [set(formula.columns) for _, formula in given]
    for k, (formula, tier) in enumerate(found):
        n_kept, n_broken, n_nearly = counted.counts[:, k].tolist()
        # Rows that are off by less than six digits are an author's rounding where they are many or have many digits;
        # where sums of short decimals are exact, a step is an error like any other.
        short = tier == FLOATS and all(resolutions[j].is_short for j in formula.columns)
        strict = short and n_nearly <= 0.01 * (n_kept + n_broken + n_nearly)
        n_broken += n_nearly if strict else 0
        identity = Identity(formula, features, resolutions, tier, n_kept, n_broken, strict=strict)
        if k < len(given):
            # What few rows satisfy is no identity, but may be a relation; so may what is near for its size alone.
            off = np.abs(formula.residual(sampled))
            # What computing in float64 leaves is a part of what an author's own sums may.
            near = (off <= 1e-3 * formula.noise(sampled)).sum() > HOLDS * (~np.isnan(off)).sum()
            if identity.share > HOLDS and (near or tier != FLOATS):
                identities.append(replace(identity, written=given[k][0]))
        elif identity.share >= SHARE and set(formula.columns) not in told:
            broken = Cells.of(counted.broken[k].found(low.size), resolutions)
            kept = sampled[count(formula, cells, tier).kept]
            pattern = find_pattern(formula, identity.share, broken, kept)
            if pattern is None and n_broken and _is_loose_copy(formula, identity.share, kept):
                pattern = Pattern("the two columns may well differ")
            if pattern is not None:
                formula = replace(formula, condition=pattern.condition)
                identity = replace(identity, formula=formula, exceptions=pattern.text)
            identities.append(identity)
    whole = _without_partial(identities, sampled)
    if not whole:
        return Identities((), None, len(sampled), search.unsearched)
    quantiles = _quantiles(sampled)
    spreads = np.nan_to_num(quantiles[:, -7] - quantiles[:, 6])
    return Identities(whole, quantiles, len(sampled), search.unsearched, choose_determined(whole, spreads))


def _is_loose_copy(formula: Formula, share: float, kept: Floats) -> bool:
    """Whether one column is another in most rows only, or both have few values: two facts that usually agree."""
    if formula != Formula(formula.left, (Term(1.0, formula.terms[0].factors),)) or len(formula.columns) != 2:
        return False
    return formula.is_sum and (share < _COPY or np.unique(kept[:, formula.determined]).size <= _FEW_VALUES)


def _without_partial(found: list[Identity], sampled: Floats) -> tuple[Identity, ...]:
    """Those that no longer one explains, of columns that are all in another: what fewer rows satisfy, or what is
    satisfied to rounding only, and off by what the other columns say."""

    def partial(one: Identity, other: Identity) -> bool:
        if one.given or not set(one.columns) < set(other.columns):
            return False
        more_rows = other.share > one.share + 0.5 * (1.0 - one.share)
        return more_rows or (other.tier < one.tier and _explains(other, one, sampled))

    return tuple(one for one in found if not any(partial(one, other) for other in found))


def _explains(longer: Identity, shorter: Identity, sampled: Floats) -> bool:
    """Whether the columns that only a longer identity has tell what a shorter one is off by."""
    residual = shorter.residual(sampled)
    extra = sampled[:, sorted(set(longer.columns) - set(shorter.columns))]
    with np.errstate(invalid="ignore"):
        near = (np.abs(residual) <= shorter.tolerance(sampled)) & ~np.isnan(extra).any(axis=1)
        # Wrong cells explain nothing.
        near &= np.abs(longer.residual(sampled)) <= longer.tolerance(sampled)
    if near.sum() <= extra.shape[1] + 2:
        return False
    A = np.column_stack([extra[near] - extra[near].mean(axis=0), np.ones(int(near.sum()))])
    left = residual[near] - A @ np.linalg.lstsq(A, residual[near], rcond=None)[0]
    return float(left.var()) < 0.5 * float(residual[near].var())


def _quantiles(sampled: Floats) -> Floats:
    """Of each column (p, q), by whole ranks; of one without values, NaN."""
    found = np.full((sampled.shape[1], 65), np.nan)
    for j, column in enumerate(sampled.T):
        known = np.sort(column[~np.isnan(column)])
        if known.size:
            found[j] = known[np.rint(np.linspace(0.0, known.size - 1.0, 65)).astype(np.intp)]
    return found
