"""Quantiles of three laws, from scipy's special functions, and of any: `scipy.stats` and `optimize` load for long."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType

# A limit takes about a dozen; halving would take 52 for as many digits.
_MOST_STEPS = 100


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

    The secant of both ends, with the value of an end that stays halved (the Illinois method): for what is no step and
    nowhere nearly level.
    """
    low, at_low, at_high = 0.0, rising(0.0), rising(high)
    before, rose = high, True
    for _ in range(_MOST_STEPS):
        here = high - at_high * (high - low) / (at_high - at_low) if at_high > 0.0 else high
        if abs(here - before) <= 4.0 * sys.float_info.epsilon * high:
            return here
        value = rising(here)
        if value < 0.0:
            low, at_low, at_high = here, value, at_high if rose else 0.5 * at_high
        else:
            high, at_high, at_low = here, value, 0.5 * at_low if rose else at_low
        before, rose = here, value >= 0.0
    return high


def _special() -> ModuleType:
    # A quarter of a second to import, which scoring by a stored model, whose limits are known, need not wait for.
    from scipy import special

    return special
