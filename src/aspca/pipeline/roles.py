"""Which column is what: features, names of rows, times, labels; what is decided without being asked is told.

What is surely harmless is done and said: text and dates without a role are left out, as codes are. All else that stands
in the way is gathered and said at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from aspca.pipeline.column_types import (
    TextColumn,
    columns_text,
    describe_codes,
    describe_labels,
    describe_texts,
    examine_texts,
    find_codes,
    find_counter,
    find_numeric_labels,
    word_of,
)
from aspca.pipeline.columns import (
    check_categories,
    check_columns,
    check_gaps,
    check_kind,
    check_labels,
    check_name,
    check_text,
    check_time,
    resolve_conflicts,
    shorten,
    split_names,
    withdraw_unfit,
)
from aspca.pipeline.errors import JobError, Obstacle, TableError
from aspca.pipeline.keys import ids_of
from aspca.pipeline.options import Columns
from aspca.tables.memory import MemoryTable
from aspca.tables.table import Column, Table, column_of, read_cells


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
    left_out : tuple of str
        Columns without a role, whether the user said so or not.
    remarks : tuple of str
        Sentences about what was decided without being asked.
    """

    features: tuple[str, ...]
    name: str | None = None
    time: str | None = None
    label: str | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def roles_of(
    table: Table,
    asked: Columns,
    *,
    learned: Table | None = None,
    calibrate: Table | None = None,
    judged: bool = True,
) -> Roles:
    """The roles of a table's columns, features being all numbers and yes/no columns that have no other role.

    Without being asked, the first column of dates times the rows, a column of texts that all differ names them, as does
    one that counts them; and text, other dates, columns without any value, labels and codes are left out.

    Parameters
    ----------
    table : Table
        The rows to be judged.
    asked : Columns
        What the user said of columns.
    learned : Table or None
        The table that rules are learned from, if that is another one: its columns are the features.
    calibrate : Table or None
        The table that limits are taken from, if that is another one.
    judged : bool
        Whether rows are judged, not only learned from: labels are compared with then, and `by` is there.

    Raises
    ------
    TableError
        A name that is not there, a column that cannot be what was asked for, or numbers that cannot be read as such.
    JobError
        No features are left.
    """
    kinds, ids = asked.conversions, ids_of(table, asked.id)
    name, others = (ids[0], ids[1:]) if ids else (_index_of(table), ())
    source = table if learned is None else learned
    roles = [("--id", name), ("--time", asked.time), ("--label", asked.label), ("--by", asked.by)]
    roles += [("--id", other) for other in others]
    obstacles = [one for option, given in roles if given is not None and (one := check_name(table, given, option))]
    obstacles += [*check_time(table, asked.time), *check_categories(source, asked.by)]
    if judged and asked.label is not None and column_of(table, asked.label) is not None:
        obstacles += check_labels(table, asked.label)
    ignored = [] if learned is None or (index := _index_of(learned)) is None or index in ids else [index]
    for given, typed in split_names(source, asked.ignore):
        missing = check_name(table, given, "--ignore", typed)
        if missing is None or (learned is not None and column_of(learned, given) is not None):
            ignored.append(given)
        else:
            obstacles.append(missing)
    named = {given for _, given in roles}
    taken = {*ignored, *named}
    for given, kind in kinds.items():
        obstacles += check_kind(source, given, kind, taken)
    left = [column for column in source.columns if column.name not in taken]
    chosen = _Chosen(table, source, left, name, asked.time, kinds)
    obstacles += chosen.decide(asked.ignore_text, judged, compared=asked.label is not None)
    features = tuple(column.name for column in chosen.left)
    if not features and not obstacles:
        obstacles.append(_nothing_left(source, chosen))
    wanted = {one: kinds.get(one, "number") for one in features}
    for other, whose in ((table if learned is not None else None, "the rules learned"), (calibrate, "the rules")):
        obstacles += [] if other is None else check_columns(other, wanted, whose, can_ignore=True)
    for each in (table, learned, calibrate) if asked.allow_missing is False else ():
        obstacles += [] if each is None else check_gaps(each, features)
    if obstacles:
        free = {one.instead.given for one in obstacles if one.instead is not None and one.instead.value is None}
        obstacles = [withdraw_unfit(one, table, source, {*taken, *kinds} - free) for one in obstacles]
        raise TableError.of(resolve_conflicts(obstacles, features))
    left_out = tuple(column.name for column in source.columns if column.name not in {*features, *named})
    return Roles(features, chosen.name, chosen.time, asked.label, kinds, left_out, tuple(chosen.remarks))


def _index_of(table: Table) -> str | None:
    """The column that holds the names of a frame's rows, which is no feature."""
    return table.index if isinstance(table, MemoryTable) else None


def _nothing_left(source: Table, chosen: _Chosen) -> Obstacle:
    """No numbers: what else there is could be made some.

    Raises
    ------
    JobError
        There is nothing.
    """
    few = [text.name for text in chosen.texts if text.few]
    words = [word for name in few for word in ("--categorical", name)]
    words += [word for name in chosen.dates for word in ("--date", name)]
    sentence = f"{source.description} has no column of numbers left to make rules of"
    if not words:
        # What was decided without being asked explains it.
        raise JobError(" ".join([*chosen.remarks, f"{sentence}."]))
    ways = [f"the values of {columns_text(few)} as categories"] if few else []
    ways += [f"{columns_text(chosen.dates)} as days"] if chosen.dates else []
    return Obstacle(f"{sentence}; it could take {' and '.join(ways)}.", tuple(words))


# ---- what is decided without being asked


class _Chosen:
    """What is decided, step by step; `left` are the columns still without a role, `texts` and `dates` left out."""

    def __init__(
        self,
        table: Table,
        source: Table,
        left: list[Column],
        name: str | None,
        time: str | None,
        kinds: Mapping[str, str],
    ) -> None:
        self._table, self._source, self._kinds = table, source, kinds
        self.left, self.name, self.time = left, name, time
        self._texts = {text.name: text for text in examine_texts(source, [one.name for one in self._free("text")])}
        self.remarks: list[str] = []
        self.dates: list[str] = []

    def decide(self, ignore_text: bool, judged: bool, *, compared: bool) -> list[Obstacle]:
        """Everything, and what cannot be decided; `compared`: labels were given."""
        self._leave_out_empty()
        self._leave_out_alike()
        self._take_time()
        self._take_name()
        obstacles = [] if ignore_text else self._numbers_as_text()
        self._leave_out_dates()
        n_rows = self._source.count() if judged else 0
        odd = [column for column in self.left if column.name in self._texts and column.remark]
        self.remarks += [f"Column {column.name!r} is text and left out: {column.remark}." for column in odd]
        texts = [text for text in self.texts if text.name not in {column.name for column in odd}]
        self.remarks += [] if ignore_text else describe_texts(texts, n_rows)
        self._drop(*self._texts)
        words = [] if ignore_text else [text.name for text in texts if text.like_labels]
        self._leave_out_labels(words, offered=judged and not compared)
        self._leave_out_codes()
        return obstacles

    @property
    def texts(self) -> list[TextColumn]:
        return list(self._texts.values())

    def _free(self, *kinds: str) -> list[Column]:
        """Columns still without a role, of these kinds, of which the user said nothing."""
        return [
            column for column in self.left if column.name not in self._kinds and (column.kind in kinds or not kinds)
        ]

    def _drop(self, *names: str) -> None:
        self.left = [column for column in self.left if column.name not in names]

    def _leave_out_empty(self) -> None:
        """Columns without any value, or with values that are lists or records."""
        n = self._source.count()
        empty = [column for column in self._free() if column.n_missing is not None and column.n_missing >= n > 0]
        for column in empty:
            self._texts.pop(column.name, None)
            why = column.remark.removeprefix("it ") or "has no values"
            self.remarks.append(f"Column {column.name!r} {why}, so it is left out.")
        self._drop(*(column.name for column in empty))

    def _leave_out_alike(self) -> None:
        """Columns of text that is the same in every row."""
        for name, text in list(self._texts.items()):
            if text.n_values == 1 and self._source.count() > 1 and _is_constant(self._source, name):
                del self._texts[name]
                self.remarks.append(f"Column {name!r} is the same in every row, so it is left out.")
                self._drop(name)

    def _take_time(self) -> None:
        dates = self._free("date")
        found = column_of(self._table, dates[0].name) if dates else None
        if self.time is None and found is not None and found.kind == "date" and not found.n_missing:
            self.time = found.name
            use = "it times the rows (as with --time) and is not used as a feature"
            self.remarks.append(f"Column {self.time!r} holds dates, so {use}; --date makes it one.")
            self._drop(self.time)

    def _take_name(self) -> None:
        found, why = find_counter(self._source, self._free()) or (None, "")
        remedy = "--number makes it one"
        if found is None and self.name is None:
            meant = {column.name for column in self.left if column.remedy}
            found = next((text.name for text in self._texts.values() if text.distinct and text.name not in meant), None)
            why, remedy = "differs from row to row", "--ignore it if it does not name them"
        if found is None:
            return
        self._texts.pop(found, None)
        use = "it is not used as a feature"
        if self.name is None and column_of(self._table, found) is not None:
            self.name, use = found, "it names the rows (as with --id) and is not used as a feature"
        self.remarks.append(f"Column {found!r} {why}, so {use}; {remedy}.")
        self._drop(found)

    def _numbers_as_text(self) -> list[Obstacle]:
        settled: dict[str, str] = {}
        columns = [column for column in self._free() if column.remedy or column.name in self._texts]
        texts = {text.name: text for text in examine_texts(self._source, [column.name for column in columns])}
        found = [check_text(self._source, column, texts[column.name], settled) for column in columns]
        return shorten([one for one in found if one is not None])

    def _leave_out_dates(self) -> None:
        self.dates = [column.name for column in self._free("date")]
        if self.dates:
            one = len(self.dates) == 1
            held = columns_text(self.dates)
            told = f"{held[0].upper()}{held[1:]} hold{'s' if one else ''} dates and {'is' if one else 'are'} left out"
            self.remarks.append(f"{told}; --date {word_of(self.dates[0])} takes days since 1970.")
            self._drop(*self.dates)

    def _leave_out_labels(self, words: list[str], *, offered: bool) -> None:
        """Labels of numbers, beside those in `words`; `offered`: as such, where the rows judged have both values."""
        found = list(find_numeric_labels(self._source, self._free()))
        found = found if len(found) < len(self.left) else []
        judged = find_numeric_labels(self._table, [one for one in self._table.columns if one.name in found])
        both = [name for name, several in judged.items() if several] if offered else []
        both += [name for name in words if offered and column_of(self._table, name) is not None]
        if found or words:
            compared, learned = next(iter(both), None), next(iter(found), None)
            self.remarks.append(describe_labels([*found, *words], compared=compared, learned=learned))
        self._drop(*found)

    def _leave_out_codes(self) -> None:
        codes = find_codes(self._source, self._free())
        sure = [code for code in codes if code.sure]
        if sure and len(sure) < len(self.left):
            self.remarks.append(describe_codes(sure, left_out=True))
            self._drop(*(code.name for code in sure))
        doubtful = [code for code in codes if any(code.name == column.name for column in self.left)]
        if doubtful:
            self.remarks.append(describe_codes(doubtful, left_out=False))


def _is_constant(table: Table, name: str) -> bool:
    """Whether all cells of a column are the same, and none is missing."""
    cells = read_cells(table, name)
    first = next(cells, None)
    return first is not None and all(cell == first for cell in cells)
