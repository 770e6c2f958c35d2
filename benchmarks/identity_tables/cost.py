"""Seconds of a search: tables with a few identities among columns without any, of several sizes."""

from __future__ import annotations

import os
import platform

import numpy as np
from library.report import Row
from library.timing import median, timed

from .finder import Finder
from .relation import Floats

SIZES = ((1_000, 20), (1_000, 40), (1_000, 60), (1_000, 200), (100_000, 40))
_RUNS = 3


def make_table(n: int, p: int, seed: int) -> Floats:
    """Of every ten columns six independent ones (decimals, whole numbers, flags), a logarithm, a square, a total and
    a quotient; the columns in random order."""
    rng = np.random.default_rng([seed, n, p])
    blocks = []
    for _ in range(-(-p // 10)):
        a, b = np.round(rng.lognormal(3, 1, n) + 0.01, 2), np.round(rng.gamma(2, 50, n) + 0.1, 1)
        c, d = rng.integers(1, 500, n).astype(float), rng.integers(0, 90, n).astype(float)
        e, f = rng.standard_normal(n), (rng.random(n) < 0.3).astype(float)
        blocks += [a, b, c, d, e, f, np.log(a), d**2, c + d, np.round(100 * d / c, 2)]
    return np.column_stack(blocks)[:, rng.permutation(len(blocks))[:p]]


def measure_cost(find: Finder, seed: int) -> list[Row]:
    rows: list[Row] = []
    for n, p in SIZES:
        X, names = make_table(n, p, seed), [f"x{j}" for j in range(p)]
        found, first = timed(lambda X=X, names=names: find(X, names))
        seconds = float(
            np.median([first, *(median(lambda X=X, names=names: find(X, names)) for _ in range(_RUNS - 1))])
        )
        rows.append({"rows x columns": f"{n:,} x {p}", "seconds": seconds, "identities": len(found.identities)})
    return rows


def describe_machine() -> str:
    """What the seconds were measured on."""
    threads = os.environ.get("OPENBLAS_NUM_THREADS", "not set")
    return (
        f"Machine: {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"NumPy {np.__version__}, OPENBLAS_NUM_THREADS {threads}."
    )
