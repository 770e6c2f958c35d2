"""Numbers that stand for something else: left out where that is sure, otherwise kept and told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from aspca.pipeline.options import make_request
from aspca.tables import roles
from aspca.tables.column_advice import quote_word
from aspca.tables.memory import MemoryTable, make_array_table

RNG = np.random.default_rng(0)
N = 200
A, B = RNG.normal(size=(2, N))
MANY = RNG.integers(10_000, 99_999, N).astype(float)


def roles_of(
    table: MemoryTable, *, learned: MemoryTable | None = None, judged: bool = True, **options: Any
) -> roles.Roles:
    """The roles of columns where these options are given."""
    return roles.assign_roles(table, make_request(table, **options).columns, learned=learned, judged=judged)


def table(name: str, values: np.ndarray) -> MemoryTable:
    return make_array_table("t.csv", ["a", name, "b"], np.column_stack([A, values, B]))


@pytest.mark.parametrize(
    "name",
    ["zip", "Zip Code", "zipCode", "postcode", "customer_id", "CustomerID", "account_no", "phone", "flight number"],
)
def test_codes_are_left_out(name: str) -> None:
    # None of them counts or names the rows.
    values = MANY.copy()
    values[1] = values[0]
    found = roles_of(table(name, values))
    assert found.features == ("a", "b")
    assert found.remarks[0].startswith(f"Column {name!r} holds codes, so it is not used as a feature; --number ")
    assert roles_of(table(name, values), number=name).features == ("a", name, "b")


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
    found = roles_of(table(name, values))
    assert found.features == ("a", name, "b")
    assert len(found.remarks) == 1
    assert words in found.remarks[0]


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


LABELS = (A > 1).astype(float)
SAID = (
    "Column {0!r} looks like a label, so no rules are learned from it: --label {1} compares the verdicts with it, "
    "--number {1} learns from it."
)


@pytest.mark.parametrize(
    "name",
    [
        *("label", "Labels", "is_anomaly", "isAnomaly", "ISFRAUD", "is-fraud", "row.outlier", "Change Point", "target"),
        *("changepoint", "ground_truth", "groundTruth", "under attack", "anomalous"),
    ],
)
def test_labels_of_numbers_are_not_learned_from(name: str) -> None:
    for values in (LABELS, 1.0 - 2.0 * LABELS):
        found = roles_of(table(name, values))
        assert found.features == ("a", "b")
        assert found.remarks == (SAID.format(name, quote_word(name)),)
        assert roles_of(table(name, values), number=name).features == ("a", name, "b")
        assert roles_of(table(name, values), label=name).remarks == ()


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("target", A),
        ("target", LABELS + 1.0),
        ("target", np.where(A > 2, 2.0, LABELS)),
        ("target", np.where(A > 2, np.nan, LABELS)),
        ("target_temperature", LABELS),
        ("labelled", LABELS),
        ("stargets", LABELS),
        ("on", LABELS),
    ],
)
def test_what_measures_is_no_label(name: str, values: np.ndarray) -> None:
    assert roles_of(table(name, values)).features == ("a", name, "b")
    assert roles_of(table(name, values)).remarks == ()


def test_several_labels_are_told_at_once_and_offered_where_they_can_be_compared() -> None:
    def several(labels: np.ndarray) -> MemoryTable:
        numbers = np.column_stack([A, labels, labels, B])
        return make_array_table(
            "t.csv", ["a", "anomaly", "fraud", "b"], numbers, attack=["yes" if x else "no" for x in labels]
        )

    told = "Columns 'anomaly', 'fraud', 'attack' look like labels, so no rules are learned from them: "
    learned = "--number anomaly learns from it."
    known, normal = several(LABELS), several(np.zeros(N))
    both = roles_of(known)
    assert both.features == ("a", "b")
    assert both.remarks == (f"{told}--label anomaly compares the verdicts with it, {learned}",)
    # Nothing is compared while rules are learned, with the same in every row, or with a second column.
    assert roles_of(known, judged=False).remarks == (told + learned,)
    assert "--label anomaly compares" in roles_of(known, learned=normal).remarks[-1]
    for found in (roles_of(normal), roles_of(normal, learned=known)):
        assert found.features == ("a", "b")
        assert "--label anomaly" not in " ".join(found.remarks)
    asked = roles_of(known, label="attack")
    assert asked.features == ("a", "b")
    assert asked.remarks == (
        f"Columns 'anomaly', 'fraud' look like labels, so no rules are learned from them: {learned}",
    )


def test_labels_alone_are_features() -> None:
    alone = make_array_table("t.csv", ["anomaly", "fraud"], np.column_stack([LABELS, LABELS]))
    assert roles_of(alone).features == ("anomaly", "fraud")
