"""Quantiles of three laws, from scipy's special functions, and of any: `scipy.stats` and `optimize` load for long."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from types import ModuleType

# How far to stay off the secant, in squares of the width, as the method's authors recommend; and how many steps more
# than halving it may take: with one it takes 30 steps for a limit, with three 17, with more no fewer.
_OFF_THE_SECANT = 0.2
_MORE_STEPS = 3


def chi2_quantile(level: float, degrees: float) -> float:
    """The chi-square value with `degrees` of freedom (any positive number) that the share `level` stays below."""
    return 2.0 * float(_special().gammaincinv(0.5 * degrees, level))


def f_quantile(level: float, above: float, below: float) -> float:
    """The same of Fisher's F."""
    return float(_special().fdtri(above, below, level))


def normal_quantile(level: float) -> float:
    """The same of the standard normal law."""
    return float(_special().ndtri(level))


def find_root(rising: Callable[[float], float], high: float) -> float:
    """Where a function that rises from below zero at 0 reaches zero, to rounding; `high` where it has not by then.

    The method ITP (Oliveira and Takahashi, ACM Transactions on Mathematical Software 47, 2020): as quick as the secant
    where the function is smooth, at most three steps more than halving where it is not.
    """
    low, at_low, at_high = 0.0, rising(0.0), rising(high)
    width, nearest = high, sys.float_info.epsilon * high
    reach = nearest * 2.0 ** (math.ceil(math.log2(width / nearest)) - 1 + _MORE_STEPS) if high > 0.0 else 0.0
    while high - low > 2.0 * nearest and at_high > 0.0:
        middle = 0.5 * (low + high)
        secant = (at_high * low - at_low * high) / (at_high - at_low)
        side = math.copysign(1.0, middle - secant)
        off = min(_OFF_THE_SECANT / width * (high - low) ** 2, abs(middle - secant))
        room = reach - 0.5 * (high - low)
        here = max(min(secant + side * off, middle + room), middle - room)
        value = rising(here)
        low, at_low, high, at_high = (here, value, high, at_high) if value < 0.0 else (low, at_low, here, value)
        reach *= 0.5
    return high


def _special() -> ModuleType:
    # A quarter of a second to import, which scoring by a stored model, whose limits are known, need not wait for.
    from scipy import special

    return special
