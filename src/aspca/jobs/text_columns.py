"""What a column of text seems to be, from its first rows: only to give better advice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aspca.jobs.labels import LABELLIKE, NORMAL
from aspca.jobs.table import Table

_LOOKED_AT = 2000
_SHOWN = 24
_CATEGORIES = 30
# Other names of labels may as well be those of categories.
_SURELY_LABELS = {"label", "labels", "anomaly", "is_anomaly", "outlier"}
_SURELY_VALUES = {"normal", "normal.", "anomaly", "outlier", "benign"}


@dataclass(frozen=True)
class Text:
    """A column of text.

    Attributes
    ----------
    name : str
    example : str
        In brackets, a cell that is no number and its row; empty if there is none.
    distinct : bool
        Whether every cell differs, as names of rows do.
    mostly_numbers : bool
        Whether more than half of its cells are numbers.
    decimal_comma : bool
        Whether all are numbers, once a comma is read as a decimal point.
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
    decimal_comma: bool
    like_labels: bool
    n_values: int
    few: bool


def examined(table: Table, names: Sequence[str]) -> list[Text]:
    """What columns of text seem to be."""
    if not names:
        return []
    first = next(iter(table.cells(names, _LOOKED_AT)), [])
    return [_examined(name, [row[k] for row in first]) for k, name in enumerate(names)]


def _examined(name: str, cells: list[object]) -> Text:
    filled = [(row, str(cell)) for row, cell in enumerate(cells) if cell is not None]
    odd = [(row, cell) for row, cell in filled if not _is_number(cell)]
    example = ""
    if odd:
        row, cell = odd[0]
        example = f" ({(cell if len(cell) <= _SHOWN else cell[:_SHOWN] + '...')!r} in row {row})"
    values = {cell for _, cell in filled}
    mostly_numbers = 2 * len(odd) < len(filled)
    commas = any("," in cell for _, cell in filled)
    decimal_comma = commas and all(_is_number(cell.replace(",", ".")) for _, cell in filled)
    all_differ = len(filled) > 2 and len(values) == len(filled) == len(cells)
    return Text(
        name=name,
        example=example,
        distinct=all_differ and not mostly_numbers and not decimal_comma,
        mostly_numbers=mostly_numbers,
        decimal_comma=decimal_comma,
        like_labels=_like_labels(name, values),
        n_values=len(values),
        few=1 < len(values) <= min(_CATEGORIES, len(filled) // 2),
    )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    # Python reads 2020_01 as a number, which no table means.
    return "_" not in cell


def _like_labels(name: str, values: set[str]) -> bool:
    """By its name, if need be with a value that says all is well; or by its values alone."""
    name = name.strip().lower()
    well = any(value.strip().lower() in NORMAL for value in values)
    return name in _SURELY_LABELS or (name in LABELLIKE and well) or not values.isdisjoint(_SURELY_VALUES)
