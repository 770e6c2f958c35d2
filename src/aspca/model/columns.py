"""Each column given the others: residuals of rows by the precision matrix, and their distance from the middle.

Notation: Y (n, q) standardised rows less their mean, P the precision matrix. Column j less what the others let expect
is r_j = (Y P)_j / P_jj; the squared Mahalanobis distance is Y P Y'.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from aspca.linalg.arrays import Bools, Floats, Ints, frozen
from aspca.linalg.row_blocks import multiply_rows, sum_rows
from aspca.model.constants import CENSORED, SEVERAL, SHRINKAGES
from aspca.moments.patterns import group_by_gaps

# Standardised values are no further out than this: squares of them stay far from overflow.
_FARTHEST = 1e8
# Columns are skewed if these quantiles are unevenly spaced by more than this share of their distance.
_EVEN_AT, _UNEVEN = (0.05, 0.5, 0.95), 0.2
# All values but this share lie clear of the origin, by this share of their distance from the middle.
_ALL_BUT, _CLEAR = 0.01, 0.05
# No eigenvalue of a correlation counts as smaller, and a column is known in no smaller share of the rows.
_LEAST_EIGENVALUE, _LEAST_KNOWN = 1e-8, 0.05


@dataclass(frozen=True, eq=False)
class Scales:
    """Columns standardised by their own quantiles; skewed ones as logarithms of the distance from an origin.

    An origin in place of zero, and a side, make it the same in any unit, from any offset and with either sign.
    """

    columns: Ints  # (q,): which these are of a row's
    # (q,): 1 where values above the origin have logarithms, -1 where those below it have, 0 for columns as they are
    sides: Floats
    origins: Floats  # (q,): distances from the origin are counted in those of the median
    reaches: Floats  # (q,), as origins
    floors: Floats  # (q,): what is not on the right side of the origin is put at the floor
    middles: Floats  # (q,), as floors
    units: Floats  # (q,), as floors

    @classmethod
    def of(cls, X: Floats, columns: Ints, skewed: Bools) -> Scales:
        """Of rows (n, p); only columns that may be skewed (q,) may be logarithms."""
        q = columns.size
        found = cls(columns, np.zeros(q), np.zeros(q), np.ones(q), np.zeros(q), np.zeros(q), np.ones(q))
        for k, j in enumerate(columns.tolist()):
            v = X[~np.isnan(X[:, j]), j]
            if skewed[k]:
                found.sides[k], found.origins[k] = _origin_of(v)
            if found.sides[k]:
                v = found.sides[k] * (v - found.origins[k])
                found.reaches[k] = np.median(v)
                v = found.sides[k] * np.log(v[v > 0.0] / found.reaches[k])
                end = v.min() if found.sides[k] > 0.0 else v.max()
                found.floors[k] = end + 0.1 * (end - np.median(v))
            found.middles[k] = np.median(v)
            between = float(np.subtract(*np.quantile(v, (0.9, 0.1))))
            # Deciles of a Gaussian are so many standard deviations apart.
            found.units[k] = between / 2.563 or float(v.std()) or 1.0
        for part in (found.sides, found.origins, found.reaches, found.floors, found.middles, found.units):
            part.flags.writeable = False
        return found

    def standardise(self, X: Floats) -> Floats:
        """Rows (n, p) as standardised columns (n, q), NaN where a value is missing."""
        values = X[:, self.columns]
        some = np.flatnonzero(self.sides)
        if some.size:
            sides = self.sides[some]
            with np.errstate(invalid="ignore", over="ignore"):
                part = sides * (values[:, some] - self.origins[some]) / self.reaches[some]
                logarithms = np.where(part > 0.0, sides * np.log(np.maximum(part, 1e-320)), self.floors[some])
                beyond = np.where(sides > 0.0, np.maximum(logarithms, self.floors[some]), 0.0)
                beyond = np.where(sides < 0.0, np.minimum(logarithms, self.floors[some]), beyond)
            values[:, some] = np.where(np.isnan(part), np.nan, beyond)
        with np.errstate(over="ignore"):
            return np.asarray(np.clip((values - self.middles) / self.units, -_FARTHEST, _FARTHEST))

    def seen_in(self, slopes: Floats, offsets: Floats) -> Scales:
        """The same of rows t (n, p) in other units: what these are learned from is ``slopes * t + offsets``."""
        slope, offset = slopes[self.columns], offsets[self.columns]
        plain = self.sides == 0.0
        return replace(
            self,
            origins=frozen(np.where(plain, self.origins, (self.origins - offset) / slope)),
            reaches=frozen(np.where(plain, self.reaches, self.reaches / slope)),
            middles=frozen(np.where(plain, (self.middles - offset) / slope, self.middles)),
            units=frozen(np.where(plain, self.units / slope, self.units)),
        )

    def restore(self, Z: Floats, k: int) -> Floats:
        """Standardised values (n,) of the k-th column in its own units."""
        side = float(self.sides[k])
        with np.errstate(over="ignore"):
            values = Z * self.units[k] + self.middles[k]
            if side:
                values = self.origins[k] + side * self.reaches[k] * np.exp(np.minimum(side * values, 700.0))
            return np.asarray(values)


def _origin_of(v: Floats) -> tuple[float, float]:
    """The side and the origin for which logarithms of values (n,) are even; no side where they are even as they are."""
    low, middle, high = np.quantile(v, _EVEN_AT)
    bend = high - 2.0 * middle + low
    if abs(bend) <= _UNEVEN * (high - low) or high <= low:
        return 0.0, 0.0
    side = 1.0 if bend > 0.0 else -1.0
    # The logarithms of three quantiles are evenly spaced (a log-normal law of three parameters).
    origin = (low * high - middle**2) / bend
    least = float(np.quantile(v, _ALL_BUT if side > 0.0 else 1.0 - _ALL_BUT))
    bound = least - _CLEAR * (middle - least)
    origin = float(min(origin, bound) if side > 0.0 else max(origin, bound))
    return (side, origin) if side * (middle - origin) > 0.0 else (0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean (q,) of standardised rows, and their correlation: eigenvalues (q,), eigenvectors (q, q), and units (q,)."""

    mean: Floats
    values: Floats
    vectors: Floats
    units: Floats

    @classmethod
    def of(cls, Z: Floats, masked: Bools) -> Moments:
        """Of the cells (n, q) that are not masked."""
        known = (~masked).sum(axis=0)
        share = np.maximum(known / max(len(Z), 1), _LEAST_KNOWN)
        mean = np.where(masked, 0.0, Z).sum(axis=0) / np.maximum(known, 1)
        Y = np.where(masked, 0.0, Z - mean)
        return cls.of_covariance(mean, Y.T @ Y / max(len(Y), 1) / np.sqrt(share[:, None] * share))

    @classmethod
    def of_covariance(cls, mean: Floats, covariance: Floats) -> Moments:
        """Of a mean (q,) and a covariance (q, q)."""
        units = np.sqrt(np.maximum(np.diag(covariance), 1e-6))
        values, vectors = np.linalg.eigh(covariance / units[:, None] / units)
        return cls(mean, values, vectors, units)

    def precision(self, shrinkage: int) -> Floats:
        """The precision matrix (q, q) by one of the shrinkages: made when it is wanted, since wide ones are large."""
        a = SHRINKAGES[shrinkage]
        found = (self.vectors / np.maximum((1.0 - a) * self.values + a, _LEAST_EIGENVALUE)) @ self.vectors.T
        found /= self.units[:, None]
        found /= self.units
        return found

    def conditional(self, chosen: Ints, clips: tuple[Floats, Floats]) -> Conditional:
        """What judges columns given the others, by the shrinkage chosen for each (q,)."""
        coefficients = np.empty(self.vectors.shape)
        for shrinkage in np.unique(chosen).tolist():
            precision, those = self.precision(shrinkage), chosen == shrinkage
            coefficients[:, those] = precision[:, those] / np.diag(precision)[those]
        return Conditional(frozen(self.mean.copy()), frozen(coefficients), *clips)

    def distance(self, shrinkage: int) -> Distance:
        """What judges whole rows."""
        values, vectors = np.linalg.eigh(self.precision(shrinkage))
        return Distance(frozen(self.mean.copy()), frozen(vectors * np.sqrt(np.maximum(values, 0.0))))


@dataclass(frozen=True, eq=False)
class Conditional:
    """What makes residuals of standardised rows."""

    mean: Floats  # (q,): mean, and the range that predictors are brought back into
    coefficients: Floats  # (q, q): column j makes the residual of column j
    low: Floats  # (q,), as mean
    high: Floats  # (q,), as mean

    def residuals(self, Z: Floats, *, careful: bool = True) -> Floats:
        """What each column is off the others' word (n, q), NaN where it is missing; a missing predictor is as usual.

        Of the residual with the others as they are, and, if careful, with the others brought back into their range, the
        smaller: a wild predictor must not accuse what it predicts. Where predictors are missing a column is known less
        well: its residual is counted in that larger spread.
        """
        Y = Z - self.mean
        missing = np.isnan(Y)
        whole, wider = fill_gaps(Y, missing, self.coefficients)
        plain = multiply_rows(whole, self.coefficients)
        if not careful:
            return np.where(missing, np.nan, plain * wider)
        inside = np.clip(Y, self.low - self.mean, self.high - self.mean)
        filled = fill_gaps(inside, missing, self.coefficients)[0]
        other = multiply_rows(filled, self.coefficients) + np.where(missing, 0.0, Y - inside)
        smaller = np.where(np.abs(other) < np.abs(plain), other, plain) * wider
        return np.where(missing, np.nan, np.where(plain * other <= 0.0, 0.0, smaller))

    def complete(self, Z: Floats) -> Floats:
        """Rows (n, q) with what the known columns let expect where a value is missing."""
        return np.asarray(fill_gaps(Z - self.mean, np.isnan(Z), self.coefficients)[0] + self.mean)


@dataclass(frozen=True, eq=False)
class Distance:
    """The Mahalanobis distance of standardised rows from their mean (q,): the size of a row times the root (q, q)."""

    mean: Floats
    root: Floats

    def distances(self, Z: Floats) -> Floats:
        """How far rows are from the middle (n,)."""
        return np.asarray(np.sqrt(sum_rows(np.square(multiply_rows(self._fill(Z), self.root)))))

    def split(self, Z: Floats) -> tuple[Floats, Floats, Floats]:
        """What each column has in the distance if one of them moved (n, q), if several did (n, q), and how likely it is
        that one did (n, 1); 0 for columns that are missing.

        With the precision P and the covariance C: changing column j alone removes g_j = (Y P)_j^2 / P_jj of the squared
        distance. Only j moved with a likelihood in proportion to exp(g_j / 2). Several did if the best change leaves a
        large share of what it removes; then a column counts by what it adds when the others are known, g_j, and by
        itself, Y_j^2 / C_jj: an operator names what moved, also where what moved with it explains it.
        """
        Y, precision, missing = self._fill(Z), self._precision, np.isnan(Z)
        pulled = multiply_rows(Y, precision)
        gains = np.where(missing, 0.0, np.square(pulled) / np.maximum(np.diag(precision), 1e-300))
        best = gains.max(axis=1, keepdims=True, initial=0.0)
        left = np.maximum(sum_rows(pulled * Y)[:, None] - best, 0.0) / np.maximum(SEVERAL * best, 1e-300)
        several = np.where(missing, 0.0, gains + np.square(Y) / self._variances + 1e-300)
        one = np.where(missing, 0.0, np.exp(0.5 * (gains - best)))
        return to_shares(one), to_shares(several), 1.0 / (1.0 + np.square(np.minimum(left, 1e100)))

    @cached_property
    def _variances(self) -> Floats:
        return np.maximum(np.diag(np.linalg.pinv(self._precision, hermitian=True)), 1e-300)

    @cached_property
    def _precision(self) -> Floats:
        return np.asarray(self.root @ self.root.T)

    def _fill(self, Z: Floats) -> Floats:
        missing = np.isnan(Z)
        if not missing.any():
            return Z - self.mean
        return fill_gaps(Z - self.mean, missing, self._precision / np.diag(self._precision))[0]


def find_steps(Z: Floats) -> Floats:
    """The step in which each column (n, q) is given, in any unit and from any offset; 0 where there is none.

    The usual distance of neighbouring values, if nearly all values are whole numbers of it apart.
    """
    found = np.zeros(Z.shape[1])
    for k, column in enumerate(Z.T):
        known = column[~np.isnan(column)]
        if not known.size:
            continue
        low, middle, high = np.quantile(known, [CENSORED, 0.5, 1.0 - CENSORED], method="inverted_cdf")
        gaps = np.diff(np.unique(known[(known >= low) & (known <= high)]))
        if gaps.size:
            step = float(np.quantile(gaps, 0.5, method="inverted_cdf"))
            multiples = np.minimum(np.abs(known - middle) / step, 1e12)
            # Values are whole numbers of steps apart to this share: fourteen digits of float64 less what units lose.
            on_grid = np.abs(multiples - np.rint(multiples)) <= 1e-9 * np.maximum(multiples, 1.0)
            found[k] = step if on_grid.mean() >= 1.0 - CENSORED else 0.0
    return found


def find_rounding(coefficients: Floats, steps: Floats, spreads: Floats) -> Floats:
    """What rounding of columns in these steps (q,) may make of sums with coefficients (q, m), which have these spreads
    (m,): all half steps at once, or three standard deviations of them, whichever is less.

    Nothing where it would make larger spreads than there are: then the steps are no rounding.
    """
    sizes = np.abs(coefficients) * steps[:, None]
    deviations = np.sqrt(np.square(sizes).sum(axis=0) / 12.0)
    return np.where(spreads >= deviations, np.minimum(0.5 * sizes.sum(axis=0), 3.0 * deviations), 0.0)


def shrink(values: Floats, amounts: Floats) -> Floats:
    """Values (n, m) nearer to zero by these amounts (m,)."""
    return np.asarray(np.sign(values) * np.maximum(np.abs(values) - amounts, 0.0))


def to_shares(parts: Floats) -> Floats:
    """Non-negative parts (n, q) that add up to 1 in each row; to 0 where there are none."""
    return np.asarray(parts / np.maximum(sum_rows(parts), 1e-300)[:, None])


def fill_gaps(Y: Floats, missing: Bools, coefficients: Floats) -> tuple[Floats, Floats | float]:
    """Centred rows (n, q) with what the known columns let expect where a value is missing; and factors (n, q) that give
    residuals the spread which they have where nothing is.

    With C the coefficients, M what is missing and O what is known: Y_M = -Y_O C_OM C_MM^-1, and the precision of column
    j is 1 - C_jM C_MM^-1 C_Mj of what it is otherwise.
    """
    if not missing.any():
        return Y, 1.0
    filled, wider = np.where(missing, 0.0, Y), np.ones(Y.shape)
    order, starts = group_by_gaps(missing)
    for start, stop in pairwise(starts.tolist()):
        rows = order[start:stop]
        gaps = np.flatnonzero(missing[rows[0]])
        if gaps.size:
            told = coefficients[:, gaps] @ np.linalg.pinv(coefficients[np.ix_(gaps, gaps)])
            filled[np.ix_(rows, gaps)] = -multiply_rows(filled[rows], told)
            lost = (told * coefficients[gaps].T).sum(axis=1)
            wider[rows] = 1.0 / np.sqrt(np.clip(1.0 - lost, _LEAST_EIGENVALUE, 1.0))
    return filled, wider


def choose_shrinkages(moments: list[Moments], Z: Floats, folds: Ints) -> tuple[Ints, int]:
    """The shrinkage of each column (q,) with the smallest held-out residuals, and that of the distance.

    `moments` are those of all rows but each fold's.
    """
    residuals, unlikely = [], []
    for a in range(len(SHRINKAGES)):
        found, likely = np.empty(Z.shape), np.empty(len(Z))
        for fold, without in enumerate(moments):
            mine = folds == fold
            precision = without.precision(a)
            Y, wider = fill_gaps(Z[mine] - without.mean, np.isnan(Z[mine]), precision / np.diag(precision))
            projected = multiply_rows(Y, precision)
            found[mine] = np.abs(projected / np.diag(precision)) * wider
            likely[mine] = np.maximum((projected * Y).sum(axis=1), 0.0) - np.linalg.slogdet(precision)[1]
        residuals.append(
            np.median(np.where(np.isnan(Z), np.nan, found), axis=0)
            if not np.isnan(Z).any()
            else np.nanmedian(np.where(np.isnan(Z), np.nan, found), axis=0)
        )
        unlikely.append(float(np.quantile(likely, 1.0 - CENSORED)))
    return np.argmin(np.nan_to_num(np.array(residuals)), axis=0), int(np.argmin(unlikely))


def choose_plain_shrinkage(n_columns: int, n_rows: float) -> int:
    """The shrinkage where no rows are held out to choose one by: the larger, the fewer rows there are for a column."""
    enough = (k for k, a in enumerate(SHRINKAGES) if a >= n_columns / n_rows**1.5)
    return next(enough, len(SHRINKAGES) - 1)


@dataclass(frozen=True, eq=False)
class View:
    """Columns on one scale each, and what makes residuals of them."""

    scales: Scales
    conditional: Conditional

    def residuals(self, X: Floats, *, careful: bool = True) -> Floats:
        """Of rows (n, p): what each column is off the others' word (n, q)."""
        return self.conditional.residuals(self.scales.standardise(X), careful=careful)

    def expect(self, X: Floats) -> Floats:
        """What the other columns let expect of each (n, q), in its own units."""
        Y = self.conditional.complete(self.scales.standardise(X))
        standard = Y - self.conditional.residuals(Y)
        return np.column_stack([self.scales.restore(column, k) for k, column in enumerate(standard.T)])
