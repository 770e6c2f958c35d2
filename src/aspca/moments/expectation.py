"""The likeliest Gaussian of rows with gaps: EM in whitened coordinates, which keeps exact rules exact.

Notation
--------
mu, S = L L'    mean and covariance, S by its factor L (p, p); it is never formed while iterating
J = L^-1        the whitener: z = J (x - mu) has unit covariance
P               projector onto the columns of J that belong to a row's gaps

Given the values present, the expectation of a row's gaps is what makes z shortest. So with the row's deviation d, zero
in its gaps, the expected z is u = (I - P) J d, and its conditional covariance is P. One step of EM is

    T = mean of (u u' + P),   t = mean of u,   mu <- mu + L t,   L <- L (T - t t')^(1/2),

and T = I, t = 0 at the solution. No gap is filled and no covariance is inverted: what is added up is of size one in all
directions, so that a rule of variance 1e-14 is as accurate as the rest, which sums of products of data never are. Where
no rule is tight enough for that to show, a quicker step (`quick_step`) takes its place.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.moments.gaussian import EPS, Gaussian, Step, step_to, with_least_spread
from aspca.moments.patterns import Patterns

# A bound on the logarithm of a direction's change of variance: beyond it is nothing to be seen, only overflow.
_LARGEST_LOG = 80.0


def pairwise_start(patterns: Sequence[Patterns], n_features: int) -> Gaussian:
    """Correlations, each of the rows that have both features; none where no row has; made positive definite.

    As far as the most negative eigenvalue lies below zero, others of that size are not to be trusted either.
    """
    p = n_features
    products, squares, weights = np.zeros((p, p)), np.zeros((p, p)), np.zeros(p)
    for part in patterns:
        present = part.present(p)
        products += part.rows.T @ part.rows
        squares += (part.rows**2).T @ present[part.owner]
        weights += part.weights @ present
    size = np.sqrt(squares * squares.T)
    correlations = np.divide(products, size, out=np.zeros((p, p)), where=size > 0.0)
    np.fill_diagonal(correlations, 1.0)
    values, vectors = np.linalg.eigh(correlations)
    root = vectors * np.sqrt(np.maximum(values, max(-values[0], p * EPS)))
    root /= np.linalg.norm(root, axis=1, keepdims=True)
    return with_least_spread(np.zeros(p), np.sqrt(np.diagonal(products) / weights)[:, None] * root)


def em_step(patterns: Sequence[Patterns], weight: float, here: Gaussian) -> Step:
    """One step of EM from `here`, over all rows, of this total weight."""
    p, columns = here.mean.size, np.ascontiguousarray(here.whitener.T)
    second, first, squares = np.zeros((p, p)), np.zeros(p), 0.0
    log_volume = weight * float(np.log(here.spreads).sum())
    for part in patterns:
        deviations = part.rows - part.roots[:, None] * here.mean
        np.put_along_axis(deviations, part.gaps[part.owner], 0.0, axis=1)
        u = deviations @ columns
        basis = columns[part.gaps]
        log_volume += float(part.weights @ orthonormalise(basis))
        if len(part.owner) == len(part.gaps):
            u -= _along(basis, u)
        else:
            for j in range(part.gaps.shape[1]):
                axis = basis[part.owner, j]
                u -= np.einsum("np,np->n", axis, u)[:, None] * axis
        basis *= np.sqrt(part.weights)[:, None, None]
        flat = basis.reshape(-1, p)
        second += u.T @ u
        second += flat.T @ flat
        squares += float(np.einsum("np,np->", u, u))
        first += part.roots @ u
    return step_to(here, first / weight, second / weight, -log_volume - 0.5 * squares)


def orthonormalise(basis: Floats) -> Floats:
    """Replace each `basis[k]` (g, p) by an orthonormal basis of its rows; the log of their volume, (k,).

    By reflections (Householder): columns of J are nearly parallel where a rule is tight.
    """
    columns, triangles = np.linalg.qr(basis.transpose(0, 2, 1))
    basis[...] = columns.transpose(0, 2, 1)
    return np.asarray(np.log(np.abs(np.einsum("kii->ki", triangles))).sum(axis=1))


def _along(basis: Floats, vectors: Floats) -> Floats:
    """The parts of vectors (k, p) in the spans of orthonormal bases (k, g, p)."""
    return np.asarray(np.einsum("ki,kip->kp", np.einsum("kip,kp->ki", basis, vectors), basis))


def largest_change(here: Gaussian, step: Step, tol: float) -> float:
    """The largest change of a direction's variance, relative to it, and of the mean, in standard deviations."""
    there = step.gaussian
    spreads = np.maximum(here.spreads, _noise(here, tol))
    to_unit = (here.axes / spreads).T
    old, new = here.spreads / spreads, to_unit @ there.factor
    difference = new @ new.T
    difference[np.diag_indices_from(difference)] -= old**2
    of_mean = float(np.linalg.norm(to_unit @ (there.mean - here.mean)))
    return max(float(np.abs(np.linalg.eigvalsh(difference)).max()), of_mean)


def _noise(here: Gaussian, tol: float) -> float:
    # Rounding turns and stretches the factor by a few eps: a change of `tol` cannot be told in spreads below this.
    return 4.0 * here.mean.size * EPS / tol


def extrapolated(
    start: Gaussian, one: Gaussian, two: Gaussian, *, longest: float, tol: float
) -> tuple[Gaussian, float]:
    """Where the two steps from `start` seem to lead, and the length of that step; 1 is where they are already."""
    to_unit = start.whitener
    log_one, log_two = (relative_log(to_unit, end.factor) for end in (one, two))
    mean_one, mean_two = (to_unit @ (end.mean - start.mean) for end in (one, two))
    bend, mean_bend = log_two - 2.0 * log_one, mean_two - 2.0 * mean_one
    # Directions too tight for their changes to be more than rounding have no say in the length.
    say = np.minimum(start.spreads / _noise(start, tol), 1.0)
    change, curvature = (
        np.hypot(np.linalg.norm(say[:, None] * logs * say), np.linalg.norm(say * means))
        for logs, means in ((log_one, mean_one), (bend, mean_bend))
    )
    length = float(longest if change >= longest * curvature else change / curvature)
    logs, means = 2.0 * length * log_one + length**2 * bend, 2.0 * length * mean_one + length**2 * mean_bend
    return away_from(start, logs, means), length


def away_from(start: Gaussian, logs: Floats, means: Floats) -> Gaussian:
    """The Gaussian so far from `start` in logarithms of its covariance (p, p) and in its mean (p,), both whitened."""
    values, vectors = np.linalg.eigh(logs)
    growth = np.exp(0.5 * np.clip(values, -_LARGEST_LOG, _LARGEST_LOG))
    return with_least_spread(start.mean + start.factor @ means, start.factor @ (vectors * growth))


def relative_log(to_unit: Floats, factor: Floats) -> Floats:
    """The logarithm (p, p) of J L L' J', by singular values of J L: its smallest ones are accurate too."""
    vectors, values, _ = np.linalg.svd(to_unit @ factor)
    return np.asarray((vectors * (2.0 * np.log(values))) @ vectors.T)
