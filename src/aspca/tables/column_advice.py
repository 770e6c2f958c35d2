"""What columns seem to hold, from their names and first rows, and the sentences about each.

Names alone prove nothing, so values are looked at too; numbers that measure nothing count rows, name them, or stand for
something else, as postcodes do. What goes along with a column that does measure is left where it is.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.tables.keys import LABELLIKE, NORMAL
from aspca.tables.table import Column, Table

PLURALS = {"date": "dates", "text": "text", "number": "numbers", "boolean": "truth values"}
# Names in one sentence: more are counted.
MOST_NAMES = 8
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


# ---- what a column of text seems to be


@dataclass(frozen=True)
class TextColumn:
    """A column of text, by its first rows."""

    name: str
    example: str  # in brackets, a cell that is no number and its row; empty if there is none
    distinct: bool  # every cell differs, as names of rows do
    mostly_numbers: bool  # more than half of its cells are numbers as people write them, and the others no codes
    like_labels: bool  # its name or its few values are those of labels
    n_values: int  # how many different cells it has
    few: bool  # so few that they are categories


def examine_texts(table: Table, names: Sequence[str]) -> list[TextColumn]:
    """What columns of text seem to be."""
    if not names:
        return []
    first = next(iter(table.cells(names, 2000)), [])
    return [_examine(name, [row[k] for row in first]) for k, name in enumerate(names)]


def _examine(name: str, cells: list[object]) -> TextColumn:
    texts = [str(cell) for cell in cells if cell is not None]
    odd = ((row, str(cell)) for row, cell in enumerate(cells) if cell is not None and not _is_number(str(cell)))
    row, shown = next(odd, (0, None))
    values, mostly_numbers = set(texts), _are_mostly_numbers(texts)
    return TextColumn(
        name=name,
        example="" if shown is None else f" ({(shown if len(shown) <= 24 else shown[:24] + '...')!r} in row {row})",
        distinct=len(texts) > 2 and len(values) == len(texts) == len(cells) and not mostly_numbers,
        mostly_numbers=mostly_numbers,
        like_labels=_are_like_labels(name, values),
        n_values=len(values),
        few=1 < len(values) <= min(30, len(texts) // 2),
    )


def _are_mostly_numbers(cells: Sequence[str]) -> bool:
    alike = [_is_like_number(cell) for cell in cells]
    others = [cell for cell, number in zip(cells, alike, strict=True) if not number]
    # Longer integers are names, since no float64 holds them.
    long = sum(len(cell) > 15 and cell.isdecimal() for cell in cells)
    if 2 * sum(alike) <= len(cells) or 2 * long > len(cells):
        return False
    coded = sum(bool(_CODE.fullmatch(cell)) for cell in others)
    whole = all(cell.strip().isdecimal() for cell, number in zip(cells, alike, strict=True) if number)
    # So many cells of letters and digits beside plain integers are no slips.
    return not (whole and 2 * coded > len(others) > max(5, 0.05 * len(cells)))


def _is_like_number(cell: str) -> bool:
    cell = cell.strip()
    return any(sign.isdigit() for sign in cell) and (_is_number(cell) or _LIKE_NUMBER.fullmatch(cell) is not None)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    # Python reads 2020_01 as a number, which no table means.
    return "_" not in cell


def _are_like_labels(name: str, values: set[str]) -> bool:
    """By its name, if need be with a value that says all is well; or by its values alone."""
    lowered = name.strip().lower()
    well = any(value.strip().lower() in NORMAL for value in values)
    named = lowered in LABELLIKE or is_label_name(name)
    return lowered in _SURELY_LABELS or (named and well) or not values.isdisjoint(_SURELY_VALUES)


def is_label_name(name: str) -> bool:
    """Whether a column's name is or ends in that of labels, as in is_fraud or groundTruth."""
    return _LABEL_NAME.fullmatch(_split_words(name)) is not None


def _split_words(name: str) -> str:
    """The words of a column's name in small letters, blanks between: parted by signs or capital letters in it."""
    return " ".join(_WORDS.findall(name)).lower()


# ---- sentences


def describe_texts(texts: Sequence[TextColumn], n_rows: int) -> list[str]:
    """One sentence about all text that is left out, with what could be made of it; none about labels. `n_rows` is how
    many could have models of their own."""
    texts = [text for text in texts if not text.like_labels]
    if not texts:
        return []
    names = [f"{text.name!r}{f' ({text.n_values} values)' if text.few else ''}" for text in texts]
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    few = min((text for text in texts if text.few), key=lambda text: text.n_values, default=None)
    offers = [] if few is None else [f"--categorical {quote_word(few.name)} takes values as categories"]
    # A model of its own needs rows.
    if few is not None and n_rows >= 50 * few.n_values:
        offers.append(f"--by {quote_word(few.name)} makes rules for each")
    one = len(texts) == 1
    said = f"Column{'' if one else 's'} {', '.join(names[:MOST_NAMES])}{more} hold{'s' if one else ''} text and "
    return [said + f"{'is' if one else 'are'} left out" + (f"; {', '.join(offers)}." if offers else ".")]


def describe_labels(names: Sequence[str], *, compared: str | None, learned: str | None) -> str:
    """Of columns that look like labels and are left out; which could be compared with, and which learned from."""
    looks, whom = ("looks like a label", "it") if len(names) == 1 else ("look like labels", "them")
    offers = [] if compared is None else [f"--label {quote_word(compared)} compares the verdicts with it"]
    offers += [] if learned is None else [f"--number {quote_word(learned)} learns from it"]
    offered = f": {', '.join(offers)}" if offers else ""
    return f"{name_columns(names, capital=True)} {looks}, so no rules are learned from {whom}{offered}."


def name_columns(names: Sequence[str], capital: bool = False) -> str:
    """As in ``columns 'a', 'b'``."""
    return f"{'C' if capital else 'c'}olumn{'s' if len(names) > 1 else ''} {list_names(names)}"


def list_names(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:MOST_NAMES])
    return f"{shown} and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else shown


def quote_word(name: str) -> str:
    """A name as one word of a command line."""
    return name if re.fullmatch(r"[\w.%+,-]+", name) and not name.startswith("-") else shlex.quote(name)


# ---- numbers that measure nothing


# Names of columns that count or name rows.
_IDENTIFIER = re.compile(
    r"(|id|idx|index|key|no|nr|row|rows?[ _.-]?(id|idx|index|no|nr|number|names?)|rownames?|unnamed: 0|.+[ _.-]id)",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"(t|ts|.*(time|sec|seconds?|minutes?|hours?|days?|epoch|stamp|tick|ms).*)", re.IGNORECASE)
# Fewer may count 1, 2, 3 without being meant to.
_ENOUGH_ROWS = 20
# Columns go along with each other from this correlation on.
_CLOSE = 0.9
_THINGS = (
    "account|card|claim|customer|device|employee|family|firm|flight|household|house|invoice|item|order|patient|person|"
    "phone|policy|product|school|serial|store|student|subject|telephone|ticket|user"
)
# The whole of a name, its words joined by blanks: these are codes whatever they are codes of ...
_SURELY = re.compile(
    r"(.* )?(id|ids|uuid|guid|pid|ssn|zip|zip ?codes?|post ?codes?|postal ?codes?|plz|phone|telephone|fax|fips|isbn|"
    rf"ean|upc|sku|({_THINGS}) ?id|({_THINGS}) (no|nr|num|number))"
)
# ... and these may be, or may be sizes, ranks or counts.
_MAYBE = re.compile(
    r"(.* )?(state|states|district|dist|county|region|country|city|province|ward|precinct|tract|cluster|sector|"
    r"industry|sic|naics|occupation|religion|race|ethnicity|sex|gender|code|codes|codigo|flight|store|branch|station|"
    r"site|category|type|kind|group|individual|patient|subject|customer|firm)"
)


@dataclass(frozen=True)
class Code:
    """A column of numbers that are codes."""

    name: str
    n_values: int
    sure: bool  # it can be left out without asking


def find_counter(table: Table, columns: Sequence[Column]) -> tuple[str, str] | None:
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
        if even and (counts or _CLOCK.fullmatch(called)) and not _is_followed(batch.values, values):
            return name, "counts the rows" if counts else "moves in even steps"
    return None


def is_clock(name: str | None) -> bool:
    """Whether a column that names rows tells their times, by its name."""
    return name is not None and _CLOCK.fullmatch(name.strip()) is not None


def find_codes(table: Table, columns: Sequence[Column]) -> list[Code]:
    """The columns of whole numbers that are codes by their names, and go along with no other column."""
    numbers = [column.name for column in columns if column.kind == "number"]
    called = {name: _split_words(name) for name in numbers}
    likely = [name for name in numbers if _SURELY.fullmatch(called[name]) or _MAYBE.fullmatch(called[name])]
    # More rows take seconds.
    batch = next(iter(table.batches(numbers, 5000)), None) if likely else None
    if batch is None or len(batch.values) < _ENOUGH_ROWS:
        return []
    others = batch.values[:, [position for position, name in enumerate(numbers) if name not in likely]]
    found = []
    for name in likely:
        own = batch.values[:, numbers.index(name)]
        known = own[~np.isnan(own)]
        n_values = np.unique(known).size
        # Two values are a scale. Codes of many values are left out without asking.
        if n_values > 2 and (known == np.floor(known)).all() and known.min() >= 0 and not _is_explained(own, others):
            found.append(Code(name, n_values, bool(_SURELY.fullmatch(called[name])) and n_values > 10))
    return found


def describe_codes(codes: Sequence[Code], *, left_out: bool) -> str:
    """Of codes that are left out without being asked, or of columns that may be codes and are taken for numbers."""
    one, first = len(codes) == 1, quote_word(codes[0].name)
    if left_out:
        use = "holds codes, so it is not used as a feature" if one else "hold codes, so they are not used as features"
        offers = [f"--number {first} makes it one"]
    else:
        use = "may hold codes but is taken for a number" if one else "may hold codes but are taken for numbers"
        offers = [f"--categorical {first} takes values as categories"] if codes[0].n_values <= 100 else []
        offers.append(f"--ignore {first} leaves it out")
    names = ", ".join(repr(code.name) for code in codes)
    return f"Column{'' if one else 's'} {names} {use}; {', '.join(offers)}."


def find_numeric_labels(table: Table, columns: Sequence[Column]) -> dict[str, bool]:
    """Columns named as labels are that hold 0 or -1 beside 1 and nothing else, and whether they hold both."""
    named = [one.name for one in columns if one.kind in ("number", "boolean") and is_label_name(one.name)]
    seen: dict[str, set[float]] = {name: set() for name in named}
    for batch in table.batches(named) if named else ():
        for name, values in zip(named, batch.values.T, strict=True):
            if len(seen[name]) <= 2:
                seen[name].update(np.unique(values).tolist())
    return {name: len(held) == 2 for name, held in seen.items() if held <= {0.0, 1.0} or held <= {-1.0, 1.0}}


def _is_followed(table: Floats, column: Floats) -> bool:
    """Whether another column (n,) of a table goes along with this one: then it is more than a count."""
    centred = table - table.mean(axis=0)
    sizes = np.linalg.norm(centred, axis=0)
    own = column - column.mean()
    along = np.abs(own @ centred) / np.where(sizes > 0, sizes, 1.0) / np.linalg.norm(own)
    return int((along > _CLOSE).sum()) > 1


def _is_explained(own: Floats, others: Floats) -> bool:
    """Whether other columns (n, k), together or any of them alone, tell most of a column (n,): then it measures."""
    rows = ~np.isnan(own)
    lacking = np.isnan(others)
    means = np.nansum(others, axis=0) / np.maximum((~lacking).sum(axis=0), 1)
    filled = np.where(lacking, means, others)[rows]
    target = own[rows] - own[rows].mean()
    centred = filled - filled.mean(axis=0)
    sizes = np.linalg.norm(centred, axis=0)
    scaled = centred[:, sizes > 0] / sizes[sizes > 0]
    length = float(np.linalg.norm(target))
    if not scaled.shape[1] or length == 0.0:
        return False
    if float(np.abs(target @ scaled).max()) / length > _CLOSE:
        return True
    # A regression on more columns takes seconds.
    if scaled.shape[1] > 100 or len(scaled) < 3 * scaled.shape[1]:
        return False
    rest = target - scaled @ np.linalg.lstsq(scaled, target, rcond=None)[0]
    return bool(1.0 - float(rest @ rest) / length**2 > _CLOSE**2)
