"""The numbers of a candidate made simple, and the column that it is solved for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np

from aspca.identities.candidate import CLEARLY, Candidate, Sample, count, lift, settle, simple_numbers
from aspca.identities.formula import DIGITS, FLOAT
from aspca.linalg.arrays import Floats, Ints

# What a short writing costs: every further digit of a coefficient or of the constant adds about two.
SHORT = 2
# What a number that is not simple adds to the complexity of a candidate: of a coefficient, of a constant.
_NO_COEFFICIENT, _NO_CONSTANT = 12, 20
# Digits tried of coefficients, and of constants: a constant may be a year, or an amount.
_DIGITS, _CONSTANT_DIGITS = 5, 9
_TOGETHER = (1, 2, 3)
# A simpler number may lose one row in 500.
_LOST = 0.002
# Higher powers are no simple numbers.
_LARGEST_POWER = 4.0
# While numbers are fitted, this share of the rows may still be lacking.
_NEARLY = 0.05
# Decimals by which a column was probably computed from the others.
_FINER = 2


def settle_simply(candidate: Candidate, sample: Sample, start: Ints, share: float) -> tuple[Candidate, int] | None:
    """The candidate fitted, solved for the column that was probably computed, in simple numbers; with its complexity.

    None where fewer rows than nearly `share` satisfy it.
    """
    settled = settle(candidate, sample, start, share)
    if settled is None:
        return None
    counted = count(settled.formula, sample.cells)
    if counted.share < share - _NEARLY:
        return None
    oriented = orient(settled, sample)
    found = simplify(oriented, sample, counted.tier)
    if found[1] > SHORT and counted.tier < DIGITS:
        # Numbers that are short to six digits are no coincidence.
        to_six_digits = simplify(oriented, sample, DIGITS)
        found = to_six_digits if to_six_digits[1] <= SHORT else found
    return orient(found[0], sample), found[1]


def simplify(candidate: Candidate, sample: Sample, tier: int) -> tuple[Candidate, int]:
    """Short numbers for coefficients and constant, each kept only if as many rows satisfy the candidate within the
    tolerance; and how long these are: the place of each among simpler ones."""
    found = count(candidate.formula, sample.cells, tier)
    cells = sample.cells.only(found.kept | found.broken)
    X = cells.X
    kept = int(found.kept.sum())
    enough = kept - max(_LOST * kept, 1 if kept > 100 else 0)
    # What the numbers change of the tolerance is next to nothing.
    tolerance = candidate.formula.tolerances(cells)[tier]

    def does(trial: Candidate) -> bool:
        return bool(np.isfinite(trial.constant) and (np.abs(trial.formula.residual(X)) <= tolerance).sum() >= enough)

    together = next(filter(does, _rounded_together(candidate, X)), None)
    candidate = candidate if together is None else together
    complexity = 0
    for k in range(candidate.coefficients.size):
        for place, value in enumerate(simple_numbers(float(candidate.coefficients[k]), _DIGITS)):
            coefficients = candidate.coefficients.copy()
            coefficients[k] = value
            trial = replace(candidate, coefficients=coefficients)
            # With its constant as it is, or moved by what the usual row is off.
            taken = trial if does(trial) else trial.shifted(_left_over(trial, X))
            if taken is trial or does(taken):
                candidate, complexity = taken, complexity + place
                break
        else:
            complexity += _NO_COEFFICIENT
        if candidate.product and abs(candidate.coefficients[k]) > _LARGEST_POWER:
            complexity += _NO_COEFFICIENT
    for place, value in enumerate(_simple_constants(candidate)):
        trial = replace(candidate, constant=value)
        if does(trial):
            candidate, complexity = trial, complexity + place
            break
    else:
        complexity += _NO_CONSTANT
    # The last digits of what was fitted are another machine's.
    numbers = np.array([_without_last_digits(value) for value in candidate.coefficients.tolist()])
    trial = replace(candidate, coefficients=numbers, constant=_without_last_digits(candidate.constant))
    return (trial if does(trial) else candidate), complexity


def _without_last_digits(value: float) -> float:
    """A number to twelve digits, unless it is one that people write, as a sixth."""
    return value if value in simple_numbers(value, _DIGITS) else float(f"{value:.12g}")


def _rounded_together(candidate: Candidate, X: Floats) -> Iterator[Candidate]:
    """The candidate with all numbers in few digits: one alone may need what rounding took from the others."""
    coefficients = candidate.coefficients.tolist()
    for digits in _TOGETHER:
        short = [float(f"{value:.{digits - 1}e}") for value in coefficients]
        inverse = [1.0 / float(f"{1.0 / value:.{digits - 1}e}") if value else 0.0 for value in coefficients]
        for values in (short, inverse):
            trial = replace(candidate, coefficients=np.array(values))
            trial = trial.shifted(_left_over(trial, X))
            for constant in islice(_simple_constants(trial), 1 + 2 * _TOGETHER[-1]):
                yield replace(trial, constant=constant)
            yield trial


def _simple_constants(candidate: Candidate) -> Iterator[float]:
    yield 1.0 if candidate.product else 0.0
    yield from simple_numbers(candidate.constant, _CONSTANT_DIGITS)


def _left_over(candidate: Candidate, X: Floats) -> float:
    """What the usual row is off, of a product in logarithms."""
    with np.errstate(all="ignore"):
        left, right = candidate.formula.left.value(X), candidate.formula.right(X)
        off = lift("log", np.abs(left)) - lift("log", np.abs(right)) if candidate.product else left - right
    off = off[np.isfinite(off)]
    return float(np.median(off)) if off.size else np.nan


def orient(candidate: Candidate, sample: Sample) -> Candidate:
    """The same relation, solved for the column that was probably computed.

    That whose own rounding explains what is left over; of several, a fraction of whole numbers, or that with many more
    decimals than the others; else a total, of which all others are parts; else that of the shortest numbers, or the
    larger one; else that of least rank.
    """
    if not candidate.product and set(candidate.functions) != {"x"}:
        return candidate
    turned = [_solved_for(candidate, t) for t in range(len(candidate.columns))]
    alone = np.array([0 if one is None else _n_explained(one, sample) for one in turned])
    explained = alone >= CLEARLY * alone.max()
    a = np.array([-1.0, *candidate.coefficients.tolist()])
    decimals = np.array([sample.resolutions[j].decimals for j in candidate.columns])

    def preference(t: int) -> tuple[bool, bool, bool, int, bool, int]:
        # Whole numbers are counted, and fractions computed from them.
        fraction = bool(decimals[t] > 0 >= np.delete(decimals, t).max())
        finer = fraction or bool(decimals[t] >= _FINER + np.delete(decimals, t).max())
        total = len(a) > 2 and bool((np.sign(np.delete(a, t)) != np.sign(a[t])).all())
        one, rank = turned[t], int(sample.ranks[candidate.columns[t]])
        if one is None:
            return False, False, False, 0, False, -rank
        return bool(explained[t]), finer, total, -count_signs(one), one.constant > 0.0, -rank

    return turned[max(range(len(a)), key=preference)] or candidate


def count_signs(candidate: Candidate) -> int:
    """How many signs its numbers take where they are written."""
    written = [value for value in candidate.coefficients.tolist() if abs(value) != 1.0]
    unwritten = 1.0 if candidate.product else 0.0
    return sum(len(f"{value:.12g}") for value in (*written, *({candidate.constant} - {unwritten})))


def _solved_for(candidate: Candidate, t: int) -> Candidate | None:
    """A sum or product of plain columns solved for that at place t; None where it has no such form."""
    a = np.array([-1.0, *candidate.coefficients.tolist()])
    order = [t, *(k for k in range(len(a)) if k != t)]
    times = -1.0 / a[t]
    with np.errstate(all="ignore"):
        constant = np.float64(candidate.constant) ** times if candidate.product else candidate.constant * times
    if not np.isfinite(constant):
        return None
    return replace(
        candidate,
        columns=tuple(candidate.columns[k] for k in order),
        functions=tuple(candidate.functions[k] for k in order),
        coefficients=a[order[1:]] * times,
        constant=float(constant),
    )


def _n_explained(candidate: Candidate, sample: Sample) -> int:
    """Rows whose residual is explained by the rounding of the column on the left, the others taken as exact."""
    X, left = sample.X, candidate.columns[0]
    with np.errstate(all="ignore"):
        right = candidate.formula.right(X)
        off = np.abs(X[:, left] - right) <= sample.cells.steps[:, left] + FLOAT * (
            np.abs(right) + abs(candidate.constant)
        )
    return int(off.sum())
