"""Reading a whole source, and tables written in the formats under test."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("duckdb")

from aspca.tables import ReadOptions, open_source

Values = tuple[list[str], list[str], np.ndarray]


@pytest.fixture
def read() -> Callable[..., Values]:
    """All columns of some files: names, kinds, and values (n, p) as float64."""

    def read_all(*paths: Path | str, size: int = 65536, **options: Any) -> Values:
        with open_source([str(path) for path in paths], ReadOptions(**options)) as source:
            names = [column.name for column in source.columns]
            parts = [batch.values for batch in source.batches(names, size)]
            assert sum(map(len, parts)) == source.count()
            return names, [column.kind for column in source.columns], np.concatenate(parts)

    return read_all


@pytest.fixture
def parquet_bytes() -> Callable[..., bytes]:
    """A dict of columns as the bytes of a Parquet file."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")

    def written(columns: dict[str, Any], **options: Any) -> bytes:
        buffer = io.BytesIO()
        pq.write_table(pa.table(columns), buffer, **options)
        return buffer.getvalue()

    return written
