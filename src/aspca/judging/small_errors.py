"""Rows that are wrong by little, where others are wrong by much: how many rows each counts for when limits are set.

Errors come in all sizes. Those that were seen were set aside; what is wrong by less lies among the normal rows, in
their tail, and would widen every limit. So where cells were found gross, a tail counts in full only as far as the law
of Gaussian rows goes that fits the nearer half of the rows; but never are more rows discounted than had gross cells:
where these were few, a tail is a tail.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from aspca.linalg.arrays import Floats

# Nearer rows than this share are no tail: the law is fitted to them.
_BODY = 0.5
# Levels between which the law of scores is interpolated.
_LEVELS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.975, 0.99, 0.995, 0.999, 0.9999, 0.99999)


def weights_of_scores(scores: Floats, quantile: Callable[[float], float], most: float) -> Floats:
    """How many rows each of k scores (k,) counts for (k,), at most one.

    Parameters
    ----------
    quantile : callable
        The law of normal rows' scores.
    most : float
        The share of rows that may be wrong by little.
    """
    unit = float(np.median(scores)) / max(quantile(_BODY), 1e-300)
    known = np.maximum.accumulate(unit * np.array([quantile(level) for level in _LEVELS]))
    beyond = np.log1p(-np.array(_LEVELS))
    return _discounted(scores, np.exp(np.interp(scores, known, beyond)), most)


def weights_of_rules(squares: Floats, most: float) -> Floats:
    """The same by the largest of squared deviations (k, m) from rules, each in units of its own median."""
    from scipy.special import chdtrc, chdtri

    middle = np.median(squares, axis=0)
    largest = (squares / np.where(middle > 0.0, middle, np.inf)).max(axis=1, initial=0.0) * float(chdtri(1, _BODY))
    # As many independent rules as have this median.
    beyond = np.clip(chdtrc(1, np.append(largest, np.median(largest))), 1e-12, 1.0 - 1e-12)
    below = np.log1p(-beyond)
    return _discounted(largest, -np.expm1(np.log(_BODY) * below[:-1] / below[-1]), most)


def _discounted(values: Floats, lawful: Floats, most: float) -> Floats:
    """Weights (k,) such that beyond each of values (k,) lies no larger a share than `lawful` (k,), if possible."""
    order = np.argsort(-values, kind="stable")
    seen = np.arange(1, values.size + 1) / values.size
    # One standard error more is still lawful.
    surplus = seen - lawful[order] - np.sqrt(lawful[order] / values.size)
    surplus = np.where(seen < _BODY, np.clip(surplus, 0.0, most), 0.0)
    weights = np.empty(values.size)
    weights[order] = 1.0 - np.clip(np.diff(np.maximum.accumulate(surplus), prepend=0.0) * values.size, 0.0, 1.0)
    return weights
