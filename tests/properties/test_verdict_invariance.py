"""The same rows get the same verdicts: in any order of rows and columns, sign, unit, offset, weight, thread count."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_limits

from aspca import ASPCA

Rng = np.random.Generator
Verdicts = list[str]


def make_table(seed: int) -> pd.DataFrame:
    """Columns of several laws that depend on each other, a sum, a dummy, and a few wrong cells."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(40, 400))
    common = rng.normal(size=n)
    columns = {
        "plain": 50.0 + 10.0 * common + rng.normal(size=n),
        "skewed": np.exp(0.8 * common + 0.3 * rng.normal(size=n)),
        "count": rng.poisson(np.exp(2.0 + 0.4 * common)).astype(float),
        "tails": rng.standard_t(4, size=n),
        "dummy": (rng.random(n) < 0.3).astype(float),
        "cents": rng.gamma(2.0, 40.0, size=n).round(2),
    }
    chosen = [name for name in columns if rng.random() < 0.75] or ["plain", "tails"]
    table = pd.DataFrame({name: columns[name] for name in chosen})
    if "cents" in table and rng.random() < 0.5:
        table["fee"] = rng.integers(1, 20, n).astype(float)
        table["total"] = (table.cents + table.fee).round(2)
    for row in rng.choice(n, size=max(n // 60, 1), replace=False).tolist():
        column = int(rng.integers(table.shape[1]))
        table.iloc[row, column] = 10.0 * table.iloc[row, column] + 7.0
    return table


def judge(table: pd.DataFrame, weights: np.ndarray | None = None) -> Verdicts:
    return list(ASPCA().fit(table, sample_weight=weights).explain(table).verdicts)


def permute_columns(table: pd.DataFrame, rng: Rng) -> Verdicts:
    return judge(table[rng.permutation(table.columns)])


def permute_rows(table: pd.DataFrame, rng: Rng) -> Verdicts:
    order = rng.permutation(len(table))
    found = np.empty(len(table), dtype=object)
    found[order] = judge(table.iloc[order].reset_index(drop=True))
    return list(found)


def turn_signs(table: pd.DataFrame, rng: Rng) -> Verdicts:
    return judge(table * rng.choice([-1.0, 1.0], table.shape[1]))


def change_units(table: pd.DataFrame, rng: Rng) -> Verdicts:
    return judge(table * 2.0 ** rng.integers(-12, 12, table.shape[1]).astype(float))


def move_origins(table: pd.DataFrame, rng: Rng) -> Verdicts:
    return judge(table + 64.0 * rng.integers(-4, 5, table.shape[1]))


def scale_weights(table: pd.DataFrame, rng: Rng) -> Verdicts:
    return judge(table, np.full(len(table), 1000.0))


def copy_column(table: pd.DataFrame, rng: Rng) -> Verdicts:
    # A second writing of a part of a sum says which of its cells is wrong: that is news.
    columns = table.columns if "total" not in table else table.columns.difference(["cents", "fee", "total"])
    return judge(table.assign(again=table[str(rng.choice(columns))])) if len(columns) else judge(table)


def use_two_threads(table: pd.DataFrame, rng: Rng) -> Verdicts:
    with threadpool_limits(2):
        return judge(table)


TRANSFORMATIONS = (
    permute_columns,
    permute_rows,
    turn_signs,
    change_units,
    move_origins,
    scale_weights,
    copy_column,
    use_two_threads,
)


def assert_invariant(seed: int, transform: Callable[[pd.DataFrame, Rng], Verdicts]) -> None:
    table = make_table(seed)
    with threadpool_limits(1):
        expected = judge(table)
    assert transform(table, np.random.default_rng(seed)) == expected


@pytest.mark.parametrize("transform", TRANSFORMATIONS)
@pytest.mark.parametrize("seed", range(6))
def test_verdicts_stay(seed: int, transform: Callable[[pd.DataFrame, Rng], Verdicts]) -> None:
    assert_invariant(seed, transform)


@pytest.mark.long
@pytest.mark.parametrize("transform", TRANSFORMATIONS)
@pytest.mark.parametrize("seed", range(6, 120))
def test_verdicts_of_many_tables_stay(seed: int, transform: Callable[[pd.DataFrame, Rng], Verdicts]) -> None:
    assert_invariant(seed, transform)
