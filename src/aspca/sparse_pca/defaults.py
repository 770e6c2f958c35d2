"""What `"auto"` means: functions of the scaled covariance alone, so that every source of data gives the same model."""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.linalg.small import compute_typical_variance
from aspca.sparse_pca.groups import split_features, split_levels

# A penalty for sparsity counts no rule as tighter than this share of a typical feature's variance, 2 % of its spread.
_SHARE_OF_TYPICAL = 5e-4
# A direction that carries less than this share of a typical feature's variance counts as abnormal.
_SHARE_OF_VARIANCE = 0.3
# Below this share of the largest variance a direction is exact, or rounding.
_EXACT = 1e-12
# Above so many features that hang together, or so many of them times directions, a certified sparse sequence takes
# minutes instead of seconds.
_LARGEST_BLOCK = 64
_MOST_WORK = 2000


def find_finest_variance(covariance: Floats) -> float:
    """The smallest variance that the score tells apart; float64 resolves far smaller ones below a million features."""
    return _SHARE_OF_TYPICAL * compute_typical_variance(np.diag(covariance))


def bound_little_variance(covariance: Floats) -> float:
    """Up to where a direction's variance counts as little."""
    return _SHARE_OF_VARIANCE * compute_typical_variance(np.diag(covariance))


def count_relations(covariance: Floats) -> int:
    """Number of directions with little variance, constant features included.

    Of few rows some have little variance by chance: the rules found among them are asked, each by itself.
    """
    values = np.linalg.eigvalsh(covariance)
    return int((values <= bound_little_variance(covariance)).sum())


def choose_n_components(covariance: Floats) -> int:
    """The same, but at least 1: a basis has a direction."""
    return max(1, count_relations(covariance))


def choose_alpha(covariance: Floats, n_components: int) -> float:
    """The mean variance of the abnormal directions: a rule may be as much looser as it is sparser.

    Of those with little variance, however many rules are asked for, and below the first tenfold jump in variance,
    where there is one: the penalty is set by the tightest level of rules, which it would otherwise give up for loose,
    sparser ones. Exact rules make no level of their own, and no variance counts below what the score tells apart:
    exact rules are to be sparse too.

    Zero, so that the exact PCA subspace is rotated, where more than 64 features hang together at that penalty, or
    features times directions exceed 2000: there the rotation alone detects as well, in a hundredth of the time
    (docs/choices.md).
    """
    values = np.linalg.eigvalsh(covariance)[: min(n_components, choose_n_components(covariance))]
    floor = find_finest_variance(covariance)
    inexact = np.maximum(values[values > _EXACT * float(np.diag(covariance).max())], floor)
    levels = split_levels(inexact, floor)
    tight = inexact[levels[0]] if len(levels) > 1 else np.maximum(values, 0.0)
    alpha = max(float(tight.mean()), floor)
    largest = max(block.size for block in split_features(covariance, alpha))
    return alpha if largest <= _LARGEST_BLOCK and largest * values.size <= _MOST_WORK else 0.0
