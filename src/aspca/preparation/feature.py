"""A feature of the model, and what it is in the table it was made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aspca.escaping import level_text, name_text
from aspca.linalg.arrays import Floats
from aspca.preparation.transforms import FUNCTIONS

SECONDS_PER_DAY = 86400.0


@dataclass(frozen=True)
class Feature:
    """A column of the model.

    Attributes
    ----------
    column : str
        The column of the table that it is made of.
    kind : str
        ``number`` (as it is), ``boolean`` (1 where it is true), a key of `FUNCTIONS`, ``date`` (days since 1970 in
        UTC), ``code`` (the position of a category among `levels`), or ``level`` (1 where the column is `level`,
        otherwise 0).
    level : str
        The category of a ``level``.
    levels : tuple of str
        All categories of the column, if it has any.
    """

    column: str
    kind: str = "number"
    level: str = ""
    levels: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """As in ``price``, ``log(price)``, ``price^2``, ``days(sent)``, ``code(colour)`` or ``colour is red``."""
        return self._named(self.column, self.level)

    @property
    def text(self) -> str:
        """The name inside a sentence, in which every name that is no plain word stands in brackets."""
        inner = name_text(self.column)
        return f"[{inner} is {level_text(self.level)}]" if self.kind == "level" else self._named(inner, "")

    def _named(self, column: str, level: str) -> str:
        if self.kind in ("number", "boolean"):
            return column
        if self.kind == "level":
            return f"{column} is {level}"
        if self.kind == "square":
            return f"{column}^2"
        return f"{'days' if self.kind == 'date' else self.kind}({column})"

    def original(self, value: float) -> float | str | None:
        """A value of the feature in the terms of its column; None where a column has no such value, or it is missing.

        Dates are written out, codes become the nearest category, truth values are ``true`` or ``false``, and a level
        says which category it is, or nothing.
        """
        if np.isnan(value):
            return None
        if self.kind in FUNCTIONS:
            with np.errstate(over="ignore", invalid="ignore"):
                found = float(FUNCTIONS[self.kind].backward(np.array([value]))[0])
            return found if np.isfinite(found) else None
        if self.kind == "date":
            return date_text(value)
        if self.kind == "code":
            return self.levels[int(np.clip(np.rint(value), 0, len(self.levels) - 1))]
        if self.kind == "boolean":
            return {0.0: "false", 1.0: "true"}.get(value)
        if self.kind == "level":
            return self.level if value == 1.0 else None
        return float(value)


def features_of_numbers(names: tuple[str, ...]) -> tuple[Feature, ...]:
    """Features that are columns as they are."""
    return tuple(Feature(name) for name in names)


def date_text(days: float) -> str | None:
    """Days since 1970 as a date, with the time of day unless that is midnight; None beyond the years 1 to 9999."""
    if not -719162 <= days < 2932897:
        return None
    moment = str(np.datetime64("1970-01-01T00:00:00", "s") + np.timedelta64(round(days * SECONDS_PER_DAY), "s"))
    return moment.removesuffix("T00:00:00").replace("T", " ")


def days_of(seconds: Floats) -> Floats:
    """Seconds since 1970 as days."""
    return np.asarray(seconds / SECONDS_PER_DAY)
