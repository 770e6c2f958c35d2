"""Quantiles of three laws, from scipy's special functions: `scipy.stats` takes a second to import."""

from __future__ import annotations

from types import ModuleType


def chi2_quantile(level: float, degrees: float) -> float:
    """The chi-square value with `degrees` of freedom (any positive number) that the share `level` stays below."""
    return 2.0 * float(_special().gammaincinv(0.5 * degrees, level))


def f_quantile(level: float, above: float, below: float) -> float:
    """The same of Fisher's F."""
    return float(_special().fdtri(above, below, level))


def normal_quantile(level: float) -> float:
    """The same of the standard normal law."""
    return float(_special().ndtri(level))


def _special() -> ModuleType:
    # A quarter of a second to import, which scoring by a stored model, whose limits are known, need not wait for.
    from scipy import special

    return special
