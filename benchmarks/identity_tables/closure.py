"""What a set of identities implies.

A relation counts as found if claimed identities that hold in the clean table imply it, in one of two ways:
- *chain*: from all but one of its columns a chain of claims, each used to compute the one column that is still unknown,
  arrives at the remaining column, and the values computed along the chain agree with the clean table, within twice the
  rounding of the relation per step, in at least 95 % of the rows that satisfy the relation. A chain of length one is
  a claim of the same columns;
- *span*: in at least 95 % of these rows the gradient of the relation is a linear combination of the gradients of the
  claims. This sees what needs elimination: a = c d, b = c e imply a e = b d.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from .relation import FLOAT_NOISE, Floats, Relation

AGREES = 0.95
HOLDS = 0.90
SPANNED = 5e-3
ROWS = 200
_NEWTON_STEPS = 4


class Claim(Protocol):
    """What is needed of an identity of the library; a `Relation` will do as well."""

    @property
    def columns(self) -> tuple[int, ...]: ...
    def residual(self, X: Floats) -> Floats: ...


def is_determined(columns: Iterable[int], sets: Sequence[tuple[int, ...]]) -> bool:
    """Whether relations of these sets of columns give one of the columns from the others."""
    columns = set(columns)
    return any(find_chain(columns - {column}, column, sets) is not None for column in sorted(columns))


def find_chain(given: set[int], wanted: int, sets: Sequence[tuple[int, ...]]) -> list[tuple[int, int]] | None:
    """The steps (relation, column that it gives) from the given columns to the wanted one; None: no chain."""
    known = set(given)
    chain: list[tuple[int, int]] = []
    grew = True
    while grew and wanted not in known:
        grew = False
        for k in sorted(range(len(sets)), key=lambda k: (wanted not in sets[k], len(sets[k]))):
            missing = set(sets[k]) - known
            if len(missing) == 1:
                column = missing.pop()
                chain.append((k, column))
                known.add(column)
                grew = True
                break
    return _needed_steps(chain, wanted, sets) if wanted in known else None


def _needed_steps(chain: list[tuple[int, int]], wanted: int, sets: Sequence[tuple[int, ...]]) -> list[tuple[int, int]]:
    needed, steps = {wanted}, []
    for k, column in reversed(chain):
        if column in needed:
            needed |= set(sets[k]) - {column}
            steps.append((k, column))
    return steps[::-1]


def is_implied(relation: Relation, accepted: Sequence[Relation], X: Floats) -> bool:
    """Whether accepted relations determine a further one of the same table."""
    if is_determined(relation.columns, [one.columns for one in accepted]):
        return True
    rows = np.flatnonzero(np.isfinite(X[:, list(relation.columns)]).all(axis=1))
    return is_spanned(relation, accepted, X[rows[:: max(1, len(rows) // ROWS)]])


def is_found(relation: Relation, claims: Sequence[Claim], X: Floats, H: Floats) -> bool:
    """Whether claimed identities imply a relation of the clean table X; H (n, p) are the half steps."""
    rows = np.flatnonzero(relation.satisfied(X, H))
    rows = rows[:: max(1, len(rows) // ROWS)]
    if not len(rows):
        return False
    part, steps, allowed = X[rows], H[rows], 2 * relation.tolerance(X, H)[rows]
    claims = [claim for claim in claims if holds(claim, X, H)]
    for wanted in relation.columns:
        with np.errstate(all="ignore"):
            limit = allowed / np.abs(differentiate(relation, part, wanted))
        limit = np.maximum(np.nan_to_num(limit, posinf=0.0), 2 * steps[:, wanted])
        if _predicts(set(relation.columns) - {wanted}, wanted, claims, part, limit):
            return True
    return is_spanned(relation, claims, part)


def holds(claim: Claim, X: Floats, H: Floats) -> bool:
    """Whether at least 90 % of the rows satisfy a claim to twice the rounding of all its cells, and six digits."""
    known = np.flatnonzero(np.isfinite(X[:, list(claim.columns)]).all(axis=1))
    known = known[:: max(1, len(known) // ROWS)]
    part, steps = X[known], H[known]
    residual = np.abs(claim.residual(part))
    with np.errstate(all="ignore"):
        slopes = [(j, np.abs(differentiate(claim, part, j))) for j in claim.columns]
        allowed = sum(2 * slope * steps[:, j] + 5e-6 * slope * np.abs(part[:, j]) for j, slope in slopes)
    satisfied = residual <= np.nan_to_num(allowed) + FLOAT_NOISE
    return bool(len(known) and satisfied.mean() >= HOLDS)


def is_spanned(relation: Relation, claims: Sequence[Claim], X: Floats) -> bool:
    """Whether the gradient of the relation is a combination of the gradients of the claims in nearly all rows."""
    if not claims or not len(X):
        return False
    scale = np.nanstd(X, axis=0) + 1e-300
    target = gradient(relation, X) * scale
    basis = np.stack([gradient(claim, X) * scale for claim in claims], axis=1)
    usable = np.isfinite(target).all(axis=1)
    spanned = 0
    for row in np.flatnonzero(usable):
        known = basis[row][np.isfinite(basis[row]).all(axis=1)]
        length = np.linalg.norm(known, axis=1, keepdims=True)
        known = (known / np.where(length > 0, length, 1.0)).T
        goal = target[row] / (np.linalg.norm(target[row]) or 1.0)
        rest = goal - known @ np.linalg.lstsq(known, goal, rcond=1e-9)[0] if known.size else goal
        spanned += bool(np.linalg.norm(rest) <= SPANNED)
    return bool(usable.sum() >= 5 and spanned >= AGREES * usable.sum())


def gradient(claim: Claim, X: Floats) -> Floats:
    """Derivatives of the residual by every column (n, p); NaN in rows where one is not finite."""
    slopes = np.zeros_like(X)
    with np.errstate(all="ignore"):
        for j in claim.columns:
            slopes[:, j] = differentiate(claim, X, j)
    return np.where(np.isfinite(slopes).all(axis=1, keepdims=True), slopes, np.nan)


def differentiate(claim: Claim, X: Floats, column: int) -> Floats:
    """The derivative of the residual by a column, numerically: the mean of both sides."""
    step = 1e-5 * np.maximum(np.abs(X[:, column]), 1e-3 * float(np.nanmax(np.abs(X[:, column]), initial=0.0)) + 1e-12)
    higher, lower = X.copy(), X.copy()
    higher[:, column] += step
    lower[:, column] -= step
    return np.asarray((claim.residual(higher) - claim.residual(lower)) / (2 * step), dtype=np.float64)


def solve_for(claim: Claim, X: Floats, column: int, steps: int = _NEWTON_STEPS) -> Floats:
    """The values of a column that satisfy a claim, by Newton's method from the present ones; NaN: none."""
    X = X.copy()
    sloped = np.zeros(len(X), dtype=np.bool_)
    with np.errstate(all="ignore"):
        for _ in range(steps):
            residual, slope = claim.residual(X), differentiate(claim, X, column)
            sloped = np.abs(slope) > 0
            X[:, column] -= np.where(residual == 0, 0.0, residual / slope)
    return np.where(sloped, X[:, column], np.nan)


def _predicts(given: set[int], wanted: int, claims: Sequence[Claim], X: Floats, limit: Floats) -> bool:
    """Tries the chain of the shortest claims, then again without the claim at its end."""
    usable = list(claims)
    for _ in range(4):
        chain = find_chain(given, wanted, [one.columns for one in usable])
        if chain is None:
            return False
        values = X.copy()
        for k, column in chain:
            # A column on the way may be missing in the row: it is computed, from any start.
            values[:, column] = np.where(np.isnan(X[:, column]), np.nanmedian(X[:, column]), X[:, column])
            values[:, column] = solve_for(usable[k], values, column)
        with np.errstate(all="ignore"):
            agrees = np.abs(values[:, wanted] - X[:, wanted]) <= limit * len(chain)
        if agrees.mean() >= AGREES:
            return True
        del usable[chain[-1][0]]
    return False
