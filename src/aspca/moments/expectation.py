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
from dataclasses import dataclass, replace

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.moments.gaussian import EPS, Gaussian, Step, step_to, with_least_spread
from aspca.moments.patterns import Patterns
from aspca.moments.quick_step import quick_step
from aspca.moments.unseen_pairs import most_random, seen_together

# Extrapolation: the longest step at first, how it grows when it proves good and shrinks when not, and to what.
_LONGEST, _GROWTH, _SHRINKAGE, _SHORTEST = 4.0, 2.0, 0.5, 2.0
# A bound on the logarithm of a direction's change of variance: beyond it is nothing to be seen, only overflow.
_LARGEST_LOG = 80.0
# By how much, per row, an extrapolation may lower the log-likelihood: strictly upwards is slow along narrow ridges.
_TOLERATED = 1e-4
# A vector that keeps less than this share of its length beside others is made orthogonal to them once more.
_LITTLE_LEFT = 0.5
# The share of the last change that rounding of a quick step may reach.
_BESIDE = 0.01


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """The last mean (p,) and covariance (p, p), the number of steps (passes over the rows), and whether it settled."""

    mean: Floats
    covariance: Floats
    iterations: int
    converged: bool


def likeliest_gaussian(patterns: Sequence[Patterns], n_features: int, tol: float, max_iter: int) -> Estimate:
    """The mean and covariance under which the values present are likeliest, wherever they determine them.

    Parameters
    ----------
    patterns : all rows, centred and scaled so that each feature varies by about one; each row has a value.
    tol : > 0; the variance of *every* direction must change by no more than this share in a step, down to the variances
        that float64 resolves. So tight rules must settle too, not only large entries.
    max_iter : the largest number of steps.

    Notes
    -----
    Steps are extrapolated by pairs (SQUAREM, Varadhan and Roland 2008), in logarithms of the covariance relative to
    where the pair began: the covariance stays positive definite, and a rule that loses the same share of its
    variance in each step, as exact rules do, is on a straight line. What lowers the likelihood much is taken back.

    Covariances of features that no row has together do not enter the likelihood. They are set to what is most random,
    and EM goes on from there: it has little left to do, and leaves them alone.
    """
    reached = _settled(patterns, pairwise_start(patterns, n_features), tol, max_iter)
    together = seen_together(patterns, n_features)
    left = max_iter - reached.iterations
    if together.all() or not reached.converged or left == 0:
        return reached
    values, vectors = np.linalg.eigh(most_random(reached.covariance, together))
    start = with_least_spread(reached.mean, vectors * np.sqrt(np.maximum(values, 0.0)))
    again = _settled(patterns, start, tol, left)
    return replace(again, iterations=reached.iterations + again.iterations)


def _settled(patterns: Sequence[Patterns], start: Gaussian, tol: float, max_iter: int) -> Estimate:
    """EM from `start`; `path` is where a pair of steps began and what it reached, `safe` where to go back to."""
    weight = float(sum(part.weights.sum() for part in patterns))
    path, length, longest = [start], 1.0, _LONGEST
    safe, floor, iterations, converged = path[0], -np.inf, 0, False
    change, quick = 1.0, True
    while not converged and iterations < max_iter:
        # Its rounding must be small beside what is still to come; where it once is not, it will not be later.
        noise = max(tol, _BESIDE * min(change, 1.0))
        fast = quick_step(patterns, weight, path[-1], noise) if quick else None
        quick = fast is not None
        step = em_step(patterns, weight, path[-1]) if fast is None else fast
        iterations += 1
        if not step.log_likelihood >= floor:
            path, floor, longest, length = [safe], -np.inf, max(_SHRINKAGE * length, _SHORTEST), 1.0
            continue
        reached = step
        change = largest_change(path[-1], step, tol)
        converged = change <= tol
        path.append(step.gaussian)
        if len(path) == 3:
            longest *= _GROWTH if length == longest else 1.0
            guess, length = extrapolated(*path, longest=longest, tol=tol)
            safe, floor = path[-1], step.log_likelihood - _TOLERATED * weight
            path = [guess if length > 1.0 else safe]
    return Estimate(reached.mean, reached.factor @ reached.factor.T, iterations, converged)


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

    Gram and Schmidt, for all k at once. Columns of J are nearly parallel where a rule is tight: a vector of which
    little is left is made orthogonal twice.
    """
    log_volume = np.zeros(len(basis))
    for j in range(basis.shape[1]):
        vector, before = basis[:, j], basis[:, :j]
        length = np.sqrt(np.einsum("kp,kp->k", vector, vector))
        if j:
            whole = length
            vector -= _along(before, vector)
            length = np.sqrt(np.einsum("kp,kp->k", vector, vector))
            again = np.flatnonzero(length < _LITTLE_LEFT * whole)
            if again.size:
                rest = vector[again] / length[again, None]
                rest -= _along(before[again], rest)
                left = np.sqrt(np.einsum("kp,kp->k", rest, rest))
                vector[again] = rest * length[again, None]
                length[again] *= left
        vector /= length[:, None]
        log_volume += np.log(length)
    return log_volume


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
    log_one, log_two = (_relative_log(to_unit, end.factor) for end in (one, two))
    mean_one, mean_two = (to_unit @ (end.mean - start.mean) for end in (one, two))
    bend, mean_bend = log_two - 2.0 * log_one, mean_two - 2.0 * mean_one
    # Directions too tight for their changes to be more than rounding have no say in the length.
    say = np.minimum(start.spreads / _noise(start, tol), 1.0)
    change, curvature = (
        np.hypot(np.linalg.norm(say[:, None] * logs * say), np.linalg.norm(say * means))
        for logs, means in ((log_one, mean_one), (bend, mean_bend))
    )
    length = float(longest if change >= longest * curvature else change / curvature)
    values, vectors = np.linalg.eigh(2.0 * length * log_one + length**2 * bend)
    growth = np.exp(0.5 * np.clip(values, -_LARGEST_LOG, _LARGEST_LOG))
    mean = start.mean + start.factor @ (2.0 * length * mean_one + length**2 * mean_bend)
    return with_least_spread(mean, start.factor @ (vectors * growth)), length


def _relative_log(to_unit: Floats, factor: Floats) -> Floats:
    """The logarithm (p, p) of J L L' J', by singular values of J L: its smallest ones are accurate too."""
    vectors, values, _ = np.linalg.svd(to_unit @ factor)
    return np.asarray((vectors * (2.0 * np.log(values))) @ vectors.T)
