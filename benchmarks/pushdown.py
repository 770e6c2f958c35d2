"""Moments pushed down into an engine of SQL, beside record batches streamed out of it into BLAS: which is quicker?

    python benchmarks/pushdown.py                                   # Parquet, a DuckDB file, PostgreSQL
    python benchmarks/pushdown.py --rows 200000 --widths 4 8 --json result.json

For each engine and number of columns p: seconds of `Source.pushed` and of streaming the same columns (`Source.batches`
into `Moments`, decimals included in both), and their ratio; above 1, pushing is slower. The fastest of some runs, the
two in turns, so that a busy machine disturbs both. `error` is the largest difference of the two scatter matrices, in
units of sqrt(S_ii S_jj); it must be at most 1e-12 (one column lies at an offset of 1e8). PostgreSQL is a private
cluster, left out where no server is installed. The crossover stands as a constant in `aspca.tables.sql_moments`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from library.report import Goal, Report, Row, add_json
from library.timing import timed

from aspca.moments import Moments
from aspca.tables import Source, open_source
from aspca.tables.postgres import open_postgres, write_postgres
from aspca.tables.request import ReadOptions

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

WIDTHS = (4, 8, 12, 20, 40)
ROWS = (200_000, 1_000_000)
RUNS = 3


def table(n_rows: int, width: int) -> pa.Table:
    """Columns that follow each other, of several scales, the first at an offset of 1e8."""
    generator = np.random.default_rng(18)
    values = generator.standard_normal((n_rows, width)) + generator.standard_normal((n_rows, 1))
    values *= 10.0 ** np.linspace(-2, 3, width)
    values[:, 0] += 1e8
    return pa.table({f"x{index}": values[:, index] for index in range(width)})


def streamed(source: Source, names: list[str]) -> Moments:
    total = Moments.empty(len(names))
    for batch in source.batches(names):
        total = total.update(batch.values)
    return total


@contextmanager
def servers() -> Iterator[str | None]:
    """The address of a private cluster; None where there can be none."""
    from running.postgres import CannotRun, cluster

    try:
        with cluster() as made:
            yield made.address
    except CannotRun as reason:
        print(f"PostgreSQL is left out: {reason}.", file=sys.stderr)
        yield None


def compared(source: Source, names: list[str], runs: int) -> Row:
    pushed, streaming = [], []
    for _ in range(runs):
        there, seconds = timed(lambda: source.pushed(names))
        pushed.append(seconds)
        here, seconds = timed(lambda: streamed(source, names))
        streaming.append(seconds)
    assert there is not None
    scale = np.sqrt(np.diagonal(here.scatter))
    error = float((np.abs(there.scatter - here.scatter) / np.outer(scale, scale)).max())
    assert (there.decimals == here.decimals).all()
    return {
        "pushed s": min(pushed),
        "streamed s": min(streaming),
        "ratio": min(pushed) / min(streaming),
        "error / 1e-12": Goal(error / 1e-12, most=1.0),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    parser.add_argument("--widths", type=int, nargs="+", default=WIDTHS)
    parser.add_argument("--runs", type=int, default=RUNS)
    add_json(parser)
    options = parser.parse_args()
    with Report(options.json) as report, tempfile.TemporaryDirectory() as folder, servers() as address:
        for n_rows in options.rows:
            whole = table(n_rows, max(options.widths))
            parquet, database = Path(folder, "t.parquet"), Path(folder, "t.duckdb")
            pq.write_table(whole, parquet)
            database.unlink(missing_ok=True)
            with duckdb.connect(str(database)) as connection:
                connection.register("whole", whole)
                connection.execute("CREATE TABLE t AS SELECT * FROM whole")
            engines = {"Parquet": partial(open_source, [str(parquet)]), "DuckDB": partial(open_source, [str(database)])}
            if address is not None:
                write_postgres(address, "t", whole.schema, whole.to_batches(), replace=True)
                engines["PostgreSQL"] = partial(open_postgres, address, ReadOptions(table="t"))
            for engine, opened in engines.items():
                rows = []
                with opened() as source:
                    for width in options.widths:
                        names = [f"x{index}" for index in range(width)]
                        rows.append({"p": str(width), **compared(source, names, options.runs)})
                report.table(f"{engine}, {n_rows:,} rows", rows)


if __name__ == "__main__":
    main()
