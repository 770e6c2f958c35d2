"""A Parquet file as a table: DuckDB reads it, after pyarrow has read every page and compared it with its checksum.

DuckDB does not look at checksums, and a damaged page may have it give other values, or end the process.
"""

from __future__ import annotations

import itertools
import os
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aspca.duckdb_session import escape_path
from aspca.tables.arrow_table import load_pyarrow
from aspca.tables.arrow_types import SECONDS, note_rounded_decimals
from aspca.tables.errors import SourceError
from aspca.tables.file_table import FileTable, explain_unreadable
from aspca.tables.paths import PARQUET_MAGIC, Partition
from aspca.tables.typed_table import read_typed_table

if TYPE_CHECKING:
    import duckdb


def read_parquet_file(
    path: Path,
    label: str,
    connection: duckdb.DuckDBPyConnection,
    missing: tuple[str, ...] = (),
    partitions: tuple[Partition, ...] = (),
) -> FileTable:
    """The table in a Parquet file, with the columns that the names of its folders give after its own.

    Raises
    ------
    SourceError
        Not a whole Parquet file, no rows, or names that occur twice.
    """
    with path.open("rb") as file:
        file.seek(-min(4, path.stat().st_size), os.SEEK_END)
        if file.read() != PARQUET_MAGIC:
            raise SourceError(
                f"{label}: this Parquet file is cut short, for it does not end with PAR1; copy or write it anew."
            )
    table = FileTable(label, "", (escape_path(path),), (), 0, explain_unreadable(label, "a Parquet file"))
    schema = _read_schema(path, table)
    names = [str(name) for name in schema.names]
    notes = note_rounded_decimals(label, schema, names)
    # A column that the file has as well is the folder's, as everywhere else.
    given = {one.name for one in partitions}
    kept = [_in_seconds(index, field.type) for index, field in enumerate(schema) if field.name not in given]
    # No name of a user stands in it, and types are our own words.
    added = [f"CAST(${place} AS {one.kind}) AS p{place}" for place, one in enumerate(partitions, start=2)]
    aliases = ", ".join(f"c{index}" for index in range(len(names)))
    relation = "read_parquet($1, hive_partitioning = false)"
    if kept + added != aliases.split(", "):
        relation = f"(SELECT {', '.join([*kept, *added])} FROM {relation} AS file({aliases}))"  # noqa: S608
    parameters = (*table.parameters, *(one.value for one in partitions))
    table = replace(table, relation=relation, parameters=parameters, remarks=notes)
    names = [name for name in names if name not in given] + [one.name for one in partitions]
    return read_typed_table(table, names, connection, missing)


def _read_schema(path: Path, table: FileTable) -> Any:
    """The schema of a file, of which every page was read."""
    pa = load_pyarrow(table.label, "Parquet files")
    try:
        with import_module("pyarrow.parquet").ParquetFile(path, page_checksum_verification=True) as file:
            names = dict.fromkeys(file.schema_arrow.names)
            # One column of one group of rows at a time: all of them together would be held in memory at once.
            for group, name in itertools.product(range(file.num_row_groups), names):
                file.read_row_group(group, columns=[name])
            return file.schema_arrow
    except (pa.ArrowException, OSError, ValueError) as error:
        raise table.explain(error) from None


def _in_seconds(index: int, kind: Any) -> str:
    """A column; durations, which are integers in Parquet, become seconds."""
    unit = import_module("pyarrow").types.is_duration(kind) and kind.unit
    return f"CAST(c{index} AS DOUBLE) / {float(SECONDS[unit])!r} AS c{index}" if unit else f"c{index}"
