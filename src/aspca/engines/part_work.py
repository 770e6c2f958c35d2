"""What workers do with a part: run a task over its chunks, or map them to other rows; results travel as bytes.

Sentences for people that are raised meanwhile are results too: the first of them, in the order of the rows, is raised
where the pass was asked for. All else is the engine's to try again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from aspca.engines.errors import SourceError
from aspca.engines.parcel import PACKAGE, packed, unpacked
from aspca.engines.part import Form, Part, chunks, own_connection

Task = Callable[[Part, int], Any]
Merge = Callable[[Any, Any], Any]
# Record batches made of the rows of a part.
Mapping = Callable[[Part, int], Iterable[Any]]


@dataclass
class Outcome:
    """What came of some parts, one after the other.

    Attributes
    ----------
    rows : dict
        By the number of a part: how many rows it had.
    sums : dict
        By names of columns that were read, and the number of a part: see `Part.sums`.
    found : list
        The result, or nothing where there were no rows.
    error : Exception or None
        What was raised first.
    """

    rows: dict[int, int] = field(default_factory=dict)
    sums: dict[tuple[str, ...], dict[int, int]] = field(default_factory=dict)
    found: list[Any] = field(default_factory=list)
    error: Exception | None = None

    def add(self, found: Any, merge: Merge) -> None:
        """Take in the result of the rows that follow."""
        self.found = [merge(self.found[0], found)] if self.found else [found]

    def note(self, number: int, part: Part) -> None:
        """Take in what was seen of a chunk of a part."""
        self.rows[number] += part.count()
        for names, total in part.sums.items():
            of_part = self.sums.setdefault(names, {})
            of_part[number] = (of_part.get(number, 0) + total) % (1 << 64)


@dataclass(frozen=True)
class Places:
    """The number of the first row of each part, and how many it has; of parts that nobody counted yet, 0."""

    rows: tuple[int, ...] | None = None

    def start(self, number: int) -> int:
        return 0 if self.rows is None else sum(self.rows[:number])

    def between(self, first: int, end: int) -> Iterator[tuple[int, int, int | None]]:
        """The parts that hold rows from `first` to before `end`: the number of each, and where these begin and end in
        it; None for all that follow, so that rows which a part did not have before are seen."""
        start = 0
        for number, rows in enumerate(self.rows or ()):
            low, high = max(first - start, 0), end - start
            if low < min(high, rows):
                yield number, low, high if high < rows else None
            start += rows

    def refuse_other(self, label: str, number: int, rows: int) -> None:
        """Raise SourceError if a part has not as many rows as it had."""
        known = None if self.rows is None else self.rows[number] if number < len(self.rows) else 0
        if known is not None and rows != known:
            raise changed(label, f"part {number} had {known:,} rows and now has {rows:,}")


def changed(label: str, how: str) -> SourceError:
    """The sentence for rows that are not what they were."""
    return SourceError(
        f"{label}: its rows changed between passes ({how}); they must stay as they are, so write them to Parquet, or "
        "persist the frame, and start again."
    )


@dataclass(frozen=True)
class Pass:
    """Runs a task over each chunk of a part; `only` are the numbers of parts that it is for, None for all."""

    form: Form
    places: Places
    task: Task
    merge: Merge
    only: frozenset[int] | None = None

    def __call__(self, number: int, batches: Iterable[Any]) -> bytes:
        outcome = Outcome()
        if self.only is None or number in self.only:
            outcome.rows[number] = 0
            caught(outcome, partial(self._run, outcome, number, batches))
        return packed(outcome)

    def _run(self, outcome: Outcome, number: int, batches: Iterable[Any]) -> None:
        for part, start in parts_of(self.form, self.places, number, batches):
            outcome.add(self.task(part, start), self.merge)
            outcome.note(number, part)

    def merged(self, outcomes: Sequence[bytes]) -> bytes:
        """What came of parts that follow each other."""
        return merged(self.merge, outcomes)


def merged(merge: Merge, outcomes: Sequence[bytes]) -> bytes:
    """What came of parts that follow each other; each is unpacked anew, so that a merge may change what it is given."""
    whole: Outcome = unpacked(outcomes[0])
    for packed_one in outcomes[1:]:
        if whole.error is not None:
            break
        later: Outcome = unpacked(packed_one)
        caught(whole, partial(_join, whole, later, merge))
    return packed(whole)


def _join(whole: Outcome, later: Outcome, merge: Merge) -> None:
    if later.error is not None:
        raise later.error
    for found in later.found:
        whole.add(found, merge)
    whole.rows |= later.rows
    for names, totals in later.sums.items():
        whole.sums.setdefault(names, {}).update(totals)


def caught(outcome: Outcome, run: Callable[[], None]) -> None:
    """Run something; a sentence that it raises becomes the outcome."""
    try:
        run()
    except ValueError as error:
        if type(error) is not ValueError and type(error).__module__.partition(".")[0] != PACKAGE:
            raise
        outcome.error, outcome.found = error, []


def parts_of(form: Form, places: Places, number: int, batches: Iterable[Any]) -> Iterator[tuple[Part, int]]:
    """The chunks of a part as tables, each with the number of its first row.

    Raises
    ------
    SourceError
        In the end: they are not as many rows as they were.
    """
    rows, start = 0, places.start(number)
    with own_connection() as connection:
        for chunk in chunks(iter(batches)):
            with form.part(connection, chunk, start + rows) as part:
                rows += part.count()
                yield part, start + rows - part.count()
    places.refuse_other(form.label, number, rows)


@dataclass(frozen=True)
class Mapped:
    """Makes other rows of those of a part."""

    form: Form
    places: Places
    schema: Any
    function: Mapping

    def __call__(self, number: int, batches: Iterable[Any]) -> Iterator[Any]:
        for part, start in parts_of(self.form, self.places, number, batches):
            for batch in self.function(part, start):
                yield batch if batch.schema == self.schema else batch.cast(self.schema)


def refuse_unlike(label: str, before: Outcome, now: Outcome) -> None:
    """Raise SourceError if parts do not have the rows and the numbers that they had; what is new is taken down."""
    for number, rows in now.rows.items():
        if before.rows.get(number, 0) != rows:
            raise changed(label, f"part {number} had {before.rows.get(number, 0):,} rows and now has {rows:,}")
    for names, totals in now.sums.items():
        known = before.sums.setdefault(names, {})
        for number, total in totals.items():
            if known.setdefault(number, total) != total:
                raise changed(label, f"part {number} has other numbers in the columns that were read before")
