"""Moments against 60 digits, over 252 random partitions of nine tables; 1,008 with `make test-long`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import mpmath
import numpy as np
import pytest

from aspca.moments import Moments, blocks

TOLERANCE = 1e-12
N_ROWS = 150
# Times nine tables.
SOME, MANY = 12, 112


@dataclass(frozen=True)
class Exact:
    """A table and its moments to 60 digits, the mean as a pair of float64."""

    rows: np.ndarray
    weights: np.ndarray | None
    mean_high: np.ndarray
    mean_low: np.ndarray
    scatter: np.ndarray

    @property
    def deviation(self) -> np.ndarray:
        total = N_ROWS if self.weights is None else self.weights.sum()
        return np.sqrt(np.diagonal(self.scatter) / total)


def mixed(rng: np.random.Generator, offset: float) -> np.ndarray:
    """Four columns, one of them next to the sum of two others."""
    rows = rng.normal(size=(N_ROWS, 4))
    rows[:, 2] = rows[:, 0] + rows[:, 1] + 1e-5 * rng.normal(size=N_ROWS)
    return rows + offset


def offsets_by_column(rng: np.random.Generator) -> np.ndarray:
    return mixed(rng, 0.0) * [1e-8, 1.0, 1e8, 1e-3] + [1.0, -1e10, 1e10, 1e5]


def few_units_in_the_last_place(rng: np.random.Generator) -> np.ndarray:
    return 1e10 + rng.integers(-3, 4, size=(N_ROWS, 4)) * 2.0**-19


def first_row_far_away(rng: np.random.Generator) -> np.ndarray:
    rows = mixed(rng, 0.0)
    rows[0] = [1e10, -1e10, 1e5, 1.0]
    return rows


def drift(rng: np.random.Generator) -> np.ndarray:
    """Parts in order have means far apart, and spreads far smaller than that."""
    return mixed(rng, 0.0) * 1e-3 + np.linspace(0.0, 1e10, N_ROWS)[:, None] * [1.0, 1e-3, -1.0, 0.0]


TABLES: dict[str, tuple[Callable[[np.random.Generator], np.ndarray], bool]] = {
    "no offset": (lambda rng: mixed(rng, 0.0), False),
    "offset 1e5": (lambda rng: mixed(rng, 1e5), False),
    "offset -1e8": (lambda rng: mixed(rng, -1e8), False),
    "offset 1e10": (lambda rng: mixed(rng, 1e10), False),
    "offset 1e10, weighted": (lambda rng: mixed(rng, 1e10), True),
    "offsets by column": (offsets_by_column, True),
    "few units in the last place": (few_units_in_the_last_place, False),
    "first row far away": (first_row_far_away, True),
    "drift": (drift, False),
}


@cache
def exact(name: str) -> Exact:
    """The answer, once per table."""
    make, weighted = TABLES[name]
    rng = np.random.default_rng(list(TABLES).index(name))
    rows = make(rng)
    weights = rng.random(N_ROWS) ** 6 if weighted else None
    with mpmath.workdps(60):
        w = [mpmath.mpf(1)] * N_ROWS if weights is None else [mpmath.mpf(float(v)) for v in weights]
        total = mpmath.fsum(w)
        columns = [[mpmath.mpf(float(v)) for v in column] for column in rows.T]
        means = [mpmath.fdot(w, column) / total for column in columns]
        centred = [[v - m for v in column] for column, m in zip(columns, means, strict=True)]
        weighed = [[v * a for v, a in zip(column, w, strict=True)] for column in centred]
        scatter = [[float(mpmath.fdot(a, b)) for b in centred] for a in weighed]
        high = [float(m) for m in means]
        low = [float(m - h) for m, h in zip(means, high, strict=True)]
    return Exact(rows, weights, np.array(high), np.array(low), np.array(scatter))


def scatter_error(got: Moments, truth: Exact) -> float:
    """Largest error of an entry relative to sqrt(S_ii S_jj)."""
    scale = np.sqrt(np.diagonal(truth.scatter))
    return float((np.abs(got.scatter - truth.scatter) / np.outer(scale, scale)).max())


def mean_error(got: Moments, truth: Exact) -> float:
    """Largest error of the unevaluated mean, in standard deviations."""
    error = (got.centre - truth.mean_high) + (got.residual - truth.mean_low)
    return float((np.abs(error) / truth.deviation).max())


def random_parts(rng: np.random.Generator) -> list[np.ndarray]:
    """All rows, mostly shuffled, cut anywhere (empty and one-row parts are common) or into single rows."""
    order = rng.permutation(N_ROWS) if rng.random() < 0.7 else np.arange(N_ROWS)
    if rng.random() < 0.05:
        return np.array_split(order, N_ROWS)
    cuts = np.sort(rng.integers(0, N_ROWS + 1, size=rng.integers(0, 25)))
    parts = np.split(order, cuts)
    parts.insert(int(rng.integers(0, len(parts) + 1)), order[:0])
    return parts


def by_tree(parts: list[Moments], rng: np.random.Generator) -> Moments:
    """Merged in a random binary tree, either operand first."""
    pool = list(parts)
    while len(pool) > 1:
        i, j = rng.choice(len(pool), size=2, replace=False)
        merged = pool[i].merge(pool[j])
        pool = [m for k, m in enumerate(pool) if k not in (i, j)] + [merged]
    return pool[0]


def chosen(truth: Exact, part: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    return truth.rows[part], None if truth.weights is None else truth.weights[part]


@pytest.mark.parametrize("partitions", [SOME, pytest.param(MANY, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", TABLES)
def test_any_partition_in_any_order(name: str, partitions: int, monkeypatch: pytest.MonkeyPatch) -> None:
    truth = exact(name)
    rng = np.random.default_rng(2015)
    for _ in range(partitions):
        # Blocks of 1 to 64 rows: a part is then itself a tree of blocks.
        monkeypatch.setattr(blocks, "BLOCK_VALUES", 4 * int(2.0 ** rng.integers(0, 7)))
        monkeypatch.setattr(blocks, "ENOUGH_ROWS", 1)
        parts = random_parts(rng)
        if rng.random() < 0.5:
            got = by_tree([Moments.from_array(*chosen(truth, part)) for part in parts], rng)
        else:
            got = Moments.empty(4)
            for part in parts:
                got = got.update(*chosen(truth, part))
        assert got.n_rows == N_ROWS
        assert scatter_error(got, truth) <= TOLERANCE
        assert mean_error(got, truth) <= TOLERANCE
        assert np.array_equal(got.minimum, truth.rows.min(axis=0))
        assert np.array_equal(got.maximum, truth.rows.max(axis=0))
        assert np.array_equal(got.scatter, got.scatter.T)


@pytest.mark.parametrize("name", TABLES)
def test_the_table_at_once(name: str) -> None:
    truth = exact(name)
    got = Moments.from_array(truth.rows, truth.weights)
    assert scatter_error(got, truth) <= 1e-14
    assert mean_error(got, truth) <= 1e-14


def test_the_oracle_can_tell() -> None:
    """The textbook form and a mean held in one float64 both fail here: the tolerance is not idle."""
    truth = exact("few units in the last place")
    one_float = truth.rows - truth.rows.mean(axis=0)
    textbook = truth.rows.T @ truth.rows - N_ROWS * np.outer(truth.mean_high, truth.mean_high)
    for wrong in (one_float.T @ one_float, textbook):
        got = Moments(
            float(N_ROWS),
            N_ROWS,
            truth.mean_high,
            0 * truth.mean_low,
            wrong,
            truth.mean_high,
            truth.mean_high,
        )
        assert scatter_error(got, truth) > 1e3 * TOLERANCE
