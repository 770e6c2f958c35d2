"""Numbers that stand for something else: left out where that is sure, otherwise kept and told."""

from __future__ import annotations

import numpy as np
import pytest

from aspca.jobs.roles import roles_of
from aspca.jobs.tables import MemoryTable, array_table

RNG = np.random.default_rng(0)
N = 200
A, B = RNG.normal(size=(2, N))
MANY = RNG.integers(10_000, 99_999, N).astype(float)


def table(name: str, values: np.ndarray) -> MemoryTable:
    return array_table("t.csv", ["a", name, "b"], np.column_stack([A, values, B]))


@pytest.mark.parametrize(
    "name",
    ["zip", "Zip Code", "zipCode", "postcode", "customer_id", "CustomerID", "account_no", "phone", "flight number"],
)
def test_codes_are_left_out(name: str) -> None:
    # None of them counts or names the rows.
    values = MANY.copy()
    values[1] = values[0]
    roles = roles_of(table(name, values))
    assert roles.features == ("a", "b")
    assert roles.remarks[0].startswith(f"Column {name!r} holds codes, so it is not used as a feature; --number ")
    assert roles_of(table(name, values), kinds={name: "number"}).features == ("a", name, "b")


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        (
            "state",
            RNG.integers(1, 51, N).astype(float),
            "--categorical state takes values as categories, --ignore state",
        ),
        ("flight", np.append(MANY[1:], MANY[1]), "taken for a number; --ignore flight leaves it out."),
        ("pid", RNG.integers(0, 7, N).astype(float), "--categorical pid"),
    ],
)
def test_doubtful_codes_are_kept_and_told(name: str, values: np.ndarray, words: str) -> None:
    roles = roles_of(table(name, values))
    assert roles.features == ("a", name, "b")
    assert len(roles.remarks) == 1
    assert words in roles.remarks[0]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("zip", MANY + 0.5),
        ("zip", -MANY),
        ("zip", np.round(1e4 * A) + 1e5),
        ("sum zip", np.round(1e4 * (A - B)) + 1e5),
        ("year", 2000 + MANY % 20),
        ("valid", MANY),
        ("humid", MANY),
        ("postcodes_per_km", MANY),
        ("sex", (MANY % 2)),
    ],
)
def test_what_measures_is_no_code(name: str, values: np.ndarray) -> None:
    assert roles_of(table(name, values)).features == ("a", name, "b")
    assert roles_of(table(name, values)).remarks == ()


def test_labels_of_numbers_are_not_learned_from() -> None:
    for values in ((A > 1).astype(float), np.where(A > 1, -1.0, 1.0)):
        roles = roles_of(table("is_anomaly", values))
        assert roles.features == ("a", "b")
        assert "--label is_anomaly compares with it, --number makes it a feature." in roles.remarks[0]
    assert roles_of(table("is_anomaly", A)).features == ("a", "is_anomaly", "b")
