"""A CSV file before it is written: its fields, how their numbers are written, and what stands around the rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from library.everyday import Field, plain

T = TypeVar("T")


class UnfitError(Exception):
    """A defect that this table cannot have."""


@dataclass
class Draft:
    """A file before it is written: fields, and everything that stands around and between them."""

    rng: np.random.Generator
    fields: list[Field]
    n: int
    decimal: str = "."
    thousands: str = ""
    styles: dict[int, tuple[str, str, str]] = field(default_factory=dict)
    written: set[int] = field(default_factory=set)
    delimiter: str = ","
    quoting: str = "minimal"
    above: list[str] = field(default_factory=list)
    inside: dict[int, tuple[str, str]] = field(default_factory=dict)
    below: list[tuple[str, str]] = field(default_factory=list)
    edits: dict[int, Callable[[list[str]], list[str]]] = field(default_factory=dict)
    header: bool = True
    unnamed: int = 0
    tail: str = ""
    header_tail: str = ""
    newlines: tuple[str, ...] = ("\n",)
    encoding: str = "utf-8"
    ending: str = ""
    name: str = ""
    suffix: str = ".csv"
    odd: list[tuple[int, int, str]] = field(default_factory=list)
    damaged: set[int] = field(default_factory=set)
    refusable: bool = False

    def need(self, condition: object) -> None:
        if not condition:
            raise UnfitError

    def some(self, options: Sequence[T]) -> T:
        return options[int(self.rng.integers(len(options)))]

    def row(self) -> int:
        return int(self.rng.integers(5, self.n - 3))

    def numbers(self, test: Callable[[Field], bool] = lambda one: True) -> list[int]:
        """The columns of numbers that pass a test, in any order."""
        found = [k for k, one in enumerate(self.fields) if one.units and test(one)]
        return [found[k] for k in self.rng.permutation(len(found))]

    def texts(self) -> list[int]:
        return [k for k, one in enumerate(self.fields) if one.kind == "text" and one.decimals == 0]

    def empty_row(self) -> str:
        return self.delimiter * (len(self.fields) - 1)

    def quoted(self, cell: str, number: bool = False) -> str:
        wanted = self.quoting in ("all", "numbers" if number else "text")
        needed = self.delimiter in cell or '"' in cell or "\n" in cell
        return '"' + cell.replace('"', '""') + '"' if needed or wanted else cell

    def spelled(self, k: int, units: int) -> str:
        """A number by the signs of the file and the style of its column."""
        before, behind, negative = self.styles.get(k, ("", "", "-"))
        whole, _, fraction = plain(abs(units), self.fields[k].decimals).partition(".")
        whole = re.sub(r"(?<=\d)(?=(\d{3})+$)", self.thousands, whole)
        text = before + whole + (self.decimal + fraction if fraction else "") + behind
        return text if units >= 0 else {"()": f"({text})", "5-": f"{text}-"}.get(negative, negative + text)

    def spell(self) -> None:
        """Write all numbers so, but those that are written in another way already."""
        for k, one in enumerate(self.fields):
            if k in self.written:
                one.cells = [cell.replace(".", self.decimal) for cell in one.cells]
            elif one.units:
                one.cells = [cell and self.spelled(k, units) for units, cell in zip(one.units, one.cells, strict=True)]
        # Whether the cells alone tell the decimal sign: points before three digits are decimals by custom.
        bodies = [re.sub(r"[^\d.,]", "", cell) for one in self.fields if one.units for cell in one.cells]
        unclear = sum(bool(re.fullmatch(r"[1-9]\d{0,2}[.,]\d{3}", body)) for body in bodies)
        proof = sum("." in body or "," in body for body in bodies) - unclear
        told = not unclear or (proof >= 2 and proof >= 0.06 * (proof + unclear))
        self.need(told or self.thousands in ("", ","))
        self.refusable |= not told
