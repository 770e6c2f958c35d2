"""Ground truth: all relations of two and three columns, tried one after the other. Slow, obvious, without the library.

Forms: y = a f(x) + b with f in identity, log, square, sqrt, reciprocal; y = c x^k; z = a x + b y + c; z = c x y;
z = c x / y. Each is fitted to small random draws of rows, refitted to the rows that satisfy it, written with the
shortest numbers that lose no rows, and accepted if
- at least 99 % of the rows, and of the rows where any one of its columns is off its most common value, satisfy it to
  the rounding of the columns (`relation`);
- no column is idle: among the rows where a column is off its most common value (at least 10), the same form refitted
  without that column is satisfied by less than half;
- the determined column has at least 10 distinct values and at least 10 levels that the tolerance can tell apart; below
  100 levels the numbers must be short (two digits, three for the constant) and a pair a straight line, since any
  smooth curve would pass;
- where rounding plays a part, the tolerance tells at least 10 levels of every term of a sum apart;
- a shuffled column would not satisfy it: the chance of as many rows, over all relations tried, is below 1e-6.
What accepted relations already imply (`closure`) is left out, so that each determined column counts once.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np

from .closure import is_determined, is_implied
from .relation import FLOAT_NOISE, FUNCTIONS, SLOPES, Flags, Floats, Relation, half_steps

SHARE = 0.99
ROUGH_SHARE = 0.9  # before numbers are shortened: a fit to values rounded to one side misses some rows
DRAWS = (10, 10, 25, 25)
SCREENED_ROWS = 150
FEWEST_VALUES = FEWEST_ACTIVE = FEWEST_LEVELS = 10
FINE_LEVELS = 100
CHANCE = -6.0
_POWERS = (2.0, 3.0, 0.5, 1.5, -0.5, -2.0, -1.0, 1 / 3, 2 / 3, -3.0)


def find_truth(X: Floats, seed: int = 0) -> list[Relation]:
    """The relations of two and three columns that hold in a table, none determined by the others."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = _Search(X, seed)
        accepted: list[Relation] = []
        for proposals in (search.propose_pairs(), search.propose_triples()):
            sets = [one.columns for one in accepted]
            settled = [search.settle(one) for one in proposals if not is_determined(one.columns, sets)]
            good = [one for one in settled if one is not None]
            for relation, _, _ in sorted(good, key=lambda one: (-round(one[0].share, 3), one[1], one[2])):
                if not is_implied(relation, accepted, X):
                    accepted.append(relation)
        return accepted


class _Search:
    def __init__(self, X: Floats, seed: int) -> None:
        self.X, self.H = X, half_steps(X)
        self.rng = np.random.default_rng(seed)
        self.modes = np.array([_most_common(column) for column in X.T])
        self.values = np.array([len(np.unique(column[np.isfinite(column)])) for column in X.T])
        patterns: dict[bytes, list[int]] = {}
        for j in range(X.shape[1]):
            patterns.setdefault(np.isfinite(X[:, j]).tobytes(), []).append(j)
        self.groups = [np.array(group) for group in patterns.values()]

    def propose_pairs(self) -> Iterator[Relation]:
        p = self.X.shape[1]
        for x in range(p):
            for function in FUNCTIONS if self.values[x] >= FEWEST_VALUES else ("identity",):
                for y, fit in self._screen((x,), (function,)):
                    yield Relation((y, x), (function,), (fit[0],), fit[1])
            if self.values[x] >= FEWEST_VALUES:
                for power in _POWERS:
                    for y in range(p):
                        relation = Relation((y, x), ("identity",), (power,), 1.0, product=True)
                        if y != x and (relation := self._with_constant(relation)) and self._looks_right(relation):
                            yield relation

    def propose_triples(self) -> Iterator[Relation]:
        for x, y in combinations(range(self.X.shape[1]), 2):
            for z, fit in self._screen((x, y), ("identity", "identity")):
                yield Relation((z, x, y), ("identity",) * 2, (fit[0], fit[1]), fit[2])
            for powers in ((1.0, 1.0), (1.0, -1.0), (-1.0, 1.0)):
                yield from self._screen_products(x, y, powers)

    def _screen(self, terms: tuple[int, ...], functions: tuple[str, ...]) -> Iterator[tuple[int, Floats]]:
        """Targets that the terms fit in at least 60 % of some rows within five tolerances, with the coefficients."""
        X, H = self.X, self.H
        lifted = [FUNCTIONS[f](X[:, j]) for j, f in zip(terms, functions, strict=True)]
        slopes = [
            SLOPES[f](X[:, j]) * np.where(H[:, j] < 0.5, H[:, j], 0.0) for j, f in zip(terms, functions, strict=True)
        ]
        design = np.column_stack([*lifted, np.ones(len(X))])
        usable = np.isfinite(design).all(axis=1)
        for group in self.groups:
            targets = group[~np.isin(group, terms) & (self.values[group] >= FEWEST_VALUES)]
            rows = np.flatnonzero(usable & np.isfinite(X[:, group[0]]))
            active = rows[np.all([X[rows, j] != self.modes[j] for j in terms], axis=0)]
            rows = active if len(active) >= 20 else rows
            if not len(targets) or len(rows) < 20:
                continue
            rows = self.rng.choice(rows, min(SCREENED_ROWS, len(rows)), replace=False)
            found: set[int] = set()
            for m in DRAWS:
                drawn = self.rng.choice(rows, min(m, len(rows)), replace=False)
                middle = design[drawn].mean(axis=0) * (np.arange(design.shape[1]) < len(terms))
                scale = np.abs(design[drawn] - middle).max(axis=0)
                if (scale <= 0).any():
                    continue
                fit = np.linalg.pinv((design[drawn] - middle) / scale, rcond=1e-11) @ X[np.ix_(drawn, targets)]
                fit = fit / scale[:, None]
                fit[-1] -= middle[:-1] @ fit[:-1]
                size = np.abs(design[rows]) @ np.abs(fit)
                allowed = H[np.ix_(rows, targets)] + 10 * FLOAT_NOISE * size
                allowed += sum(s[rows, None] * np.abs(c) for s, c in zip(slopes, fit, strict=False))
                near = np.abs(design[rows] @ fit - X[np.ix_(rows, targets)]) <= 5 * allowed
                for k in np.flatnonzero(near.mean(axis=0) >= 0.6):
                    if int(targets[k]) not in found:
                        found.add(int(targets[k]))
                        yield int(targets[k]), fit[:, k]

    def _screen_products(self, x: int, y: int, powers: tuple[float, float]) -> Iterator[Relation]:
        """Products and quotients: the ratio of a column to the product is the same in most rows."""
        X = self.X
        made = X[:, x] ** powers[0] * X[:, y] ** powers[1]
        rows = np.flatnonzero(np.isfinite(made) & (made != 0))
        if len(rows) < 20:
            return
        rows = self.rng.choice(rows, min(SCREENED_ROWS, len(rows)), replace=False)
        ratios = X[rows] / made[rows, None]
        constants = np.nanmedian(ratios, axis=0)
        near = np.abs(ratios / constants - 1) <= 0.02
        for z in np.flatnonzero((near.mean(axis=0) >= 0.3) & (constants != 0) & (self.values >= FEWEST_VALUES)):
            if z not in (x, y):
                relation = Relation((int(z), x, y), ("identity",) * 2, powers, float(constants[z]), product=True)
                if self._looks_right(relation):
                    yield relation

    def _with_constant(self, relation: Relation) -> Relation | None:
        rows = slice(None, None, max(1, len(self.X) // SCREENED_ROWS))
        y, predicted = self.X[rows, relation.columns[0]], relation.predict(self.X[rows])[0]
        good = np.isfinite(y) & np.isfinite(predicted) & (predicted != 0) & (y != 0)
        return replace(relation, constant=float(np.median(y[good] / predicted[good]))) if good.sum() >= 10 else None

    def _looks_right(self, relation: Relation) -> bool:
        residual, allowed = np.abs(relation.residual(self.X)), relation.tolerance(self.X, self.H)
        known = ~np.isnan(residual)
        return bool(known.sum() >= 20 and (residual[known] <= 5 * allowed[known]).mean() >= 0.6)

    def settle(self, relation: Relation) -> tuple[Relation, int, float] | None:
        """The relation refitted, with short numbers; its digits and relative tolerance. None: not accepted."""
        for width in (5.0, 2.0, 1.0):
            residual, allowed = np.abs(relation.residual(self.X)), relation.tolerance(self.X, self.H)
            refitted = _refit(relation, self.X, np.flatnonzero(residual <= width * allowed), allowed)
            if refitted is not None and self._count(refitted) >= self._count(relation):
                relation = refitted
        known = ~np.isnan(relation.residual(self.X))
        if self._count(relation) < ROUGH_SHARE * known.sum() or self._levels(relation, known) < FEWEST_LEVELS:
            return None
        relation, digits = self._shorten(relation)
        kept = relation.satisfied(self.X, self.H)
        if known.sum() < 20 or kept.sum() < SHARE * known.sum():
            return None
        levels = self._levels(relation, known)
        curved = relation.product or set(relation.functions) != {"identity"}
        pair = len(relation.columns) == 2
        if levels < FINE_LEVELS and (digits > 2 * len(relation.coefficients) + 3 or (pair and curved)):
            return None
        if not self._is_exact(relation, known) and self._least_term_levels(relation, known) < FEWEST_LEVELS:
            return None
        if not self._every_column_matters(relation, known, kept) or not self._beats_chance(relation, known, kept):
            return None
        return replace(relation, share=float(kept.sum() / known.sum())), digits, 1.0 / levels

    def _count(self, relation: Relation) -> int:
        return int(relation.satisfied(self.X, self.H).sum())

    def _shorten(self, relation: Relation) -> tuple[Relation, int]:
        """Numbers of the fewest digits that lose at most one row in 500."""
        enough = 0.998 * self._count(relation)
        digits = 0
        for k in range(0 if not relation.product else len(relation.coefficients), len(relation.coefficients)):
            for count, value in _short_numbers(relation.coefficients[k]):
                coefficients = (*relation.coefficients[:k], value, *relation.coefficients[k + 1 :])
                trial = self._recentred(replace(relation, coefficients=coefficients))
                if self._count(trial) >= enough:
                    relation, digits = trial, digits + count
                    break
            else:
                digits += 20
        for count, value in ((0, 1.0 if relation.product else 0.0), *_short_numbers(relation.constant)):
            trial = replace(relation, constant=value)
            if self._count(trial) >= enough:
                return trial, digits + count
        return relation, digits + 20

    def _recentred(self, relation: Relation) -> Relation:
        residual = relation.residual(self.X)
        return replace(relation, constant=relation.constant + float(np.median(residual[np.isfinite(residual)])))

    def _levels(self, relation: Relation, known: Flags) -> float:
        y = self.X[known, relation.columns[0]]
        y = y[y != self.modes[relation.columns[0]]]
        spread = float(np.subtract(*np.quantile(y, [0.95, 0.05]))) if len(y) else 0.0
        return spread / (2 * float(np.median(relation.tolerance(self.X, self.H)[known])) + 1e-300)

    def _is_exact(self, relation: Relation, known: Flags) -> bool:
        """Whether rounding plays no part, as in sums of whole numbers."""
        X = self.X[known]
        return bool((relation.satisfied(X, np.zeros_like(X))).mean() >= SHARE)

    def _least_term_levels(self, relation: Relation, known: Flags) -> float:
        """How many levels of a term of a sum the tolerance can tell apart, for the term with the fewest."""
        if relation.product:
            return np.inf
        allowed = 2 * float(np.median(relation.tolerance(self.X, self.H)[known])) + 1e-300
        terms = zip(relation.columns[1:], relation.functions, relation.coefficients, strict=True)
        return min(abs(c) * float(np.ptp(FUNCTIONS[f](self.X[known, j]))) / allowed for j, f, c in terms)

    def _every_column_matters(self, relation: Relation, known: Flags, kept: Flags) -> bool:
        for position, j in enumerate(relation.columns):
            active = np.flatnonzero(known & (self.X[:, j] != self.modes[j]))
            if len(active) < FEWEST_ACTIVE or kept[active].mean() < SHARE - 0.01:
                return False
            y = self.X[active, relation.columns[0]]
            allowed = relation.tolerance(self.X, self.H)[active]
            others = [k for k in range(1, len(relation.columns)) if k != position]
            if position == 0 or not others:
                guesses = [np.full(len(active), np.median(y)), np.full(len(active), _most_common(y))]
            else:
                guesses = _guess_without(relation, self.X[active], others)
            if any((np.abs(y - guess) <= allowed).mean() >= 0.5 for guess in guesses):
                return False
        return True

    def _beats_chance(self, relation: Relation, known: Flags, kept: Flags) -> bool:
        p = self.X.shape[1]
        tried = (len(relation.columns) + 1) * np.log10(p) + 1
        for j in relation.columns:
            active = np.flatnonzero(known & (self.X[:, j] != self.modes[j]))
            shuffled = self.X[active].copy()
            shuffled[:, j] = self.rng.permutation(shuffled[:, j])
            chance = (relation.satisfied(shuffled, self.H[active]).sum() + 1) / (len(active) + 2)
            distinct = len(np.unique(self.X[active][:, list(relation.columns)], axis=0))
            missed = int((~kept[active]).sum())
            kept_rows = max(distinct - missed - len(relation.columns), 0)
            ways = missed * np.log10(np.e * len(active) / missed) if missed else 0.0
            if kept_rows * np.log10(chance) + ways + tried > CHANCE:
                return False
        return True


def _refit(relation: Relation, X: Floats, rows: np.ndarray, allowed: Floats) -> Relation | None:
    if len(rows) < 10:
        return None
    y, weight = X[rows, relation.columns[0]], 1.0 / (allowed[rows] + 1e-300)
    weight = np.minimum(weight / np.median(weight), 10.0)
    if relation.product:
        predicted = relation.predict(X[rows])[0]
        good = np.isfinite(predicted) & (predicted != 0)
        ratio = float(np.median(y[good] / predicted[good])) if good.sum() >= 10 else np.nan
        return replace(relation, constant=relation.constant * ratio) if np.isfinite(ratio) else None
    pairs = zip(relation.columns[1:], relation.functions, strict=True)
    A = np.column_stack([FUNCTIONS[f](X[rows, j]) for j, f in pairs])
    middle, scale = A.mean(axis=0), np.abs(A - A.mean(axis=0)).max(axis=0)
    if not np.isfinite(A).all() or (scale <= 0).any():
        return None
    design = np.column_stack([(A - middle) / scale, np.ones(len(A))]) * weight[:, None]
    fit = np.linalg.lstsq(design, (y - y.mean()) * weight, rcond=1e-13)[0]
    coefficients = fit[:-1] / scale
    constant = fit[-1] + y.mean() - middle @ coefficients
    return replace(relation, coefficients=tuple(map(float, coefficients)), constant=float(constant))


def _guess_without(relation: Relation, X: Floats, others: list[int]) -> list[Floats]:
    """The best predictions of the first column without one of the others: a refit, and the plain remaining terms."""
    keep = [k - 1 for k in others]
    shorter = replace(
        relation,
        columns=(relation.columns[0], *(relation.columns[k + 1] for k in keep)),
        functions=tuple(relation.functions[k] for k in keep),
        coefficients=tuple(relation.coefficients[k] for k in keep),
    )
    y, plain = X[:, relation.columns[0]], shorter.predict(X)[0]
    good = np.isfinite(plain)
    if relation.product:
        return [plain, plain * float(np.median(y[good] / plain[good]))] if (plain[good] != 0).any() else [plain]
    refitted = _refit(shorter, X, np.flatnonzero(good), np.ones(len(X)))
    return [plain, plain + float(np.median((y - plain)[good]))] + ([refitted.predict(X)[0]] if refitted else [])


def _short_numbers(value: float) -> Iterator[tuple[int, float]]:
    """Numbers near a value with one to eight digits, and reciprocals of such, shortest first."""
    if value == 0 or not np.isfinite(value):
        return
    for digits in range(1, 9):
        yield digits, float(f"{value:.{digits - 1}e}")
        if digits <= 4 and np.isfinite(1.0 / value):
            yield digits, 1.0 / float(f"{1.0 / value:.{digits - 1}e}")
        if digits == 3:
            yield digits, float(np.copysign(1.0 / np.log(10.0), value))


def _most_common(column: Floats) -> float:
    values, counts = np.unique(column[np.isfinite(column)], return_counts=True)
    return float(values[np.argmax(counts)]) if len(values) else np.nan
