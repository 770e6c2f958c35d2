"""A feature of the model, what it is in its table, and the functions that features can be of a column."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aspca.escaping import level_text, name_text
from aspca.linalg.arrays import LARGEST_VALUE, Bools, Floats

SECONDS_PER_DAY = 86400.0
# The least number above zero: its logarithm is as low as any.
_LEAST = float(np.nextafter(0.0, 1.0))
_LARGEST_ROOT = float(np.sqrt(LARGEST_VALUE))


@dataclass(frozen=True)
class Transform:
    """A strictly increasing function."""

    forward: Callable[[Floats], Floats]
    backward: Callable[[Floats], Floats]
    defined: Callable[[Floats], Bools]  # true for NaN, a missing value, which stays NaN
    domain: str  # the same in words


# Written so that NaN passes.
TRANSFORMS = {
    "log": Transform(np.log, np.exp, lambda x: ~(x <= 0.0), "above 0"),
    "log1p": Transform(np.log1p, np.expm1, lambda x: ~(x <= -1.0), "above -1"),
    "sqrt": Transform(np.sqrt, np.square, lambda x: ~(x < 0.0), "of 0 and above"),
    "asinh": Transform(np.arcsinh, np.sinh, lambda x: np.ones(x.shape, dtype=np.bool_), "of any size"),
    "logit": Transform(
        lambda x: np.log(x) - np.log1p(-x),
        lambda y: 0.5 * (1.0 + np.tanh(0.5 * y)),
        lambda x: ~((x <= 0.0) | (x >= 1.0)),
        "between 0 and 1",
    ),
}
# What a column may be beside itself (`preparation.lifting`). Rows to be judged may hold anything: a value that has no
# logarithm gets the least there is, a square beyond the largest value allowed that one, so that both are far off.
LIFTS = {
    "log": Transform(
        lambda x: np.log(np.maximum(x, _LEAST)), np.exp, TRANSFORMS["log"].defined, TRANSFORMS["log"].domain
    ),
    "square": Transform(
        lambda x: np.minimum(np.square(x), LARGEST_VALUE),
        np.sqrt,
        lambda x: ~(np.abs(x) > _LARGEST_ROOT),
        f"within +-{_LARGEST_ROOT:g}",
    ),
}
# All that a feature can be of a column of numbers.
FUNCTIONS = LIFTS | TRANSFORMS


@dataclass(frozen=True)
class Feature:
    """A column of the model."""

    column: str  # of the table that it is made of
    # number (as it is), boolean (1 where true), a key of FUNCTIONS, date (days since 1970 in UTC), code (the position
    # of a category among `levels`), or level (1 where the column is `level`, otherwise 0)
    kind: str = "number"
    level: str = ""  # the category of a level
    levels: tuple[str, ...] = ()  # all categories of the column, if it has any

    @property
    def name(self) -> str:
        """As in ``price``, ``log(price)``, ``price^2``, ``days(sent)``, ``code(colour)`` or ``colour is red``."""
        return f"{self.column} is {self.level}" if self.kind == "level" else self._named(self.column)

    @property
    def text(self) -> str:
        """The name inside a sentence, in which every name that is no plain word stands in brackets."""
        inner = name_text(self.column)
        return f"[{inner} is {level_text(self.level)}]" if self.kind == "level" else self._named(inner)

    def _named(self, column: str) -> str:
        if self.kind in ("number", "boolean"):
            return column
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
        match self.kind:
            case "date":
                return format_date(value)
            case "code":
                return self.levels[int(np.clip(np.rint(value), 0, len(self.levels) - 1))]
            case "boolean":
                return {0.0: "false", 1.0: "true"}.get(value)
            case "level":
                return self.level if value == 1.0 else None
        return float(value)


def make_features(names: tuple[str, ...]) -> tuple[Feature, ...]:
    """Features that are columns as they are."""
    return tuple(Feature(name) for name in names)


def format_date(days: float) -> str | None:
    """Days since 1970 as a date, with the time of day unless that is midnight; None beyond the years 1 to 9999."""
    if not -719162 <= days < 2932897:
        return None
    moment = str(np.datetime64("1970-01-01T00:00:00", "s") + np.timedelta64(round(days * SECONDS_PER_DAY), "s"))
    return moment.removesuffix("T00:00:00").replace("T", " ")
