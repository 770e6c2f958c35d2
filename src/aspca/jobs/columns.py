"""Which column is what: features, names of rows, times, labels; and the sentences for columns that fit nowhere."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from aspca.engines.source import Batch, Column
from aspca.jobs.errors import JobError, RequestError
from aspca.jobs.table import Table, column_of
from aspca.jobs.text_columns import Text, examined

NUMBERS = ("number", "boolean")
# Names of columns that count or name rows; alone they prove nothing, so the values are looked at too.
_IDENTIFIER = re.compile(
    r"(|id|idx|index|key|no|nr|row|rows?[ _.-]?(id|idx|index|no|nr|number)|unnamed: 0|.+[ _.-]id)", re.IGNORECASE
)
_MOST_NAMES = 8


@dataclass(frozen=True)
class Roles:
    """What each column is used for.

    Attributes
    ----------
    features : tuple of str
        What rules are made of.
    name, time, label : str or None
        The column that names rows, that times them, and that says which are anomalies.
    remarks : tuple of str
        Sentences about what was decided without being asked.
    """

    features: tuple[str, ...]
    name: str | None = None
    time: str | None = None
    label: str | None = None
    remarks: tuple[str, ...] = ()


def roles_of(
    table: Table,
    *,
    ignore: Collection[str] = (),
    name: str | None = None,
    time: str | None = None,
    label: str | None = None,
    learned: Table | None = None,
) -> Roles:
    """The roles of a table's columns, features being all numbers and yes/no columns that have no other role.

    Parameters
    ----------
    table : Table
        The rows to be judged.
    ignore, name, time, label
        Names given for these roles.
    learned : Table or None
        The table that rules are learned from, if that is another one: its columns are the features.

    Raises
    ------
    RequestError
        A name that is not there, or a column of text or dates without a role.
    JobError
        No features are left.
    """
    for option, given in (("--id", name), ("--time", time), ("--label", label)):
        if given is not None:
            refuse_absent(table, given, option)
    for given in ignore:
        if learned is None or column_of(learned, given) is None:
            refuse_absent(table, given, "--ignore")
    source = table if learned is None else learned
    aside = {*ignore, *(role for role in (name, time, label) if role is not None)}
    left = [column for column in source.columns if column.name not in aside]
    _refuse_odd(source, [column for column in left if column.kind not in NUMBERS], name)
    counting = _counting(source, left)
    remarks = []
    if counting is not None:
        left = [column for column in left if column.name != counting]
        use = "it is not used as a feature"
        if name is None and column_of(table, counting) is not None:
            name, use = counting, "it names the rows (as with --id) and is not used as a feature"
        remarks.append(f"Column {counting!r} counts the rows, so {use}; rename it if it is a measurement.")
    if not left:
        raise JobError(f"{source.description} has no column of numbers left to make rules of.")
    roles = Roles(tuple(column.name for column in left), name, time, label, tuple(remarks))
    if learned is not None:
        refuse_other_columns(table, roles.features, "the rules learned")
    return roles


def refuse_other_columns(table: Table, features: Sequence[str], whose: str) -> None:
    """Raise RequestError unless the table has all these features, as numbers."""
    names = {column.name: column for column in table.columns}
    absent = [feature for feature in features if feature not in names]
    if absent:
        raise RequestError(
            f"{table.description} has no {_columns(absent)}, which {whose} need; its columns are "
            f"{_listed([column.name for column in table.columns])}."
        )
    odd = [names[feature] for feature in features if names[feature].kind not in NUMBERS]
    if odd:
        found = examined(table, [odd[0].name])[0]
        raise RequestError(
            f"Column {odd[0].name!r} of {table.description} holds {_kind(odd[0])}{found.example}, but {whose} need "
            "numbers there; correct the column."
        )


def refuse_missing(table: Table, batch: Batch, names: Sequence[str]) -> None:
    """Raise JobError if a value of a batch is missing or infinite, for its first row."""
    finite = np.isfinite(batch.values)
    if finite.all():
        return
    row, column = (int(one) for one in np.argwhere(~finite)[0])
    total = column_of(table, names[column])
    others = f" ({total.n_missing} such cells in all)" if total is not None and (total.n_missing or 0) > 1 else ""
    value = batch.values[row, column]
    what = "has no number" if np.isnan(value) else "is infinite"
    raise JobError(
        f"Column {names[column]!r} of {table.description} {what} in row {batch.start + row} (from 0){others}: every "
        f"value must be a finite number, so fill them, leave out their rows, or leave out the column with --ignore."
    )


def refuse_absent(table: Table, name: str, option: str) -> None:
    """Raise RequestError if there is no such column, which `option` named."""
    names = [column.name for column in table.columns]
    if name in names:
        return
    close = get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"its columns are {_listed(names)}."
    raise RequestError(f"{option}: {table.description} has no column {name!r}; {hint}")


def _refuse_odd(table: Table, odd: Sequence[Column], name: str | None) -> None:
    """Columns of text and dates make no rules: say which, and what to do with each."""
    if not odd:
        return
    dates = [column for column in odd if column.kind == "date"]
    texts = [column for column in odd if column.kind != "date"]
    found = examined(table, [column.name for column in texts])
    advice = [f"--time {_word(column.name)}" for column in dates[:1]]
    advice += [f"--ignore {_word(column.name)}" for column in dates[1:]]
    named = name
    for text in found:
        if text.distinct and named is None:
            named = text.name
            advice.append(f"--id {_word(text.name)} (every value differs)")
        else:
            advice.append(_advice(text))
    held = " and ".join(
        f"{_columns([column.name for column in columns])} {'holds' if len(columns) == 1 else 'hold'} {kind}"
        for kind, columns in (("dates", dates), ("text" + (found[0].example if found else ""), texts))
        if columns
    )
    held = held[0].upper() + held[1:]
    shown = advice if len(advice) <= _MOST_NAMES else [*advice[:_MOST_NAMES], "and so on"]
    raise RequestError(
        f"{held} in {table.description}, but rules are made of numbers: give {', '.join(shown)}; "
        "--id names rows by a column, --label tells which rows are anomalies, --ignore leaves a column out."
    )


def _advice(text: Text) -> str:
    if text.decimal_comma:
        return f"--decimal , ({text.name!r} looks like numbers)"
    if text.mostly_numbers:
        return f"--ignore {_word(text.name)} (or correct what is no number there)"
    if text.like_labels:
        return f"--label {_word(text.name)} (or --ignore it)"
    return f"--ignore {_word(text.name)}"


def _counting(table: Table, columns: Sequence[Column]) -> str | None:
    """The column whose name and values say that it counts rows: whole numbers, each above the one before."""
    for column in columns:
        if column.kind == "number" and len(columns) > 1 and _IDENTIFIER.fullmatch(column.name.strip()):
            batch = next(iter(table.batches([column.name])), None)
            if batch is not None and len(batch.values) > 2:
                values = batch.values[:, 0]
                if bool((values == np.floor(values)).all() and (np.diff(values) > 0).all()):
                    return column.name
    return None


def _kind(column: Column) -> str:
    return "dates" if column.kind == "date" else "text"


def _columns(names: Sequence[str]) -> str:
    return f"column{'s' if len(names) > 1 else ''} {_listed(names)}"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_MOST_NAMES])
    return f"{shown} and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else shown


def _word(name: str) -> str:
    """A name as one word of a command line."""
    return name if re.fullmatch(r"[\w.%+,-]+", name) and not name.startswith("-") else repr(name)
