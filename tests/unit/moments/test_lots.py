"""Lots: the same for a row in any order, company and unit, and a fair draw."""

from __future__ import annotations

import numpy as np
import pytest

from aspca.moments.lots import Lots, Repeats


def table(kind: str, n: int = 20_000) -> np.ndarray:
    rng = np.random.default_rng(7)
    if kind == "normal":
        return rng.normal(size=(n, 6))
    if kind == "cents":
        return np.round(rng.gamma(2.0, 50.0, size=(n, 3)), 2)
    if kind == "counts":
        return rng.integers(0, 6, size=(n, 9)).astype(np.float64)
    if kind == "one column":
        return np.arange(float(n))[:, None]
    spread = rng.normal(size=(n, 4))
    # One value a million times further out than all others.
    spread[3] = 1e6
    return spread


def lots_of(rows: np.ndarray) -> Lots:
    return Lots.between(rows.min(axis=0), rows.max(axis=0))


@pytest.mark.parametrize("kind", ["normal", "cents", "counts", "one column", "outlier"])
def test_a_lot_hangs_on_nothing_but_the_row(kind: str) -> None:
    rows = table(kind)
    keys = lots_of(rows).keys(rows)
    order = np.random.default_rng(1).permutation(len(rows))
    assert np.array_equal(lots_of(rows).keys(rows[order]), keys[order])
    assert np.array_equal(np.concatenate([lots_of(rows).keys(part) for part in np.array_split(rows, 7)]), keys)
    # In other units hardly a row is moved by rounding.
    units = rows * 3.7
    assert (lots_of(units).keys(units) != keys).mean() < 1e-3


@pytest.mark.parametrize("kind", ["normal", "cents", "counts", "one column", "outlier"])
def test_the_draw_is_fair(kind: str) -> None:
    rows = table(kind)
    drawn = lots_of(rows).drawn(rows, np.arange(len(rows)))
    for draw in (0, 1):
        counts = np.histogram(drawn.shares(draw), bins=10, range=(0.0, 1.0))[0]
        # Five deviations of a draw of independent rows.
        assert np.abs(counts - 2000).max() < 5 * np.sqrt(1800), counts
    assert abs(np.corrcoef(drawn.shares(0), drawn.shares(1))[0, 1]) < 5 / np.sqrt(len(rows))
    # What is drawn is no kind of rows of its own.
    some = drawn.shares(0) < 0.2
    means = (rows[some].mean(axis=0) - rows.mean(axis=0)) / (rows.std(axis=0) / np.sqrt(some.sum()))
    assert np.abs(means).max() < 5.0


def test_copies_that_make_up_much_of_a_table_are_dealt_out_by_number() -> None:
    rows = table("normal")
    rows[::3] = rows[0]
    counted = Repeats.nothing(lots_of(rows))
    for start in range(0, len(rows), 999):
        part = Repeats.nothing(lots_of(rows))
        part.add(rows[start : start + 999], np.arange(0))
        counted.merge(part)
    lots = counted.lots
    assert lots.uneven
    shares = lots.drawn(rows, np.arange(len(rows))).shares(0)
    copies = np.histogram(shares[::3], bins=5, range=(0.0, 1.0))[0]
    assert np.abs(copies - len(rows) / 15).max() <= 5
    others = np.arange(len(rows)) % 3 != 0
    assert np.array_equal(shares[others], lots_of(rows).drawn(rows, np.arange(len(rows))).shares(0)[others])


def test_no_copies_no_numbers() -> None:
    counted = Repeats.nothing(lots_of(table("cents")))
    counted.add(table("cents"), np.arange(0))
    assert not counted.lots.uneven
