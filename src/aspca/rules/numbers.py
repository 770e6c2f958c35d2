"""The shortest numbers that still say what an equation says: small integers, simple ratios, few digits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from aspca.linalg.arrays import Bools, Floats, Ints, frozen

# A feature is usually within this many deviations of its mean: there, and only there, rounding is held to account.
USUAL = 2.0
# Shares of the tolerance: what terms too small to be named may use up together, and all coefficients; the rest is the
# intercept's, so that an intercept which is almost zero need not be written.
_UNNAMED, _COEFFICIENTS = 0.4, 0.85
# Seventeen digits tell any two float64 apart.
_DIGITS = 17


@dataclass(frozen=True, eq=False)
class Equation:
    """coefficients . x = intercept, in numbers for reading."""

    coefficients: Floats  # (k,) Rounded; 0 for a term that is left out.
    intercept: float
    unit: float  # What the exact coefficients were multiplied by before they were rounded.
    # How far this equation is from the exact one at most, in the units of the exact one, while every feature is within
    # two deviations of its mean.
    moved: float


def simplify_equation(
    coefficients: Floats, means: Floats, deviations: Floats, tolerance: float, pivots: Bools | None = None
) -> Equation:
    """The simplest equation that stays within `tolerance` of coefficients . (x - means) = 0.

    Within means that |rounded - exact| <= tolerance for every x with |x - means| <= 2 deviations, whether or not the
    features can move independently. Tried in turn: integers of one digit; a coefficient of 1 beside whole numbers below
    a hundred or numbers of one digit; beside numbers of two digits, three, and so on. Where several scales fit: whole
    numbers, few digits, small numbers, a short intercept. A short search, not an exhaustive one.

    `pivots` (k,) says which terms may have the coefficient of 1; None, or if none of them is large enough: any.
    """
    reach = USUAL * deviations
    moved = np.abs(coefficients) * reach
    named = _named(moved, _UNNAMED * tolerance)
    c, m = coefficients[named], means[named]
    # What is left out stays at its mean, and is off by what it moves.
    unnamed = float(moved.sum() - moved[named].sum()) if named.size < moved.size else 0.0
    allowed = np.ones(c.size, dtype=np.bool_) if pivots is None or not pivots[named].any() else pivots[named]
    for units, rounded in _attempts(c, np.where(allowed, moved[named], -1.0)):
        error = np.abs(rounded - units[:, None] * c) @ reach[named] + unnamed * units
        fits = np.flatnonzero(error <= _COEFFICIENTS * tolerance * units)
        if fits.size:
            break
    else:
        # Closer than float64 can say.
        fits = np.arange(units.size)
    rounded, units, error = rounded[fits], units[fits], error[fits]
    intercepts, lengths = _intercepts(rounded, m, tolerance * units - error)
    best = _simplest(rounded, lengths, error / units)
    a = np.zeros(coefficients.size)
    a[named] = [_decimal(value, length) for value, length in zip(rounded[best], _length(rounded[best]), strict=True)]
    unit, intercept = float(units[best]), float(intercepts[best])
    off = float(np.abs(a - unit * coefficients) @ reach) + abs(float(a @ means) - intercept)
    return Equation(frozen(a), intercept, unit, off / unit)


def _named(moved: Floats, bearable: float) -> Ints:
    """Positions of the terms to name: all but the smallest, which together move by at most `bearable`."""
    order = np.argsort(moved, kind="stable")
    dropped = int(np.searchsorted(np.cumsum(moved[order]), bearable, side="right"))
    return np.sort(order[min(dropped, moved.size - 1) :])


def _attempts(c: Floats, moved: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Scales (u,) and rounded coefficients (u, k): integers of one digit, then 1 and short numbers, then longer."""
    # A coefficient far below the others is no pivot: the others would overflow.
    size = np.where(np.abs(c) > 1e-30 * np.abs(c).max(), moved, -1.0)
    if not (size >= 0.0).any():
        size = np.where(np.abs(c) == np.abs(c).max(), 0.0, -1.0)
    # Scales are tried at which one of the widest-moving terms has a coefficient of 1, or another whole number.
    widest = np.argsort(-size, kind="stable")[:8]
    ones = 1.0 / np.abs(c[widest[size[widest] >= 0.0]])
    if c.size > 1:
        units = np.outer(ones, np.arange(1.0, 10.0)).ravel()
        yield units, np.sign(c) * np.clip(np.rint(units[:, None] * np.abs(c)), 1.0, 9.0)
    exact = ones[:, None] * c
    whole = (np.abs(exact) >= 1.0) & (np.abs(exact) < 99.5)
    yield ones, np.where(whole, np.rint(exact), _significant(exact, 1))
    for digits in range(2, _DIGITS + 1):
        yield ones, _significant(exact, digits)


def _significant(values: Floats, digits: int | Ints) -> Floats:
    """Values rounded to so many significant digits, to a few units in the last place of float64."""
    size = np.maximum(np.abs(values), np.finfo(np.float64).tiny)
    step = 10.0 ** (np.floor(np.log10(size)) - digits + 1)
    # A step may underflow where a value is as small as a float can be.
    step = np.where(step > 0.0, step, size)
    return np.asarray(np.round(values / step) * step)


def _decimal(value: float, digits: int) -> float:
    """The float64 nearest to the decimal number that is meant."""
    return float(f"{value:.{digits - 1}e}")


def _length(rounded: Floats) -> Ints:
    """How many significant digits each value has."""
    fewer = np.arange(1, _DIGITS).reshape(-1, *(1,) * rounded.ndim)
    same = np.abs(_significant(rounded, fewer) - rounded) <= 1e-15 * np.abs(rounded)
    return np.where(same.any(axis=0), np.argmax(same, axis=0) + 1, _DIGITS)


def _intercepts(rounded: Floats, means: Floats, room: Floats) -> tuple[Floats, Ints]:
    """Right-hand sides of the rounded left-hand sides at their means, as short as `room` allows, and their lengths."""
    exact = rounded @ means
    # Large means that cancel leave rounding behind, which is no digit to print.
    room = np.maximum(room, 4.0 * np.finfo(np.float64).eps * (np.abs(rounded) @ np.abs(means)))
    chosen, lengths = np.zeros(exact.size), np.zeros(exact.size, dtype=np.intp)
    for k in np.flatnonzero(np.abs(exact) > room):
        for digits in range(1, _DIGITS + 1):
            chosen[k], lengths[k] = _decimal(exact[k], digits), digits
            if abs(chosen[k] - exact[k]) <= room[k]:
                break
    return chosen, lengths


def _simplest(rounded: Floats, lengths: Ints, error: Floats) -> int:
    size = np.abs(rounded)
    # A coefficient of one is not written at all.
    written = np.where(np.abs(size - 1.0) <= 1e-12, 0, _length(size)).sum(axis=1)
    # A whole number of a thousand reads no better than 0.001.
    odd = ((np.abs(size - np.rint(size)) > 1e-9) | (size >= 1000.0)).sum(axis=1)
    total = _significant(size.sum(axis=1), 9)
    return int(np.lexsort((error, lengths, total, written, odd))[0])
