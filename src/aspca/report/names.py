"""How a report calls columns and writes cells: short, safe in links, and not at all where values are private."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from aspca.findings.values import Value, value_text
from aspca.identities import Identity
from aspca.model.model import Model
from aspca.rules.rule import AnyRule

# Characters of a name and of a cell: one of ten thousand must not fill the page.
_NAME, _CELL = 60, 80
# Sentences about columns are cut where they are longer: several names and cells fit.
SENTENCE = 700
_HIDDEN = "(private)"


@dataclass(frozen=True, eq=False)
class Naming:
    """The columns of a table as a report calls them."""

    roles: Mapping[str, str]  # what each column is used for, in the order of the table
    private: bool  # whether no value of a row is shown

    @cached_property
    def called(self) -> dict[str, str]:
        """By its own name, what a column is called: that, or its beginning, told apart by a number."""
        taken = {name for name in self.roles if len(name) <= _NAME}
        called = {}
        for number, name in enumerate(self.roles):
            short = name
            if len(name) > _NAME:
                short = f"{name[:_NAME]}…"
                if short in taken:
                    short = f"{name[: _NAME - 8]}… ({number})"
                taken.add(short)
            called[name] = short
        return called

    @cached_property
    def number(self) -> dict[str, int]:
        """By its own name or by what it is called, the number of a column."""
        numbers = {name: number for number, name in enumerate(self.roles)}
        return {self.called[name]: number for name, number in numbers.items()} | numbers

    def cell(self, text: str | None) -> str | None:
        """A cell as it stands in the table."""
        return _HIDDEN if self.private else None if text is None else cut(text)

    def value(self, value: Value) -> str:
        """A value inside a sentence or a table."""
        return _HIDDEN if self.private else cut(value_text(value))

    def rough(self, number: float, digits: int = 17) -> float:
        """A number to so many digits, and to two where more would tell a value."""
        return round_to(number, 2 if self.private else digits)

    def rough_if_finite(self, number: float | None) -> float | None:
        return None if number is None or not np.isfinite(number) else self.rough(number)


def round_to(number: float, digits: int) -> float:
    """A number to so many significant digits."""
    return float(f"{number:.{digits}g}")


def cut(text: str, longest: int = _CELL) -> str:
    """A text, or its beginning and how long it is."""
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text):,} characters)"


def rename_columns(model: Model, called: Mapping[str, str]) -> Model:
    """The same model, whose sentences use these names and short categories; it judges the same."""
    features = tuple(
        replace(
            feature,
            column=called.get(feature.column, feature.column),
            level=cut(feature.level),
            levels=tuple(map(cut, feature.levels)),
        )
        for feature in model.space.features
    )
    return model if features == model.space.features else replace(model, space=replace(model.space, features=features))


def make_anchors(names: Sequence[str]) -> tuple[str, ...]:
    """What columns are called in links, as in ``column-cpu-load``: letters and digits of the name, told apart by
    numbers; the same for the same table."""
    taken: dict[str, None] = {}
    for number, name in enumerate(names):
        # A name may be very long; forty characters of it are enough.
        plain = re.sub(r"[^a-z0-9]+", "-", name.lower()[:160]).strip("-")[:40].strip("-")
        anchor = f"column-{plain}" if plain else f"column-{number}"
        if anchor in taken:
            anchor = f"{anchor}-{number}"
        while anchor in taken:
            anchor += "-"
        taken[anchor] = None
    return tuple(taken)


def shorten_rule(rule: AnyRule) -> str:
    """A rule without what stands in brackets at its end."""
    if isinstance(rule, Identity):
        return rule.equation
    text = str(rule)
    return text.rpartition(" (")[0] if text.endswith(")") and " (" in text else text
