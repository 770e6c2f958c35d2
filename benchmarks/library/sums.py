"""Totals that share parts: every feature is a total or a part of one, columns in units six decades apart."""

from __future__ import annotations

import numpy as np

from library.labelled import Floats, Labelled, move_features

# Units: powers of ten, up and down.
_DECADES = 3.0
# Parts are gamma variables of this shape: counts and amounts are never negative.
_SHAPE = 4.0


def _members(free: int, totals: int, parts: int, rng: np.random.Generator) -> list[list[int]]:
    """The parts of each total: all different, every part as often as any other, give or take one."""
    chosen: list[list[int]] = []
    used = np.zeros(free, dtype=np.int64)
    while len(chosen) < totals:
        # The least used first, in a random order.
        those = sorted(np.lexsort((rng.random(free), used))[:parts].tolist())
        if those not in chosen:
            chosen.append(those)
            used[those] += 1
    for j in np.flatnonzero(used == 0):
        chosen[int(j) % totals].append(int(j))
    return chosen


def sums(
    p: int,
    seed: int,
    *,
    noise: float = 0.016,
    parts: int = 3,
    share: float = 1 / 3,
    n: int = 1500,
    n_normal: int = 2000,
    n_anomalies: int = 1000,
) -> Labelled:
    """p features, a `share` of them totals of `parts` others; every part is in as many totals as that takes.

    `noise` is the deviation of what is added to every feature, as a share of its own. An anomaly takes the value of one
    feature, any, from another row.
    """
    rng = np.random.default_rng([seed, p, 7])
    totals = round(share * p)
    free = p - totals
    members = _members(free, totals, parts, rng)
    unit = 10.0 ** rng.uniform(-_DECADES, _DECADES, size=p)

    def rows(count: int) -> Floats:
        amounts = rng.gamma(_SHAPE, size=(count, free)) / np.sqrt(_SHAPE)
        added = np.column_stack([amounts[:, those].sum(axis=1) for those in members])
        values = np.hstack([amounts, added])
        deviations = np.concatenate([np.ones(free), [np.sqrt(len(those)) for those in members]])
        return np.asarray(values + noise * deviations * rng.normal(size=values.shape))

    train, test, donors = rows(n), rows(n_normal + n_anomalies), rows(n_anomalies)
    labels, changed = move_features(test, donors, rng.integers(p, size=n_anomalies))
    return Labelled(train=unit * train, test=unit * test, labels=labels, changed=changed)
