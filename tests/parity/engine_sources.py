"""A table in an engine: in a PostgreSQL server, in parts on Dask's workers or Spark's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pyarrow as pa

# A source, what is to be said when it is read, and a frame of pandas made of what judging it returns.
Given = tuple[Any, dict[str, Any], Callable[[Any], pd.DataFrame]]


def put_in_engine(engine: str, running: Any, name: str, table: pa.Table, pieces: list[slice], size: int) -> Given:
    """The table cut into these pieces; a server gets it in batches of `size` rows, by this name."""
    if engine == "postgres":
        from aspca.tables.postgres import write_postgres

        write_postgres(running.address, name, table.schema, table.to_batches(size), replace=True)
        return running.address, {"table": name}, lambda frame: frame
    if engine == "dask":
        import dask.dataframe as dd

        parts = [table.slice(piece.start, piece.stop - piece.start) for piece in pieces]
        return dd.from_map(lambda part: part.to_pandas(), parts), {}, lambda frame: frame.compute()
    frame = running.createDataFrame(table).repartition(len(pieces))
    return frame, {}, lambda frame: frame.toArrow().to_pandas()
