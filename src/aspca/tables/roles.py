"""Which column is what: features, names of rows, times, labels; what is decided without being asked is told.

What is surely harmless is done and said: text and dates without a role are left out, as codes are. All else that stands
in the way is gathered and said at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from aspca.preparation import CATEGORIES
from aspca.preparation.feature import TRANSFORMS
from aspca.tables.column_advice import (
    describe_codes,
    describe_labels,
    describe_texts,
    examine_texts,
    find_codes,
    find_counter,
    find_numeric_labels,
    name_columns,
    quote_word,
)
from aspca.tables.column_checks import (
    check_columns,
    check_gaps,
    check_kind,
    check_name,
    check_role,
    check_text,
    resolve_conflicts,
    shorten,
    withdraw_unfit,
)
from aspca.tables.errors import JobError, Obstacle, RequestError, TableError
from aspca.tables.keys import find_ids, split_names
from aspca.tables.memory import MemoryTable
from aspca.tables.table import Column, Table, find_column, read_cells


@dataclass(frozen=True)
class Columns:
    """What is said of columns, each named by the user."""

    id: tuple[str, ...] = ()  # columns that name rows; here and in `ignore` a word may name several, with commas
    time: str | None = None  # the column that times rows
    label: str | None = None  # the column that says which rows are anomalies
    ignore: tuple[str, ...] = ()  # columns that are left out
    ignore_text: bool = False  # all text without a role is left out, also what seems to be numbers
    categorical: tuple[str, ...] = ()  # become categories: `kind`, `kind=codes`
    log: tuple[str, ...] = ()  # become logarithms
    transform: tuple[str, ...] = ()  # become other functions: `amount=sqrt`
    date: tuple[str, ...] = ()  # become days since 1970
    number: tuple[str, ...] = ()  # are numbers though they seem to count rows
    allow_missing: bool | None = None  # values may be missing; None: if some are
    by: str | None = None  # the column for each category of which there is a model of its own

    @property
    def conversions(self) -> dict[str, str]:
        """What is to become of columns, by name: see `preparation.KINDS`."""
        given = [(name, kind) for kind in ("log", "date", "number") for name in getattr(self, kind)]
        for text in self.categorical:
            name, _, kind = text.rpartition("=")
            given.append((name, kind) if kind in CATEGORIES and name else (text, "one-hot"))
        for text in self.transform:
            name, _, kind = text.rpartition("=")
            if kind not in TRANSFORMS or not name:
                raise RequestError(
                    f"--transform takes a column and one of {', '.join(TRANSFORMS)}, as in amount=log, got {text!r}."
                )
            given.append((name, kind))
        kinds: dict[str, str] = {}
        for name, kind in given:
            if kinds.setdefault(name, kind) != kind:
                raise RequestError(f"Column {name!r} cannot be both {kinds[name]} and {kind}; give one of them.")
        return kinds


@dataclass(frozen=True)
class Roles:
    """What each column is used for."""

    features: tuple[str, ...]  # columns that rules are made of
    name: str | None = None  # the column that names rows
    time: str | None = None  # the column that times them
    label: str | None = None  # the column that says which are anomalies
    kinds: Mapping[str, str] = field(default_factory=dict)  # what becomes of features not taken as they are
    left_out: tuple[str, ...] = ()  # columns without a role, whether the user said so or not
    remarks: tuple[str, ...] = ()  # sentences about what was decided without being asked


def assign_roles(
    table: Table, asked: Columns, *, learned: Table | None = None, calibrate: Table | None = None, judged: bool = True
) -> Roles:
    """The roles of a table's columns, features being all numbers and yes/no columns that have no other role.

    Without being asked, the first column of dates times the rows, a column of texts that all differ names them, as does
    one that counts them; and text, other dates, columns without any value, labels and codes are left out. All that
    stands in the way is one TableError; JobError if no features are left.

    Parameters
    ----------
    table, learned, calibrate : Table or None
        The rows to be judged, and those that rules are learned from (whose columns are the features) and limits are
        taken from, if these are others.
    asked : Columns
        What the user said of columns.
    judged : bool
        Whether rows are judged, not only learned from: labels are compared with then, and `by` is there.
    """
    kinds, ids = asked.conversions, find_ids(table, asked.id)
    name, others = (ids[0], ids[1:]) if ids else (_find_index(table), ())
    source = table if learned is None else learned
    roles = [("--id", name), ("--time", asked.time), ("--label", asked.label), ("--by", asked.by)]
    roles += [("--id", other) for other in others]
    obstacles = [one for option, given in roles if given is not None and (one := check_name(table, given, option))]
    obstacles += [] if asked.time is None else check_role(table, "--time", asked.time)
    obstacles += [] if asked.by is None else check_role(source, "--by", asked.by)
    obstacles += [] if asked.label is None or not judged else check_role(table, "--label", asked.label)
    ignored = [] if learned is None or (index := _find_index(learned)) is None or index in ids else [index]
    for given, typed in split_names(source, asked.ignore):
        missing = check_name(table, given, "--ignore", typed)
        if missing is None or (learned is not None and find_column(learned, given) is not None):
            ignored.append(given)
        else:
            obstacles.append(missing)
    named = {given for _, given in roles}
    taken = {*ignored, *named}
    for given, kind in kinds.items():
        obstacles += check_kind(source, given, kind, taken)
    left = [column for column in source.columns if column.name not in taken]
    chosen = _Choice(table, source, left, name, asked.time, kinds)
    obstacles += chosen.decide(asked.ignore_text, judged, compared=asked.label is not None)
    features = tuple(column.name for column in chosen.left)
    if not features and not obstacles:
        obstacles.append(chosen.offer_others())
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


def _find_index(table: Table) -> str | None:
    """The column that holds the names of a frame's rows, which is no feature."""
    return table.index if isinstance(table, MemoryTable) else None


class _Choice:
    """What is decided without being asked, step by step; `left` are the columns still without a role."""

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
        texts = examine_texts(source, [column.name for column in self._free("text")])
        self._texts = {text.name: text for text in texts}
        self.remarks: list[str] = []
        self._dates: list[str] = []

    def decide(self, ignore_text: bool, judged: bool, *, compared: bool) -> list[Obstacle]:
        """Everything, and what cannot be decided; `compared`: labels were given."""
        self._leave_out_constant()
        self._take_time()
        self._take_name()
        obstacles = [] if ignore_text else self._check_texts()
        self._dates = [column.name for column in self._free("date")]
        if self._dates:
            use = "hold dates and are left out" if len(self._dates) > 1 else "holds dates and is left out"
            held = name_columns(self._dates, capital=True)
            offer = f"--date {quote_word(self._dates[0])} takes days since 1970"
            self._leave_out(f"{held} {use}; {offer}.", *self._dates)
        odd = {column.name: column.remark for column in self.left if column.name in self._texts and column.remark}
        self.remarks += [f"Column {name!r} is text and left out: {why}." for name, why in odd.items()]
        texts = [] if ignore_text else [text for name, text in self._texts.items() if name not in odd]
        self.remarks += describe_texts(texts, self._source.count() if judged else 0)
        self.left = [column for column in self.left if column.name not in self._texts]
        self._leave_out_labels([text.name for text in texts if text.like_labels], offered=judged and not compared)
        self._leave_out_codes()
        return obstacles

    def offer_others(self) -> Obstacle:
        """No numbers: what else there is could be made some; JobError if there is nothing."""
        few = [text.name for text in self._texts.values() if text.few]
        words = [word for name in few for word in ("--categorical", name)]
        words += [word for name in self._dates for word in ("--date", name)]
        sentence = f"{self._source.description} has no column of numbers left to make rules of"
        if not words:
            # What was decided without being asked explains it.
            raise JobError(" ".join([*self.remarks, f"{sentence}."]))
        ways = [f"the values of {name_columns(few)} as categories"] if few else []
        ways += [f"{name_columns(self._dates)} as days"] if self._dates else []
        return Obstacle(f"{sentence}; it could take {' and '.join(ways)}.", tuple(words))

    def _free(self, *kinds: str) -> list[Column]:
        """Columns still without a role, of these kinds, of which the user said nothing."""
        return [
            column for column in self.left if column.name not in self._kinds and (column.kind in kinds or not kinds)
        ]

    def _leave_out(self, remark: str, *names: str) -> None:
        self.remarks.append(remark)
        self.left = [column for column in self.left if column.name not in names]

    def _leave_out_constant(self) -> None:
        """Columns without any value, or with values that are lists or records, and text that is always the same."""
        n = self._source.count()
        for column in self._free():
            if column.n_missing is not None and column.n_missing >= n > 0:
                self._texts.pop(column.name, None)
                why = column.remark.removeprefix("it ") or "has no values"
                self._leave_out(f"Column {column.name!r} {why}, so it is left out.", column.name)
        for name in [name for name, text in self._texts.items() if text.n_values == 1 and n > 1]:
            cells = read_cells(self._source, name)
            first = next(cells, None)
            if first is not None and all(cell == first for cell in cells):
                del self._texts[name]
                self._leave_out(f"Column {name!r} is the same in every row, so it is left out.", name)

    def _take_time(self) -> None:
        dates = self._free("date")
        found = find_column(self._table, dates[0].name) if dates else None
        if self.time is None and found is not None and found.kind == "date" and not found.n_missing:
            self.time = found.name
            use = "it times the rows (as with --time) and is not used as a feature"
            self._leave_out(f"Column {self.time!r} holds dates, so {use}; --date makes it one.", self.time)

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
        if self.name is None and find_column(self._table, found) is not None:
            self.name, use = found, "it names the rows (as with --id) and is not used as a feature"
        self._leave_out(f"Column {found!r} {why}, so {use}; {remedy}.", found)

    def _check_texts(self) -> list[Obstacle]:
        """Columns of text that should be numbers."""
        settled: dict[str, str] = {}
        columns = [column for column in self._free() if column.remedy or column.name in self._texts]
        texts = examine_texts(self._source, [column.name for column in columns])
        found = [check_text(self._source, column, text, settled) for column, text in zip(columns, texts, strict=True)]
        return shorten([one for one in found if one is not None])

    def _leave_out_labels(self, words: list[str], *, offered: bool) -> None:
        """Labels of numbers, beside those in `words`; `offered`: as such, where the rows judged have both values."""
        found = list(find_numeric_labels(self._source, self._free()))
        found = found if len(found) < len(self.left) else []
        judged = find_numeric_labels(self._table, [one for one in self._table.columns if one.name in found])
        both = [name for name, several in judged.items() if several] if offered else []
        both += [name for name in words if offered and find_column(self._table, name) is not None]
        if found or words:
            compared, learned = next(iter(both), None), next(iter(found), None)
            self._leave_out(describe_labels([*found, *words], compared=compared, learned=learned), *found)

    def _leave_out_codes(self) -> None:
        codes = find_codes(self._source, self._free())
        sure = [code for code in codes if code.sure]
        if sure and len(sure) < len(self.left):
            self._leave_out(describe_codes(sure, left_out=True), *(code.name for code in sure))
        doubtful = [code for code in codes if any(code.name == column.name for column in self.left)]
        if doubtful:
            self.remarks.append(describe_codes(doubtful, left_out=False))
