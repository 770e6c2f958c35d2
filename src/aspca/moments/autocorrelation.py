"""How closely each row's values follow those of the row before: successive measurements count for fewer rows.

Nothing of it shows in moments, so it takes a pass over rows in their order; sums per column are all that is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from aspca.linalg.arrays import Bools, Floats, Ints, frozen
from aspca.linalg.row_blocks import broadcast_rows, cached_parts
from aspca.moments.moments import Moments

# A lag-one correlation counts from so many of its own standard errors on: one in forty columns of independent rows,
# which lose little by it, since it takes two that follow themselves to follow each other by chance.
_SIGNIFICANT = 2.0
# Less than this takes a fiftieth off what rows are worth, and is not told from none: of some thousand independent rows
# no order shows more.
_WORTH_A_WORD = 0.1
# Sums over other batches differ in the last digits of float64; the digits that are kept do not.
_DIGITS = 9


def compute_lag_one_correlation(pairs: LagSums, moments: Moments) -> Floats:
    """The lag-one correlation of each column (p,), zero where it is no more than that of independent rows may be.

    `pairs` are of the rows in their order, `moments` of these rows, or of those that are no outliers.

    A correlation from n rows about their own mean is too low by about (1 + 4 r)/n (Kendall); so much is added, or a few
    rows of a random walk would look like many of something quicker. In a table that is sorted by one column only that
    column follows itself.
    """
    found = pairs.seen_from(moments.centre, moments.residual)
    many = np.maximum(found.pairs, 1.0)
    correlation = found.products / np.where(found.squares > 0.0, found.squares, 1.0)
    # The increments of a walk of n rows have 6/n of its variance, however long it is: 2 (1 - r) of an autoregression's.
    corrected = np.minimum(correlation + (1.0 + 4.0 * correlation) / many, 1.0 - 3.0 / np.maximum(many, 3.0))
    least = np.maximum(_SIGNIFICANT / np.sqrt(many), _WORTH_A_WORD)
    return frozen(np.where(corrected > least, np.round(corrected, _DIGITS), 0.0))


@dataclass(eq=False)
class LagSums:
    """Sums over rows and the rows before them, per column (p,), seen from a point near the mean."""

    low: Floats
    high: Floats  # a value beyond counts as one of these
    centre: Floats | None  # the point: the mean of the first rows, None before there are any
    # Of so many rows that do not repeat the one before: sums of squares and of values.
    squares: Floats
    sums: Floats
    rows: Floats
    # Of so many values that have one before: sums of the products of both, of the ones before, and of the others.
    products: Floats
    befores: Floats
    afters: Floats
    pairs: Floats
    # The rows (1, p) at the ends as they are, NaN before there are any: the next part of the table goes on from there.
    first: Floats
    last: Floats

    @classmethod
    def empty(cls, low: Floats, high: Floats) -> LagSums:
        """Of no rows; `low` and `high` (p,) are the extremes of what is no outlier, or infinite."""
        sums, nowhere = np.zeros(low.size), np.full((1, low.size), np.nan)
        return cls(low, high, None, sums, sums, sums, sums, sums, sums, sums, nowhere, nowhere)

    def add(self, rows: Floats, numbers: Ints) -> None:
        unbounded = bool(np.isinf(self.low).all() and np.isinf(self.high).all())
        for part in cached_parts(*rows.shape):
            some = np.asarray(rows[part], dtype=np.float64)
            if not unbounded:
                some = np.clip(some, self.low, self.high)
            if self.centre is None:
                given = ~np.isnan(some)
                self.centre = np.where(given, some, 0.0).sum(axis=0) / np.maximum(given.sum(axis=0), 1)
                self.first = some[:1].copy()
            self._take(np.vstack([self.last, some]), self.centre)
            self.last = some[-1:].copy()

    def _take(self, together: Floats, centre: Floats) -> None:
        """The first of these rows (m + 1, p) is the one before, and counted."""
        # A row that repeats the one before counts for several, and follows nothing.
        again = _repeats(together)
        with np.errstate(over="ignore", invalid="ignore"):
            seen = broadcast_rows(np.subtract, together, centre)
            now, before = (seen[1:], seen[:-1]) if not again.any() else (seen[1:][~again], seen[:-1][~again])
            squares = np.einsum("ij,ij->j", now, now)
            products = np.einsum("ij,ij->j", now, before)
            if np.isnan(products).any():
                # Of the first row, and where values are missing.
                self._take_present(now, before)
                return
            sums = now.sum(axis=0)
            self.squares = self.squares + squares
            self.sums = self.sums + sums
            self.products = self.products + products
            self.befores = self.befores + before.sum(axis=0)
            self.afters = self.afters + sums
            self.rows, self.pairs = self.rows + len(now), self.pairs + len(now)

    def _take_present(self, now: Floats, before: Floats) -> None:
        """The same where some values are missing."""
        product = now * before
        paired = ~np.isnan(product)
        self.squares = self.squares + np.nansum(now**2, axis=0)
        self.sums = self.sums + np.nansum(now, axis=0)
        self.rows = self.rows + (~np.isnan(now)).sum(axis=0)
        self.products = self.products + np.nansum(product, axis=0)
        self.befores = self.befores + np.where(paired, before, 0.0).sum(axis=0)
        self.afters = self.afters + np.where(paired, now, 0.0).sum(axis=0)
        self.pairs = self.pairs + paired.sum(axis=0)

    def only(self, columns: Ints) -> LagSums:
        """The same of some columns."""
        parts: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        some: dict[str, Any] = {name: None if part is None else part[..., columns] for name, part in parts.items()}
        return LagSums(**some)

    def merge(self, later: LagSums) -> None:
        if later.centre is None or self.centre is None:
            if later.centre is not None:
                self.__dict__.update(later.__dict__)
            return
        others = later.seen_from(self.centre, np.zeros(self.centre.size))
        # There its first row counted as one that follows nothing.
        alone = np.nan_to_num(later.first[0] - self.centre)
        self.squares = self.squares + others.squares - alone**2
        self.sums = self.sums + others.sums - alone
        self.rows = self.rows + others.rows - ~np.isnan(later.first[0])
        for name in ("products", "befores", "afters", "pairs"):
            setattr(self, name, getattr(self, name) + getattr(others, name))
        self._take(np.vstack([self.last, later.first]), self.centre)
        self.last = later.last

    def seen_from(self, centre: Floats, residual: Floats) -> LagSums:
        """The same sums about another point (p,), given as a sum of two numbers."""
        if self.centre is None:
            return self
        step = (centre - self.centre) + residual
        with np.errstate(over="ignore", invalid="ignore"):
            return replace(
                self,
                centre=centre + residual,
                squares=self.squares - 2.0 * step * self.sums + self.rows * step**2,
                sums=self.sums - self.rows * step,
                products=self.products - step * (self.befores + self.afters) + self.pairs * step**2,
                befores=self.befores - self.pairs * step,
                afters=self.afters - self.pairs * step,
            )


def _repeats(together: Floats) -> Bools:
    """Which of the rows (m + 1, p), the first aside, are the same as the one before (m,)."""
    again = np.asarray(together[1:, 0] == together[:-1, 0])
    # Few are alike in their first column.
    those = np.flatnonzero(again)
    again[those] = (together[those + 1] == together[those]).all(axis=1)
    return again


def count_effective_rows(n_rows: float, correlation: Floats | float) -> Floats:
    """How many independent rows n successive ones are worth for a covariance: n (1 - r^2)/(1 + r^2), at least 2.

    `correlation` is the lag-one correlation r of both columns, as `compute_lag_one_correlation` gives it.
    """
    square = np.square(np.asarray(correlation, dtype=np.float64))
    return np.asarray(np.clip(n_rows * (1.0 - square) / (1.0 + square), min(2.0, n_rows), n_rows))
