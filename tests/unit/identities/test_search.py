"""Every form of identity is found, in spoiled tables too, whatever the order, the sign and the unit of columns."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aspca.identities import Identities, find_identities
from aspca.identities.finding import search_identities
from aspca.identities.localize import localize
from aspca.moments.accumulator import Rows
from aspca.preparation.feature import Feature

sys.path.insert(0, str(Path(__file__).parent))
from tables import EQUATIONS, NAMES, corrupted, everyday


def equations(found: Identities) -> set[str]:
    return {identity.equation for identity in found}


def related(found: Identities, names: list[str]) -> set[frozenset[str]]:
    """The sets of columns that are related."""
    return {frozenset(names[j] for j in identity.columns) for identity in found}


def test_every_form_is_found_and_written_as_people_write_it() -> None:
    found = find_identities(everyday(), NAMES)
    assert equations(found) == EQUATIONS
    assert all(identity.share == 1.0 and identity.accuses for identity in found)
    assert str(found.identities[0]).endswith("(exactly, all rows)") or "to rounding" in str(found.identities[0])


@pytest.mark.parametrize("share", [0.01, 0.05])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_wrong_rows_hide_none(share: float, seed: int) -> None:
    X, _ = corrupted(everyday(), share, seed)
    found = find_identities(X, NAMES)
    assert equations(found) == EQUATIONS
    assert all(identity.accuses for identity in found)


def _forms(n: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    x, y = np.round(rng.lognormal(3.0, 0.7, n), 2), np.round(rng.lognormal(1.0, 0.4, n), 3)
    signed, flag = rng.normal(size=n), (rng.random(n) < 0.3).astype(float)
    shares = rng.dirichlet([3.0, 2.0, 5.0], n)
    kinds = rng.integers(0, 3, n)
    return {
        "z = sqrt(x)": np.column_stack([x, np.sqrt(x), y]),
        "z = 1 / x": np.column_stack([x, 1.0 / x, y]),
        "z = x^3": np.column_stack([x, x**3, y]),
        "z = x * y": np.column_stack([x, x * y, y]),
        "z = x / y": np.column_stack([x, x / y, y]),
        "z = y / x^2": np.column_stack([x, y / x**2, y]),
        "z = 20 x": np.column_stack([x, 20.0 * x, y]),
        "z = 1.8 x + 32": np.column_stack([x, 1.8 * x + 32.0, y]),
        "z = log(x + 1)": np.column_stack([np.round(x), np.log1p(np.round(x)), y]),
        "z = x * y of zeros and signs": np.column_stack([signed, signed * flag, flag]),
        "x + y + z = 1": shares,
        "x + y + z = 1 of categories": np.column_stack([kinds == k for k in range(3)]).astype(float),
        "z = x^2 of any sign": np.column_stack([signed, signed**2, y]),
    }


@pytest.mark.parametrize("form", list(_forms(20)))
def test_forms(form: str) -> None:
    X = _forms(400)[form]
    found = find_identities(X, ["x", "z", "y"])
    assert len(found) == 1, found.identities
    wanted = form.partition(" of ")[0]
    written = found.identities[0].equation
    assert written == wanted or (related(found, ["x", "z", "y"]) == {frozenset("xyz")} and wanted.startswith("x + y"))
    np.testing.assert_array_less(np.abs(found.identities[0].residual(X)), found.identities[0].tolerance(X) + 1e-300)


@pytest.mark.parametrize("decimals", [0, 1, 2, 4])
def test_tolerance_comes_from_rounding(decimals: int) -> None:
    """A ratio rounded to so many decimals is found, and a row that is off by one step more than rounding is accused."""
    rng = np.random.default_rng(2)
    a, b = rng.integers(1, 9000, 800).astype(float), rng.integers(100, 9000, 800).astype(float)
    X = np.column_stack([a, b, np.round(1000.0 * a / b, decimals)])
    found = find_identities(X, ["a", "b", "ratio"])
    assert equations(found) == {"ratio = 1000 a / b"}
    X[7, 2] += 3.0 * 10.0**-decimals + 0.01 * X[7, 2]
    assert [repair.row for repair in localize(found, X)] == [7]


def test_single_precision_and_six_digits() -> None:
    rng = np.random.default_rng(3)
    x = rng.lognormal(2.0, 1.0, 700)
    single = np.column_stack([x, np.log(x)]).astype(np.float32).astype(np.float64)
    assert equations(find_identities(single, ["x", "lx"])) == {"lx = log(x)"}
    printed = np.array([[float(f"{v:.6g}") for v in row] for row in np.column_stack([x, np.log(x)])])
    assert equations(find_identities(printed, ["x", "lx"])) == {"lx = log(x)"}


def test_another_kind_of_rows_is_told_and_accuses_nobody() -> None:
    rng = np.random.default_rng(4)
    n = 800
    weight = np.round(rng.gamma(3.0, 2.0, n), 2)
    bolt = (rng.random(n) < 0.92).astype(float)
    price = np.where(bolt == 1.0, 2.0 * weight, 3.0 * weight + 1.0)
    X = np.column_stack([weight, price, bolt, rng.normal(size=n)])
    found = find_identities(X, ["weight", "price", "bolt", "other"])
    (identity,) = found
    assert identity.equation == "price = 2 weight if bolt is 1"
    assert 0.88 < identity.share < 0.96
    assert not identity.accuses
    assert localize(found, X) == []


def test_a_cap_accuses_nobody() -> None:
    rng = np.random.default_rng(6)
    hours = np.round(rng.gamma(4.0, 8.0, 900), 1)
    pay = np.minimum(12.5 * hours, 700.0)
    found = find_identities(np.column_stack([hours, pay, rng.normal(size=900)]), ["hours", "pay", "other"])
    assert localize(found, np.column_stack([hours, pay, rng.normal(size=900)])) == []


def test_gaps_are_no_reason_to_miss_or_to_invent() -> None:
    X = everyday(900, seed=8)
    rng = np.random.default_rng(9)
    X[rng.random(X.shape) < 0.15] = np.nan
    # No row is whole.
    X[np.arange(900), rng.integers(0, X.shape[1], 900)] = np.nan
    found = find_identities(X, NAMES)
    assert equations(found) == EQUATIONS
    for identity in found:
        known = ~np.isnan(X[:, list(identity.columns)]).any(axis=1)
        assert identity.n_kept + identity.n_broken == known.sum()


def test_unrelated_columns_have_none() -> None:
    rng = np.random.default_rng(10)
    for n, p in ((30, 20), (200, 8), (1000, 12)):
        noise = rng.normal(size=(n, p))
        for X in (
            noise,
            np.round(noise, 1),
            np.round(10 * noise),
            (noise > 0.3).astype(float),
            np.cumsum(noise, axis=0),
        ):
            assert len(find_identities(X)) == 0


def test_two_measures_of_one_thing_are_no_identity() -> None:
    rng = np.random.default_rng(11)
    true = np.round(rng.normal(170.0, 10.0, 500))
    X = np.column_stack([true, true + rng.integers(-1, 2, 500), rng.normal(size=500)])
    assert len(find_identities(X)) == 0


def test_implied_ones_are_dropped() -> None:
    rng = np.random.default_rng(12)
    a, b = np.round(rng.gamma(2, 10, 500), 2), np.round(rng.gamma(2, 10, 500), 2)
    names = ["a", "b", "total", "copy", "half"]
    found = find_identities(np.column_stack([a, b, a + b, a + b, 0.5 * (a + b)]), names)
    assert len(found) == 3
    assert len(set(found.determined)) == 3


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_order_signs_and_units_do_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, _ = corrupted(everyday(400, seed % 7), 0.02, seed % 5)
    before = related(find_identities(X, NAMES), NAMES)
    columns, rows = rng.permutation(X.shape[1]), rng.permutation(len(X))
    factors = 10.0 ** rng.integers(-3, 4, X.shape[1]) * rng.choice([-1.0, 1.0], X.shape[1])
    names = [NAMES[j] for j in columns]
    assert related(find_identities((X * factors)[np.ix_(rows, columns)], names), names) == before


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_parts_do_not_matter(seed: int) -> None:
    """Rows in any order, cut anywhere: the same identities with the same counts, to the last digit."""
    X, _ = corrupted(everyday(2500, 3), 0.01)
    features = tuple(map(Feature, NAMES))
    low, high = X.min(axis=0), X.max(axis=0)
    whole = search_identities(Rows.here(lambda: iter([X])), low, high, features)
    rng = np.random.default_rng(seed)
    shuffled = X[rng.permutation(len(X))]
    cuts = np.sort(rng.integers(1, len(X), 4))
    parts = search_identities(Rows.here(lambda: iter(np.split(shuffled, cuts))), low, high, features)
    assert [(str(one), one.n_kept, one.n_broken) for one in parts] == [
        (str(one), one.n_kept, one.n_broken) for one in whole
    ]
    assert whole.n_sample == 1500


def test_wide_tables_say_what_was_not_searched() -> None:
    X = np.random.default_rng(1).normal(size=(100, 450))
    (sentence,) = find_identities(X).unsearched
    assert "450 columns" in sentence


def test_large_values_and_few_rows_are_no_trouble() -> None:
    rng = np.random.default_rng(1)
    for X in (
        rng.normal(size=(60, 3)) * 1e150,
        np.full((60, 4), np.nan),
        np.ones((60, 4)),
        rng.normal(size=(3, 4)),
        np.zeros((1, 3)),
    ):
        assert len(find_identities(X)) == 0
