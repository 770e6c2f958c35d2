"""A table in a file of any format that is written here, replaced as a whole or not at all."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from aspca.writers.fields import Field, WritePart
from aspca.writers.replaced_file import STANDARD_STREAM, OutputError, replaced_bytes, replaced_file
from aspca.writers.standard import open_data_output
from aspca.writers.text_rows import csv_rows, json_rows

# Formats by the suffix of a file: any other may be a database, or whatever else a table of scores would destroy.
SUFFIXES = {
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".duckdb": "duckdb",
}


def choose_format(path: str) -> str:
    """ "csv", "jsonl", "parquet", "arrow" or "duckdb"; "-", which is standard output, takes CSV."""
    kind = "csv" if path == STANDARD_STREAM else SUFFIXES.get(Path(path).suffix.lower())
    if kind is None:
        raise OutputError(
            f"--output: {path!r} does not end in the suffix of a format that is written; end it in "
            f"{', '.join(SUFFIXES)}, or give - for standard output."
        )
    return kind


@contextlib.contextmanager
def row_file(
    path: str, kind: str, fields: Sequence[Field], table: str = "scores", *, replace: bool = False
) -> Iterator[WritePart]:
    """A function that writes parts to a file of the kind that `choose_format` says, which is replaced as a whole at the
    end, or to stdout for "-"; `table` and `replace` are for a DuckDB file, see `duckdb_rows`."""
    with contextlib.ExitStack() as stack:
        if kind == "duckdb":
            from aspca.writers.duckdb_rows import duckdb_rows

            yield stack.enter_context(duckdb_rows(path, table, fields, replace=replace))
        elif kind in ("arrow", "parquet"):
            from aspca.writers.arrow_rows import arrow_rows, parquet_rows

            binary = stack.enter_context(replaced_bytes(path))
            yield stack.enter_context((arrow_rows if kind == "arrow" else parquet_rows)(binary, fields))
        else:
            stream = open_data_output() if path == STANDARD_STREAM else stack.enter_context(replaced_file(path))
            yield stack.enter_context((json_rows if kind == "jsonl" else csv_rows)(stream, fields))
