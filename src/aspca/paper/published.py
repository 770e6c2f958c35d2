"""What the paper prints, ours next to it, whether they agree, and why not; and sections of such tables and figures.

`published.json` is the only place where the paper's numbers are typed in, with where it prints them. `deviations.json`
gives reasons for numbers that differ; what was tried stands in `benchmarks/paper_causes.py` and the tests of the paper.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from aspca.linalg.arrays import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

Number = Decimal | int


def read_resource(name: str) -> str:
    """A text file of this package."""
    return (files("aspca.paper") / name).read_text(encoding="utf-8")


@cache
def _load_published() -> Any:
    # As decimals, so that 0.9520 keeps the digits it is printed with.
    return json.loads(read_resource("published.json"), parse_float=Decimal)


def get_printed(table: str, *path: str) -> Any:
    """What is printed at a place, such as ``get_printed("sparsity", "kdd99", "PCA", "L1")``."""
    found = _load_published()[table]
    for name in path:
        found = found[name]
    return found


def get_rows(table: str, *path: str) -> Mapping[str, Any]:
    """The same without the line that says where it is printed."""
    return {name: row for name, row in get_printed(table, *path).items() if name != "source"}


def get_source(table: str, name: str) -> str:
    """Where the paper prints a table, or the part of it for one data set: ``Table 3``."""
    found = get_printed(table)
    return str(found["source"] if "source" in found else found[name]["source"])


def count_digits(number: Number) -> int:
    """Decimals that it is printed with."""
    exponent = Decimal(number).as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def get_half_unit(number: Number) -> float:
    """Half a unit of the last printed decimal: what it may have been rounded by. A whole number is exact."""
    return 0.5 * 10.0 ** -count_digits(number) if isinstance(number, Decimal) else 0.0


@dataclass(frozen=True)
class Tolerance:
    """How far ours may be from the paper's."""

    absolute: float = 0.0  # apart by at most so much,
    relative: float = 0.0  # or by such a share of the paper's
    or_lower: bool = False  # whether anything below the paper's agrees, too: sparser is better
    at_most: float | None = None  # a bound of its own instead

    def allows(self, paper: Number, ours: float) -> bool:
        """Whether ours agrees; what is printed as 0.25 may be any number that rounds to it."""
        value = float(paper)
        if self.at_most is not None:
            return ours <= self.at_most
        if self.or_lower and ours <= value:
            return True
        return abs(ours - value) <= max(self.absolute, self.relative * abs(value), get_half_unit(paper)) * (1 + 1e-9)

    @property
    def text(self) -> str:
        """``within 5 %``, ``within 0.02 or lower``, ``at most 55.2``, ``equal``."""
        if self.at_most is not None:
            return f"at most {self.at_most:g}"
        parts = [f"within {self.absolute:g}"] if self.absolute else []
        parts += [f"within {100 * self.relative:g} %"] if self.relative else []
        return (" or ".join(parts) or "equal as printed") + (" or lower" if self.or_lower else "")


EQUAL = Tolerance()


@dataclass(frozen=True)
class Comparison:
    """What the paper says and what came out here."""

    key: str  # its name: ``sparsity/breast-cancer/ASPCA-B/L1``
    source: str  # where the paper prints it
    row: str
    column: str
    paper: Number | str
    ours: float | str  # words where the paper has words
    tolerance: str
    agrees: bool

    @property
    def difference(self) -> float | None:
        """Ours less the paper's; None of words."""
        if isinstance(self.paper, str) or isinstance(self.ours, str):
            return None
        return float(self.ours) - float(self.paper)

    @property
    def as_printed(self) -> bool:
        """Whether ours is the printed number to its last digit; of words, whether they agree."""
        if isinstance(self.paper, str) or isinstance(self.ours, str):
            return self.agrees
        return round(float(self.ours), self.digits) == float(self.paper)

    @property
    def digits(self) -> int:
        """Decimals to show ours with."""
        return 0 if isinstance(self.paper, str) else count_digits(self.paper)

    @property
    def reason(self) -> str:
        """Why it is not as printed; empty where it is, or where nothing is known."""
        known = load_reasons()
        fitting = [] if self.as_printed else [key for key in known if fnmatchcase(self.key, key)]
        return known[max(fitting, key=len)] if fitting else ""

    @property
    def paper_text(self) -> str:
        """As printed."""
        return self.paper if isinstance(self.paper, str) else use_minus(str(self.paper))

    def ours_text(self, digits: int) -> str:
        """With as many digits as the paper prints in the same column."""
        return self.ours if isinstance(self.ours, str) else use_minus(f"{self.ours:.{digits}f}")

    def difference_text(self, digits: int) -> str:
        """With a sign; nothing for words."""
        if self.difference is None:
            return ""
        shown = f"{self.difference:+.{digits}f}"
        return "0" if float(shown) == 0.0 else use_minus(shown)


def use_minus(number: str) -> str:
    """A number with the sign for minus in place of the hyphen."""
    return number.replace("-", "\N{MINUS SIGN}")


@cache
def load_reasons() -> Mapping[str, str]:
    """Sentences by the key of a comparison, or by how keys begin, a star at the end."""
    entries = json.loads(read_resource("deviations.json"))
    return {key: entry["reason"] for entry in entries for key in entry["numbers"]}


def compare_numbers(
    place: tuple[str, ...],
    printed: Mapping[str, Number],
    ours: Mapping[str, float],
    allowed: Tolerance | Mapping[str, Tolerance] = EQUAL,
) -> list[Comparison]:
    """Every printed number of a row next to ours; `place` is a table, a data set and a row."""
    found, source = [], get_source(place[0], place[1])
    for column, paper in printed.items():
        tolerance = allowed if isinstance(allowed, Tolerance) else allowed[column]
        agrees = tolerance.allows(paper, float(ours[column]))
        key = "/".join((*place, column))
        found.append(Comparison(key, source, place[-1], column, paper, ours[column], tolerance.text, agrees))
    return found


def compare_words(
    place: tuple[str, ...], source: str, paper: str, ours: str, holds: bool, asked: str = "as the text says"
) -> Comparison:
    """Words next to words, of which the caller says whether they agree; `place` ends with a row and a column."""
    *_, row, column = place
    return Comparison("/".join(place), source, row, column, paper, ours, asked, bool(holds))


@dataclass(frozen=True, eq=False)
class MatchedComponents:
    """Our components under the paper's numbers."""

    loadings: Floats  # (p, d) in the paper's order, those it does not print in the places between; signs as printed
    positions: Mapping[str, int]  # columns by the paper's numbers

    @property
    def labels(self) -> tuple[str, ...]:
        """The paper's number of each column, in brackets where it prints none."""
        printed = {position: number for number, position in self.positions.items()}
        return tuple(printed.get(k, f"({k + 1})") for k in range(self.loadings.shape[1]))


def match_components(
    loadings: Floats, names: tuple[str, ...], printed: Mapping[str, Mapping[str, Number]]
) -> MatchedComponents:
    """The assignment that makes the printed vectors and ours most alike in all, whatever their order and signs."""
    targets = np.zeros((len(names), len(printed)))
    for k, terms in enumerate(printed.values()):
        for name, value in terms.items():
            targets[names.index(name), k] = float(value)
    likeness = targets.T @ loadings
    wanted, ours = linear_sum_assignment(-np.abs(likeness))
    d = loadings.shape[1]
    order = np.full(d, -1, dtype=np.intp)
    signs = np.ones(d)
    positions = {}
    for k, column in zip(wanted.tolist(), ours.tolist(), strict=True):
        number = list(printed)[k]
        place = int(number) - 1
        order[place], signs[place] = column, np.sign(likeness[k, column]) or 1.0
        positions[number] = place
    order[order < 0] = sorted(set(range(d)) - set(ours.tolist()))
    return MatchedComponents(loadings[:, order] * signs, positions)


# ---- what a reproduction gives, decided before anything is printed or drawn

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
