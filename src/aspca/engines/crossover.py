"""Where moments are taken more quickly: inside the engine, or here, of record batches streamed out of it.

``benchmarks/pushdown.py`` with client and server on one machine of two cores, which others used too: streaming is
quicker at every width. Pushed to streamed, seconds: Parquet 1.3 to 2.9, a file of DuckDB 1.2 to 2.2 for up to 4 columns
and 2.3 to 4.4 for 8 to 12, PostgreSQL about 1.0 to 1.5 for up to 8 columns, 2 for 12 and 5 for 40. Engines of SQL take
each of the p (p + 1) / 2 sums of products by itself, BLAS takes them together. So pushing is for rows that may not
leave their server, or that a slow network lies before: ask `Source.pushed` then, whatever the width.
"""

from __future__ import annotations

# Columns up to which pushing is at least as quick, of 200,000 and of 1,000,000 rows alike; 0: never.
WIDEST_PUSHED = {"duckdb": 0, "postgres": 1}


def worth_pushing(engine: str, n_features: int) -> bool:
    """Whether `Source.pushed` is expected to be quicker than `Source.batches` for so many columns of an engine."""
    return n_features <= WIDEST_PUSHED.get(engine, 0)
