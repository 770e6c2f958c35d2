"""Which column is what, and the sentences for those that fit nowhere."""

from __future__ import annotations

import numpy as np
import pytest

from aspca.jobs.columns import roles_of
from aspca.jobs.errors import JobError, RequestError
from aspca.jobs.fitting import fit_table
from aspca.jobs.progress import Silent
from aspca.jobs.settings import settings_of
from aspca.jobs.table import ArrayTable


def made(numbers: dict[str, list[float]], **texts: list[str]) -> ArrayTable:
    return ArrayTable("t.csv", tuple(numbers), np.array(list(numbers.values())).T, texts)


NUMBERS = {"a": [1.0, 2.5, 4.0, 3.0], "b": [2.0, 5.0, 8.0, 6.5]}


def test_numbers_are_features() -> None:
    roles = roles_of(made(NUMBERS))
    assert roles.features == ("a", "b")
    assert roles.remarks == ()


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (
            {"host": ["w", "x", "y", "z"]},
            r"Column 'host' holds text \('w' in row 0\).*--id host \(every value differs\)",
        ),
        ({"note": ["x", "x", "y", "y"]}, r"--ignore note;"),
        ({"cpu": ["1.5", "2", "n/a", "3"]}, r"holds text \('n/a' in row 2\).*or correct what is no number"),
        ({"label": ["x", "x", "y", "y"]}, r"--label label"),
        ({"cost": ["1,5", "2,5", "3", "3"]}, r"--decimal ,"),
        ({"my note": ["x", "x", "y", "y"]}, r"--ignore 'my note'"),
        (
            {"one": ["w", "x", "y", "z"], "two": ["w", "x", "y", "z"]},
            r"Columns 'one', 'two' hold .*--id one.*--ignore two",
        ),
    ],
)
def test_text_is_refused_with_advice(texts: dict[str, list[str]], words: str) -> None:
    with pytest.raises(RequestError, match=words):
        roles_of(made(NUMBERS, **texts))


def test_a_role_makes_text_welcome() -> None:
    table = made(NUMBERS, host=["w", "x", "y", "z"], note=["", "", "", ""])
    roles = roles_of(table, name="host", ignore=["note"])
    assert (roles.features, roles.name) == (("a", "b"), "host")


@pytest.mark.parametrize("name", ["id", "ID", "row", "index", "user_id", "Unnamed: 0", ""])
def test_a_column_that_counts_rows_names_them(name: str) -> None:
    roles = roles_of(made({name: [1.0, 2.0, 3.0, 7.0], **NUMBERS}))
    assert roles.features == ("a", "b")
    assert roles.name == name
    assert "counts the rows" in roles.remarks[0]


@pytest.mark.parametrize(
    ("name", "values"), [("id", [1.0, 3.0, 2.0, 4.0]), ("id", [1.0, 2.5, 3.0, 4.0]), ("load", [1.0, 2.0, 3.0, 4.0])]
)
def test_a_measurement_stays_a_feature(name: str, values: list[float]) -> None:
    assert name in roles_of(made({name: values, **NUMBERS})).features


def test_names_that_are_not_there() -> None:
    with pytest.raises(RequestError, match=r"--label: t.csv has no column 'bb'; did you mean 'b'\?"):
        roles_of(made(NUMBERS), label="bb")
    with pytest.raises(RequestError, match=r"--ignore: t.csv has no column 'zz'; its columns are 'a', 'b'"):
        roles_of(made(NUMBERS), ignore=["zz"])


def test_nothing_left() -> None:
    with pytest.raises(JobError, match="no column of numbers left"):
        roles_of(made(NUMBERS), ignore=["a", "b"])


def test_rules_learned_elsewhere_need_their_columns() -> None:
    with pytest.raises(RequestError, match=r"t\.csv has no column 'c', which the rules learned need"):
        roles_of(made(NUMBERS), learned=made({**NUMBERS, "c": [0.0, 1.0, 2.0, 3.5]}))
    with pytest.raises(RequestError, match=r"Column 'b' of t.csv holds text \('x' in row 3\)"):
        roles_of(made({"a": NUMBERS["a"]}, b=["1", "2", "3", "x"]), learned=made(NUMBERS))
    extra = made({**NUMBERS, "c": [0.0, 1.0, 2.0, 3.5]})
    assert roles_of(extra, learned=made(NUMBERS)).features == ("a", "b")


def test_missing_values_and_too_few_rows() -> None:
    missing = made({"a": [1.0, np.nan, 2.0], "b": [1.0, 2.0, 3.0]})
    with pytest.raises(JobError, match=r"Column 'a' of t\.csv has no number in row 1"):
        fit_table(missing, ("a", "b"), settings_of({}), Silent())
    for n, words in ((0, "no rows"), (1, "1 row")):
        table = made({name: values[:n] for name, values in NUMBERS.items()})
        with pytest.raises(JobError, match=f"t.csv has {words}"):
            fit_table(table, ("a", "b"), settings_of({}), Silent())
