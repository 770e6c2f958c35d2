"""Whether a relation that rows satisfy is one: every term matters, the tolerance is fine enough, chance is ruled out.

Chance is asked as Daikon asks it: how often would as many rows satisfy the relation if one of its columns were
shuffled? And rows that violate it: errors are rare and have no pattern, another kind of rows has one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aspca.identities.candidate import CLEARLY, SHORT, Candidate, Count
from aspca.identities.formula import FLOATS, WHOLE, Condition, Formula
from aspca.identities.resolution import FEW_STEPS, Cells, Sample
from aspca.linalg.arrays import Bools, Floats

# Of the rows that can be computed, this share must satisfy a relation to be told; of those that accuse, ACCUSES.
SHARE, ACCUSES = 0.90, 0.95
# A tolerance that comes from rounding must leave at least so many values to tell apart; where the numbers are not
# short, as many as a column that is not coarse: a smooth curve would pass as well.
_LEVELS = 50
# Rows in which a term is off its usual value: fewer cannot show that it belongs there.
_ACTIVE = 6
# log10 of the expected number of relations of a form that as many rows of a table satisfy by chance.
_CHANCE = -4.0
_SHUFFLES = 3
# Rounding of a column makes residuals of up to so many times its own part, with others, and of no less than half.
_FEWER, _TIGHTER = 20.0, 2.0
# About six digits.
_PRECISE = 1e-5
# Values of the determined column, where a relation is satisfied to rounding only.
_VALUES = 10
# Fewer violations show no pattern.
_FEW = 5
# This share of the violations, and at least so many, share one difference, ratio or value: another rule.
_ALIKE, _LEAST_ALIKE = 0.6, 4
# Violations differ from other rows in a column: rank test, in deviations, and as a share of all ranks.
_DEVIATIONS, _SHIFT = 4.0, 0.1
# Of the rows that satisfy an identity this share has what its condition asks for; of the others, that share may do.
_INSIDE, _OUTSIDE = 0.99, 0.5
# And of the rows that violate it at most this share: the others are errors.
_UNEXPLAINED = 0.2
_MOST_VALUES = 20


def is_credible(
    candidate: Candidate, complexity: int, counted: Count, sample: Sample, rng: np.random.Generator
) -> bool:
    """Whether a candidate that rows satisfy is more than a coincidence."""
    known = counted.kept | counted.broken
    cells, kept, tier = sample.cells.only(known), counted.kept[known], counted.tier
    formula, X = candidate.formula, cells.X
    residual, tolerances = formula.residual(X), formula.tolerances(cells)
    tolerance = tolerances[tier]
    if (~kept & (np.abs(residual) <= 3.0 * tolerances[WHOLE])).mean() > 1.0 - CLEARLY:
        # Missed by a step or two: two measures of one thing.
        return False
    if tier != FLOATS and np.unique(X[kept, candidate.columns[0]]).size < _VALUES:
        # Anything is near one of a few values.
        return False
    if tier == WHOLE and complexity > SHORT:
        # Of whole numbers that were rounded any smooth curve of a year passes.
        return False
    if complexity > SHORT:
        # Rows that repeat others are no evidence for numbers that were fitted.
        _, first = np.unique(X[:, list(candidate.columns)], axis=0, return_index=True)
        X, kept, tolerance = X[first], kept[first], tolerance[first]
    p, free = X.shape[1], 0 if complexity <= SHORT else len(candidate.columns)
    shuffled, hits = X.copy(), 0
    for _ in range(_SHUFFLES):
        for j in candidate.columns:
            shuffled[:, j] = rng.permutation(X[:, j])
        hits += int((np.abs(formula.residual(shuffled)) <= tolerance).sum())
    chance = (hits + 1) / (_SHUFFLES * len(X) + 2)
    tried = (len(candidate.columns) + 1) * np.log10(p) + 1.0
    if _expected(len(X), int(kept.sum()), free, chance) + tried > _CHANCE:
        return False
    return all(_matters(formula, j, complexity, X, kept, tier, tolerance, rng) for j in candidate.columns)


def is_tighter_than_rounding(candidate: Candidate, counted: Count, sample: Sample) -> bool:
    """Whether residuals are of the size that rounding of no column makes of them: all are exact beside it, or much
    coarser. Then it is not rounding, but a relation with little noise."""
    if counted.tier == FLOATS:
        return False
    formula, cells, effects = candidate.formula, sample.cells.only(counted.kept), []
    for j in formula.columns:
        if cells.steps[:, j].any():
            alone = Cells(cells.X, np.where(np.arange(cells.X.shape[1]) == j, cells.steps, 0.0), cells.coarse)
            floats, *_, last = formula.tolerances(alone)
            # Of float32 two half units are allowed, and one is usual.
            share = 0.5 if sample.resolutions[j].single else 1.0
            effects.append(share * float(np.median(last - floats)))
    usual, largest = np.quantile(np.abs(formula.residual(cells.X)), (0.9, 0.98)) + np.median(formula.noise(cells.X))
    # So small beside how the left side varies, it is an author's own precision.
    if usual <= _PRECISE * float(formula.left.value(cells.X).std()):
        return False
    return not any(largest <= _FEWER * effect and effect <= _TIGHTER * largest for effect in effects)


def _matters(
    formula: Formula,
    column: int,
    complexity: int,
    X: Floats,
    kept: Bools,
    tier: int,
    tolerance: Floats,
    rng: np.random.Generator,
) -> bool:
    """Whether a column belongs into a relation: rows in which it is off its usual value satisfy it, and would not with
    another row's value."""
    residual, other = formula.residual(X), X.copy()
    other[:, column] = np.median(X[:, column])
    with np.errstate(invalid="ignore"):
        active = ~(np.abs(formula.residual(other) - residual) <= 3.0 * tolerance)
    n, n_kept = int(active.sum()), int((active & kept).sum())
    if n < _ACTIVE or n_kept < SHARE * n:
        return False
    hits = near = moved = 0
    for _ in range(_SHUFFLES):
        other[:, column] = rng.permutation(X[:, column])
        hit = active & (np.abs(formula.residual(other)) <= tolerance)
        differs = active & (other[:, column] != X[:, column])
        hits, near, moved = hits + int(hit.sum()), near + int((hit & differs).sum()), moved + int(differs.sum())
    levels = _LEVELS if complexity <= SHORT else FEW_STEPS
    if tier != FLOATS and near > moved * 2.0 / levels:
        # Other values would do as well.
        return False
    free = 0 if complexity <= SHORT else len(formula.columns)
    # Might any other column stand here?
    return bool(_expected(n, n_kept, free, (hits + 1) / (_SHUFFLES * n + 2)) + np.log10(X.shape[1]) <= _CHANCE)


def _expected(n_rows: int, n_kept: int, free: int, chance: float) -> float:
    """log10 of how likely so many of these rows satisfy a relation by chance: a union bound of the binomial tail."""
    missed = n_rows - n_kept
    choices = missed * np.log10(np.e * n_rows / missed) if missed else 0.0
    return float(choices + max(n_kept - free, 0) * np.log10(chance))


# ---- what violations look like


@dataclass(frozen=True)
class Pattern:
    """Why rows that violate an identity look like another kind of rows, in words, and the condition that tells them."""

    text: str
    condition: Condition | None = None


def find_pattern(formula: Formula, share: float, violations: Cells, kept: Floats) -> Pattern | None:
    """What rows that violate an identity have in common beside others (k, p); None: nothing, like errors.

    `share` of the rows satisfy it.
    """
    broken = violations.X
    if len(broken) < _FEW:
        return None if share >= ACCUSES else Pattern("too few rows satisfy it")
    shared = _one_amount(formula, violations, kept)
    differs = _has_separating_column(formula.columns, broken, kept)
    if shared is None and not differs:
        return None if share >= ACCUSES else Pattern("too few rows satisfy it")
    condition = _condition(formula.columns, share, broken, kept)
    if condition is not None:
        return Pattern("the other rows differ", condition)
    return Pattern(shared or "the other rows differ in another column")


def _one_amount(formula: Formula, violations: Cells, kept: Floats) -> str | None:
    """Whether most violations are off by one difference, one factor, or have one value: a surcharge, a rate, a cap."""
    broken = violations.X
    residual = formula.residual(broken)
    with np.errstate(all="ignore"):
        left, right = formula.left.value(broken), formula.right(broken)
        ratio = left / right
    wide = formula.tolerances(violations)[WHOLE]
    values = broken[:, formula.determined]
    factors = [factor for term in (formula.left, *formula.terms) for factor in term.factors]
    has_logarithm = any(factor.function == "log" for factor in factors)
    for text, amounts, steps in (
        ("the other rows are off by one amount", residual, wide),
        ("the other rows are off by one factor", ratio, np.full(len(ratio), 1e-6)),
        ("the other rows have one value", values, np.zeros(len(values))),
    ):
        finite = amounts[np.isfinite(amounts)]
        if not finite.size:
            continue
        if amounts is ratio and is_slip(float(np.median(finite)), 1.0):
            continue
        if amounts is residual and has_logarithm and is_slip(float(np.exp(np.median(np.abs(finite)))), 1.0):
            continue
        step = 4.0 * max(float(np.median(steps)), 1e-9 * float(np.abs(finite).max()), 1e-300)
        found, counts = np.unique(np.round(finite / step), return_counts=True)
        if counts.max() < max(_LEAST_ALIKE, _ALIKE * len(broken)):
            continue
        if amounts is values:
            common = float(np.median(finite[np.round(finite / step) == found[np.argmax(counts)]]))
            if (kept[:, formula.determined] == common).mean() >= _SHIFT:
                continue
        return text
    return None


def _has_separating_column(columns: Sequence[int], broken: Floats, kept: Floats) -> bool:
    """Whether violations differ from other rows in some column, by their ranks among these."""
    for j in range(broken.shape[1]):
        if j in columns:
            continue
        ours, others = broken[~np.isnan(broken[:, j]), j], np.sort(kept[~np.isnan(kept[:, j]), j])
        if ours.size < _FEW or others.size < _FEW:
            continue
        ranks = (np.searchsorted(others, ours) + np.searchsorted(others, ours, "right")) / (2.0 * others.size)
        ties = np.unique(others, return_counts=True)[1] / others.size
        spread = np.sqrt(max((1.0 - (ties**3).sum()) / 12.0, 1e-12) / ours.size * (1.0 + ours.size / others.size))
        shift = abs(float(ranks.mean()) - 0.5)
        if shift > _DEVIATIONS * spread and shift > _SHIFT:
            return True
    return False


def _condition(columns: Sequence[int], share: float, broken: Floats, kept: Floats) -> Condition | None:
    """A value of a column, or its absence, that tells the rows which satisfy an identity from the others.

    Nearly all rows that satisfy it have that value, nearly all rows with it satisfy it, and most without do not.
    """
    for j in range(broken.shape[1]):
        values = np.unique(np.concatenate([kept[:, j], broken[:, j]]))
        values = values[~np.isnan(values)]
        if j in columns or not 1 < values.size <= _MOST_VALUES:
            continue
        for negated in (False, True):
            for value in values.tolist():
                condition = Condition(j, value, negated)
                inside, wrongly = float(condition.holds(kept).mean()), float(condition.holds(broken).mean())
                n_inside = share * inside + (1.0 - share) * wrongly
                beside = 1.0 - n_inside
                if (
                    inside >= _INSIDE
                    and wrongly <= _UNEXPLAINED
                    and share * inside >= ACCUSES * n_inside
                    and share * (1.0 - inside) <= _OUTSIDE * beside
                ):
                    return condition
    return None


def is_slip(old: float, new: float) -> bool:
    """Whether one number is the other with a typical slip of the pen: a lost sign, a shifted point, two digits swapped,
    one digit changed (as in R's deducorrect)."""
    if old == 0.0 or new == 0.0 or not (np.isfinite(old) and np.isfinite(new)):
        return False
    with np.errstate(all="ignore"):
        ratio = float(np.log10(abs(old / new)))
    if not np.isfinite(ratio):
        return False
    if abs(old + new) <= 1e-6 * abs(new) or (abs(ratio) > 0.5 and abs(ratio - round(ratio)) < 1e-4):
        return True
    a, b = f"{old:.12g}", f"{new:.12g}"
    if len(a) != len(b):
        return False
    differing = [k for k in range(len(a)) if a[k] != b[k]]
    if len(differing) == 1:
        # Shorter numbers differ in one digit by chance.
        return len(a) > 3
    if len(differing) != 2 or differing[1] != differing[0] + 1:
        return False
    i, j = differing
    return a[i] == b[j] and a[j] == b[i]
