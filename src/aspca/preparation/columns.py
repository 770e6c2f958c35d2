"""What one column becomes: a number, a function of it, a date, a code, or one feature per category."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from aspca.linalg.arrays import LARGEST_VALUE, Floats
from aspca.preparation.feature import Feature, days_of
from aspca.preparation.transforms import LIFTS, TRANSFORMS

CATEGORIES = ("one-hot", "codes")
KINDS = ("number", "boolean", "date", *TRANSFORMS, *CATEGORIES)
# Rules about more categories than this are no rules a person would read.
MOST_LEVELS = 100
_SHOWN = 40

# A column as it comes: numbers (dates in seconds since 1970), or cells of any kind for categories.
Cells = Floats | Sequence[object]


class CellError(ValueError):
    """A cell that a column's kind is not defined for: `row` is its position among the cells, `told` what is wrong."""

    def __init__(self, row: int, told: str) -> None:
        super().__init__(f"Row {row} {told}")
        self.row, self.told = row, told


@dataclass(frozen=True)
class ColumnPlan:
    """How one column is made into features.

    Attributes
    ----------
    name : str
    kind : str
        One of `KINDS`.
    levels : tuple of str
        The categories, sorted, for ``one-hot`` and ``codes``; otherwise empty.
    lifts : tuple of str
        Keys of `LIFTS`: what a ``number`` is beside itself, each a feature of its own; see `preparation.lifting`.
    """

    name: str
    kind: str = "number"
    levels: tuple[str, ...] = ()
    lifts: tuple[str, ...] = ()

    @property
    def categorical(self) -> bool:
        return self.kind in CATEGORIES

    @cached_property
    def features(self) -> tuple[Feature, ...]:
        if self.kind == "one-hot":
            return tuple(Feature(self.name, "level", level, self.levels) for level in self.levels)
        itself = Feature(self.name, "code" if self.kind == "codes" else self.kind, levels=self.levels)
        return (itself, *(Feature(self.name, lift) for lift in self.lifts))

    @cached_property
    def _position(self) -> dict[str, int]:
        return {level: k for k, level in enumerate(self.levels)}

    def encode(self, cells: Cells) -> Floats:
        """The features (n, k) of cells (n,); NaN where a cell is missing.

        A category that was not there when the plan was made has no level at all in ``one-hot``, and is refused in
        ``codes``.

        Raises
        ------
        CellError
            A value that the column's kind is not defined for.
        """
        if self.categorical:
            return self._encode_levels(cells)
        values = np.asarray(cells, dtype=np.float64)
        bad = np.flatnonzero(np.abs(values) > LARGEST_VALUE)
        if bad.size:
            raise CellError(
                int(bad[0]),
                f"has the value {values[bad[0]]:g} in column {self.name!r}; all values must be finite (no inf) and "
                f"within +-{LARGEST_VALUE:g}, so correct it or rescale the column.",
            )
        if self.kind == "date":
            values = days_of(values)
        elif self.kind in TRANSFORMS:
            values = self._transformed(values)
        return np.column_stack([values, *(LIFTS[lift].forward(values) for lift in self.lifts)])

    def _transformed(self, values: Floats) -> Floats:
        transform = TRANSFORMS[self.kind]
        bad = np.flatnonzero(~transform.defined(values))
        if bad.size:
            hint = ", or use log1p" if self.kind == "log" and (values[bad] == 0.0).all() else ""
            raise CellError(
                int(bad[0]),
                f"has the value {values[bad[0]]:g} in column {self.name!r}, but {self.kind} needs values "
                f"{transform.domain}: leave out the {self.kind}, or correct the value{hint}.",
            )
        return transform.forward(values)

    def _encode_levels(self, cells: Cells) -> Floats:
        positions = self._position
        codes = np.empty(len(cells))
        for row, cell in enumerate(cells):
            text = cell_text(cell)
            found = None if text is None else positions.get(text, -1)
            if found == -1 and self.kind == "codes":
                raise CellError(
                    row,
                    f"has the category {str(cell)[:_SHOWN]!r} in column {self.name!r}, which was not there when its "
                    f"{len(self.levels)} codes were given: correct it, or fit again with it.",
                )
            codes[row] = np.nan if found is None else found
        if self.kind == "codes":
            return codes[:, None]
        levels = np.asarray(codes[:, None] == np.arange(len(self.levels)), dtype=np.float64)
        levels[np.isnan(codes)] = np.nan
        return levels


def cell_text(cell: object) -> str | None:
    """A cell as the name of a category: the same for 3, 3.0 and "3"; None where it is missing."""
    if cell is None:
        return None
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bool | np.bool_):
        return "true" if cell else "false"
    # pandas' own missing values cannot be compared.
    if str(cell) in ("<NA>", "NaT", "nan", "NaN"):
        return None
    if isinstance(cell, float | np.floating) and float(cell).is_integer():
        return str(int(cell))
    return str(cell)


def plan_categories(name: str, kind: str, levels: set[str]) -> ColumnPlan:
    """The plan of a column with these categories.

    Raises
    ------
    ValueError
        There are none, or too many to be read.
    """
    if not levels:
        raise ValueError(f"Column {name!r} has no values at all, so no categories; leave it out.")
    if kind == "one-hot" and len(levels) > MOST_LEVELS:
        raise ValueError(
            f"Column {name!r} has {len(levels):,} different values, but at most {MOST_LEVELS} categories can become "
            "features of their own: leave the column out, or use integer codes for it."
        )
    return ColumnPlan(name, kind, tuple(sorted(levels, key=_order(levels))))


def _order(levels: set[str]) -> Callable[[str], tuple[float, str]]:
    """Numbers ascend by value, all else by its letters: codes keep the order of what is already a number."""
    try:
        values = {level: float(level) for level in levels}
    except ValueError:
        values = {}
    return lambda level: (values.get(level, 0.0), level)
