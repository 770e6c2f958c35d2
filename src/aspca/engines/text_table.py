"""A table whose cells are text, before it is decided what its columns hold, and what its cells look like."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from aspca.engines.column_counts import Counted, counted, merge_counts
from aspca.engines.file_table import FileTable
from aspca.engines.number_columns import is_evidence, numbers_among
from aspca.engines.number_shapes import Shape, shape_of
from aspca.engines.number_signs import Shapes, are_few
from aspca.engines.request import ReadOptions

if TYPE_CHECKING:
    import duckdb

EVERYTHING = {"shape", "boolean", "date", "local date"}
_ASKED = {
    "text": {"text"},
    "number": {"shape"},
    "styled": {"shape"},
    "boolean": {"boolean"},
    "date": {"date"},
    "local date": {"local date"},
}


@dataclass(frozen=True)
class TextTable:
    """A table whose cells are text, before it is decided what its columns hold.

    Parameters
    ----------
    table : FileTable
        Without columns; its cells c0, c1, ... are text, NULL where empty.
    names, guesses : tuple of str
        Of its columns, from its first rows.
    semicolons : bool
        Whether they separate its cells.
    read_plain : callable
        Reads it in one pass if all its numbers are plain; returns None if they are not.
    finish : callable
        Completes the table once its columns are decided.
    repair : callable
        Makes the same table of rows that all have as many cells.
    evidence : mapping of str to Shapes, or None
        How numbers are written, by column, where not all cells show it: those stored as numbers do not.
    write_decimals : callable, or None
        Writes these with another decimal sign.
    """

    table: FileTable
    names: tuple[str, ...]
    guesses: tuple[str, ...]
    options: ReadOptions
    semicolons: bool
    read_plain: Callable[[], FileTable | None]
    finish: Callable[[FileTable], FileTable]
    repair: Callable[[], TextTable]
    evidence: Mapping[str, Shapes] | None = None
    write_decimals: Callable[[str], object] | None = None

    def then(self, step: Callable[[FileTable], FileTable]) -> TextTable:
        """The same, with one more step to complete the table."""
        return replace(self, finish=lambda table: step(self.finish(table)), repair=lambda: self.repair().then(step))


class CellCounts:
    """What the cells of each column look like: `found` by file, and merged."""

    def __init__(self, texts: Sequence[TextTable], connection: duckdb.DuckDBPyConnection) -> None:
        self._texts, self._connection = texts, connection
        self.asked: dict[str, set[str]] = {}
        self.n_rows = [0] * len(texts)
        self.found: list[dict[str, Counted]] = [{} for _ in texts]

    def ask(self, asked: Mapping[str, set[str]]) -> None:
        """Count what is asked of these columns, in one pass over each file."""
        self.asked |= asked
        for place in range(len(self._texts)):
            self._count(place, asked)

    def ask_again(self, place: int) -> None:
        """Count all that was asked, of a file whose cells are written in another way now."""
        self._count(place, self.asked)

    def _count(self, place: int, asked: Mapping[str, set[str]]) -> None:
        text = self._texts[place]
        here = {index: asked[name] for index, name in enumerate(text.names) if name in asked}
        if here:
            self.n_rows[place], counts = counted(text.table, here, self._connection, words_parameter(text))
            self.found[place].update({text.names[index]: count for index, count in counts.items()})

    def fits(self, name: str) -> bool:
        """Whether a column is of a kind that was asked for, as far as that is known before signs are."""
        count = self.merged(name)
        if self.asked[name] == {"text"} or not count.given:
            return True
        numbers = sum(count.shapes[key] for key in count.shapes if shape_of(key) is not None)
        kinds = [count.kinds.get(kind, 0) for kind in ("boolean", "date", "local")]
        return any(are_few(count.given - fitting, count.given) for fitting in (numbers, *kinds))

    def evidence(self) -> dict[str, dict[Shape, int]]:
        """How numbers are written, by column, over all files; of columns that are of numbers, nearly."""
        found: dict[str, Counter[Shape]] = {}
        for text, counts in zip(self._texts, self.found, strict=True):
            for name, count in counts.items():
                numbers = {shape: count.shapes[key] for key, shape in numbers_among(count.shapes).items()}
                known = numbers if text.evidence is None else text.evidence.get(name, {})
                found.setdefault(name, Counter()).update(known)
        return {name: dict(shapes) for name, shapes in found.items() if is_evidence(self.merged(name).shapes)}

    def merged(self, name: str) -> Counted:
        """Over all files."""
        return merge_counts([found[name] for found in self.found if name in found])


def questions_of(texts: Sequence[TextTable]) -> dict[str, set[str]]:
    """What to ask of each column: what its first cells suggest, or everything where files differ in that."""
    guesses: dict[str, set[str]] = {}
    for text in texts:
        for name, guess in zip(text.names, text.guesses, strict=True):
            guesses.setdefault(name, set()).add(guess)
    return {
        name: _ASKED.get(next(iter(several)), EVERYTHING) if len(several) == 1 else EVERYTHING
        for name, several in guesses.items()
    }


def with_missing_words(text: TextTable) -> TextTable:
    """The same, its last parameter the words that were named as missing, if any were."""
    if not text.options.missing:
        return text
    return replace(text, table=replace(text.table, parameters=(*text.table.parameters, list(text.options.missing))))


def words_parameter(text: TextTable) -> str:
    return f"${len(text.table.parameters)}" if text.options.missing else ""
