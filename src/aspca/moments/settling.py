"""EM until it settles: steps extrapolated by pairs, and where rows are many, most steps over a few of them.

Two levels (as multigrid has them: a full approximation scheme). Let F be a step over all rows and f one over a few,
scattered among them. From where the few settle, one step over all tells by how much F and f differ there. The few then
settle with that difference added to each of their steps, and so on: where this ends, F leads nowhere else, so it is the
solution of all rows. What is left over shrinks by as much as F and f differ in their slopes, about 2 sqrt(p / rows of
the few), where steps of EM shrink it by the share of what is missing. Where that fails, all rows are taken as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.moments.expectation import away_from, em_step, extrapolated, largest_change, pairwise_start, relative_log
from aspca.moments.gaussian import Gaussian, Step, with_least_spread
from aspca.moments.patterns import Patterns, some_patterns
from aspca.moments.quick_step import quick_step
from aspca.moments.unseen_pairs import most_random, seen_together

# Extrapolation: the longest step at first, how it grows when it proves good and shrinks when not, and to what.
_LONGEST, _GROWTH, _SHRINKAGE, _SHORTEST = 4.0, 2.0, 0.5, 2.0
# By how much, per row, an extrapolation may lower the log-likelihood: strictly upwards is slow along narrow ridges.
_TOLERATED = 1e-4
# The share of the last change that rounding of a quick step may reach.
_BESIDE = 0.01
# Rows per feature of the few; and they are worth it if there are so many times more.
_FEW, _WORTH_IT = 250, 4
# How far the few settle at first, before all rows have a say; then, as a share of the change that all rows showed.
_ROUGHLY, _FURTHER = 0.01, 0.1
# A change that all rows show is at most this share of the one before, or the few are no help.
_PROGRESS = 0.5
# Steps of the few at a time.
_MOST_STEPS = 100

# A step from a Gaussian, in which rounding may reach some share.
Stepping = Callable[[Gaussian, float], Step]


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """The last mean (p,) and covariance (p, p), the number of steps (passes over all rows), and whether it settled."""

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
    max_iter : the largest number of steps over all rows.

    Notes
    -----
    Steps are extrapolated by pairs (SQUAREM, Varadhan and Roland 2008), in logarithms of the covariance relative to
    where the pair began: the covariance stays positive definite, and a rule that loses the same share of its
    variance in each step, as exact rules do, is on a straight line. What lowers the likelihood much is taken back.

    Covariances of features that no row has together do not enter the likelihood. They are set to what is most random,
    and EM goes on from there: it has little left to do, and leaves them alone.
    """
    start, together = pairwise_start(patterns, n_features), seen_together(patterns, n_features)
    few = some_patterns(patterns, n_features, _FEW * n_features, _WORTH_IT) if together.all() else None
    if few is not None and seen_together(few, n_features).all():
        return settled_by_few(patterns, few, start, tol, max_iter)
    reached = settled(patterns, start, tol, max_iter)
    left = max_iter - reached.iterations
    if together.all() or not reached.converged or left == 0:
        return reached
    values, vectors = np.linalg.eigh(most_random(reached.covariance, together))
    start = with_least_spread(reached.mean, vectors * np.sqrt(np.maximum(values, 0.0)))
    again = settled(patterns, start, tol, left)
    return replace(again, iterations=reached.iterations + again.iterations)


def settled(patterns: Sequence[Patterns], start: Gaussian, tol: float, max_iter: int) -> Estimate:
    """EM from `start`, each step over all rows."""
    rows = _Rows(patterns)
    reached, iterations, converged = _extrapolating(rows.step, rows.weight, start, tol, max_iter)
    return Estimate(reached.mean, reached.factor @ reached.factor.T, iterations, converged)


def settled_by_few(
    patterns: Sequence[Patterns], few: Sequence[Patterns], start: Gaussian, tol: float, max_iter: int
) -> Estimate:
    """The same from steps over a few of the rows, and as few as possible over all."""
    whole, part = _Rows(patterns), _Rows(few)
    here = _extrapolating(part.step, part.weight, start, _ROUGHLY, _MOST_STEPS)[0].gaussian
    change, iterations = np.inf, 0
    while iterations < max_iter:
        before = change
        # What is wanted of rounding is not to hide the change to come.
        noise = max(tol, _BESIDE * _FURTHER * min(before, 1.0))
        step = whole.step(here, noise)
        iterations += 1
        change = largest_change(here, step, tol)
        if change <= tol or iterations == max_iter:
            return Estimate(step.mean, step.factor @ step.factor.T, iterations, change <= tol)
        if not change <= _PROGRESS * before:
            break
        corrected = _corrected(part, here, step, max(tol, _BESIDE * _FURTHER * change))
        ends = max(_FURTHER * change, 0.5 * tol)
        here = _extrapolating(corrected, part.weight, step.gaussian, ends, _MOST_STEPS)[0].gaussian
    rest = settled(patterns, step.gaussian, tol, max_iter - iterations)
    return replace(rest, iterations=iterations + rest.iterations)


def _corrected(part: _Rows, here: Gaussian, step: Step, noise: float) -> Stepping:
    """Steps of some rows that lead from `here` where the step of all rows does."""
    own, to_unit = part.step(here, noise), here.whitener
    logs = relative_log(to_unit, step.gaussian.factor) - relative_log(to_unit, own.gaussian.factor)
    means = to_unit @ (step.mean - own.mean)

    def corrected(there: Gaussian, noise: float) -> Step:
        plain = part.step(there, noise)
        moved = away_from(
            here, relative_log(to_unit, plain.gaussian.factor) + logs, to_unit @ (plain.mean - here.mean) + means
        )
        # No likelihood is known whose steps these are.
        return Step(moved.mean, moved.factor, moved, 0.0)

    return corrected


class _Rows:
    """Rows, and steps of EM over them: quick ones as long as their rounding allows."""

    def __init__(self, patterns: Sequence[Patterns]) -> None:
        self.patterns = patterns
        self.weight = float(sum(part.weights.sum() for part in patterns))
        self._quick = True

    def step(self, here: Gaussian, noise: float) -> Step:
        """One step from `here`, in which rounding may reach `noise`."""
        # Where a quick step is once too rough, it will be so later.
        fast = quick_step(self.patterns, self.weight, here, noise) if self._quick else None
        self._quick = fast is not None
        return em_step(self.patterns, self.weight, here) if fast is None else fast


def _extrapolating(
    step_from: Stepping, weight: float, start: Gaussian, tol: float, max_iter: int
) -> tuple[Step, int, bool]:
    """The last of some steps, their number, and whether they settled.

    `path` is where a pair of steps began and what it reached, `safe` where to go back to.
    """
    path, length, longest = [start], 1.0, _LONGEST
    safe, floor, iterations, converged = path[0], -np.inf, 0, False
    change = 1.0
    while not converged and iterations < max_iter:
        # Rounding must be small beside what is still to come.
        step = step_from(path[-1], max(tol, _BESIDE * min(change, 1.0)))
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
    return reached, iterations, converged
