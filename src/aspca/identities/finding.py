"""The identities of a table: searched for in a sample of rows, counted in all of them, and told from partial ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from aspca.identities.accept import SHARE, Pattern, pattern_of
from aspca.identities.candidate import count
from aspca.identities.counting import count_rows
from aspca.identities.formula import FLOATS, Factor, Formula, Term
from aspca.identities.identity import HOLDS, Identities, Identity, choose_determined
from aspca.identities.resolution import Cells, Resolution
from aspca.identities.sampling import LeastRows, RowHash
from aspca.identities.search import Search
from aspca.linalg.arrays import Floats
from aspca.moments.accumulator import Rows
from aspca.preparation.feature import Feature, features_of_numbers

# Rows in which proposals are made and screened; what survives is counted in all rows.
SAMPLE = 1500
_LEAST_ROWS = 20
# Up to this share of rows that are off by less than six digits, these are errors.
_FEW_NEARLY = 0.01
# Two columns are copies of each other from this share on, if they have more than so many values (AER/STAR: pupils who
# changed schools or systems are 0.5 to 4 %).
_COPY, _FEW_VALUES = 0.995, 10
# What computing in float64 leaves of a sum, as a part of what an author's own sums may.
_CLOSE = 1e-3
# Residuals are explained by other columns if these leave less than this of their variance.
_EXPLAINED = 0.5
# A column is told by so many quantiles.
_QUANTILES, _TENTH = 65, 6


def find_identities(X: Floats, names: Sequence[str] | None = None) -> Identities:
    """The identities of rows (n, p), NaN where values are missing."""
    X = np.ascontiguousarray(X, dtype=np.float64)
    shown = [f"x{j}" for j in range(X.shape[1])] if names is None else list(names)
    known = np.isfinite(X).any(axis=0)
    low, high = (np.full(X.shape[1], np.nan) for _ in range(2))
    low[known], high[known] = np.nanmin(X[:, known], axis=0), np.nanmax(X[:, known], axis=0)
    return search_identities(Rows.here(lambda: iter([X])), low, high, features_of_numbers(tuple(shown)))


def search_identities(
    rows: Rows,
    low: Floats,
    high: Floats,
    features: tuple[Feature, ...],
    given: Sequence[tuple[str, Formula]] = (),
    sampled: Floats | None = None,
) -> Identities:
    """The identities of all rows, those first that were given.

    Parameters
    ----------
    low, high : ndarray of shape (p,)
        The extremes of each column.
    features : tuple of p Feature
    given : sequence of (text, Formula)
        Rules that the user wrote: they are counted like others, and never left out.
    sampled : ndarray of shape (m, p) or None
        The rows to search in, where these were drawn before.
    """
    hashes = RowHash.between(low, high)
    if sampled is None:
        sampled = rows.reduce(lambda: LeastRows(hashes, SAMPLE)).found(low.size)
    resolutions = tuple(Resolution.of(column) for column in sampled.T)
    cells = Cells.of(sampled, resolutions)
    found = [(formula, count(formula, cells).tier) for _, formula in given]
    search = Search(sampled, hashes, features)
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
    whole = _without_partial(identities, sampled)
    if not whole:
        return Identities((), None, len(sampled), search.unsearched)
    quantiles = _quantiles(sampled)
    spreads = np.nan_to_num(quantiles[:, -_TENTH - 1] - quantiles[:, _TENTH])
    return Identities(whole, quantiles, len(sampled), search.unsearched, choose_determined(whole, spreads))


def _is_loose_copy(formula: Formula, share: float, kept: Floats) -> bool:
    """Whether one column is another in most rows only, or both have few values: two facts that usually agree."""
    if formula != Formula(formula.left, (Term(1.0, formula.terms[0].factors),)) or len(formula.columns) != 2:
        return False
    if any(factor != Factor(factor.column) for term in (formula.left, *formula.terms) for factor in term.factors):
        return False
    return share < _COPY or np.unique(kept[:, formula.determined]).size <= _FEW_VALUES


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
    return float(left.var()) < _EXPLAINED * float(residual[near].var())


def _quantiles(sampled: Floats) -> Floats:
    """Of each column (p, q), by whole ranks; of one without values, NaN."""
    found = np.full((sampled.shape[1], _QUANTILES), np.nan)
    for j, column in enumerate(sampled.T):
        known = np.sort(column[~np.isnan(column)])
        if known.size:
            found[j] = known[np.rint(np.linspace(0.0, known.size - 1.0, _QUANTILES)).astype(np.intp)]
    return found
