"""The same step of EM as `expectation.em_step`, several times as fast, for covariances without very tight directions.

Notation as there; K = J'J is the precision, M a row's gaps.

Given the values present, a row's gaps have the covariance C = (K_MM)^-1 and the mean -C (K d)_M. So

    T = J (mean of (x x' + C)) J'    with x the deviation d, its gaps filled by that mean,

needs inverses of order |M| only, for as many patterns at once as there are. But K_MM is as badly conditioned as J is,
squared, and the sums cancel where J is large: T is off by a few eps times the largest C over the smallest variance,
where the plain step is off by the root of that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aspca.linalg.arrays import Floats, Ints
from aspca.linalg.small import inverses, triangular_whiteners
from aspca.moments.gaussian import EPS, Gaussian, Step, step_to
from aspca.moments.patterns import Patterns

# Rounding of T over eps |C| / least variance: ten times what was seen.
_NOISE = 32.0 * EPS


def quick_step(patterns: Sequence[Patterns], weight: float, here: Gaussian, noise: float) -> Step | None:
    """One step of EM from `here`, over all rows, of this total weight; None where rounding may exceed `noise` in T."""
    p, whitener = here.mean.size, here.whitener
    precision = whitener.T @ whitener
    second, first, squares = np.zeros((p, p)), np.zeros(p), 0.0
    log_volume = weight * float(np.log(here.spreads).sum())
    most = noise * float(here.spreads.min()) ** 2 / _NOISE
    for part in patterns:
        rows = np.ascontiguousarray(part.rows - part.roots[:, None] * here.mean)
        gaps = np.ascontiguousarray(part.gaps.T)
        if len(gaps):
            pairs = gaps[:, None] * p + gaps
            with np.errstate(invalid="ignore", divide="ignore"):
                whiteners = triangular_whiteners(precision.reshape(-1)[pairs])
            covariances = inverses(whiteners)
            # Without a comparison that holds, rounding has left nothing definite.
            if not float(np.einsum("iik->k", covariances).max()) <= most:
                return None
            log_volume -= float(np.log(np.einsum("iik->ik", whiteners)).sum(axis=0) @ part.weights)
            if len(part.owner) > len(part.gaps):
                gaps, whiteners = gaps[:, part.owner], whiteners[:, :, part.owner]
            squares += _fill(rows, gaps, whiteners, precision)
            covariances *= part.weights
            second += np.bincount(pairs.reshape(-1), covariances.reshape(-1), minlength=p * p).reshape(p, p)
        else:
            squares += float(np.vdot(rows, rows @ precision))
        second += rows.T @ rows
        first += part.roots @ rows
    first = whitener @ (first / weight)
    second = whitener @ (second / weight) @ whitener.T
    return step_to(here, first, second, -log_volume - 0.5 * squares)


def _fill(rows: Floats, gaps: Ints, whiteners: Floats, precision: Floats) -> float:
    """Fill the gaps (g, n) of deviations (n, p), in place, by their means; the sum of the squares of whitened rows."""
    cells = gaps + rows.shape[1] * np.arange(len(rows))
    flat = rows.reshape(-1)
    flat[cells] = 0.0
    pulls = rows @ precision
    # By W and W', not by their product C: (K d)_M is large where K is, and so would be what rounding leaves of it.
    own = np.einsum("ijn,jn->in", whiteners, pulls.reshape(-1)[cells])
    flat[cells] = -np.einsum("jin,jn->in", whiteners, own)
    return float(np.vdot(rows, pulls))
