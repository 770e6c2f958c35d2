"""Tables without any relation, of the kinds that mislead a search for identities."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from .corruption import make_rng
from .relation import Floats

Make = Callable[[np.random.Generator], Floats]


def make_noise_tables(count: int, seed: int) -> Iterator[tuple[str, Floats]]:
    """So many tables, kinds in turn."""
    kinds = list(KINDS)
    for k in range(count):
        kind = kinds[k % len(kinds)]
        yield f"{kind} {k // len(kinds)}", np.asarray(KINDS[kind](make_rng(seed, kind, str(k))), dtype=np.float64)


def _size(rng: np.random.Generator) -> tuple[int, int]:
    return int(rng.integers(60, 1000)), int(rng.integers(5, 20))


def _continuous(rng: np.random.Generator) -> Floats:
    n, p = _size(rng)
    mixed = rng.standard_normal((n, p)) @ rng.standard_normal((p, p))
    return mixed if rng.random() < 0.5 else np.exp(rng.standard_normal((n, p)))


def _integers(rng: np.random.Generator) -> Floats:
    n, p = _size(rng)
    return np.floor(rng.random((n, p)) * 10.0 ** rng.integers(1, 5, p))


def _flags(rng: np.random.Generator) -> Floats:
    n, p = _size(rng)
    return (rng.random((n, p)) < rng.uniform(0.02, 0.6, p)).astype(float)


def _few_rows(rng: np.random.Generator) -> Floats:
    n, p = int(rng.integers(20, 45)), int(rng.integers(5, 15))
    return np.round(rng.lognormal(2, 1, (n, p)), 1)


def _many_columns(rng: np.random.Generator) -> Floats:
    n, p = int(rng.integers(50, 150)), int(rng.integers(40, 70))
    return np.round(rng.normal(50, 15, (n, p)), int(rng.integers(0, 3)))


def _rounded(rng: np.random.Generator) -> Floats:
    """One common factor, so that columns are correlated, and few digits."""
    n, p = _size(rng)
    common = rng.normal(0, 1, (n, 1))
    values = 10 + 3 * common + rng.uniform(0.05, 2.0, p) * rng.standard_normal((n, p))
    return np.round(values, int(rng.integers(0, 2)))


def _heavy_tails(rng: np.random.Generator) -> Floats:
    n, p = _size(rng)
    return np.round(np.exp(rng.standard_t(2, (n, p))).clip(0, 1e9), int(rng.integers(0, 4)))


def _trends(rng: np.random.Generator) -> Floats:
    """Years, and smooth series that grow with them, whole and rounded."""
    n, p = int(rng.integers(30, 120)), int(rng.integers(4, 12))
    time = np.arange(n, dtype=float)
    grown = 100 * np.exp(rng.uniform(0.005, 0.06, p) * time[:, None] + 0.02 * rng.standard_normal((n, p)).cumsum(0))
    return np.column_stack([1900 + time, np.round(grown, int(rng.integers(0, 3)))])


def _sorted(rng: np.random.Generator) -> Floats:
    n, p = _size(rng)
    values = np.sort(rng.gamma(rng.uniform(0.5, 5, p), 10.0, (n, p)), axis=0)
    return np.round(values, int(rng.integers(0, 3)))


KINDS: dict[str, Make] = {
    "continuous": _continuous,
    "integers": _integers,
    "0/1": _flags,
    "few rows": _few_rows,
    "many columns": _many_columns,
    "rounded": _rounded,
    "heavy tails": _heavy_tails,
    "trends": _trends,
    "sorted": _sorted,
}
