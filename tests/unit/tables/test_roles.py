"""Which column is what, and the sentences for those that fit nowhere."""

from __future__ import annotations

import shlex
from typing import Any

import numpy as np
import pytest

from aspca.cli.pasting import correct_command
from aspca.pipeline.fit import fit_table
from aspca.pipeline.options import make_request, settings_of
from aspca.pipeline.passes import Silent
from aspca.preparation import Preparation
from aspca.tables import roles
from aspca.tables.errors import Instead, JobError, RequestError, TableError
from aspca.tables.memory import MemoryColumn, MemoryTable, make_array_table
from aspca.tables.table import Column


def made(numbers: dict[str, list[float]], **texts: list[str]) -> MemoryTable:
    return make_array_table("t.csv", tuple(numbers), np.array(list(numbers.values())).T, **texts)


def roles_of(
    table: MemoryTable, *, learned: MemoryTable | None = None, judged: bool = True, **options: Any
) -> roles.Roles:
    """The roles of columns where these options are given."""
    return roles.assign_roles(table, make_request(table, **options).columns, learned=learned, judged=judged)


def learned_from(table: MemoryTable, names: tuple[str, ...]) -> None:
    fit_table(table, Preparation.identity(names), settings_of({}), Silent())


NUMBERS = {"a": [1.0, 2.5, 4.0, 3.0], "b": [2.0, 5.0, 8.0, 6.5]}


TICKETS = [f"PC {k}" if k % 3 == 0 else str(110_000 + k % 20) for k in range(30)]
MANY = {name: np.random.default_rng(0).normal(size=30).tolist() for name in "ab"}
NAMED = "Column 'host' differs from row to row, so it names the rows (as with --id) and is not used as a feature; "


@pytest.mark.parametrize(
    ("table", "options", "name", "remarks"),
    [
        (made(NUMBERS), {}, None, ()),
        (made(MANY, ticket=TICKETS), {}, None, ("Column 'ticket' holds text and is left out.",)),
        # Integers beyond floats are names.
        (
            made(NUMBERS, account=[str(10**17 + k) for k in (3, 1, 2, 2)]),
            {},
            None,
            ("Column 'account' holds text and is left out.",),
        ),
        (made(NUMBERS, host=["w", "x", "y", "z"], note=[""] * 4), {"id": "host", "ignore": ["note"]}, "host", ()),
        (made(NUMBERS, host=["w", "x", "y", "z"]), {}, "host", (NAMED + "--ignore it if it does not name them.",)),
        (made(NUMBERS, unit=["EUR"] * 4), {}, None, ("Column 'unit' is the same in every row, so it is left out.",)),
        (
            MemoryTable("t.csv", {**made(NUMBERS).content, "nothing": MemoryColumn("text", None, [None] * 4)}),
            {},
            None,
            ("Column 'nothing' has no values, so it is left out.",),
        ),
    ],
)
def test_what_is_decided_without_being_asked(
    table: MemoryTable, options: dict[str, Any], name: str | None, remarks: tuple[str, ...]
) -> None:
    found = roles_of(table, **options)
    assert (found.features, found.name, found.remarks) == (("a", "b"), name, remarks)


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (
            {"note": ["x", "x", "y", "y"]},
            "Column 'note' (2 values) holds text and is left out; --categorical note takes",
        ),
        ({"note": ["x", "x", "y", "z"]}, "Column 'note' holds text and is left out."),
        (
            {"label": ["x", "x", "y", "y"]},
            "looks like a label, so no rules are learned from it: --label label compares",
        ),
        ({"kind": ["normal", "normal", "y", "y"]}, "--label kind"),
        ({"kind": ["x", "x", "y", "y"]}, "--categorical kind"),
        ({"my note": ["x", "x", "y", "y"]}, "--categorical 'my note'"),
        (
            {"one": ["v", "v", "v", "z"], "two": ["w", "x", "y", "y"]},
            "Columns 'one' (2 values), 'two' hold text and are left out; --categorical one",
        ),
    ],
)
def test_text_is_left_out_and_said(texts: dict[str, list[str]], words: str) -> None:
    found = roles_of(made(NUMBERS, **texts))
    assert found.features == ("a", "b")
    assert found.left_out == tuple(texts)
    assert len(found.remarks) == 1
    assert words in found.remarks[0]


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (
            ["1.5", "2", "n/a", "3"],
            r"holds text \('n/a' in row 2\), though most of it is numbers: correct what is none",
        ),
        (["1,5", "2,5", "3", "3"], r"holds text \('1,5' in row 0\)"),
        (["$1", "2 %", "(3)", "x"], r"leave it out with --ignore cpu\."),
    ],
)
def test_numbers_that_cannot_be_read_are_asked_for(cells: list[str], words: str) -> None:
    table = made(NUMBERS, cpu=cells)
    with pytest.raises(TableError, match=words) as raised:
        roles_of(table)
    assert raised.value.remedy == ("--ignore", "cpu")
    assert roles_of(table, ignore=["cpu"]).features == roles_of(table, ignore_text=True).features == ("a", "b")


def test_what_a_reader_asks_for_is_given_once() -> None:
    class Read(MemoryTable):
        """Columns as a reader of files would find them."""

        @property
        def columns(self) -> tuple[Column, ...]:
            remedies = {"x": ("--decimal", ","), "y": ("--decimal", ","), "z": ("--decimal", ".")}
            return tuple(Column(name, one.kind, 0, remedy=remedies.get(name, ())) for name, one in self.content.items())

    content = made(NUMBERS, x=["1,5", "2", "3", "4"], y=["1,5", "2", "3", "4"], z=["1.5", "2,0", "3", "4"]).content
    with pytest.raises(TableError) as raised:
        roles_of(Read("t.csv", content))
    # Two columns that ask for different things cannot both have them.
    assert raised.value.remedy == ("--decimal", ",", "--decimal", ",", "--ignore", "z")
    assert correct_command(["detect", "t.csv"], raised.value.remedy) == "aspca detect t.csv --ignore z --decimal ,"


def test_dates_time_the_rows() -> None:
    dates = {name: np.arange(start, start + 4.0) for name, start in (("when", 0), ("then", 4))}
    dated = {name: MemoryColumn("date", moments, moments) for name, moments in dates.items()}
    table = MemoryTable("t.csv", {**made(NUMBERS).content, **dated})
    found = roles_of(table, ignore=["then"])
    assert (found.features, found.time) == (("a", "b"), "when")
    assert "it times the rows (as with --time)" in found.remarks[0]
    found = roles_of(table)
    assert (found.features, found.time) == (("a", "b"), "when")
    assert found.remarks[1] == "Column 'then' holds dates and is left out; --date then takes days since 1970."
    found = roles_of(table, date=["then", "when"])
    assert (found.features, found.time) == (("a", "b", "when", "then"), None)
    with pytest.raises(RequestError, match=r"--date: column 'a' of t\.csv holds no dates, but numbers"):
        roles_of(table, ignore=["then"], date="a")


def test_what_columns_are_to_become() -> None:
    table = made(NUMBERS, hue=["x", "x", "y", "y"])
    found = roles_of(table, categorical="hue", log="a")
    assert found.features == ("a", "b", "hue")
    assert found.kinds == {"hue": "one-hot", "a": "log"}
    for options, words in (
        ({"categorical": {"hui": "codes"}}, r"--categorical: t.csv has no column 'hui'; did you mean 'hue'\?"),
        ({"log": "hue"}, r"--log: column 'hue' of t.csv holds text \('x' in row 0\), but log takes numbers"),
        ({"transform": {"hue": "sqrt"}}, r"--transform: column 'hue' .* but sqrt takes numbers"),
        ({"log": "a", "ignore": ["a"]}, "--log: column 'a' has another role already"),
    ):
        with pytest.raises(RequestError, match=words):
            roles_of(table, **options)


@pytest.mark.parametrize("name", ["id", "ID", "row", "index", "user_id", "Unnamed: 0", ""])
def test_a_column_that_counts_rows_names_them(name: str) -> None:
    found = roles_of(made({name: [1.0, 2.0, 3.0, 7.0], **NUMBERS}))
    assert found.features == ("a", "b")
    assert found.name == name
    assert "counts the rows" in found.remarks[0]


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
    found = roles_of(table)
    assert (found.features, found.name) == (("a", "b"), name)
    assert found.remarks[0].startswith(f"Column {name!r} {why}, so it names the rows")
    assert name in roles_of(table, number=name).features


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


def test_several_columns_in_one_word() -> None:
    numbers = {name: [1.0, 2.5, 4.0, 3.0 + k] for k, name in enumerate(("a", "b", "a,b", "c", "x, y"))}
    for ignore, left in (
        (["a,b"], ("a", "b", "c", "x, y")),
        (["a,c"], ("b", "a,b", "x, y")),
        (["a, c", "b"], ("a,b", "x, y")),
        (["c,x, y,a,b"], ("a", "b")),
    ):
        assert roles_of(made(numbers), ignore=ignore).features == left


def test_everything_at_once() -> None:
    numbers = {**NUMBERS, "c": [0.0, 1.0, 2.0, 3.5]}
    table = made(numbers, host=["x", "x", "y", "y"], cpu=["1", "2", "3", "y"], disk=["1", "x", "2", "3"])
    with pytest.raises(TableError) as raised:
        roles_of(table, id="hots", time="host", label="b", ignore=["zz,a"], log="host", transform={"bb": "sqrt"})
    told = " ".join(raised.value.sentences)
    assert len(raised.value.sentences) == 8
    for words in (
        "--id:",
        "--time:",
        "--label:",
        "--ignore:",
        "--log:",
        "--transform:",
        "Column 'cpu'",
        "Column 'disk'",
    ):
        assert told.count(words) == 1
    typed = shlex.split("detect t.csv --id hots --time=host --label b --ignore zz,a --log host --transform bb=sqrt")
    pasted = correct_command(typed, raised.value.remedy, raised.value.instead)
    # The column that may have been meant by bb is the one that holds no labels: it cannot be both.
    assert pasted == "aspca detect t.csv --id host --ignore a --ignore b,cpu,disk"
    assert roles_of(table, id="host", ignore=["a", "b,cpu,disk"]).features == ("c",)


def test_a_column_that_may_have_been_meant_must_fit() -> None:
    table = made(NUMBERS, host=["x", "x", "y", "y"])
    with pytest.raises(TableError, match="did you mean 'host'") as raised:
        roles_of(table, time="hots")
    assert raised.value.instead == (Instead("--time", "hots"),)
    with pytest.raises(TableError, match="did you mean 'host'") as raised:
        roles_of(table, id="hots")
    assert raised.value.instead == (Instead("--id", "hots", "host"),)


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
    names = [f"c{k}" for k in range(2001)]
    wide = make_array_table("t.csv", names, np.random.default_rng(0).normal(size=(2002, 2001)))
    with pytest.raises(JobError, match=r"t\.csv has 2,001 features, .*--n-components 20"):
        learned_from(wide, tuple(names))
