"""Monotone functions of a column: where they are defined, and their inverses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aspca.linalg.arrays import Bools, Floats


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
