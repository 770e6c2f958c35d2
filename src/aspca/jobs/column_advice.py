"""Columns that are no numbers: what they seem to hold, from their first rows, and what is said about each."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from aspca.engines.errors import SourceError
from aspca.engines.source import Column
from aspca.jobs.errors import Instead, Obstacle, TableError
from aspca.jobs.labels import LABELLIKE, NORMAL
from aspca.jobs.tables import TableSource

_MOST_NAMES = 8
PLURALS = {"date": "dates", "text": "text", "number": "numbers", "boolean": "truth values"}
_LOOKED_AT = 2000
_SHOWN = 24
_CATEGORIES = 30
# A model of its own needs rows.
_ROWS_OF_A_MODEL = 50
# Other names of labels may as well be those of categories.
_SURELY_LABELS = {"label", "labels", "anomaly", "is_anomaly", "isanomaly", "outlier", "is_outlier"}
# How names of labels end, their words joined by blanks.
_LABEL_NAME = re.compile(
    r"(.* )?(is)?(labels?|anomal(y|ies|ous)|outliers?|change ?points?|fraud(s|ulent)?|targets?|ground ?truth|attacks?)"
)
# A name's words: parted by signs, or by a capital letter after a small one.
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SURELY_VALUES = {"normal", "normal.", "anomaly", "outlier", "benign"}
# A number as people write it: grouped, with a sign, a currency or a percent sign.
_LIKE_NUMBER = re.compile(
    r"[(<>~]?\s*[-+]?\s*[^\w\s(]?\s*(\d+|\d{1,3}([.,' ]\d{3})+)?([.,]\d+)?([eE][-+]?\d+)?\s*[^\w\s]?"
)
_CODE = re.compile(r"(?=.*\d)(?=.*[^\W\d]).+")
# Options that take one value after the other: no two columns contradict each other there.
_REPEATABLE = (("--missing",),)
# So many cells of letters and digits beside plain integers are no slips.
_CODES, _FEWEST_CODES = 0.05, 5
# Longer integers are names, since no float64 holds them.
_EXACT_DIGITS = 15


def absent(table: TableSource, name: str, option: str, given: str | None = None) -> Obstacle | None:
    """What to say if there is no such column, which `option` named; `given` is all that was typed there."""
    names = [column.name for column in table.columns]
    if name in names:
        return None
    close = get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"its columns are {_listed(names)}."
    typed = name if given is None else given
    parts = [close[0] if part == name and close else part for part in typed.split(",") if part != name or close]
    instead = Instead(option, typed, ",".join(parts) or None)
    return Obstacle(f"{option}: {table.description} has no column {name!r}; {hint}", instead=instead)


def refuse_absent(table: TableSource, name: str, option: str) -> None:
    """Raise RequestError if there is no such column, which `option` named."""
    found = absent(table, name, option)
    if found is not None:
        raise TableError.of([found])


def named_columns(table: TableSource, given: Sequence[str]) -> list[tuple[str, str]]:
    """Names of columns out of what was typed, each with its typed word: one name, or several with commas between.

    A column of exactly that name wins, also of one that holds commas.
    """
    known = {column.name for column in table.columns}
    return [(name, typed) for typed in given for name in _names_in(typed, known)]


def _names_in(typed: str, known: set[str]) -> list[str]:
    if typed in known:
        return [typed]
    parts, names = typed.split(","), []
    while parts:
        lengths = range(len(parts), 1, -1)
        joined = (",".join(parts[:length]).strip() for length in lengths)
        length, name = next((pair for pair in zip(lengths, joined, strict=True) if pair[1] in known), (1, ""))
        name, parts = name or parts[0].strip(), parts[length:]
        names += [name] if name else []
    return names


# ---- what stands in the way, and what is said instead


def gathered(obstacles: Sequence[Obstacle]) -> list[Obstacle]:
    """The same, but of many columns alike only the first are told one by one."""
    if len(obstacles) <= _MOST_NAMES:
        return list(obstacles)
    told, rest = list(obstacles[: _MOST_NAMES - 1]), obstacles[_MOST_NAMES - 1 :]
    remedy = tuple(word for one in rest for word in one.remedy)
    return [*told, Obstacle(f"So it is with {len(rest):,} more columns.", remedy)]


def text_obstacle(table: TableSource, column: Column, text: TextColumn, settled: dict[str, str]) -> Obstacle | None:
    """What to say of a column that should be numbers and cannot be read as such; None for other text.

    `settled` are options that other columns asked for already, with their values: no two columns may ask for different
    ones.
    """
    # Who read a file has said why a column is text, and whether it seems to be meant as something else.
    if not column.remedy and (column.remark or not text.mostly_numbers):
        return None
    sentence, remedy = _why_no_numbers(table, column, text)
    asked = dict(zip(remedy[::2], remedy[1::2], strict=False)) if remedy[:1] not in _REPEATABLE else {}
    agreed = all(settled.setdefault(option, value) == value for option, value in asked.items())
    if agreed and remedy and remedy[0] != "--ignore":
        return Obstacle(sentence, remedy)
    # A name that cannot be printed cannot be pasted either.
    return Obstacle(sentence, ignoring([column.name]) if column.name.isprintable() else ("--ignore-text",))


def _why_no_numbers(table: TableSource, column: Column, text: TextColumn) -> tuple[str, tuple[str, ...]]:
    """The sentence of who read the table, who knows the line and the cell; and what would settle the matter."""
    try:
        # A table in memory says nothing before it is read.
        table.batches([column.name])
    except SourceError as error:
        return str(error), column.remedy or error.remedy
    parts = [part for part in (text.example.strip(" ()"), column.remark) if part]
    why = f" ({'; '.join(parts)})" if parts else ""
    told = f"Column {column.name!r} of {table.description} holds text{why}, though most of it is numbers"
    return f"{told}: correct what is none, or leave it out with --ignore {word_of(column.name)}.", column.remedy


def ignoring(names: Sequence[str]) -> tuple[str, ...]:
    """The words that leave columns out."""
    return tuple(word for name in names for word in ("--ignore", name))


def left_out_remarks(texts: Sequence[TextColumn], n_rows: int) -> list[str]:
    """One sentence about all text that is left out, with what could be made of it; none about labels.

    `n_rows` is how many could have models of their own.
    """
    texts = [text for text in texts if not text.like_labels]
    if not texts:
        return []
    told = [f"{text.name!r}{f' ({text.n_values} values)' if text.few else ''}" for text in texts]
    more = f" and {len(told) - _MOST_NAMES} more" if len(told) > _MOST_NAMES else ""
    few = sorted((text for text in texts if text.few), key=lambda text: text.n_values)
    offers = [f"--categorical {word_of(few[0].name)} takes values as categories"] if few else []
    if few and n_rows >= _ROWS_OF_A_MODEL * few[0].n_values:
        offers.append(f"--by {word_of(few[0].name)} makes rules for each")
    one = len(texts) == 1
    said = f"Column{'' if one else 's'} {', '.join(told[:_MOST_NAMES])}{more} hold{'s' if one else ''} text and "
    said += f"{'is' if one else 'are'} left out" + (f"; {', '.join(offers)}." if offers else ".")
    return [said]


def label_remark(names: Sequence[str], *, compared: str | None, learned: str | None) -> str:
    """Of columns that look like labels and are left out; which could be compared with, and which learned from."""
    told, one = columns_text(names), len(names) == 1
    looks, whom = ("looks like a label", "it") if one else ("look like labels", "them")
    offers = [] if compared is None else [f"--label {word_of(compared)} compares the verdicts with it"]
    offers += [] if learned is None else [f"--number {word_of(learned)} learns from it"]
    offered = f": {', '.join(offers)}" if offers else ""
    return f"{told[0].upper()}{told[1:]} {looks}, so no rules are learned from {whom}{offered}."


def columns_text(names: Sequence[str]) -> str:
    """As in ``columns 'a', 'b'``."""
    return f"column{'s' if len(names) > 1 else ''} {_listed(names)}"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_MOST_NAMES])
    return f"{shown} and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else shown


def split_words(name: str) -> str:
    """The words of a column's name in small letters, blanks between: parted by signs or capital letters in it."""
    return " ".join(_WORDS.findall(name)).lower()


def is_label_name(name: str) -> bool:
    """Whether a column's name is or ends in that of labels, as in is_fraud or groundTruth."""
    return _LABEL_NAME.fullmatch(split_words(name)) is not None


def word_of(name: str) -> str:
    """A name as one word of a command line."""
    return name if re.fullmatch(r"[\w.%+,-]+", name) and not name.startswith("-") else shlex.quote(name)


# ---- what a column of text seems to be


@dataclass(frozen=True)
class TextColumn:
    """A column of text.

    Attributes
    ----------
    name : str
    example : str
        In brackets, a cell that is no number and its row; empty if there is none.
    distinct : bool
        Whether every cell differs, as names of rows do.
    mostly_numbers : bool
        Whether more than half of its cells are numbers as people write them, and the others no codes.
    like_labels : bool
        Whether its name or its few values are those of labels.
    n_values : int
        How many different cells it has.
    few : bool
        Whether these are so few that they are categories.
    """

    name: str
    example: str
    distinct: bool
    mostly_numbers: bool
    like_labels: bool
    n_values: int
    few: bool


def examined(table: TableSource, names: Sequence[str]) -> list[TextColumn]:
    """What columns of text seem to be."""
    if not names:
        return []
    first = next(iter(table.cells(names, _LOOKED_AT)), [])
    return [_examined(name, [row[k] for row in first]) for k, name in enumerate(names)]


def _examined(name: str, cells: list[object]) -> TextColumn:
    filled = [(row, str(cell)) for row, cell in enumerate(cells) if cell is not None]
    odd = [(row, cell) for row, cell in filled if not _is_number(cell)]
    example = ""
    if odd:
        row, cell = odd[0]
        example = f" ({(cell if len(cell) <= _SHOWN else cell[:_SHOWN] + '...')!r} in row {row})"
    values = {cell for _, cell in filled}
    mostly_numbers = _mostly_numbers([cell for _, cell in filled])
    all_differ = len(filled) > 2 and len(values) == len(filled) == len(cells)
    return TextColumn(
        name=name,
        example=example,
        distinct=all_differ and not mostly_numbers,
        mostly_numbers=mostly_numbers,
        like_labels=_like_labels(name, values),
        n_values=len(values),
        few=1 < len(values) <= min(_CATEGORIES, len(filled) // 2),
    )


def _mostly_numbers(cells: Sequence[str]) -> bool:
    numbers = sum(_like_number(cell) for cell in cells)
    if 2 * numbers <= len(cells):
        return False
    if 2 * sum(len(cell) > _EXACT_DIGITS and cell.isdecimal() for cell in cells) > len(cells):
        return False
    others = [cell for cell in cells if not _like_number(cell)]
    coded = sum(bool(_CODE.fullmatch(cell)) for cell in others)
    whole = all(cell.strip().isdecimal() for cell in cells if _like_number(cell))
    return not (whole and 2 * coded > len(others) > max(_FEWEST_CODES, _CODES * len(cells)))


def _like_number(cell: str) -> bool:
    cell = cell.strip()
    return any(sign.isdigit() for sign in cell) and (_is_number(cell) or _LIKE_NUMBER.fullmatch(cell) is not None)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    # Python reads 2020_01 as a number, which no table means.
    return "_" not in cell


def _like_labels(name: str, values: set[str]) -> bool:
    """By its name, if need be with a value that says all is well; or by its values alone."""
    lowered = name.strip().lower()
    well = any(value.strip().lower() in NORMAL for value in values)
    named = lowered in LABELLIKE or is_label_name(name)
    return lowered in _SURELY_LABELS or (named and well) or not values.isdisjoint(_SURELY_VALUES)
