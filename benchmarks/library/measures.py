"""What is measured of a detector whose truth is known: found rules, found rows, named features, how few tell it."""

from __future__ import annotations

import numpy as np

from library.labelled import Bools, Floats, Ints

# When a vector is a planted rule: what is left of it after entries below this share of its largest are dropped has the
# same features, and this cosine with it, both in units of the features' deviations.
DROPPED, COSINE = 0.05, 0.999
# Share of normal test rows below the level at which an anomaly counts as detected.
DETECTED = 0.99
# What "most of the score" is.
MOST = 0.9
# An entry of a direction that counts as a non-zero, as a share of its largest.
_NONZERO = 0.01


def matched(planted: Floats, vectors: Floats) -> tuple[float, float]:
    """Share of the planted directions (p, m) among `vectors` (p, d); and vectors that are none of them, over m."""
    sizes = np.abs(vectors)
    kept = np.where(sizes >= DROPPED * sizes.max(axis=0, keepdims=True), vectors, 0.0)
    unit = kept / np.maximum(np.linalg.norm(kept, axis=0), 1e-300)
    same = np.abs(planted.T @ unit) >= COSINE
    same &= ((planted != 0).T[:, :, None] == (kept != 0)[None]).all(axis=1)
    m = planted.shape[1]
    return float(same.any(axis=1).mean()), float((~same.any(axis=0)).sum() / m)


def nonzeros(directions: Floats) -> float:
    """Features per direction (p, d)."""
    sizes = np.abs(directions)
    return float((sizes > _NONZERO * sizes.max(axis=0)).sum(axis=0).mean())


def detected(scores: Floats, anomalous: Bools) -> Bools:
    """The anomalies above what 99 % of the normal rows stay below (n,)."""
    return np.asarray(anomalous & (scores > np.quantile(scores[~anomalous], DETECTED)))


def top_one(parts: Floats, changed: Ints) -> float:
    """How often the largest part (n, p) is that of the moved feature; ties are shared."""
    if not len(parts):
        return float("nan")
    largest = parts == parts.max(axis=1, keepdims=True)
    return float((largest[np.arange(len(parts)), changed] / largest.sum(axis=1)).mean())


def features_needed(parts: Floats) -> Floats:
    """How many of the largest parts (n, p) make up 90 % of each row's sum."""
    falling = -np.sort(-np.abs(parts), axis=1)
    told = np.cumsum(falling, axis=1) / np.maximum(falling.sum(axis=1, keepdims=True), 1e-300)
    return np.asarray((told < MOST).sum(axis=1) + 1, dtype=np.float64)


def features_read(contributions: Floats, outside: Floats, loadings: Floats) -> Floats:
    """How many features the parts have that hold 90 % of each row's score, largest first (n,).

    Parts are the rules (n, m) with the features of their loadings (p, m); what lies outside of them (n,) has all.
    """
    parts = np.column_stack([contributions, outside])
    inside = np.column_stack([loadings != 0, np.ones(len(loadings), dtype=bool)])
    order = np.argsort(-parts, axis=1, kind="stable")
    falling = np.take_along_axis(parts, order, axis=1)
    before = np.cumsum(falling, axis=1) - falling
    needed = before < MOST * parts.sum(axis=1, keepdims=True)
    return np.array(
        [inside[:, row[wanted]].any(axis=1).sum() for row, wanted in zip(order, needed, strict=True)], dtype=np.float64
    )
