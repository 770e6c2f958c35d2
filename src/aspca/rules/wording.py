"""Words for rules: sums of terms, dates, categories; headings and counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from aspca.escaping import level_text, name_text
from aspca.identities.identity import write_number
from aspca.linalg.arrays import Floats
from aspca.preparation.feature import Feature, format_date

NO_RELATION = "No relation holds between these columns: rows are judged by how far out they are."
_HEADINGS = {
    "identity": ("{:,} exact relation", "{:,} exact relations"),
    "relation": ("{:,} rule that normal rows obey", "{:,} rules that normal rows obey"),
    "range": ("{:,} column that keeps to a range", "{:,} columns that keep to a range"),
    "constant": ("{:,} column that never changes", "{:,} columns that never change"),
}
# What is smaller than this share of another is left out where that says more.
SMALL = 0.1


def group_by_kind(kinds: Sequence[str]) -> list[tuple[str, list[int]]]:
    """A heading for each kind of rule there is, with the numbers of its rules; relations first, or the lack of them."""
    groups: list[tuple[str, list[int]]] = []
    for kind, (one, many) in _HEADINGS.items():
        numbers = [number for number, one in enumerate(kinds) if one == kind]
        if numbers:
            groups.append(((one if len(numbers) == 1 else many).format(len(numbers)), numbers))
        elif kind == "relation" and not groups:
            groups.append((NO_RELATION, numbers))
    return groups


def counted(number: int, word: str) -> str:
    """As in ``1 row`` or ``1,200 anomalies``."""
    plural = f"{word.removesuffix('y')}ies" if word.endswith("y") else f"{word}s"
    return f"{number:,} {word if number == 1 else plural}"


def count_verdicts(n_errors: int, n_anomalies: int) -> str:
    """As in ``3 errors and 12 unusual rows``."""
    unusual = n_anomalies - n_errors
    parts = [counted(n_errors, "error") if n_errors else "No errors"]
    return " and ".join([*parts, counted(unusual, "unusual row")] if unusual else parts)


def shorten_number(value: float, unit: float) -> str:
    """A number to two digits of `unit`."""
    return write_number(_to_two_digits(value, unit) if unit > 0.0 and np.isfinite(unit) else value)


def shorten_float(value: float, other: float) -> float:
    """A number with enough digits to tell it from another."""
    return _to_two_digits(value, abs(value - other))


def _to_two_digits(value: float, unit: float) -> float:
    digits = 1 - int(np.floor(np.log10(unit)))
    return round(value, digits) + 0.0 if abs(digits) < 300 else value


@dataclass(frozen=True)
class Sum:
    """coefficients . features = intercept, no coefficient zero."""

    coefficients: Floats
    features: tuple[Feature, ...]
    intercept: float

    @property
    def kinds(self) -> set[str]:
        return {feature.kind for feature in self.features}

    def only(self, chosen: Sequence[int]) -> Sum:
        return replace(self, coefficients=self.coefficients[chosen], features=tuple(self.features[k] for k in chosen))

    @property
    def reads_forward(self) -> bool:
        """Whether positive terms belong on the left.

        What stands alone does; of two that do, the one without a factor, or else the first. Where neither side is
        alone, the one with the largest coefficient.
        """
        a = self.coefficients
        above, below = a[a > 0], a[a < 0]
        if above.size == 0 or below.size == 0:
            return above.size > 0
        if above.size == 1 and below.size == 1:
            bare = float(above[0]) == 1.0, float(below[0]) == -1.0
            return bare[0] if bare[0] != bare[1] else bool(a[0] > 0)
        if above.size == 1 or below.size == 1:
            return above.size == 1
        return float(above.max()) >= -float(below.min())

    def sides(self, write: Callable[[float, Feature], str], joint: str) -> tuple[str, str]:
        """What is written on the left and on the right."""
        sign = 1.0 if self.reads_forward else -1.0
        terms = [(sign * value, feature) for value, feature in zip(self.coefficients, self.features, strict=True)]
        left, right = ([write(abs(a), one) for a, one in terms if a * side > 0] for side in (1, -1))
        return joint.join(left), joint.join(right)

    @property
    def equality(self) -> str:
        left, right = self.sides(write_term, " + ")
        constant = self.intercept if self.reads_forward else -self.intercept
        if not right:
            return f"{left} = {write_number(constant)}"
        sign = "+" if constant > 0 else "-"
        return f"{left} = {right}" + (f" {sign} {write_number(abs(constant))}" if constant else "")

    @property
    def are_dates(self) -> bool:
        """Whether it is one date, or the time between two."""
        a = self.coefficients
        ones = bool((np.abs(a) == 1.0).all())
        return self.kinds == {"date"} and ones and (a.size == 1 or (a.size == 2 and a.sum() == 0))

    @property
    def dates(self) -> str:
        names = [name_text(feature.column) for feature in self.features]
        if len(names) == 1:
            day = self.intercept * float(self.coefficients[0])
            return f"{names[0]} = {format_date(day) or write_number(day)}"
        # The later one first.
        first, second = names if self.intercept * self.coefficients[0] >= 0 else names[::-1]
        return f"{first} = {second}" + (f" + {write_number(abs(self.intercept))} days" if self.intercept else "")


def write_term(size: float, feature: Feature) -> str:
    return feature.text if size == 1.0 else f"{write_number(size)} {feature.text}"


def write_power(exponent: float, feature: Feature) -> str:
    name = name_text(feature.column)
    return name if exponent == 1.0 else f"{name}^{write_number(exponent)}"


def columns_of_levels(features: Sequence[Feature]) -> list[str]:
    return list(dict.fromkeys(feature.column for feature in features if feature.kind == "level"))


def are_alike(coefficients: Floats) -> bool:
    """Whether coefficients differ by a tenth at most: what other rules left in them."""
    return bool(np.ptp(coefficients) <= SMALL * np.abs(coefficients).max())


def round_within(value: float, room: float) -> float:
    """The shortest decimal at most so far away."""
    if abs(value) <= room:
        return 0.0
    return next(
        (short for digits in range(1, 17) if abs((short := float(f"{value:.{digits}g}")) - value) <= room), value
    )


def list_levels(levels: tuple[str, ...], most: int = 6) -> str:
    shown = [level_text(level) for level in levels[:most]]
    if len(levels) > most:
        shown.append(f"{len(levels) - most} others")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


def round_number(value: float, digits: int) -> str:
    return write_number(float(f"{value:.{digits}g}"))
