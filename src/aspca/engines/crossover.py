"""Where moments are taken more quickly: inside the engine, or here, of record batches streamed out of it.

Printed by ``benchmarks/pushdown.py`` with client and server on one machine of two cores: up to so many columns pushing
takes at most as long as streaming. The sums of products grow with the square of the columns, and engines of SQL take
each of them by itself, while BLAS takes them together. Across a network, or where rows may not leave the server, push
whatever the width.
"""

from __future__ import annotations

# Columns up to which pushing is at least as quick, of 200,000 and of 1,000,000 rows alike.
WIDEST_PUSHED = {"duckdb": 4, "postgres": 2}


def worth_pushing(engine: str, n_features: int) -> bool:
    """Whether `Source.pushed` is expected to be quicker than `Source.batches` for so many columns of an engine."""
    return n_features <= WIDEST_PUSHED.get(engine, 0)
