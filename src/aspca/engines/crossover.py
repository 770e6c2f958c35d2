"""Where moments are taken more quickly: inside the engine, or here, of record batches streamed out of it.

``benchmarks/pushdown.py``, 200,000 rows, client and server on one machine of two cores, busy with other work, so that a
ratio may be off by half. Pushed to streamed, seconds, for 4, 8, 12, 20 and 40 columns: Parquet 1.1, 1.8, 2.3, 3.7, 5.0;
a file of DuckDB 3.2, 2.0, 4.5, 2.5, 5.0; PostgreSQL 2.1, 1.9, 1.7, 2.8, 4.6. For one or two columns those of Parquet
and DuckDB lay on both sides of 1 from run to run, so that nothing is gained for sure. Engines of SQL take each of the
p (p + 1) / 2 sums of products by itself, BLAS takes them together. So pushing is for rows that may not leave their
server, or that a slow network lies before: ask `Source.pushed` then, whatever the width.
"""

from __future__ import annotations

# Columns up to which pushing is at least as quick in every run; 0: never.
WIDEST_PUSHED = {"duckdb": 0, "postgres": 0}


def worth_pushing(engine: str, n_features: int) -> bool:
    """Whether `Source.pushed` is expected to be quicker than `Source.batches` for so many columns of an engine."""
    return n_features <= WIDEST_PUSHED.get(engine, 0)
