"""What columns become, and a whole table made into the numbers of a model, the same way every time.

A column becomes a number, a function of it, a date, a code, or one feature per category.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from aspca.linalg.arrays import LARGEST_VALUE, Bools, Floats
from aspca.preparation.feature import LIFTS, SECONDS_PER_DAY, TRANSFORMS, Feature

CATEGORIES = ("one-hot", "codes")
KINDS = ("number", "boolean", "date", *TRANSFORMS, *CATEGORIES)
MISSING = ("error", "allow")
# Rules about more categories than this are no rules a person would read.
MOST_LEVELS = 100

# A column as it comes: numbers (dates in seconds since 1970), or cells of any kind for categories.
Cells = Floats | Sequence[object]


class CellError(ValueError):
    """A cell that a column's kind is not defined for: `row` is its position among the cells, `told` what is wrong."""

    def __init__(self, row: int, told: str) -> None:
        super().__init__(f"Row {row} {told}")
        self.row, self.told = row, told


@dataclass(frozen=True)
class ColumnPlan:
    """How one column is made into features."""

    name: str
    kind: str = "number"  # one of KINDS
    levels: tuple[str, ...] = ()  # the categories, sorted
    lifts: tuple[str, ...] = ()  # what a number is beside itself, each a feature of its own: keys of LIFTS

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
    def _positions(self) -> dict[str, int]:
        return {level: k for k, level in enumerate(self.levels)}

    def encode(self, cells: Cells) -> Floats:
        """The features (n, k) of cells (n,), NaN where one is missing; CellError where the kind is not defined.

        A category that was not there when the plan was made has no level at all in ``one-hot``, and is refused in
        ``codes``.
        """
        if self.categorical:
            return self._encode_levels(cells)
        values = np.asarray(cells, dtype=np.float64)
        self._refuse(
            values,
            np.abs(values) > LARGEST_VALUE,
            "; all values must be finite (no inf) and "
            f"within +-{LARGEST_VALUE:g}, so correct it or rescale the column.",
        )
        if self.kind == "date":
            values = np.asarray(values / SECONDS_PER_DAY)
        elif self.kind in TRANSFORMS:
            transform = TRANSFORMS[self.kind]
            bad = ~transform.defined(values)
            hint = ", or use log1p" if self.kind == "log" and (values[bad] == 0.0).all() else ""
            wrong = f"{self.kind} needs values {transform.domain}: leave out the {self.kind}"
            self._refuse(values, bad, f", but {wrong}, or correct the value{hint}.")
            values = transform.forward(values)
        return np.column_stack([values, *(LIFTS[lift].forward(values) for lift in self.lifts)])

    def _refuse(self, values: Floats, bad: Bools, why: str) -> None:
        if bad.any():
            row = int(np.argmax(bad))
            raise CellError(row, f"has the value {values[row]:g} in column {self.name!r}{why}")

    def _encode_levels(self, cells: Cells) -> Floats:
        codes = np.empty(len(cells))
        for row, cell in enumerate(cells):
            text = cell_text(cell)
            found = None if text is None else self._positions.get(text, -1)
            if found == -1 and self.kind == "codes":
                raise CellError(
                    row,
                    f"has the category {str(cell)[:40]!r} in column {self.name!r}, which was not there when its "
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
    if cell is None or isinstance(cell, str):
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
    """The plan of a column with these categories; ValueError if there are none, or too many to be read."""
    if not levels:
        raise ValueError(f"Column {name!r} has no values at all, so no categories; leave it out.")
    if kind == "one-hot" and len(levels) > MOST_LEVELS:
        raise ValueError(
            f"Column {name!r} has {len(levels):,} different values, but at most {MOST_LEVELS} categories can become "
            "features of their own: leave the column out, or use integer codes for it."
        )
    # Numbers ascend by value, all else by its letters: codes keep the order of what is already a number.
    try:
        values = {level: float(level) for level in levels}
    except ValueError:
        values = {}
    return ColumnPlan(name, kind, tuple(sorted(levels, key=lambda level: (values.get(level, 0.0), level))))


@dataclass(frozen=True)
class Preparation:
    """What becomes of each column."""

    columns: tuple[ColumnPlan, ...]
    missing: str = "error"  # one of MISSING: whether cells may be missing
    chosen: tuple[int, ...] | None = None  # which of the features that the columns make are taken; None: all

    def __post_init__(self) -> None:
        names = self.names
        if len(set(names)) < len(names):
            doubled = min(name for name in set(names) if names.count(name) > 1)
            raise ValueError(
                f"Two columns would both make a feature called {doubled!r}, but each must be unique, since rules "
                "are written in names; rename one of the columns."
            )

    @classmethod
    def identity(cls, names: Iterable[str]) -> Preparation:
        """Nothing to prepare: every column is a feature as it is."""
        return cls(tuple(ColumnPlan(name, "number") for name in names))

    @cached_property
    def features(self) -> tuple[Feature, ...]:
        """The model's features, in the order of the columns."""
        every = tuple(feature for column in self.columns for feature in column.features)
        return every if self.chosen is None else tuple(every[j] for j in self.chosen)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(feature.name for feature in self.features)

    @property
    def types(self) -> dict[str, str]:
        """The columns that are needed, and what becomes of each."""
        return {column.name: column.kind for column in self.columns}

    @property
    def plain(self) -> bool:
        """Whether every column is taken as it is, and none may have gaps."""
        return self.missing == "error" and all(column.kind == "number" and not column.lifts for column in self.columns)

    @property
    def lifted(self) -> bool:
        """Whether some column is more features than one, by its lifts."""
        return any(column.lifts for column in self.columns)

    @property
    def unlifted(self) -> Preparation:
        """The same, each column without its lifts."""
        return replace(self, columns=tuple(replace(column, lifts=()) for column in self.columns))

    def encode(self, cells: Sequence[Cells]) -> Floats:
        """The features (n, p) of columns of n cells each. ValueError for a value that a column's kind is not defined
        for, or a missing one where none may be."""
        values = np.hstack([column.encode(one) for column, one in zip(self.columns, cells, strict=True)])
        missing = np.isnan(values).sum(axis=0) if self.missing == "error" else np.zeros(0)
        if missing.any():
            counts = {feature.column: int(count) for feature, count in zip(self.features, missing, strict=True)}
            raise ValueError(describe_missing(counts))
        return values


def describe_missing(counts: dict[str, int], cure: str = 'allow them with missing="allow"') -> str:
    """Which columns have how many missing values, and what to do."""
    found = [f"{name!r} ({count:,})" for name, count in counts.items() if count]
    shown = ", ".join(found[:8]) + (f" and {len(found) - 8} more" if len(found) > 8 else "")
    return (
        f"Values are missing (NaN) in column{'s' if len(found) > 1 else ''} {shown}: fill them, leave out their rows "
        f"or columns, or {cure}."
    )
