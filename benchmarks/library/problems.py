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


def noise_rows(n: int, p: int, seed: int) -> Floats:
    """Unrelated columns."""
    return np.asarray(np.random.default_rng(seed).standard_normal((n, p)))


def factor_rows(n: int, p: int, seed: int) -> Floats:
    """A factor to every five columns, which all of them follow, and noise of a tenth: no short rule anywhere."""
    rng = np.random.default_rng(seed)
    many = max(2, p // 5)
    return np.asarray(
        rng.standard_normal((n, many)) @ rng.standard_normal((many, p)) + 0.1 * rng.standard_normal((n, p))
    )


def planted_rows(n: int, p: int, seed: int, noise: float = 0.05) -> Floats:
    """The first 30 % of the columns are sums and differences of three of the others, and noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    sums = int(0.3 * p)
    for j in range(sums):
        terms = sums + rng.choice(p - sums, 3, replace=False)
        X[:, j] = X[:, terms] @ rng.choice([-1.0, 1.0], 3) + noise * rng.standard_normal(n)
    return X


def flag_rows(n: int, p: int, seed: int) -> Floats:
    """Three amounts, and flags that go together in groups: many equal, most of them rare."""
    rng = np.random.default_rng(seed)
    columns = [rng.lognormal(4.0, 1.0, n), rng.lognormal(4.0, 1.0, n)]
    columns.append(columns[0] / columns[1])
    while len(columns) < p:
        group = rng.random(n) < rng.choice([0.005, 0.01, 0.02, 0.05])
        for _ in range(int(rng.integers(1, 8))):
            kept = group & (rng.random(n) < rng.choice([1.0, 1.0, 0.9, 0.6]))
            columns.append((kept | (rng.random(n) < rng.choice([0.0, 0.0, 0.002]))).astype(np.float64))
    return np.array(columns[:p]).T


ROWS_OF = {"planted": planted_rows, "factor": factor_rows, "noise": noise_rows}
