"""Which column is what, and the sentences for those that fit nowhere."""

from __future__ import annotations

import numpy as np
import pytest

from aspca.jobs.errors import JobError, RequestError
from aspca.jobs.fitting import fit_table
from aspca.jobs.progress import Silent
from aspca.jobs.requests import settings_of
from aspca.jobs.roles import roles_of
from aspca.jobs.tables import MemoryColumn, MemoryTable, array_table
from aspca.preparation import Preparation


def made(numbers: dict[str, list[float]], **texts: list[str]) -> MemoryTable:
    return array_table("t.csv", tuple(numbers), np.array(list(numbers.values())).T, **texts)


def learned_from(table: MemoryTable, names: tuple[str, ...]) -> None:
    fit_table(table, Preparation.identity(names), settings_of({}), Silent())


NUMBERS = {"a": [1.0, 2.5, 4.0, 3.0], "b": [2.0, 5.0, 8.0, 6.5]}


def test_numbers_are_features() -> None:
    roles = roles_of(made(NUMBERS))
    assert roles.features == ("a", "b")
    assert roles.remarks == ()


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ({"note": ["x", "x", "y", "y"]}, r"give --ignore note \(or --categorical note: 2 different values\);"),
        ({"note": ["x", "x", "y", "z"]}, r"give --ignore note;"),
        ({"cpu": ["1.5", "2", "n/a", "3"]}, r"holds text \('n/a' in row 2\).*or correct what is no number"),
        ({"label": ["x", "x", "y", "y"]}, r"--label label"),
        ({"kind": ["normal", "normal", "y", "y"]}, r"--label kind"),
        ({"kind": ["x", "x", "y", "y"]}, r"--categorical kind"),
        ({"my note": ["x", "x", "y", "z"]}, r"--ignore 'my note'"),
        ({"one": ["w", "x", "y", "z"], "two": ["w", "x", "y", "z"]}, r"Column 'two' holds .*--ignore two"),
        ({"one": ["v", "v", "v", "z"], "two": ["w", "x", "y", "y"]}, r"Columns 'one', 'two' hold .*--ignore two"),
    ],
)
def test_text_is_refused_with_advice(texts: dict[str, list[str]], words: str) -> None:
    with pytest.raises(RequestError, match=words):
        roles_of(made(NUMBERS, **texts))


def test_a_role_makes_text_welcome() -> None:
    table = made(NUMBERS, host=["w", "x", "y", "z"], note=["", "", "", ""])
    roles = roles_of(table, name="host", ignore=["note"])
    assert (roles.features, roles.name) == (("a", "b"), "host")


def test_texts_that_all_differ_name_the_rows() -> None:
    roles = roles_of(made(NUMBERS, host=["w", "x", "y", "z"]))
    assert (roles.features, roles.name) == (("a", "b"), "host")
    assert "differs from row to row, so it names the rows (as with --id)" in roles.remarks[0]


def test_dates_time_the_rows() -> None:
    dates = {name: np.arange(start, start + 4.0) for name, start in (("when", 0), ("then", 4))}
    dated = {name: MemoryColumn("date", moments, moments) for name, moments in dates.items()}
    table = MemoryTable("t.csv", {**made(NUMBERS).content, **dated})
    roles = roles_of(table, ignore=["then"])
    assert (roles.features, roles.time) == (("a", "b"), "when")
    assert "it times the rows (as with --time)" in roles.remarks[0]
    with pytest.raises(RequestError, match=r"Column 'then' holds dates.*give --date then \(or --ignore it\)"):
        roles_of(table)
    roles = roles_of(table, kinds={"then": "date", "when": "date"})
    assert (roles.features, roles.time) == (("a", "b", "when", "then"), None)
    with pytest.raises(RequestError, match=r"--date: column 'a' of t\.csv holds no dates, but numbers"):
        roles_of(table, ignore=["then"], kinds={"a": "date"})


def test_a_column_without_values_is_left_out() -> None:
    table = MemoryTable("t.csv", {**made(NUMBERS).content, "nothing": MemoryColumn("text", None, [None] * 4)})
    roles = roles_of(table)
    assert roles.features == ("a", "b")
    assert roles.remarks == ("Column 'nothing' has no values, so it is left out.",)


def test_what_columns_are_to_become() -> None:
    table = made(NUMBERS, hue=["x", "x", "y", "y"])
    roles = roles_of(table, kinds={"hue": "one-hot", "a": "log"})
    assert roles.features == ("a", "b", "hue")
    assert roles.kinds == {"hue": "one-hot", "a": "log"}
    for kinds, options, words in (
        ({"hui": "codes"}, {}, r"--categorical: t.csv has no column 'hui'; did you mean 'hue'\?"),
        ({"hue": "log"}, {}, r"--log: column 'hue' of t.csv holds text \('x' in row 0\), but log takes numbers"),
        ({"hue": "sqrt"}, {}, r"--transform: column 'hue' .* but sqrt takes numbers"),
        ({"a": "log"}, {"ignore": ["a"]}, "--log: column 'a' has another role already"),
    ):
        with pytest.raises(RequestError, match=words):
            roles_of(table, kinds=kinds, **options)


@pytest.mark.parametrize("name", ["id", "ID", "row", "index", "user_id", "Unnamed: 0", ""])
def test_a_column_that_counts_rows_names_them(name: str) -> None:
    roles = roles_of(made({name: [1.0, 2.0, 3.0, 7.0], **NUMBERS}))
    assert roles.features == ("a", "b")
    assert roles.name == name
    assert "counts the rows" in roles.remarks[0]


@pytest.mark.parametrize(
    ("name", "values", "why"),
    [
        ("patient_id", [7.0, 3.0, 9.0, 4.0], "is different in every row"),
        ("seconds", [0.0, 15.0, 30.0, 45.0], "moves in even steps"),
        ("ts", [10.0, 9.0, 8.0, 7.0], "moves in even steps"),
    ],
)
def test_ids_and_clocks_are_no_features(name: str, values: list[float], why: str) -> None:
    table = made({name: values, **NUMBERS})
    roles = roles_of(table)
    assert (roles.features, roles.name) == (("a", "b"), name)
    assert roles.remarks[0].startswith(f"Column {name!r} {why}, so it names the rows")
    assert name in roles_of(table, kinds={name: "number"}).features


def test_a_column_of_any_name_that_counts() -> None:
    rng = np.random.default_rng(0)
    numbers = {
        "a": rng.normal(size=30).tolist(),
        "entry": [100.0 + k for k in range(30)],
        "b": rng.normal(size=30).tolist(),
    }
    assert roles_of(made(numbers)).name == "entry"
    # What another column goes along with is a measurement.
    numbers["b"] = [2.0 * value for value in numbers["entry"]]
    assert roles_of(made(numbers)).features == ("a", "entry", "b")


def test_text_that_never_changes_is_left_out() -> None:
    roles = roles_of(made(NUMBERS, unit=["EUR"] * 4))
    assert roles.features == ("a", "b")
    assert roles.remarks == ("Column 'unit' is the same in every row, so it is left out.",)


@pytest.mark.parametrize(
    ("name", "values"), [("id", [1.0, 3.0, 3.0, 4.0]), ("id", [1.0, 2.5, 3.0, 4.0]), ("load", [1.0, 2.0, 3.0, 4.0])]
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
    with pytest.raises(JobError, match=r"t\.csv: row 1 has no value in column 'a'"):
        learned_from(missing, ("a", "b"))
    for n, words in ((0, "no rows"), (1, "1 row")):
        table = made({name: values[:n] for name, values in NUMBERS.items()})
        with pytest.raises(JobError, match=f"t.csv has {words}"):
            learned_from(table, ("a", "b"))


def test_far_too_many_columns() -> None:
    rng = np.random.default_rng(0)
    names = [f"c{k}" for k in range(300)]
    table = array_table("t.csv", names, rng.normal(size=(300, 300)))
    with pytest.raises(JobError, match=r"t\.csv has 300 features but 300 rows, .* rules hold by chance: add rows"):
        learned_from(table, tuple(names))
    names = [f"c{k}" for k in range(2001)]
    wide = array_table("t.csv", names, rng.normal(size=(2002, 2001)))
    with pytest.raises(JobError, match=r"t\.csv has 2,001 features, .*--n-components 20"):
        learned_from(wide, tuple(names))
