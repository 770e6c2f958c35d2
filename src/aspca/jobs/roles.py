"""Which column is what: features, names of rows, times, labels; what is decided without being asked is told."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from aspca.engines.source import Column
from aspca.jobs.column_advice import PLURALS, examined, refuse_absent, refuse_odd
from aspca.jobs.errors import JobError, RequestError
from aspca.jobs.preparing import NUMBERS, refuse_other_columns
from aspca.jobs.tables import TableSource, cells_beside, column_of
from aspca.linalg.arrays import Floats
from aspca.preparation import CATEGORIES

# Names of columns that count or name rows; alone they prove nothing, so the values are looked at too.
_IDENTIFIER = re.compile(
    r"(|id|idx|index|key|no|nr|row|rows?[ _.-]?(id|idx|index|no|nr|number)|unnamed: 0|.+[ _.-]id)", re.IGNORECASE
)
_CLOCK = re.compile(r"(t|ts|.*(time|sec|seconds?|minutes?|hours?|days?|epoch|stamp|tick|ms).*)", re.IGNORECASE)
# Fewer may count 1, 2, 3 without being meant to.
_ENOUGH_ROWS = 20
_CLOSE = 0.9


@dataclass(frozen=True)
class Roles:
    """What each column is used for.

    Attributes
    ----------
    features : tuple of str
        Columns that rules are made of.
    name, time, label : str or None
        The column that names rows, that times them, and that says which are anomalies.
    kinds : mapping of str to str
        What becomes of features that are not taken as they are: see `preparation.KINDS`.
    remarks : tuple of str
        Sentences about what was decided without being asked.
    """

    features: tuple[str, ...]
    name: str | None = None
    time: str | None = None
    label: str | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


def roles_of(
    table: TableSource,
    *,
    ignore: Collection[str] = (),
    name: str | None = None,
    time: str | None = None,
    label: str | None = None,
    kinds: Mapping[str, str] | None = None,
    learned: TableSource | None = None,
) -> Roles:
    """The roles of a table's columns, features being all numbers and yes/no columns that have no other role.

    Without being asked, the first column of dates times the rows, a column of texts that all differ names them, as does
    one that counts them, and columns without any value, or with the same text in every row, are left out.

    Parameters
    ----------
    table : TableSource
        The rows to be judged.
    ignore, name, time, label
        Names given for these roles.
    kinds : mapping of str to str, or None
        What is to become of columns: categories, functions of numbers, dates as numbers.
    learned : TableSource or None
        The table that rules are learned from, if that is another one: its columns are the features.

    Raises
    ------
    RequestError
        A name that is not there, or a column of text or dates without a role.
    JobError
        No features are left.
    """
    kinds = kinds or {}
    source = table if learned is None else learned
    for option, given in (("--id", name), ("--time", time), ("--label", label)):
        if given is not None:
            refuse_absent(table, given, option)
    for given in ignore:
        if learned is None or column_of(learned, given) is None:
            refuse_absent(table, given, "--ignore")
    for given, kind in kinds.items():
        _refuse_wrong_kind(source, given, kind, {*ignore, name, time, label})
    left = [column for column in source.columns if column.name not in {*ignore, name, time, label}]
    chosen = _Chosen(table, left, name, time)
    chosen.leave_out_empty(source, kinds)
    chosen.leave_out_alike(source, kinds)
    chosen.take_time(kinds)
    chosen.take_name(source, kinds)
    refuse_odd(source, [one for one in chosen.left if one.kind not in NUMBERS and one.name not in kinds])
    if not chosen.left:
        raise JobError(f"{source.description} has no column of numbers left to make rules of.")
    features = tuple(column.name for column in chosen.left)
    roles = Roles(features, chosen.name, chosen.time, label, dict(kinds), tuple(chosen.remarks))
    if learned is not None:
        refuse_other_columns(table, {one: kinds.get(one, "number") for one in features}, "the rules learned")
    return roles


class _Chosen:
    """What is decided without being asked, step by step; `left` are the columns still without a role."""

    def __init__(self, table: TableSource, left: list[Column], name: str | None, time: str | None) -> None:
        self.table, self.left, self.name, self.time = table, left, name, time
        self.remarks: list[str] = []

    def _drop(self, name: str, remark: str) -> None:
        self.left = [column for column in self.left if column.name != name]
        self.remarks.append(remark)

    def leave_out_alike(self, source: TableSource, kinds: Mapping[str, str]) -> None:
        """Columns of text that is the same in every row."""
        texts = [column.name for column in self.left if column.kind == "text" and column.name not in kinds]
        for text in examined(source, texts):
            if text.n_values == 1 and source.count() > 1 and _alike(source, text.name):
                self._drop(text.name, f"Column {text.name!r} is the same in every row, so it is left out.")

    def leave_out_empty(self, source: TableSource, kinds: Mapping[str, str]) -> None:
        """Columns without any value."""
        n = source.count()
        for column in list(self.left):
            if (
                column.kind == "text"
                and column.n_missing is not None
                and column.n_missing >= n > 0
                and column.name not in kinds
            ):
                self._drop(column.name, f"Column {column.name!r} has no values, so it is left out.")

    def take_time(self, kinds: Mapping[str, str]) -> None:
        dates = [column for column in self.left if column.kind == "date" and column.name not in kinds]
        found = column_of(self.table, dates[0].name) if dates else None
        if self.time is None and found is not None and found.kind == "date" and not found.n_missing:
            self.time = found.name
            use = "it times the rows (as with --time) and is not used as a feature"
            self._drop(self.time, f"Column {self.time!r} holds dates, so {use}; --date makes it one.")

    def take_name(self, source: TableSource, kinds: Mapping[str, str]) -> None:
        free = [column for column in self.left if column.name not in kinds]
        found, why = _counting(source, free) or (None, "")
        remedy = "--number makes it one"
        if found is None and self.name is None:
            texts = examined(source, [column.name for column in free if column.kind == "text" and not column.remedy])
            found = next((text.name for text in texts if text.distinct), None)
            why, remedy = "differs from row to row", "--ignore it if it does not name them"
        if found is None:
            return
        use = "it is not used as a feature"
        if self.name is None and column_of(self.table, found) is not None:
            self.name, use = found, "it names the rows (as with --id) and is not used as a feature"
        self._drop(found, f"Column {found!r} {why}, so {use}; {remedy}.")


def _refuse_wrong_kind(table: TableSource, name: str, kind: str, taken: set[str | None]) -> None:
    """A column that is asked to become something that it cannot."""
    options = {"date": "--date", "number": "--number", "log": "--log"} | dict.fromkeys(CATEGORIES, "--categorical")
    option = options.get(kind, "--transform")
    refuse_absent(table, name, option)
    if name in taken:
        raise RequestError(f"{option}: column {name!r} has another role already; give it one of them.")
    column = column_of(table, name)
    held = "" if column is None else column.kind
    if kind == "date" and held != "date":
        raise RequestError(
            f"--date: column {name!r} of {table.description} holds no dates, but {PLURALS.get(held, held)}; "
            "dates are written as in 2024-12-31 or 2024-12-31 23:59:00."
        )
    if kind == "number" and held in NUMBERS:
        return
    if kind not in CATEGORIES and kind != "date" and held != "number":
        found = examined(table, [name])[0].example if held == "text" else ""
        raise RequestError(
            f"{option}: column {name!r} of {table.description} holds {PLURALS.get(held, held)}{found}, but {kind} "
            "takes numbers."
        )


def _alike(table: TableSource, name: str) -> bool:
    """Whether all cells of a column are the same, and none is missing."""
    cells = cells_beside(table, name)
    first = next(cells, None)
    return first is not None and all(cell == first for cell in cells)


def _counting(table: TableSource, columns: Sequence[Column]) -> tuple[str, str] | None:
    """A column that counts or names rows, and why."""
    numbers = [column.name for column in columns if column.kind == "number"]
    if len(columns) < 2 or not numbers:
        return None
    batch = next(iter(table.batches(numbers)), None)
    if batch is None or len(batch.values) < 3:
        return None
    for name, values in zip(numbers, batch.values.T, strict=True):
        steps = np.diff(values)
        if not (values == np.floor(values)).all() or steps[0] == 0:
            continue
        even, called = bool((steps == steps[0]).all()), name.strip()
        counts = steps[0] == 1 and len(values) >= _ENOUGH_ROWS
        if _IDENTIFIER.fullmatch(called) and (even or np.unique(values).size == values.size):
            return name, "counts the rows" if bool((steps > 0).all()) else "is different in every row"
        if even and (counts or _CLOCK.fullmatch(called)) and not _followed(batch.values, values):
            return name, "counts the rows" if counts else "moves in even steps"
    return None


def _followed(table: Floats, column: Floats) -> bool:
    """Whether another column (n,) of a table goes along with this one: then it is more than a count."""
    centred = table - table.mean(axis=0)
    sizes = np.linalg.norm(centred, axis=0)
    own = column - column.mean()
    along = np.abs(own @ centred) / np.where(sizes > 0, sizes, 1.0) / np.linalg.norm(own)
    return int((along > _CLOSE).sum()) > 1
