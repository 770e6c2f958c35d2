"""What a reproduction gives: sections of tables and figures, decided before anything is printed or drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aspca.paper.published import Comparison, use_minus

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

Cell = str | int | float | None


@dataclass(frozen=True)
class Table:
    """Published numbers next to ours, with sentences below."""

    title: str
    comparisons: tuple[Comparison, ...]
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one.row for one in self.comparisons))

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one.column for one in self.comparisons))

    @property
    def is_grid(self) -> bool:
        """Whether every row has every column, and these are few enough to stand side by side."""
        whole = len(self.comparisons) == len(self.rows) * len(self.columns)
        return whole and len(self.columns) <= 4 and not any(isinstance(one.paper, str) for one in self.comparisons)

    def digits(self, column: str) -> int:
        """Decimals for a column: as many as the paper prints at most."""
        return max(one.digits for one in self.comparisons if one.column == column)


@dataclass(frozen=True)
class Listing:
    """What the paper has no number for."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Figure:
    """A picture that is drawn when somebody asks."""

    key: str  # the name of its files
    source: str
    title: str
    says: str  # what the paper's text says of it, and what ours shows
    draw: Callable[[], Canvas]


Part = Table | Listing | Figure


@dataclass(frozen=True)
class Section:
    """All that the paper shows of one data set."""

    name: str
    title: str
    description: str
    parts: tuple[Part, ...]

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        return tuple(one for part in self.parts if isinstance(part, Table) for one in part.comparisons)

    @property
    def figures(self) -> tuple[Figure, ...]:
        return tuple(part for part in self.parts if isinstance(part, Figure))

    @property
    def counts(self) -> dict[str, int]:
        """How many numbers and statements of the paper there are, agree, and differ; how many numbers are exact."""
        agree = sum(one.agrees for one in self.comparisons)
        return {
            "published": len(self.comparisons),
            "agree": agree,
            "to_the_last_digit": sum(one.as_printed for one in self.comparisons if one.difference is not None),
            "differ": len(self.comparisons) - agree,
        }


@dataclass(frozen=True)
class Reproduction:
    """Everything that was asked for, and a sentence for each data set that is not there."""

    sections: tuple[Section, ...]
    missing: tuple[str, ...] = ()

    @property
    def deviations(self) -> dict[str, list[Comparison]]:
        """All that do not agree, by their reasons."""
        every = (one for section in self.sections for one in section.comparisons)
        return group_by_reason(one for one in every if not one.agrees)


def group_by_reason(comparisons: Iterable[Comparison]) -> dict[str, list[Comparison]]:
    """Numbers by why they differ: all outside their tolerances, others where a reason is known; "" where none is."""
    found: dict[str, list[Comparison]] = {}
    for one in comparisons:
        if one.reason or not one.agrees:
            found.setdefault(one.reason, []).append(one)
    return found


def format_cell(cell: Cell) -> str:
    """Whole numbers as they are, others with three digits behind the point, nothing as a dash."""
    if cell is None:
        return "\N{EN DASH}"
    if isinstance(cell, str):
        return cell
    return f"{cell:g}" if float(cell).is_integer() else use_minus(f"{cell:.3f}")
