"""A Gaussian by its principal axes, and what one step of EM makes of it (see `expectation`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aspca.linalg.arrays import Floats

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True, eq=False)
class Gaussian:
    """Mean (p,) and covariance by its principal axes (p, p; columns) and their standard deviations (p,), positive."""

    mean: Floats
    axes: Floats
    spreads: Floats

    @property
    def factor(self) -> Floats:
        """L (p, p)."""
        return self.axes * self.spreads

    @property
    def whitener(self) -> Floats:
        """J = L^-1 (p, p)."""
        return (self.axes / self.spreads).T


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """What one step of EM leads to, and the log-likelihood of where it *started* (without the constant).

    `factor` (p, p) is as computed: exact rules have no variance. In `gaussian` they have the least that J can bear.
    """

    mean: Floats
    factor: Floats
    gaussian: Gaussian
    log_likelihood: float


def with_least_spread(mean: Floats, factor: Floats) -> Gaussian:
    """The Gaussian of this factor, its spreads raised to the least one: half of the variance that rounding may show.

    A covariance of float64 does not resolve less; and the whitener's columns stay accurate to 1e-9.
    """
    axes, spreads, _ = np.linalg.svd(factor)
    return Gaussian(mean, axes, np.maximum(spreads, np.sqrt(2.0 * len(spreads) * EPS)))


def step_to(here: Gaussian, first: Floats, second: Floats, log_likelihood: float) -> Step:
    """The step from the means t (p,) and T (p, p) of what is expected of whitened rows."""
    values, vectors = np.linalg.eigh(second - np.outer(first, first))
    factor = here.factor @ (vectors * np.sqrt(np.maximum(values, 0.0)))
    mean = here.mean + here.factor @ first
    return Step(mean, factor, with_least_spread(mean, factor), log_likelihood)
