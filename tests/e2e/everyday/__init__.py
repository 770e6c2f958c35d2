"""Tables as people have them, each with a few rows that break a rule of the table.

They are written as a person's tool would write them (delimiters, quotes, units in names, ids, dates, categories), from
fixed seeds. Nothing here was chosen to suit the method: values are rounded as such tables round them, columns that obey
no rule stay in.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from everyday import measured, trade
from everyday.made import Made

Maker = Callable[[], Made]
Writer = Callable[[pd.DataFrame, Path], None]


def csv(**options: object) -> Writer:
    """Writes CSV as pandas does."""
    return lambda frame, path: frame.to_csv(path, index=False, **options)  # type: ignore[call-overload]


def parquet(frame: pd.DataFrame, path: Path) -> None:
    frame.to_parquet(path, index=False)


def feather(frame: pd.DataFrame, path: Path) -> None:
    frame.to_feather(path)


def json_lines(frame: pd.DataFrame, path: Path) -> None:
    frame.to_json(path, orient="records", lines=True, force_ascii=False)


def packed(frame: pd.DataFrame, path: Path) -> None:
    text = io.StringIO()
    frame.to_csv(text, index=False)
    path.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))


# What a user would call the file, who makes it, and who writes it.
TABLES: dict[str, tuple[Maker, Writer]] = {
    "server metrics.csv": (measured.server_metrics, csv()),
    "fleet.csv": (measured.fleet_metrics, csv()),
    "invoices.csv": (trade.invoices, csv()),
    "sensors.csv": (measured.sensors, csv()),
    "laboratory.csv": (measured.laboratory, csv()),
    "ledger.csv": (trade.ledger, csv()),
    "shares.csv": (trade.market_shares, csv()),
    "prices.csv": (trade.prices, csv()),
    "dollars.csv": (trade.dollars, csv()),
    "units.csv": (measured.units, csv()),
    "odd names.csv": (measured.odd_names, csv()),
    "german.csv": (trade.german, csv(sep=";", decimal=",")),
    "excel.csv": (trade.german_dates, csv(sep=";", decimal=",", encoding="utf-8-sig", lineterminator="\r\n")),
    "accounts.tsv": (trade.accounts, csv(sep="\t")),
    "orders.csv": (trade.orders, csv()),
    "probes.csv": (measured.wide, csv()),
    "trips.parquet": (trade.trips, parquet),
    "trips.feather": (trade.trips, feather),
    "rooms.jsonl": (measured.rooms, json_lines),
    "meters.csv.gz": (measured.meters, packed),
    "weather.csv": (measured.weather, csv()),
    "payroll.csv": (trade.payroll, csv()),
    "survey.csv": (trade.survey, csv()),
}
