"""The likeliest Gaussian of rows with gaps: EM in whitened coordinates, which keeps exact rules exact.

Notation
--------
mu, S = L L'    mean and covariance, S by its factor L (p, p); it is never formed while iterating
J = L^-1        the whitener: z = J (x - mu) has unit covariance
M, P            a row's gaps, and the projector onto the columns of J that belong to them

Given the values present, the expectation of a row's gaps is what makes z shortest. So with the row's deviation d, zero
in its gaps, the expected z is u = (I - P) J d, and its conditional covariance is P. One step of EM is

    T = mean of (u u' + P),   t = mean of u,   mu <- mu + L t,   L <- L (T - t t')^(1/2),

and T = I, t = 0 at the solution. No gap is filled and no covariance is inverted: what is added up is of size one in all
directions, so that a rule of variance 1e-14 is as accurate as the rest, which sums of products of data never are. Where
no rule is tight enough for that to show, a quicker step (`take_quick_step`) takes its place.

Steps are extrapolated by pairs (SQUAREM, Varadhan and Roland 2008), in logarithms of the covariance relative to where
the pair began: the covariance stays positive definite, and a rule that loses the same share of its variance in each
step, as exact rules do, is on a straight line. What lowers the likelihood much is taken back.

Where rows are many, most steps are over a few of them, on two levels (as multigrid has them: a full approximation
scheme). Let F be a step over all rows and f one over a few, scattered among them. From where the few converge, one step
over all tells by how much F and f differ there. The few then converge with that difference added to each of their
steps, and so on: where this ends, F leads nowhere else, so it is the solution of all rows. What is left over shrinks by
as much as F and f differ in their slopes, about 2 sqrt(p / rows of the few), where steps of EM shrink it by the share
of what is missing. Where that fails, all rows are taken as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from aspca.linalg.arrays import EPS, Floats, Ints
from aspca.linalg.small import find_whiteners, inverses
from aspca.moments.patterns import Patterns, find_seen_pairs, maximise_entropy, sample_patterns

# Rounding of T in a quick step, over eps |C| / least variance: ten times what was seen.
_NOISE = 32.0 * EPS
# Extrapolation: the longest step at first, how it grows when it proves good and shrinks when not, and to what.
_LONGEST, _GROWTH, _SHRINKAGE, _SHORTEST = 4.0, 2.0, 0.5, 2.0
# By how much, per row, an extrapolation may lower the log-likelihood: strictly upwards is slow along narrow ridges.
_TOLERATED = 1e-4
# The share of the last change that rounding of a quick step may reach.
_ROUNDING_SHARE = 0.01
# Rows per feature of the few; and they are taken if there are so many times more.
_FEW, _MANY_MORE = 250, 4
# How far the few converge at first, before all rows have a say; then, as a share of the change that all rows showed.
_ROUGHLY, _FURTHER = 0.01, 0.1
# A change that all rows show is at most this share of the one before, or the few are no help.
_PROGRESS = 0.5
_MOST_STEPS = 100  # of the few at a time


@dataclass(frozen=True, slots=True, eq=False)
class Gaussian:
    """Mean (p,) and covariance by its principal axes (p, p; columns) and their standard deviations (p,), positive."""

    mean: Floats
    axes: Floats
    spreads: Floats

    @property
    def factor(self) -> Floats:
        return self.axes * self.spreads  # L (p, p)

    @property
    def whitener(self) -> Floats:
        return (self.axes / self.spreads).T  # J (p, p)


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """What one step of EM leads to, and the log-likelihood of where it *started* (without the constant).

    `factor` (p, p) is as computed: exact rules have no variance. In `gaussian` they have the least that J can bear.
    """

    mean: Floats
    factor: Floats
    gaussian: Gaussian
    log_likelihood: float


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """The last mean (p,) and covariance (p, p), the number of passes over all rows, and whether it converged."""

    mean: Floats
    covariance: Floats
    iterations: int
    converged: bool

    @classmethod
    def at(cls, step: Step, iterations: int, converged: bool) -> Estimate:
        return cls(step.mean, step.factor @ step.factor.T, iterations, converged)


# A step from a Gaussian, in which rounding may reach some share.
Stepping = Callable[[Gaussian, float], Step]


def fit_gaussian(patterns: Sequence[Patterns], n_features: int, tol: float, max_iter: int) -> Estimate:
    """The mean and covariance under which the values present are likeliest, wherever they determine them.

    `patterns` are all rows, centred and scaled so that each feature varies by about one; each row has a value. The
    variance of *every* direction must change by no more than the share `tol` in a step, down to the variances that
    float64 resolves: tight rules must converge too, not only large entries. `max_iter` counts steps over all rows.

    Covariances of features that no row has together do not enter the likelihood. They are set to what is most random,
    and EM goes on from there: it has little left to do, and leaves them alone.
    """
    start, together = start_from_pairs(patterns, n_features), find_seen_pairs(patterns, n_features)
    few = sample_patterns(patterns, n_features, _FEW * n_features, _MANY_MORE) if together.all() else None
    if few is not None and find_seen_pairs(few, n_features).all():
        return iterate_by_few(patterns, few, start, tol, max_iter)
    reached = iterate(patterns, start, tol, max_iter)
    left = max_iter - reached.iterations
    if together.all() or not reached.converged or left == 0:
        return reached
    values, vectors = np.linalg.eigh(maximise_entropy(reached.covariance, together))
    start = raise_spreads(reached.mean, vectors * np.sqrt(np.maximum(values, 0.0)))
    again = iterate(patterns, start, tol, left)
    return replace(again, iterations=reached.iterations + again.iterations)


# ---- one step


def raise_spreads(mean: Floats, factor: Floats) -> Gaussian:
    """The Gaussian of this factor, its spreads raised to the least one: half of the variance that rounding may show.

    A covariance of float64 does not resolve less; and the whitener's columns stay accurate to 1e-9.
    """
    axes, spreads, _ = np.linalg.svd(factor)
    return Gaussian(mean, axes, np.maximum(spreads, np.sqrt(2.0 * len(spreads) * EPS)))


def _step_to(here: Gaussian, first: Floats, second: Floats, log_likelihood: float) -> Step:
    """The step from the means t (p,) and T (p, p) of what is expected of whitened rows."""
    values, vectors = np.linalg.eigh(second - np.outer(first, first))
    factor = here.factor @ (vectors * np.sqrt(np.maximum(values, 0.0)))
    mean = here.mean + here.factor @ first
    return Step(mean, factor, raise_spreads(mean, factor), log_likelihood)


def start_from_pairs(patterns: Sequence[Patterns], n_features: int) -> Gaussian:
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
    return raise_spreads(np.zeros(p), np.sqrt(np.diagonal(products) / weights)[:, None] * root)


def take_em_step(patterns: Sequence[Patterns], weight: float, here: Gaussian) -> Step:
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
            u -= np.einsum("ki,kip->kp", np.einsum("kip,kp->ki", basis, u), basis)
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
    return _step_to(here, first / weight, second / weight, -log_volume - 0.5 * squares)


def orthonormalise(basis: Floats) -> Floats:
    """Replace each `basis[k]` (g, p) by an orthonormal basis of its rows; the log of their volume, (k,).

    By reflections (Householder): columns of J are nearly parallel where a rule is tight.
    """
    columns, triangles = np.linalg.qr(basis.transpose(0, 2, 1))
    basis[...] = columns.transpose(0, 2, 1)
    return np.asarray(np.log(np.abs(np.einsum("kii->ki", triangles))).sum(axis=1))


def take_quick_step(patterns: Sequence[Patterns], weight: float, here: Gaussian, noise: float) -> Step | None:
    """The same step, several times as fast; None where rounding may exceed `noise` in T, as for very tight directions.

    With the precision K = J'J, a row's gaps have the covariance C = (K_MM)^-1 and the mean -C (K d)_M, given the values
    present. So T = J (mean of (x x' + C)) J', with x the deviation d, its gaps filled by that mean, needs inverses of
    order |M| only, for as many patterns at once as there are. But K_MM is as badly conditioned as J is, squared, and
    the sums cancel where J is large: T is off by a few eps times the largest C over the smallest variance, where the
    plain step is off by the root of that.
    """
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
                whiteners = find_whiteners(precision.reshape(-1)[pairs])
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
    return _step_to(here, first, second, -log_volume - 0.5 * squares)


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


# ---- many steps


class _Rows:
    """Rows, and steps of EM over them: quick ones as long as their rounding allows."""

    def __init__(self, patterns: Sequence[Patterns]) -> None:
        self.patterns = patterns
        self.weight = float(sum(part.weights.sum() for part in patterns))
        self._quick = True

    def step(self, here: Gaussian, noise: float) -> Step:
        """One step from `here`, in which rounding may reach `noise`."""
        # Where a quick step is once too rough, it will be so later.
        fast = take_quick_step(self.patterns, self.weight, here, noise) if self._quick else None
        self._quick = fast is not None
        return take_em_step(self.patterns, self.weight, here) if fast is None else fast


def iterate(patterns: Sequence[Patterns], start: Gaussian, tol: float, max_iter: int) -> Estimate:
    """EM from `start`, each step over all rows."""
    rows = _Rows(patterns)
    return Estimate.at(*_extrapolating(rows.step, rows.weight, start, tol, max_iter))


def iterate_by_few(
    patterns: Sequence[Patterns], few: Sequence[Patterns], start: Gaussian, tol: float, max_iter: int
) -> Estimate:
    """The same from steps over a few of the rows, and as few as possible over all."""
    whole, part, change, iterations = _Rows(patterns), _Rows(few), np.inf, 0
    here = _extrapolating(part.step, part.weight, start, _ROUGHLY, _MOST_STEPS)[0].gaussian
    while iterations < max_iter:
        before = change
        # What is wanted of rounding is not to hide the change to come.
        step = whole.step(here, max(tol, _ROUNDING_SHARE * _FURTHER * min(before, 1.0)))
        iterations += 1
        change = _largest_change(here, step, tol)
        if change <= tol or iterations == max_iter:
            return Estimate.at(step, iterations, change <= tol)
        if not change <= _PROGRESS * before:
            break
        corrected = _corrected(part, here, step, max(tol, _ROUNDING_SHARE * _FURTHER * change))
        ends = max(_FURTHER * change, 0.5 * tol)
        here = _extrapolating(corrected, part.weight, step.gaussian, ends, _MOST_STEPS)[0].gaussian
    rest = iterate(patterns, step.gaussian, tol, max_iter - iterations)
    return replace(rest, iterations=iterations + rest.iterations)


def _corrected(part: _Rows, here: Gaussian, step: Step, noise: float) -> Stepping:
    """Steps of some rows that lead from `here` where the step of all rows does."""
    own, to_unit = part.step(here, noise), here.whitener
    logs = _relative_log(to_unit, step.gaussian.factor) - _relative_log(to_unit, own.gaussian.factor)
    means = to_unit @ (step.mean - own.mean)

    def corrected(there: Gaussian, noise: float) -> Step:
        plain = part.step(there, noise)
        changes = _relative_log(to_unit, plain.gaussian.factor) + logs
        moved = _away_from(here, changes, to_unit @ (plain.mean - here.mean) + means)
        # No likelihood is known whose steps these are.
        return Step(moved.mean, moved.factor, moved, 0.0)

    return corrected


def _extrapolating(
    step_from: Stepping, weight: float, start: Gaussian, tol: float, max_iter: int
) -> tuple[Step, int, bool]:
    """The last of some steps, their number, and whether they converged.

    `path` is where a pair of steps began and what it reached, `safe` where to go back to.
    """
    path, length, longest = [start], 1.0, _LONGEST
    safe, floor, iterations, converged = path[0], -np.inf, 0, False
    change = 1.0
    while not converged and iterations < max_iter:
        # Rounding must be small beside what is still to come.
        step = step_from(path[-1], max(tol, _ROUNDING_SHARE * min(change, 1.0)))
        iterations += 1
        if not step.log_likelihood >= floor:
            path, floor, longest, length = [safe], -np.inf, max(_SHRINKAGE * length, _SHORTEST), 1.0
            continue
        reached = step
        change = _largest_change(path[-1], step, tol)
        converged = change <= tol
        path.append(step.gaussian)
        if len(path) == 3:
            longest *= _GROWTH if length == longest else 1.0
            guess, length = _extrapolated(*path, longest=longest, tol=tol)
            safe, floor = path[-1], step.log_likelihood - _TOLERATED * weight
            path = [guess if length > 1.0 else safe]
    return reached, iterations, converged


def _largest_change(here: Gaussian, step: Step, tol: float) -> float:
    """The largest change of a direction's variance, relative to it, and of the mean, in standard deviations."""
    there = step.gaussian
    spreads = np.maximum(here.spreads, _least_resolved(here, tol))
    to_unit = (here.axes / spreads).T
    old, new = here.spreads / spreads, to_unit @ there.factor
    difference = new @ new.T
    difference[np.diag_indices_from(difference)] -= old**2
    of_mean = float(np.linalg.norm(to_unit @ (there.mean - here.mean)))
    return max(float(np.abs(np.linalg.eigvalsh(difference)).max()), of_mean)


def _least_resolved(here: Gaussian, tol: float) -> float:
    # Rounding turns and stretches the factor by a few eps: a change of `tol` cannot be told in spreads below this.
    return 4.0 * here.mean.size * EPS / tol


def _extrapolated(
    start: Gaussian, one: Gaussian, two: Gaussian, *, longest: float, tol: float
) -> tuple[Gaussian, float]:
    """Where the two steps from `start` seem to lead, and the length of that step; 1 is where they are already."""
    to_unit = start.whitener
    log_one, log_two = (_relative_log(to_unit, end.factor) for end in (one, two))
    mean_one, mean_two = (to_unit @ (end.mean - start.mean) for end in (one, two))
    bend, mean_bend = log_two - 2.0 * log_one, mean_two - 2.0 * mean_one
    # Directions too tight for their changes to be more than rounding have no say in the length.
    say = np.minimum(start.spreads / _least_resolved(start, tol), 1.0)
    change, curvature = (
        np.hypot(np.linalg.norm(say[:, None] * logs * say), np.linalg.norm(say * means))
        for logs, means in ((log_one, mean_one), (bend, mean_bend))
    )
    length = float(longest if change >= longest * curvature else change / curvature)
    logs, means = 2.0 * length * log_one + length**2 * bend, 2.0 * length * mean_one + length**2 * mean_bend
    return _away_from(start, logs, means), length


def _away_from(start: Gaussian, logs: Floats, means: Floats) -> Gaussian:
    """The Gaussian so far from `start` in logarithms of its covariance (p, p) and in its mean (p,), both whitened."""
    values, vectors = np.linalg.eigh(logs)
    # Beyond 80 is nothing to be seen, only overflow.
    growth = np.exp(0.5 * np.clip(values, -80.0, 80.0))
    return raise_spreads(start.mean + start.factor @ means, start.factor @ (vectors * growth))


def _relative_log(to_unit: Floats, factor: Floats) -> Floats:
    """The logarithm (p, p) of J L L' J', by singular values of J L: its smallest ones are accurate too."""
    vectors, values, _ = np.linalg.svd(to_unit @ factor)
    return np.asarray((vectors * (2.0 * np.log(values))) @ vectors.T)
