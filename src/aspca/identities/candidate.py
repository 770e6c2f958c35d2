"""Candidates for identities while they are searched for: the form, its numbers, and how they are found.

Two forms: a sum ``f(y) = c + sum a_k f_k(x_k)``, and a product ``y = c * prod x_k^a_k``, which is fitted in logarithms
and checked as it stands, zeros and signs included.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice

import numpy as np

from aspca.identities.formula import DIGITS, FLOAT, FLOATS, WHOLE, Factor, Formula, Term
from aspca.identities.resolution import Cells, Sample
from aspca.linalg.arrays import Bools, Floats, Ints

# f of a column as a factor: function and exponent.
LIFTS = {"x": ("x", 1.0), "log": ("log", 1.0), "square": ("x", 2.0), "inverse": ("x", -1.0), "log1p": ("log1p", 1.0)}
# A wider tolerance must keep so many more rows: wrong rows, up to 4 % for one identity, must not widen it.
CLEARLY = 0.96
# What a short writing costs: every further digit of a coefficient or of the constant adds about two.
SHORT = 2
# What a number that is not simple adds to the complexity of a candidate: of a coefficient, of a constant.
_NO_COEFFICIENT, _NO_CONSTANT = 12, 20
# Digits tried of coefficients, and of constants: a constant may be a year, or an amount.
_DIGITS, _CONSTANT_DIGITS = 5, 9


@dataclass(frozen=True, eq=False)
class Candidate:
    """f_0(first column) = constant + sum of coefficients f_k(column k), or a product: see above."""

    columns: tuple[int, ...]
    functions: tuple[str, ...]
    coefficients: Floats
    constant: float
    product: bool = False

    @classmethod
    def unfitted(cls, columns: tuple[int, ...], functions: tuple[str, ...], *, product: bool = False) -> Candidate:
        """Its numbers are not known yet."""
        return cls(columns, functions, np.ones(len(columns) - 1), float(product), product)

    @cached_property
    def formula(self) -> Formula:
        lifts = [LIFTS[function] for function in self.functions]
        left = Term(1.0, (Factor(self.columns[0], *lifts[0]),))
        if self.product:
            factors = zip(self.columns[1:], self.coefficients.tolist(), strict=True)
            return Formula(left, (Term(self.constant, tuple(Factor(j, "x", a) for j, a in factors)),))
        parts = zip(self.columns[1:], lifts[1:], self.coefficients.tolist(), strict=True)
        return Formula(left, tuple(Term(a, (Factor(j, *lift),)) for j, lift, a in parts), self.constant)

    def shifted(self, shift: float) -> Candidate:
        """With the constant moved by what is left over; of a product, in logarithms."""
        with np.errstate(over="ignore"):
            constant = self.constant * np.exp(shift) if self.product else self.constant + shift
        return replace(self, constant=float(constant))

    def vectors(self, p: int) -> Floats:
        """The relation as vectors over the lifted columns: what is implied by others depends on theirs."""
        names = list(LIFTS)
        forms = [(self.product, self.functions, self.coefficients.tolist())]
        if len(self.columns) == 2 and self.functions[0] == "x" and (self.product or self.constant == 0.0):
            # y = c f(x) is a power, and a sum.
            powers = {LIFTS[name][1]: name for name in ("x", "square", "inverse")}
            if self.product and float(self.coefficients[0]) in powers:
                forms.append((False, ("x", powers[float(self.coefficients[0])]), [self.constant]))
            elif not self.product and self.functions[1] in powers.values():
                forms.append((True, self.functions, [LIFTS[self.functions[1]][1]]))
        found = np.zeros((len(forms), len(names) * p))
        for vector, (product, functions, coefficients) in zip(found, forms, strict=True):
            lifts = ["log"] * len(functions) if product else functions
            places = [names.index(f) * p + j for f, j in zip(lifts, self.columns, strict=True)]
            vector[places] = [-1.0, *coefficients]
        return found


def transform(function: str, values: Floats) -> Floats:
    """A transformed column (n,)."""
    name, exponent = LIFTS[function]
    with np.errstate(all="ignore"):
        found = Factor(0, name, exponent).value(values[:, None])
    return np.where(np.isfinite(found), found, np.nan)


# ---- counting


@dataclass(frozen=True, eq=False)
class Count:
    """Which rows satisfy a candidate, which violate it, which do so by less than six digits (n,); the tolerance."""

    kept: Bools
    broken: Bools
    nearly: Bools
    tier: int

    @property
    def share(self) -> float:
        return float(self.kept.sum() / max(1, self.kept.sum() + self.broken.sum()))


def count(formula: Formula, cells: Cells, tier: int | None = None) -> Count:
    """The rows (n, p) by what the formula says of them; of tolerances the tightest that keeps nearly as many rows.

    Rows within six printed digits are neither kept nor broken: many of them are an author's rounding, few are errors.
    """
    sizes, tolerances = np.abs(formula.residual(cells.X)), formula.tolerances(cells)
    kept = [sizes <= one for one in tolerances]
    if tier is None:
        most = max(int(one.sum()) for one in kept)
        tier = next(k for k in range(4) if kept[k].sum() >= CLEARLY * most)
    off = ~np.isnan(sizes) & ~kept[tier]
    nearly = off & (sizes <= tolerances[DIGITS])
    return Count(kept[tier], off & ~nearly, nearly, tier)


# ---- numbers


def fit(candidate: Candidate, sample: Sample, rows: Ints) -> Candidate | None:
    """The candidate with its numbers by weighted least squares on some rows; None where they do not suffice.

    Weights are one over the tolerance.
    """
    X, tolerances = sample.X[rows], candidate.formula.tolerances(sample.cells.only(rows))
    if candidate.product:
        lifted = [transform("log", np.abs(X[:, j])) for j in candidate.columns]
    else:
        lifted = [transform(f, X[:, j]) for f, j in zip(candidate.functions, candidate.columns, strict=True)]
    y, A = lifted[0], np.column_stack(lifted[1:])
    with np.errstate(all="ignore"):
        scale = np.abs(X[:, candidate.columns[0]]) if candidate.product else 1.0
        weights = scale / (tolerances[WHOLE] + tolerances[FLOATS] + 1e-300)
    good = np.isfinite(A).all(axis=1) & np.isfinite(y) & np.isfinite(weights) & (weights > 0.0)
    if good.sum() < A.shape[1] + 3:
        return None
    y, A, weights = y[good], A[good], weights[good]
    weights = np.minimum(weights / np.median(weights), 10.0)[:, None]
    # Centred: a constant of the size of a year costs no precision.
    middle, level = A.mean(axis=0), y.mean()
    units = np.abs(A - middle).max(axis=0)
    if (units <= 0.0).any():
        return None
    scaled = np.column_stack([(A - middle) / units, np.ones(len(A))]) * weights
    solution, _, rank, _ = np.linalg.lstsq(scaled, (y - level) * weights[:, 0], rcond=1e-11)
    if rank < scaled.shape[1]:
        # Where two columns are one, numbers of both mean nothing.
        return None
    coefficients = solution[:-1] / units
    constant = solution[-1] + level - middle @ coefficients
    with np.errstate(over="ignore"):
        constant = float(np.exp(constant)) if candidate.product else float(constant)
    if not candidate.product and abs(constant) <= 1e-7 * float(np.abs(y).max()):
        # Rows of zeros have no tolerance for what rounding leaves over.
        constant = 0.0
    if not (np.isfinite(constant) and np.isfinite(coefficients).all()):
        return None
    return replace(candidate, coefficients=coefficients, constant=constant)


def fit_robustly(candidate: Candidate, sample: Sample, start: Ints, share: float) -> Candidate | None:
    """The candidate fitted to some rows, then to those near it, until most satisfy it; None: they do not."""
    fitted = fit(candidate, sample, start)
    if fitted is None:
        return None
    for step in range(4):
        sizes = np.abs(fitted.formula.residual(sample.X))
        tolerances = fitted.formula.tolerances(sample.cells)
        known = np.isfinite(sizes)
        n_known = int(known.sum())
        if n_known < max(20, 0.05 * len(sample)):
            return None
        wide = next((one for one in tolerances if (sizes <= one).sum() >= share * n_known), tolerances[WHOLE])
        if step == 3:
            break
        if (sizes <= tolerances[FLOATS]).sum() >= CLEARLY * n_known:
            # As exact as floats are: nothing to be gained.
            break
        least = np.quantile(sizes[known], 0.6) if step < 2 else 0.0
        near = known & (sizes <= np.maximum(3.0 * wide, least))
        if step and near.sum() < 0.8 * n_known and (sizes <= 20.0 * wide).sum() < 0.8 * n_known:
            return None
        better = fit(fitted, sample, np.flatnonzero(near))
        if better is None:
            # Rows near it need not have all that it takes to tell its numbers.
            break
        fitted = better
    return fitted


def simple_numbers(value: float, digits: int) -> Iterator[float]:
    """Numbers near a value that people would write, shortest first: of so many digits, or one over such a number."""
    if value == 0.0 or not np.isfinite(value):
        return
    for many in range(1, digits + 1):
        yield float(f"{value:.{many - 1}e}")
        yield 1.0 / float(f"{1.0 / value:.{many - 1}e}")
        if many == 3:
            # Decimal and binary logarithms.
            yield float(np.copysign(1.0 / np.log(10.0), value))
            yield float(np.copysign(1.0 / np.log(2.0), value))


# ---- simple numbers, and the column that it is solved for


def fit_simply(candidate: Candidate, sample: Sample, start: Ints, share: float) -> tuple[Candidate, int] | None:
    """The candidate fitted, solved for the column that was probably computed, in simple numbers; with its complexity.

    None where fewer rows than nearly `share` satisfy it.
    """
    settled = fit_robustly(candidate, sample, start, share)
    if settled is None:
        return None
    counted = count(settled.formula, sample.cells)
    # While numbers are fitted, some of the rows may still be lacking.
    if counted.share < share - 0.05:
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
    # A simpler number may lose one row in 500.
    enough = kept - max(0.002 * kept, 1 if kept > 100 else 0)
    # What the numbers change of the tolerance is next to nothing.
    tolerance = candidate.formula.tolerances(cells)[tier]

    def does(trial: Candidate) -> bool:
        return bool(np.isfinite(trial.constant) and (np.abs(trial.formula.residual(X)) <= tolerance).sum() >= enough)

    together = next(filter(does, _round_all(candidate, X)), None)
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
        # Higher powers are no simple numbers.
        if candidate.product and abs(candidate.coefficients[k]) > 4.0:
            complexity += _NO_COEFFICIENT
    for place, value in enumerate(_simple_constants(candidate)):
        trial = replace(candidate, constant=value)
        if does(trial):
            candidate, complexity = trial, complexity + place
            break
    else:
        complexity += _NO_CONSTANT
    # The last digits of what was fitted are another machine's; but people write a sixth.
    *numbers, constant = (
        value if value in simple_numbers(value, _DIGITS) else float(f"{value:.12g}")
        for value in (*candidate.coefficients.tolist(), candidate.constant)
    )
    trial = replace(candidate, coefficients=np.array(numbers), constant=constant)
    return (trial if does(trial) else candidate), complexity


def _round_all(candidate: Candidate, X: Floats) -> Iterator[Candidate]:
    """The candidate with all numbers in few digits: one alone may need what rounding took from the others."""
    coefficients = candidate.coefficients.tolist()
    for digits in (1, 2, 3):
        short = [float(f"{value:.{digits - 1}e}") for value in coefficients]
        inverse = [1.0 / float(f"{1.0 / value:.{digits - 1}e}") if value else 0.0 for value in coefficients]
        for values in (short, inverse):
            trial = replace(candidate, coefficients=np.array(values))
            trial = trial.shifted(_left_over(trial, X))
            for constant in islice(_simple_constants(trial), 7):
                yield replace(trial, constant=constant)
            yield trial


def _simple_constants(candidate: Candidate) -> Iterator[float]:
    yield 1.0 if candidate.product else 0.0
    yield from simple_numbers(candidate.constant, _CONSTANT_DIGITS)


def _left_over(candidate: Candidate, X: Floats) -> float:
    """What the usual row is off, of a product in logarithms."""
    with np.errstate(all="ignore"):
        left, right = candidate.formula.left.value(X), candidate.formula.right(X)
        off = transform("log", np.abs(left)) - transform("log", np.abs(right)) if candidate.product else left - right
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
        finer = fraction or bool(decimals[t] >= 2 + np.delete(decimals, t).max())
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


def as_candidate(formula: Formula) -> Candidate | None:
    """A formula as the search knows it; None where it has another form."""
    if formula.condition is not None or len(formula.left.factors) != 1:
        return None
    left, terms = formula.left.factors[0], formula.terms
    if formula.is_product and left[1:3] == LIFTS["x"]:
        factors = terms[0].factors
        if all(factor.function == "x" for factor in factors):
            columns = (left.column, *(factor.column for factor in factors))
            exponents = np.array([factor.exponent for factor in factors])
            return Candidate(columns, ("x",) * len(columns), exponents, terms[0].coefficient, product=True)
    factors = (left, *chain.from_iterable(term.factors for term in terms))
    names = {lifted: name for name, lifted in LIFTS.items()}
    functions = tuple(names.get(factor[1:3], "") for factor in factors)
    if any(len(term.factors) != 1 for term in terms) or not all(functions):
        return None
    coefficients = np.array([term.coefficient for term in terms])
    return Candidate(tuple(factor.column for factor in factors), functions, coefficients, formula.constant)
