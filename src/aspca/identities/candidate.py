"""Candidates for identities while they are searched for: the form, its numbers, and how they are found.

Two forms: a sum ``f(y) = c + sum a_k f_k(x_k)``, and a product ``y = c * prod x_k^a_k``, which is fitted in logarithms
and checked as it stands, zeros and signs included.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from aspca.identities.formula import DIGITS, FLOATS, WHOLE, Factor, Formula, Term
from aspca.identities.resolution import Cells, Resolution
from aspca.linalg.arrays import Bools, Floats, Ints

# f of a column as a factor: function and exponent.
LIFTS = {"x": ("x", 1.0), "log": ("log", 1.0), "square": ("x", 2.0), "inverse": ("x", -1.0), "log1p": ("log1p", 1.0)}
# A wider tolerance must keep so many more rows: wrong rows, up to 4 % for one identity, must not widen it.
CLEARLY = 0.96
# A fit is used where at least so many rows, and this share of the sample, can be computed.
_LEAST_ROWS, _LEAST_SHARE = 20, 0.05
# Columns that differ by less, relative to their size, are one.
_COLLINEAR = 1e-11
# A constant that is smaller, relative to the column, is none.
_NO_CONSTANT = 1e-7
# Rows that count for a fit are not weighted by more than this.
_HEAVIEST = 10.0


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows that identities are searched in.

    Attributes
    ----------
    cells : Cells
        NaN where a value is missing.
    resolutions : tuple of p Resolution
    ranks : ndarray of shape (p,)
        Which column stands on the left where nothing else decides: the least.
    """

    cells: Cells
    resolutions: tuple[Resolution, ...]
    ranks: Ints

    @classmethod
    def of(cls, X: Floats, ranks: Ints) -> Sample:
        resolutions = tuple(Resolution.of(column) for column in X.T)
        return cls(Cells.of(X, resolutions), resolutions, ranks)

    @property
    def X(self) -> Floats:
        """The rows (n, p)."""
        return self.cells.X

    def __len__(self) -> int:
        return len(self.cells.X)


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


def lift(function: str, values: Floats) -> Floats:
    """A lifted column (n,)."""
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
        kept = int(self.kept.sum())
        return kept / max(1, kept + int(self.broken.sum()))


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
        lifted = [lift("log", np.abs(X[:, j])) for j in candidate.columns]
    else:
        lifted = [lift(f, X[:, j]) for f, j in zip(candidate.functions, candidate.columns, strict=True)]
    y, A = lifted[0], np.column_stack(lifted[1:])
    with np.errstate(all="ignore"):
        scale = np.abs(X[:, candidate.columns[0]]) if candidate.product else 1.0
        weights = scale / (tolerances[WHOLE] + tolerances[FLOATS] + 1e-300)
    good = np.isfinite(A).all(axis=1) & np.isfinite(y) & np.isfinite(weights) & (weights > 0.0)
    if good.sum() < A.shape[1] + 3:
        return None
    y, A, weights = y[good], A[good], weights[good]
    weights = np.minimum(weights / np.median(weights), _HEAVIEST)[:, None]
    # Centred: a constant of the size of a year costs no precision.
    middle, level = A.mean(axis=0), y.mean()
    units = np.abs(A - middle).max(axis=0)
    if (units <= 0.0).any():
        return None
    scaled = np.column_stack([(A - middle) / units, np.ones(len(A))]) * weights
    solution, _, rank, _ = np.linalg.lstsq(scaled, (y - level) * weights[:, 0], rcond=_COLLINEAR)
    if rank < scaled.shape[1]:
        # Where two columns are one, numbers of both mean nothing.
        return None
    coefficients = solution[:-1] / units
    constant = solution[-1] + level - middle @ coefficients
    with np.errstate(over="ignore"):
        constant = float(np.exp(constant)) if candidate.product else float(constant)
    if not candidate.product and abs(constant) <= _NO_CONSTANT * float(np.abs(y).max()):
        # Rows of zeros have no tolerance for what rounding leaves over.
        constant = 0.0
    if not (np.isfinite(constant) and np.isfinite(coefficients).all()):
        return None
    return replace(candidate, coefficients=coefficients, constant=constant)


def settle(candidate: Candidate, sample: Sample, start: Ints, share: float) -> Candidate | None:
    """The candidate fitted to some rows, then to those near it, until most satisfy it; None: they do not."""
    fitted = fit(candidate, sample, start)
    if fitted is None:
        return None
    for step in range(4):
        sizes = np.abs(fitted.formula.residual(sample.X))
        tolerances = fitted.formula.tolerances(sample.cells)
        known = np.isfinite(sizes)
        n_known = int(known.sum())
        if n_known < max(_LEAST_ROWS, _LEAST_SHARE * len(sample)):
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
