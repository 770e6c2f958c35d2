"""Functions of a column: where they are defined, and their inverses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aspca.linalg.arrays import LARGEST_VALUE, Bools, Floats

# The least number above zero: its logarithm is as low as any.
_LEAST = float(np.nextafter(0.0, 1.0))
_LARGEST_ROOT = float(np.sqrt(LARGEST_VALUE))


@dataclass(frozen=True)
class Transform:
    """A strictly increasing function.

    Attributes
    ----------
    forward, backward : callable
        The function and its inverse, entry by entry.
    defined : callable
        Where it is finite; True for NaN, which stays NaN.
    domain : str
        The same in words.
    """

    forward: Callable[[Floats], Floats]
    backward: Callable[[Floats], Floats]
    defined: Callable[[Floats], Bools]
    domain: str


def _log_or_least(values: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(values, _LEAST)))


def _square(values: Floats) -> Floats:
    return np.asarray(np.minimum(np.square(values), LARGEST_VALUE))


def _logit(values: Floats) -> Floats:
    return np.asarray(np.log(values) - np.log1p(-values))


def _expit(values: Floats) -> Floats:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * values)))


# Written so that NaN, a missing value, passes.
TRANSFORMS = {
    "log": Transform(np.log, np.exp, lambda x: ~(x <= 0.0), "above 0"),
    "log1p": Transform(np.log1p, np.expm1, lambda x: ~(x <= -1.0), "above -1"),
    "sqrt": Transform(np.sqrt, np.square, lambda x: ~(x < 0.0), "of 0 and above"),
    "asinh": Transform(np.arcsinh, np.sinh, lambda x: np.ones(x.shape, dtype=np.bool_), "of any size"),
    "logit": Transform(_logit, _expit, lambda x: ~((x <= 0.0) | (x >= 1.0)), "between 0 and 1"),
}
# What a column may be beside itself (`preparation.lifting`). Rows to be judged may hold anything: a value that has no
# logarithm gets the least there is, a square beyond the largest value allowed that one, so that both are far off.
LIFTS = {
    "log": Transform(_log_or_least, np.exp, TRANSFORMS["log"].defined, TRANSFORMS["log"].domain),
    "square": Transform(_square, np.sqrt, lambda x: ~(np.abs(x) > _LARGEST_ROOT), f"within +-{_LARGEST_ROOT:g}"),
}
# All that a feature can be of a column of numbers.
FUNCTIONS = LIFTS | TRANSFORMS
