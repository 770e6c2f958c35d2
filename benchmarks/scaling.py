"""What a pass costs on Dask and on Spark, with one worker and with two: the constants of a cost model.

    python benchmarks/scaling.py [--rows 2000000] [--columns 20] [--parts 16] [--engine dask|spark]

Prints for each engine and number of workers: seconds of a pass that takes moments, rows per second and core, what a
part costs beside its rows (a pass over as many parts of ten rows each), what the driver does meanwhile, and the bytes
that come back of a part, and a whole robust fit. One untimed pass goes before, so that workers have what they import.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import aspca
from aspca.moments.moments import Moments
from aspca.tables.dask_table import DaskTable, read_dask
from aspca.tables.parted import PartedTable
from aspca.tables.serialization import serialize
from aspca.tables.spark_table import SparkTable, read_spark

SEED = 0
# Rows of the table whose parts cost next to nothing but what every part costs.
FEW = 10
REPEATS = 3
# What reads a folder as a frame, and what makes a table of that.
Engine = tuple[Callable[[str], Any], Callable[[Any, str], PartedTable]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--parts", type=int, default=16)
    parser.add_argument("--engine", choices=["dask", "spark"], action="append")
    asked = parser.parse_args()
    names = [f"x{column}" for column in range(asked.columns)]
    # One thread of BLAS for each worker, as each has one core.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    size = len(serialize(Moments.from_array(np.random.default_rng(SEED).normal(size=(99, asked.columns)))))
    print(
        f"{asked.rows:,} rows x {asked.columns} columns in {asked.parts} parts; {size:,} bytes come back of each part"
    )
    heads = ("workers", "pass, s", "rows/s per core", "s per part", "driver, s", "fit, s")
    print(f"{'engine':8}" + "".join(f"{head:>16}" for head in heads))
    with tempfile.TemporaryDirectory() as folder:
        large = _written(Path(folder, "large"), asked.rows, names, asked.parts)
        small = _written(Path(folder, "small"), FEW * asked.parts, names, asked.parts)
        for engine in asked.engine or ["dask", "spark"]:
            for workers in (1, 2):
                with _ENGINES[engine](workers) as (read, opened):
                    with opened(read(large), "table") as table:
                        seconds, driver = _timed(table, names)
                    with opened(read(small), "table") as table:
                        few, _ = _timed(table, names)
                    clock = time.perf_counter()
                    aspca.fit_source(read(large), robust=True)
                    fit = time.perf_counter() - clock
                each = few * workers / asked.parts
                rate = asked.rows / seconds / workers
                figures = (f"{workers}", f"{seconds:.2f}", f"{rate:,.0f}", f"{each:.3f}", f"{driver:.2f}", f"{fit:.1f}")
                print(f"{engine:8}" + "".join(f"{figure:>16}" for figure in figures), flush=True)


def _written(folder: Path, rows: int, names: list[str], parts: int) -> str:
    """A Parquet folder with a file for each part."""
    folder.mkdir()
    rng = np.random.default_rng(SEED)
    for part, count in enumerate(np.diff(np.linspace(0, rows, parts + 1).astype(int)).tolist()):
        table = pa.table({name: rng.normal(size=count) for name in names})
        pq.write_table(table, folder / f"{part:05d}.parquet")
    return str(folder)


def _timed(table: PartedTable, names: list[str]) -> tuple[float, float]:
    """The best of a few passes: seconds by the clock, and of them those that this process worked itself."""
    task = _Moments(tuple(names))
    table.reduce(task, Moments.merge, names)
    best = (np.inf, np.inf)
    for _ in range(REPEATS):
        clock, own = time.perf_counter(), time.process_time()
        table.reduce(task, Moments.merge, names)
        best = min(best, (time.perf_counter() - clock, time.process_time() - own))
    return best


class _Moments:
    """Moments of a part."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names

    def __call__(self, part: Any, start: int) -> Moments:
        found = Moments.empty(len(self._names))
        for batch in part.batches(self._names):
            found = found.update(batch.values, decimals=False)
        return found


@contextmanager
def _dask(workers: int) -> Iterator[Engine]:
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0")
    with cluster, Client(cluster):
        yield (lambda folder: read_dask([folder])), DaskTable


@contextmanager
def _spark(workers: int) -> Iterator[Engine]:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(f"local[{workers}]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false").config("spark.log.level", "ERROR")
    # A partition for each file, whatever its size.
    builder = builder.config("spark.sql.files.openCostInBytes", str(1 << 30))
    session = builder.config("spark.sql.files.maxPartitionBytes", str(1 << 30)).getOrCreate()
    try:
        yield (lambda folder: read_spark([folder])), SparkTable
    finally:
        session.stop()


_ENGINES = {"dask": _dask, "spark": _spark}

if __name__ == "__main__":
    main()
