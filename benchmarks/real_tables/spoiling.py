"""One identity of a table broken in one row: 1 % and 10 % more, two columns swapped, a thousandth.

The spoiled cell is the identity's first column, usually the total, printed with as many decimals as its column has.
Rows are drawn by a seed of the table and identity, each used once, so that all cases of a table can be put into it at
the same time. What could not be seen by anybody, because the table's own rounding is as large, is skipped, and said.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from zlib import crc32

import numpy as np
import pandas as pd

from .table import Identity, Table

KINDS = ("1 %", "10 %", "swap", "thousandth")
_FACTORS = {"1 %": 1.01, "10 %": 1.10, "thousandth": 0.001}


@dataclass(frozen=True)
class Case:
    """`row` of the table, with `changes` put in; `identity` counts the table's own."""

    table: str
    identity: int
    kind: str
    row: int
    changes: dict[str, float]

    def spoiled_row(self, table: Table) -> pd.DataFrame:
        """The row alone, under its own number."""
        return table.frame.iloc[[self.row]].assign(**self.changes)

    def __str__(self) -> str:
        return f"{self.table}, row {self.row}, {' and '.join(self.changes)}: {self.kind}"


@dataclass(frozen=True)
class Skipped:
    table: str
    identity: int
    kind: str
    reason: str


def cases(table: Table) -> list[Case]:
    return [found for found in _attempts(table) if isinstance(found, Case)]


def skipped(table: Table) -> list[Skipped]:
    return [found for found in _attempts(table) if isinstance(found, Skipped)]


def spoiled_table(table: Table, several: list[Case]) -> pd.DataFrame:
    """The table with some of its cases put in."""
    frame = table.frame.copy()
    for case in several:
        for column, value in case.changes.items():
            frame.loc[case.row, column] = value
    return frame


def many_cases(table: Table, count: int) -> list[Case]:
    """At least so many cases, each in a row of its own, where identities and rows allow."""
    found: list[Case] = []
    used: set[int] = set()
    while len(found) < count:
        more = [case for case in _attempts(table, used) if isinstance(case, Case)]
        if not more:
            break
        found += more
    return found[:count]


def _attempts(table: Table, used: set[int] | None = None) -> Iterator[Case | Skipped]:
    """One case of each kind for each identity, in rows that are not `used`; they are, afterwards."""
    used = set() if used is None else used
    for k, identity in enumerate(table.identities):
        order = np.random.default_rng(crc32(f"{table.name}/{k}".encode())).permutation(len(table.frame))
        present = table.frame[identity.target].to_numpy() != 0.0
        rows = [int(row) for row in order if present[row]]
        for kind in KINDS:
            free = [row for row in rows if row not in used]
            found = _swap(table, k, free) if kind == "swap" else _scaled(table, k, kind, free)
            if isinstance(found, Case):
                used.add(found.row)
            yield found


def _scaled(table: Table, k: int, kind: str, rows: list[int]) -> Case | Skipped:
    """The first column times a factor, in the first row drawn."""
    identity = table.identities[k]
    if not rows:
        return Skipped(table.name, k, kind, "no row is left")
    value = float(table.frame[identity.target].iloc[rows[0]])
    decimals = table.decimals[identity.target]
    changed = value * _FACTORS[kind]
    changed = changed if decimals is None else float(np.round(changed, decimals))
    if changed <= 0.0 and identity.target in table.logs:
        return Skipped(table.name, k, kind, f"{value:g} would become zero, which has no logarithm")
    case = Case(table.name, k, kind, rows[0], {identity.target: changed})
    if not _visible(table, identity, case):
        return Skipped(table.name, k, kind, f"{value:g} changes by less than the table's rounding")
    return case


def _swap(table: Table, k: int, rows: list[int]) -> Case | Skipped:
    """The first column and another of the identity, in the first row where that breaks it."""
    identity = table.identities[k]
    first = identity.target
    # Terms with equal coefficients may change places: the identity does not mind.
    partners = [name for name in identity.columns[1:] if identity.coefficients[name] != identity.coefficients[first]]
    for row in rows:
        for name in partners:
            one, other = (float(table.frame[column].iloc[row]) for column in (first, name))
            case = Case(table.name, k, "swap", row, {first: other, name: one})
            if one != other and _visible(table, identity, case):
                return case
    return Skipped(table.name, k, "swap", "its terms may change places" if not partners else "no swap breaks it")


def _visible(table: Table, identity: Identity, case: Case) -> bool:
    breach = abs(float(table.residual(identity, case.spoiled_row(table))[0]))
    # What clean rows miss it by; exact ones may miss it by nothing at all, and still have the rounding of float64.
    usual = table.tolerance(identity)
    return breach > 2.0 * (max(usual, float(table.rounding(identity)[case.row])) if identity.exact else usual)
