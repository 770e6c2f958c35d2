"""Numbers that measure nothing: they count rows, name them, or stand for something else, as postcodes do.

Names alone prove nothing, so values are looked at too, those of the first rows; and what goes along with a column that
does measure is left where it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aspca.engines.source import Column
from aspca.jobs.column_advice import is_label_name, split_words, word_of
from aspca.jobs.tables import TableSource
from aspca.linalg.arrays import Floats

# Names of columns that count or name rows.
_IDENTIFIER = re.compile(
    r"(|id|idx|index|key|no|nr|row|rows?[ _.-]?(id|idx|index|no|nr|number|names?)|rownames?|unnamed: 0|.+[ _.-]id)",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"(t|ts|.*(time|sec|seconds?|minutes?|hours?|days?|epoch|stamp|tick|ms).*)", re.IGNORECASE)
# Fewer may count 1, 2, 3 without being meant to.
_ENOUGH_ROWS = 20
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
# Fewer values are a scale, more are no categories.
_FEW, _MOST_CATEGORIES = 3, 100
_MANY_CODES = 10
_MOST_OTHERS, _MOST_LOOKED_AT = 100, 5000


@dataclass(frozen=True)
class Code:
    """A column of numbers that are codes; `sure`: it can be left out without asking."""

    name: str
    n_values: int
    sure: bool


def counting(table: TableSource, columns: Sequence[Column]) -> tuple[str, str] | None:
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


def is_clock(name: str | None) -> bool:
    """Whether a column that names rows tells their times, by its name."""
    return name is not None and _CLOCK.fullmatch(name.strip()) is not None


def codes_among(table: TableSource, columns: Sequence[Column]) -> list[Code]:
    """The columns of whole numbers that are codes by their names, and go along with no other column."""
    numbers = [column.name for column in columns if column.kind == "number"]
    called = {name: split_words(name) for name in numbers}
    likely = [name for name in numbers if _SURELY.fullmatch(called[name]) or _MAYBE.fullmatch(called[name])]
    batch = next(iter(table.batches(numbers, _MOST_LOOKED_AT)), None) if likely else None
    if batch is None or len(batch.values) < _ENOUGH_ROWS:
        return []
    others = batch.values[:, [position for position, name in enumerate(numbers) if name not in likely]]
    found = []
    for name in likely:
        own = batch.values[:, numbers.index(name)]
        known = own[~np.isnan(own)]
        n_values = np.unique(known).size
        if n_values < _FEW or (known != np.floor(known)).any() or known.min() < 0 or _explained(own, others):
            continue
        found.append(Code(name, n_values, bool(_SURELY.fullmatch(called[name])) and n_values > _MANY_CODES))
    return found


def left_out_remark(codes: Sequence[Code]) -> str:
    """Of codes that are left out without being asked."""
    names, one = ", ".join(repr(code.name) for code in codes), len(codes) == 1
    use = "holds codes, so it is not used as a feature" if one else "hold codes, so they are not used as features"
    return f"Column{'' if one else 's'} {names} {use}; --number {word_of(codes[0].name)} makes it one."


def doubtful_remark(codes: Sequence[Code]) -> str:
    """Of columns that may be codes, and are taken for numbers."""
    names, one = ", ".join(repr(code.name) for code in codes), len(codes) == 1
    use = "may hold codes but is taken for a number" if one else "may hold codes but are taken for numbers"
    first = word_of(codes[0].name)
    offers = [f"--categorical {first} takes values as categories"] if codes[0].n_values <= _MOST_CATEGORIES else []
    return f"Column{'' if one else 's'} {names} {use}; {', '.join([*offers, f'--ignore {first} leaves it out'])}."


def numeric_labels(table: TableSource, columns: Sequence[Column]) -> dict[str, bool]:
    """Columns named as labels are that hold 0 or -1 beside 1 and nothing else, and whether they hold both."""
    named = [one.name for one in columns if one.kind in ("number", "boolean") and is_label_name(one.name)]
    seen: dict[str, set[float]] = {name: set() for name in named}
    for batch in table.batches(named) if named else ():
        for name, values in zip(named, batch.values.T, strict=True):
            if len(seen[name]) <= 2:
                seen[name].update(np.unique(values).tolist())
    return {name: len(held) == 2 for name, held in seen.items() if held <= {0.0, 1.0} or held <= {-1.0, 1.0}}


def _followed(table: Floats, column: Floats) -> bool:
    """Whether another column (n,) of a table goes along with this one: then it is more than a count."""
    centred = table - table.mean(axis=0)
    sizes = np.linalg.norm(centred, axis=0)
    own = column - column.mean()
    along = np.abs(own @ centred) / np.where(sizes > 0, sizes, 1.0) / np.linalg.norm(own)
    return int((along > _CLOSE).sum()) > 1


def _explained(own: Floats, others: Floats) -> bool:
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
    if scaled.shape[1] > _MOST_OTHERS or len(scaled) < 3 * scaled.shape[1]:
        return False
    rest = target - scaled @ np.linalg.lstsq(scaled, target, rcond=None)[0]
    return bool(1.0 - float(rest @ rest) / length**2 > _CLOSE**2)
