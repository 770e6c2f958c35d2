"""Quantiles of three laws, from scipy's special functions: `scipy.stats` takes a second to import."""

from __future__ import annotations

from scipy.special import fdtri, gammaincinv, ndtri


def chi2_quantile(level: float, degrees: float) -> float:
    """The chi-square value with `degrees` of freedom (any positive number) that the share `level` stays below."""
    return 2.0 * float(gammaincinv(0.5 * degrees, level))


def f_quantile(level: float, above: float, below: float) -> float:
    """The same of Fisher's F."""
    return float(fdtri(above, below, level))


def normal_quantile(level: float) -> float:
    """The same of the standard normal law."""
    return float(ndtri(level))
