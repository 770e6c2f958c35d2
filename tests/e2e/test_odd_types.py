"""Types that Arrow and Parquet have and other tables have not: numbers, or left out with a note; never "damaged"."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import aspca

N = 48
RNG = np.random.default_rng(26)
WHOLE = 1 + RNG.permutation(1000)[:N]
HALVES = WHOLE / 2
TIMES = [datetime.datetime(2024, 3, 30, tzinfo=datetime.UTC) + datetime.timedelta(hours=float(x)) for x in HALVES]
MONEY = [Decimal(int(x)) / 2 for x in WHOLE]
SPANS = [datetime.timedelta(seconds=float(x)) for x in HALVES]
IDS = [2**53 + 1 + 2 * int(x) for x in WHOLE]


def encoded(values: pa.Array) -> pa.Array:
    """The same cells, as numbers into a dictionary."""
    places = pa.array([None if not value.is_valid else place for place, value in enumerate(values)], pa.int16())
    return pa.DictionaryArray.from_arrays(places, values)


HALF = pa.array(HALVES.astype(np.float16), pa.float16())
ZONED = pa.array(TIMES, pa.timestamp("ns", "Europe/Berlin"))
WIDE = pa.array(MONEY, pa.decimal256(50, 2))
# By name: the column, and the numbers that it means.
NUMBERS: dict[str, tuple[pa.Array, np.ndarray]] = {
    "float16": (HALF, HALVES),
    "encoded_float16": (encoded(HALF), HALVES),
    "decimal128": (pa.array(MONEY, pa.decimal128(38, 2)), HALVES),
    "decimal256": (pa.array(MONEY, pa.decimal256(30, 2)), HALVES),
    "wide_decimal256": (WIDE, HALVES),
    "encoded_decimal256": (encoded(WIDE), HALVES),
    "seconds": (pa.array(SPANS, pa.duration("ns")), HALVES),
    "milliseconds": (pa.array(SPANS, pa.duration("ms")), HALVES),
    "uint8": (pa.array(WHOLE % 256, pa.uint8()), WHOLE % 256),
    "uint64": (pa.array(WHOLE, pa.uint64()), WHOLE),
    "encoded": (pa.array(HALVES).dictionary_encode(), HALVES),
}
DATES = {
    "zoned_ns": ZONED,
    "encoded_zoned_ns": encoded(ZONED),
    "utc_ns": pa.array(TIMES, pa.timestamp("ns", "UTC")),
    "zoned_s": pa.array(TIMES, pa.timestamp("s", "Europe/Berlin")),
}
# By name: what is said of a column that is left out.
LEFT_OUT = {
    "lists": (pa.array([[float(x)] for x in WHOLE]), "Column 'lists' holds lists or records, so it is left out."),
    "halves": (pa.array([[x] for x in HALF.to_pylist()], pa.list_(pa.float16())), "Column 'halves' holds lists or"),
    "records": (pa.array([{"a": int(x)} for x in WHOLE]), "Column 'records' holds lists or records, so it is left"),
    "times": (pa.array([datetime.time(int(x) % 24) for x in WHOLE], pa.time32("s")), "'times'"),
    "large": (pa.array(["x", "y"] * (N // 2), pa.large_string()), "'large'"),
    "views": (pa.array(["x", "y"] * (N // 2), pa.string_view()), "'views'"),
    "nothing": (pa.nulls(N), "Column 'nothing' has no values, so it is left out."),
    "ids": (pa.array([None, *IDS[1:]]), "integers beyond 2^53, of which digits would be lost, are kept as text"),
    "unsigned_ids": (pa.array([None, *(2**63 + one for one in IDS[1:])], pa.uint64()), "'unsigned_ids'"),
}
ROW_NAMES = [f"r{place}" for place in range(N)]


def columns(*kinds: dict[str, Any]) -> pa.Table:
    found = {name: one[0] if isinstance(one, tuple) else one for kind in kinds for name, one in kind.items()}
    return pa.table({"row": ROW_NAMES, "plain": HALVES} | found)


def parquet(table: pa.Table, folder: Path) -> str:
    pq.write_table(table, folder / "t.parquet")
    return str(folder / "t.parquet")


def parquet_folder(table: pa.Table, folder: Path) -> str:
    (folder / "half").mkdir()
    pq.write_table(table.slice(0, N // 2), folder / "half" / "0.parquet")
    pq.write_table(table.slice(N // 2), folder / "half" / "1.parquet")
    return str(folder)


def arrow_file(table: pa.Table, folder: Path) -> str:
    pyarrow.feather.write_feather(table, str(folder / "t.feather"))
    return str(folder / "t.feather")


def of_polars(table: pa.Table, folder: Path) -> pl.DataFrame:
    # Polars has neither decimals beyond 38 digits nor dictionaries of them.
    kept = [name for name in table.column_names if "256" not in name]
    return pl.from_arrow(table.select(kept))


def of_pandas(table: pa.Table, folder: Path) -> pd.DataFrame:
    # Neither categories of float16, nor integers beside gaps.
    kept = [name for name in table.column_names if name not in ("encoded_float16", "ids", "unsigned_ids")]
    return table.select(kept).to_pandas()


def arrow_backed(table: pa.Table, folder: Path) -> pd.DataFrame:
    return table.to_pandas(types_mapper=pd.ArrowDtype)


Made = Callable[[pa.Table, Path], Any]
SOURCES: dict[str, Made] = {
    "parquet": parquet,
    "folder": parquet_folder,
    "arrow file": arrow_file,
    "pyarrow table": lambda table, folder: table,
    "pyarrow stream": lambda table, folder: table.to_reader(),
    "pandas": of_pandas,
    "pandas of pyarrow": arrow_backed,
    "polars": of_polars,
    "lazy polars": lambda table, folder: of_polars(table, folder).lazy(),
}


@pytest.mark.parametrize("made", SOURCES.values(), ids=SOURCES)
def test_numbers_of_every_type_are_read(made: Made, tmp_path: Path) -> None:
    model = aspca.fit_source(made(columns(NUMBERS), tmp_path), id="row")
    means = dict(zip(model.feature_names_in_, model.moments_.mean, strict=True))
    assert {"plain", "float16" if "float16" in means else "encoded", "seconds", "uint64"} <= set(means)
    for name in set(NUMBERS) & set(means):
        assert means[name] == pytest.approx(NUMBERS[name][1].mean(), rel=1e-15), name
    lacking = set(NUMBERS) - set(means)
    assert all("256" in name or name == "encoded_float16" for name in lacking)
    assert not lacking or made in (of_pandas, of_polars, SOURCES["lazy polars"])
    if made in (parquet, arrow_file):
        assert "decimals of more than 38 digits in columns 'wide_decimal256' and 'encoded_decimal256' are read" in str(
            model.model_.reading
        )


@pytest.mark.parametrize("made", SOURCES.values(), ids=SOURCES)
def test_zoned_times_are_moments_in_time(made: Made, tmp_path: Path) -> None:
    model = aspca.fit_source(made(columns(DATES), tmp_path), id="row", date=list(DATES))
    means = dict(zip(model.feature_names_in_, model.moments_.mean, strict=True))
    days = np.mean([time.timestamp() / 86400 for time in TIMES])
    found = {name: mean for name, mean in means.items() if name != "plain"}
    assert len(found) == len(DATES)
    assert list(found.values()) == pytest.approx([days] * len(DATES), rel=1e-15)


@pytest.mark.parametrize("made", SOURCES.values(), ids=SOURCES)
def test_what_is_no_number_is_left_out_and_named(made: Made, tmp_path: Path) -> None:
    source = made(columns(LEFT_OUT), tmp_path)
    named = set(getattr(source, "columns", LEFT_OUT)) if made in (of_pandas, of_polars) else set(LEFT_OUT)
    model = aspca.fit_source(source, id="row")
    assert list(model.feature_names_in_) == ["plain"]
    told = " ".join(model.model_.reading)
    for name, (_, sentence) in LEFT_OUT.items():
        assert name not in named or sentence in told, name


def test_all_columns_of_lists_are_refused_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [[1], [2]]}), path)
    with pytest.raises(aspca.JobError, match="Column 'a' holds lists or records, so it is left out") as caught:
        aspca.fit_source(str(path))
    assert "damaged" not in str(caught.value)
