"""Problems of any size for the benchmarks, the same on every machine: seeds are fixed."""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats


def dense_correlation(p: int, seed: int, common: float | None = None) -> Floats:
    """Sample correlation of a factor model with a few sparse near-dependencies; one block at the penalties used here.

    Features come in groups of 8 to 30 with a factor of their own; the first of a group also follows the group before,
    and six weak factors reach everybody (weaker as p grows, so that the leading component is a group's, with a support
    below 50; `common` is their strength). Every 20th feature or so is a copy, a sum or a balance of others, and noise.
    """
    rng = np.random.default_rng(seed)
    n = 4 * p + 200
    X = rng.uniform(0.4, 0.8, p) * rng.standard_normal((n, p))
    common = 0.35 * np.sqrt(min(1.0, 200 / p)) if common is None else common
    X += common * rng.standard_normal((n, 6)) @ rng.standard_normal((6, p))
    start, before, heads = 0, np.zeros(n), []
    while start < p:
        heads.append(start)
        end = min(p, start + int(rng.integers(8, 31)))
        factor = rng.standard_normal(n)
        X[:, start:end] += np.outer(factor, rng.choice([-1.0, 1.0], end - start) * rng.uniform(0.6, 1.2, end - start))
        X[:, start] += before
        start, before = end, factor
    order = rng.permutation(np.setdiff1d(np.arange(p), heads))
    for rule in range(p // 20):
        a, b, c, d = order[4 * rule : 4 * rule + 4]
        kinds = (X[:, b], X[:, b] + X[:, c], X[:, b] + X[:, c] - X[:, d])
        X[:, a] = kinds[rule % 3] + 0.1 * rng.standard_normal(n)
    return np.asarray(np.corrcoef(X.T), dtype=np.float64)


def largest_off_diagonal(A: Floats) -> float:
    return float(np.abs(A - np.diag(np.diag(A))).max())


def block_rows(blocks: int, size: int, rows: int, seed: int) -> Floats:
    """Rows of independent blocks, each a two-factor model with one near-dependency, of unit variance."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, blocks * size))
    for block in range(blocks):
        inside = slice(block * size, (block + 1) * size)
        X[:, inside] *= 0.6
        X[:, inside] += rng.standard_normal((rows, 2)) @ rng.standard_normal((2, size))
        first = block * size
        X[:, first] = X[:, first + 1] + X[:, first + 2] + 0.1 * rng.standard_normal(rows)
    X /= X.std(axis=0)
    return X
