"""Tables with known rules in them, for tests of whatever learns or judges: every one is made from a seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from aspca.moments.blocks import CONTINUOUS
from aspca.moments.space import ScaledSpace
from aspca.preparation import Feature
from aspca.rules.rule import Rule
from aspca.rules.table import RuleTable

SEEDS = st.integers(0, 2**32 - 1)


# The columns of `plant`.
PLANT = ["inlet", "outlet", "pump", "total", "free"]


def plant(n: int = 240, seed: int = 0) -> np.ndarray:
    """outlet = inlet, total = inlet + pump, both to a noise of 0.05; free is free."""
    rng = np.random.default_rng(seed)
    a, c, e = rng.normal(size=(3, n))
    noise = 0.05 * rng.normal(size=(2, n))
    return np.column_stack([a, a + noise[0], c, c + a + noise[1], e])


def plant_frame(n: int = 240) -> pd.DataFrame:
    return pd.DataFrame(plant(n), columns=PLANT)


def sums(n: int, seed: int = 0, *, noise: float = 0.01, groups: int = 6) -> np.ndarray:
    """Gamma columns six decades apart, every third the sum of the two before it but for noise (FINDINGS 3 and 5)."""
    units = 10.0 ** np.random.default_rng(12).uniform(-3.0, 3.0, size=groups)
    rng = np.random.default_rng(seed)
    columns = []
    for unit in units:
        a, b = rng.gamma(3.0, size=(2, n)) * unit
        columns += [a, b, a + b + noise * unit * np.sqrt(6.0) * rng.normal(size=n)]
    return np.column_stack(columns)


def shared_sums(n: int, seed: int = 0, *, parts: int = 12, totals: int = 8, noise: float = 0.023) -> np.ndarray:
    """Totals that share parts: every total is that of three of the parts, but for noise (benchmarks/gaps.py)."""
    chosen = np.random.default_rng(7)
    which = np.array([chosen.permutation(parts)[:3] for _ in range(totals)])
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, parts))
    sums = X[:, which].sum(axis=2)
    return np.hstack([X, sums + noise * np.sqrt(3.0) * rng.normal(size=sums.shape)])


def moved(X: np.ndarray, share: float, seed: int = 1, *, by: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    """A share of the rows with one cell moved by some deviations of its column, and which rows these are."""
    rng = np.random.default_rng(seed)
    made, chosen = X.copy(), rng.random(len(X)) < share
    for row in np.flatnonzero(chosen):
        column = int(rng.integers(X.shape[1]))
        made[row, column] += rng.choice([-1.0, 1.0]) * by * X[:, column].std()
    return made, chosen


def with_gaps(X: np.ndarray, share: float, seed: int = 1) -> np.ndarray:
    """Cells missing at random."""
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


def well_conditioned(n: int, p: int, seed: int, tight: int) -> np.ndarray:
    """Gaussian rows in `p` directions, `tight` of them with a hundredth of the others' variance."""
    rng = np.random.default_rng(seed)
    turned = np.linalg.qr(rng.normal(size=(p, p)))[0]
    spreads = np.concatenate([rng.uniform(0.05, 0.15, size=tight), rng.uniform(1.0, 2.0, size=p - tight)])
    return (rng.normal(size=(n, p)) * spreads) @ turned.T + rng.normal(size=p)


def invoices(n: int = 1000, seed: int = 0) -> np.ndarray:
    """Whole numbers: three counts, their total, a constant, and a price in cents with its double."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson([5.0, 40.0, 300.0], size=(n, 3))
    price = rng.integers(100, 100_000, size=n) / 100.0
    return np.column_stack([counts, counts.sum(axis=1), np.full(n, 7.0), price, np.round(2.0 * price, 2)])


@st.composite
def tables(draw: Any) -> np.ndarray:
    """Rows with rules in them, sometimes whole numbers, few rows, exact totals, a constant, units far apart."""
    p = draw(st.integers(1, 7))
    n = draw(st.sampled_from([8, 25, 60, 200]))
    rng = np.random.default_rng(draw(SEEDS))
    X = rng.normal(size=(n, p)) @ (np.eye(p) + 0.3 * rng.normal(size=(p, p)))
    kind = draw(st.sampled_from(["real", "real", "whole", "skewed"]))
    if kind == "whole":
        X = np.round(5 * X)
    elif kind == "skewed":
        X = np.sign(X) * np.abs(X) ** 3
    for _ in range(draw(st.integers(0, 2))):
        target, *others = rng.permutation(p)[:3]
        noise = draw(st.sampled_from([0.0, 0.02]))
        X[:, target] = X[:, others].sum(axis=1) + noise * rng.normal(size=n)
    units = draw(st.sampled_from([0.0, 0.0, 3.0]))
    return np.asarray(X * 10.0 ** np.round(rng.uniform(-units, units, size=p)))


@st.composite
def rows_like(draw: Any, X: np.ndarray) -> np.ndarray:
    """Rows to judge: some of the table's own, some far out, some with one cell moved a little."""
    rng = np.random.default_rng(draw(SEEDS))
    many = draw(st.integers(1, 150))
    rows = X[rng.integers(len(X), size=many)].copy()
    far = rng.random(many) < 0.2
    rows[far] += rng.normal(size=(int(far.sum()), X.shape[1])) * 3.0 * X.std(axis=0)
    little = np.flatnonzero(rng.random(many) < 0.3)
    rows[little, rng.integers(X.shape[1], size=little.size)] += 10.0 ** rng.uniform(-6, 1, size=little.size)
    return rows


# Limits that every table allows: "conformal" needs rows of its own.
SETTINGS = st.fixed_dictionaries(
    {
        "score": st.sampled_from(["complete", "complete", "standardized", "spe"]),
        "scaling": st.sampled_from(["maxabs", "standard", "none"]),
        "limit": st.sampled_from(["auto", "auto", "quantile", 3.0]),
        "level": st.sampled_from([0.8, 0.975, 0.999]),
        "variant": st.sampled_from(["BG", "B", "G"]),
    }
)


def space_of(
    mean: np.ndarray, scale: np.ndarray, covariance: np.ndarray, features: tuple[Feature, ...], n_rows: int = 1000
) -> ScaledSpace:
    """A scaled space of continuous columns, from what is known of them."""
    p = len(mean)
    return ScaledSpace(
        features=features,
        centre=np.asarray(mean, dtype=np.float64),
        residual=np.zeros(p),
        scale=np.asarray(scale, dtype=np.float64),
        variances=np.diag(covariance).copy(),
        known_covariance=covariance,
        n_rows=n_rows,
        weight=float(n_rows),
        largest=np.abs(mean) + scale,
        nonnegative=np.zeros(p, dtype=np.bool_),
        decimals=np.full(p, CONTINUOUS, dtype=np.intp),
        peaks=np.full(p, 2.0 * np.log(n_rows)),
    )


def rules_of(
    loadings: np.ndarray,
    mean: np.ndarray,
    scale: np.ndarray,
    covariance: np.ndarray,
    features: tuple[Feature | str, ...],
    n_rows: int = 1000,
    **given: Any,
) -> tuple[Rule, ...]:
    """A rule for each column of loadings (p, m); `given` as in `RuleTable.rule`."""
    named = tuple(one if isinstance(one, Feature) else Feature(one) for one in features)
    space = space_of(mean, scale, covariance, named, n_rows)
    table = RuleTable.of(space, loadings)
    return tuple(table.rule(k, space, **given) for k in range(len(table)))
