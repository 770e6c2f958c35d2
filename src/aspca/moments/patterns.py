"""Rows sorted by which of their features are missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aspca.linalg.arrays import EPS, Bools, Floats, Ints

# Temporaries of one chunk of patterns: 4 MiB. Smaller ones stay in nearer caches, but there are more calls for them.
CHUNK_VALUES = 2**19


@dataclass(frozen=True, slots=True, eq=False)
class Patterns:
    """Some patterns with equally many gaps, and their rows."""

    gaps: Ints  # (k, g) the features missing in each pattern
    weights: Floats  # (k,) total weight of each pattern
    rows: Floats  # (n, p) rows times the root of their weight, zero in the gaps
    roots: Floats  # (n,) root of each row's weight; 0 in rows that are a factor of a scatter, which have no mean
    owner: Ints  # (n,) the pattern of each row

    def present(self, n_features: int) -> Floats:
        """1 where a pattern (k, p) has a value, 0 in its gaps."""
        present = np.ones((len(self.gaps), n_features))
        np.put_along_axis(present, self.gaps, 0.0, axis=1)
        return present


def group_by_gaps(missing: Bools) -> tuple[Ints, Ints]:
    """A stable order (n,) of rows by the number of gaps, then by the pattern, of `missing` (n, p).

    And where each pattern begins in that order (k + 1,); the last entry is n.
    """
    bits = np.packbits(missing, axis=1)
    order = np.lexsort((*bits.T[::-1], missing.sum(axis=1)))
    bits = bits[order]
    new = np.flatnonzero((bits[1:] != bits[:-1]).any(axis=1)) + 1
    return order, np.concatenate([[0], new, [len(missing)]]) if len(missing) else np.zeros(1, dtype=np.intp)


def collect_patterns(rows: Floats, roots: Floats, weights: Floats, missing: Bools) -> list[Patterns]:
    """Rows (n, p) as in `Patterns`, and the weight (n,) that each adds to its pattern, in chunks of like patterns."""
    order, starts = group_by_gaps(missing)
    if not len(rows):
        return []
    first = missing[order[starts[:-1]]]
    n_gaps = first.sum(axis=1)
    totals = np.add.reduceat(weights[order], starts[:-1])
    size = np.cumsum((n_gaps + np.diff(starts)) * missing.shape[1]) // CHUNK_VALUES
    cuts = np.flatnonzero((np.diff(n_gaps) != 0) | (np.diff(size) != 0)) + 1
    found = []
    for k in np.split(np.arange(len(first)), cuts):
        lines = order[starts[k[0]] : starts[k[-1] + 1]]
        gaps = np.nonzero(first[k])[1].reshape(k.size, n_gaps[k[0]])
        owner = np.repeat(np.arange(k.size), np.diff(starts)[k])
        found.append(Patterns(gaps, totals[k], rows[lines], roots[lines], owner))
    return found


def find_seen_pairs(patterns: Sequence[Patterns], n_features: int) -> Bools:
    """Which pairs of features (p, p) some row has both of."""
    weights = np.zeros((n_features, n_features))
    for part in patterns:
        present = part.present(n_features)
        weights += (part.weights[:, None] * present).T @ present
    return np.asarray(weights > 0.0)


def maximise_entropy(covariance: Floats, together: Bools) -> Floats:
    """The covariance (p, p) of largest determinant that has the same entries where `together`.

    Features never seen together are then independent given the others, so that no rule is read into them. One feature
    at a time: its open covariances follow from its regression on the features it was seen with.
    """
    deviations = np.sqrt(np.diagonal(covariance))
    scale = np.where(deviations > 0.0, deviations, 1.0)
    correlations = covariance / np.outer(scale, scale)
    cutoff = len(scale) * EPS
    for _ in range(100):
        before = correlations.copy()
        for i in np.flatnonzero(~together.all(axis=1)):
            never, others = ~together[i], together[i].copy()
            others[i] = False
            inverse = np.linalg.pinv(correlations[np.ix_(others, others)], rcond=cutoff, hermitian=True)
            open_ones = correlations[i, others] @ inverse @ correlations[np.ix_(others, never)]
            correlations[i, never] = correlations[never, i] = open_ones
        if np.abs(correlations - before).max() <= 1e-10:
            break
    return np.asarray(correlations * np.outer(scale, scale))


def sample_patterns(patterns: Sequence[Patterns], n_features: int, few: int, most: int) -> list[Patterns] | None:
    """About `few` of the rows, scattered over their patterns and weighted to stand for all of them.

    Patterns known by their moments are taken as they are. None where the others have less than `most` times so many
    rows. Which are taken hangs on the patterns alone, not on the order of rows.
    """
    known = []
    for part in patterns:
        # Their rows are a factor of a scatter.
        common = np.zeros(len(part.gaps), dtype=np.bool_)
        common[part.owner[part.roots == 0.0]] = True
        known.append(common)
    n_rows = sum(int((~common[part.owner]).sum()) for common, part in zip(known, patterns, strict=True))
    if n_rows < most * few:
        return None
    step, start = n_rows // few, 0
    rows, roots, missing, sampled = [], [], [], []
    for common, part in zip(known, patterns, strict=True):
        # One number for each pattern, over all parts.
        chosen = common | ((start + np.arange(len(common))) % step == 0)
        start += len(common)
        lines = np.flatnonzero(chosen[part.owner])
        owner = part.owner[lines]
        rows.append(part.rows[lines])
        roots.append(part.roots[lines])
        missing.append(part.present(n_features)[owner] == 0.0)
        sampled.append(~common[owner])
    values, root, those = np.concatenate(rows), np.concatenate(roots), np.concatenate(sampled)
    weight = sum(float(part.weights[~common].sum()) for common, part in zip(known, patterns, strict=True))
    share = np.where(those, np.sqrt(weight / np.square(root[those]).sum()), 1.0)
    root = root * share
    return collect_patterns(values * share[:, None], root, np.square(root), np.concatenate(missing))
