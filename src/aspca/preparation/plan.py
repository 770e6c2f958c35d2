"""A whole table made into the numbers of a model, the same way every time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.preparation.columns import Cells, ColumnPlan
from aspca.preparation.feature import Feature

MISSING = ("error", "allow")
_MOST_NAMES = 8


@dataclass(frozen=True)
class Preparation:
    """What becomes of each column.

    Attributes
    ----------
    columns : tuple of ColumnPlan
    missing : {"error", "allow"}
        Whether cells may be missing.
    chosen : tuple of int, or None
        Which of the features that the columns make are taken; None: all.
    """

    columns: tuple[ColumnPlan, ...]
    missing: str = "error"
    chosen: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        names = self.names
        doubled = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
        if doubled:
            raise ValueError(
                f"Two columns would both make a feature called {doubled[0]!r}, but each must be unique, since rules "
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
        """The features (n, p) of columns of n cells each.

        Raises
        ------
        ValueError
            A value that a column's kind is not defined for, or a missing one where none may be.
        """
        values = np.hstack([column.encode(one) for column, one in zip(self.columns, cells, strict=True)])
        if self.missing == "error":
            self._refuse_missing(values)
        return values

    def _refuse_missing(self, values: Floats) -> None:
        missing = np.isnan(values).sum(axis=0)
        if missing.any():
            counts = {feature.column: int(count) for feature, count in zip(self.features, missing, strict=True)}
            raise ValueError(missing_sentence(counts))


def missing_sentence(counts: dict[str, int], cure: str = 'allow them with missing="allow"') -> str:
    """Which columns have how many missing values, and what to do."""
    found = [f"{name!r} ({count:,})" for name, count in counts.items() if count]
    shown = ", ".join(found[:_MOST_NAMES]) + (
        f" and {len(found) - _MOST_NAMES} more" if len(found) > _MOST_NAMES else ""
    )
    return (
        f"Values are missing (NaN) in column{'s' if len(found) > 1 else ''} {shown}: fill them, leave out their rows "
        f"or columns, or {cure}."
    )
