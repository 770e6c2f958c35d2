"""Parquet and Arrow files (Feather is one) as tables: kinds come from the types that they state.

DuckDB reads Parquet, after every page that has a checksum was compared with it. Arrow files and streams are read by
pyarrow, one record batch at a time, each checked in full before DuckDB sees it: a damaged offset would lead it out of
the batch's memory.
"""

from __future__ import annotations

import os
import shutil
from base64 import b64decode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aspca.address_space import LEAST_WITH_ARROW, refuse_small_address_space
from aspca.database import plain_path
from aspca.engines.arrow_types import (
    MOST_DIGITS,
    SECONDS,
    converted,
    decimals_to_round,
    readable_schema,
    rounded_decimals,
)
from aspca.engines.cell_tests import numbers_named
from aspca.engines.column_notes import beyond_numbers
from aspca.engines.errors import SourceError
from aspca.engines.file_table import COLUMNS_AT_ONCE, NO_VALUE, FileColumn, FileTable, make_names_unique, unreadable
from aspca.engines.parquet_folder import PARQUET_MAGIC, Partition
from aspca.engines.parquet_pages import Damaged, refuse_damaged_pages
from aspca.engines.pushed_duckdb import duckdb_moments

if TYPE_CHECKING:
    import duckdb

ARROW_MAGIC = b"ARROW1"
OLD_FEATHER_MAGIC = b"FEA1"
NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL")
# Integers of these types may be beyond those that float64 holds.
LONG = ("BIGINT", "HUGEINT", "DECIMAL")
ROUNDED = (
    "count(CASE WHEN abs(CAST({c} AS DOUBLE)) >= 9007199254740992 AND {c} = trunc({c}) "
    "AND coalesce(TRY_CAST(CAST({c} AS DOUBLE) AS HUGEINT) <> TRY_CAST({c} AS HUGEINT), true) THEN 1 END)"
)
LISTS = "it holds lists or records"
BEYOND = "its integers are beyond 2^53, so they are no numbers but names"
NESTED = ("STRUCT", "MAP", "UNION", "LIST", "ARRAY", "VARIANT", "JSON", "GEOMETRY")


def parquet_table(
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
    explain = unreadable(label, "a Parquet file")
    with path.open("rb") as file:
        file.seek(-min(4, path.stat().st_size), os.SEEK_END)
        if file.read() != PARQUET_MAGIC:
            raise SourceError(
                f"{label}: this Parquet file is cut short, for it does not end with PAR1; copy or write it anew."
            )
    where = plain_path(path)
    schema = FileTable(label, "parquet_schema(?)", (where,), (), 0, explain)
    _refuse_damaged(replace(schema, relation="parquet_metadata(?)"), path, connection)
    # The names DuckDB gives to columns differ from the file's where case alone does.
    wanted = ["name", "num_children", "precision"]
    fields = _fields([row for rows in schema.rows(connection, wanted, 4096) for row in rows])
    names = [str(name) for name, _ in fields]
    said = rounded_decimals(label, [name for name, digits in fields if (digits or 0) > MOST_DIGITS])
    units = _durations(replace(schema, relation="parquet_kv_metadata(?)"), connection)
    relation, values = "read_parquet($1, hive_partitioning = false)", list[object]()
    if partitions or units:
        # A column that the file has as well is the folder's, as everywhere else.
        told = {one.name for one in partitions}
        kept = [_in_seconds(index, units.get(name)) for index, name in enumerate(names) if name not in told]
        # No name of a user stands in it, and types are our own words.
        added = [f"CAST(${place} AS {one.kind}) AS p{place}" for place, one in enumerate(partitions, start=2)]
        aliases = ", ".join(f"c{index}" for index in range(len(names)))
        relation = f"(SELECT {', '.join([*kept, *added])} FROM {relation} AS file({aliases}))"  # noqa: S608
        names = [name for name in names if name not in told] + [one.name for one in partitions]
        values = [one.value for one in partitions]
    table = FileTable(label, relation, (where, *values), (), 0, explain, remarks=said, pushed=duckdb_moments)
    return typed_table(table, names, connection, missing)


def _fields(entries: list[tuple[Any, ...]]) -> list[tuple[Any, int | None]]:
    """The names of the columns of a Parquet file, with the digits of decimals: entries of its schema, root first."""
    fields, inside = [], 0
    for name, children, digits in entries[1:]:
        if not inside:
            fields.append((name, digits))
        inside = max(inside - 1, 0) + (children or 0)
    return fields


def _durations(metadata: FileTable, connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Columns of durations, and how many of their units make a second.

    Parquet has integers for them; what they are stands in the schema that Arrow's libraries write beside.
    """
    stored = [
        value for rows in metadata.rows(connection, ["value"], 1, "WHERE key = 'ARROW:schema'") for (value,) in rows
    ]
    try:
        pa = import_module("pyarrow")
        schema = pa.ipc.read_schema(pa.py_buffer(b64decode(stored[0])))
        return {field.name: SECONDS[field.type.unit] for field in schema if pa.types.is_duration(field.type)}
    except (ImportError, IndexError, OSError, ValueError, KeyError):
        # Without it, or where it is damaged, they are the integers that they are in Parquet.
        return {}


def _in_seconds(index: int, units: int | None) -> str:
    return f"c{index}" if units is None else f"CAST(c{index} AS DOUBLE) / {float(units)!r} AS c{index}"


def _refuse_damaged(chunks: FileTable, path: Path, connection: duckdb.DuckDBPyConnection) -> None:
    """Raise SourceError if a page of a Parquet file does not fit its checksum."""
    # Where there is a dictionary it comes first; 0, where the file itself begins, stands for none.
    begin = "least(nullif(data_page_offset, 0), nullif(dictionary_page_offset, 0))"
    wanted = [begin, "total_compressed_size", "num_values"]
    found = chunks.rows(connection, wanted, 4096, f"WHERE {begin} IS NOT NULL")
    places = [place for places in found for place in places]
    with path.open("rb") as file:
        try:
            refuse_damaged_pages(file, places)
        except Damaged as error:
            raise chunks.explain(error) from None


def arrow_table(
    path: Path, label: str, connection: duckdb.DuckDBPyConnection, folder: Path, missing: tuple[str, ...] = ()
) -> FileTable:
    """The table in an Arrow file or stream, copied into `folder` unless it is there.

    Raises
    ------
    SourceError
        pyarrow is not installed, the file is damaged or of an old version, or see `typed_table`.
    """
    pa = _pyarrow(label)
    with path.open("rb") as file:
        head = file.read(8)
    if head.startswith(OLD_FEATHER_MAGIC):
        raise SourceError(f"{label}: this is a Feather file of version 1; write it anew as version 2 or as Parquet.")
    if folder not in path.parents:
        # It is mapped into memory: whoever cut the file short meanwhile would end the process with a signal.
        path = Path(shutil.copyfile(path, folder / "arrow"))
    is_file = head.startswith(ARROW_MAGIC)
    explain = unreadable(label, "an Arrow file")

    def reader(schema: Any = None) -> Any:
        try:
            return _reader(pa, path, is_file, schema)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise explain(error) from None

    def attach(cursor: duckdb.DuckDBPyConnection, columns: Sequence[int] | None = None) -> None:
        # A reader is spent after one query, so that every query gets its own.
        cursor.register("arrow_cells", reader(readable))

    schema = reader().schema
    try:
        names = list(schema.names)
    except UnicodeDecodeError as error:
        raise explain(error) from None
    readable, said = readable_schema(schema), rounded_decimals(label, decimals_to_round(schema, names))
    table = FileTable(label, "arrow_cells", (), (), 0, explain, attach, remarks=said)
    return typed_table(table, names, connection, missing)


def typed_table(
    table: FileTable, names: list[str], connection: duckdb.DuckDBPyConnection, missing: tuple[str, ...] = ()
) -> FileTable:
    """`table`, whose columns have types, with columns called c0, c1, ... and their kinds and missing cells.

    Its parameters are $1, $2, ... in its relation. `missing` are cells that stand for no value: texts, and numbers.
    Integers that float64 cannot hold are kept as text, which is said. Columns of lists or records have no values.

    Raises
    ------
    SourceError
        No columns or no rows, or names that occur twice.
    """
    table, types = shaped(table, names, connection, missing)
    return settled(table, counted(table, types, connection))


@dataclass(frozen=True)
class Counts:
    """How many rows there are, and of each column how many have a value, how many are no float64 though whole, and the
    least and the largest number, None where there is none."""

    n_rows: int
    given: list[int]
    rounded: list[int]
    extremes: list[tuple[float, float] | None]

    def merged(self, later: Counts) -> Counts:
        """Of the rows of both."""
        return Counts(
            self.n_rows + later.n_rows,
            [one + other for one, other in zip(self.given, later.given, strict=True)],
            [one + other for one, other in zip(self.rounded, later.rounded, strict=True)],
            [_wider(one, other) for one, other in zip(self.extremes, later.extremes, strict=True)],
        )


def _wider(one: tuple[float, float] | None, other: tuple[float, float] | None) -> tuple[float, float] | None:
    if one is None or other is None:
        return one or other
    return min(one[0], other[0]), max(one[1], other[1])


def shaped(
    table: FileTable, names: list[str], connection: duckdb.DuckDBPyConnection, missing: tuple[str, ...] = ()
) -> tuple[FileTable, list[str]]:
    """`table` with columns as their types tell, nothing counted, and these types; it needs one row, of any content."""
    if not names:
        raise SourceError(f"{table.label}: the file has no columns; it must have at least one.")
    unique, notes = make_names_unique(names, table.label)
    aliases = ", ".join(f"c{index}" for index in range(len(names)))
    table = replace(table, relation=f"{table.relation} AS cells({aliases})", remarks=(*table.remarks, *notes))
    types = [str(row[0]) for row in _described(table, len(names), connection)]
    columns = [_column(index, unique[index], kind) for index, kind in enumerate(types)]
    if missing:
        table = _without_missing(table, columns, missing)
    return replace(table, columns=tuple(columns)), types


def counted(table: FileTable, types: list[str], connection: duckdb.DuckDBPyConnection) -> Counts:
    """The counts of a table that was `shaped`, or of a part of its rows."""
    columns = table.columns
    given, rounded, extremes = list[int](), list[int](), list[tuple[float, float] | None]()
    n_rows = 0
    for start in range(0, len(columns), COLUMNS_AT_ONCE):
        part = range(start, min(start + COLUMNS_AT_ONCE, len(columns)))
        # Dates and texts without the cost of writing them out.
        written = [columns[index].kind in ("date", "text") and not columns[index].remark for index in part]
        cells = [f"c{index}" if bare else columns[index].cell for index, bare in zip(part, written, strict=True)]
        lost = [
            ROUNDED.format(c=f"c{index}")
            if columns[index].kind == "number" and types[index].removeprefix("U").startswith(LONG)
            else "0"
            for index in part
        ]
        numbers = [
            f"CAST({columns[index].cell} AS DOUBLE)" if columns[index].kind in ("number", "boolean") else NO_VALUE
            for index in part
        ]
        asked = ["count(*)", *(f"count({cell})" for cell in cells), *lost]
        asked += [f"{which}({number})" for which in ("min", "max") for number in numbers]
        n_rows, *found = next(table.rows(connection, asked, 1))[0]
        many = len(part)
        given.extend(found[:many])
        rounded.extend(found[many : 2 * many])
        ends = zip(found[2 * many : 3 * many], found[3 * many :], strict=True)
        extremes.extend(None if low is None else (float(low), float(high)) for low, high in ends)
    return Counts(n_rows, given, rounded, extremes)


def settled(table: FileTable, counts: Counts) -> FileTable:
    """A table that was `shaped`, once its rows are counted."""
    n_rows, rounded = counts.n_rows, counts.rounded
    if n_rows == 0:
        raise SourceError(f"{table.label}: the file has columns but no rows; it must hold at least one row.")
    columns = (
        replace(
            _as_text(index, column) if rounded[index] else column,
            n_missing=n_rows - count,
            extremes=counts.extremes[index],
        )
        if count
        else replace(column, n_missing=n_rows, number=NO_VALUE)
        for index, (column, count) in enumerate(zip(table.columns, counts.given, strict=True))
    )
    table = replace(table, columns=tuple(columns), n_rows=n_rows)
    beyond = beyond_numbers(table.label, [table.columns[index].name for index, count in enumerate(rounded) if count])
    return replace(table, remarks=(*table.remarks, *beyond))


def _as_text(index: int, column: FileColumn) -> FileColumn:
    return replace(column, kind="text", number="", cell=f"CAST(c{index} AS VARCHAR)", remark=BEYOND)


def named_beyond(table: FileTable, names: list[str]) -> FileTable:
    """`table`, which says of these columns of text that their integers are beyond what float64 holds."""
    columns = tuple(replace(one, remark=BEYOND) if one.name in names else one for one in table.columns)
    return replace(table, columns=columns, remarks=(*table.remarks, *beyond_numbers(table.label, names)))


def _without_missing(table: FileTable, columns: list[FileColumn], missing: tuple[str, ...]) -> FileTable:
    """`table` with NULL for every cell that was named as missing."""
    place = f"${len(table.parameters) + 1}"
    numbers = ", ".join(f"{number!r}::DOUBLE" for number in numbers_named(missing))
    cells = []
    for index, column in enumerate(columns):
        if column.remark == LISTS:
            cells.append(f"c{index}")
            continue
        test = f"list_contains({place}, trim(CAST(c{index} AS VARCHAR)))"
        if numbers and column.kind == "number":
            test = f"({test} OR coalesce({column.number} IN ({numbers}), false))"
        cells.append(f"CASE WHEN {test} THEN NULL ELSE c{index} END AS c{index}")
    relation = f"(SELECT {', '.join(cells)} FROM {table.relation}) AS known"  # noqa: S608  # our own names only
    return replace(table, relation=relation, parameters=(*table.parameters, list(missing)))


def _described(table: FileTable, width: int, connection: duckdb.DuckDBPyConnection) -> list[tuple[str]]:
    rows = next(table.rows(connection, [f"typeof(c{index})" for index in range(width)], 1, "LIMIT 1"), None)
    if rows is None:
        raise SourceError(f"{table.label}: the file has columns but no rows; it must hold at least one row.")
    return [(str(kind),) for kind in rows[0]]


def _column(index: int, name: str, kind: str) -> FileColumn:
    cell = f"c{index}"
    if kind.startswith(NESTED) or kind.endswith("]"):
        return FileColumn(name, "text", 0, NO_VALUE, "NULL::VARCHAR", LISTS)
    plain = kind.removeprefix("U")
    if plain.startswith(NUMBERS):
        number = f"CAST({cell} AS DOUBLE)"
        # A NaN is a missing value, as in a data frame. Neither by a comparison nor by isnan: the statistics of Parquet
        # pass over NaN, so that DuckDB takes both for always false.
        known = f"CASE WHEN isfinite({number}) OR isinf({number}) THEN {number} END"
        return FileColumn(name, "number", 0, number, cell if "INT" in plain else known)
    if kind == "BOOLEAN":
        return FileColumn(name, "boolean", 0, f"CAST({cell} AS DOUBLE)", cell)
    if kind == "DATE" or kind.startswith("TIMESTAMP"):
        # There is no epoch_us of TIMESTAMPTZ_NS.
        stamp = f"CAST({cell} AS TIMESTAMPTZ)" if kind.startswith("TIMESTAMPTZ") else cell
        return FileColumn(name, "date", 0, f"epoch_us({stamp}) / 1e6", f"CAST({cell} AS VARCHAR)")
    return FileColumn(name, "text", 0, "", f"CAST({cell} AS VARCHAR)")


def _pyarrow(label: str) -> Any:
    refuse_small_address_space(LEAST_WITH_ARROW)
    try:
        return import_module("pyarrow")
    except ModuleNotFoundError:
        raise SourceError(
            f"{label}: reading Arrow files needs pyarrow, which is not installed; run: pip install pyarrow."
        ) from None


def _reader(pa: Any, path: Path, is_file: bool, readable: Any) -> Any:
    """Its record batches, of the types of the schema `readable`, or as they are where that is None."""
    # Mapped, not read: pages come and go as they are needed.
    mapped = pa.memory_map(str(path))
    if is_file:
        file = pa.ipc.open_file(mapped)
        schema, batches = file.schema, (file.get_batch(index) for index in range(file.num_record_batches))
    else:
        stream = pa.ipc.open_stream(mapped)
        schema, batches = stream.schema, iter(stream)
    readable = schema if readable is None else readable

    def converted_batches() -> Iterator[Any]:
        for batch in batches:
            batch.validate(full=True)
            columns = [converted(column, field.type) for column, field in zip(batch.columns, readable, strict=True)]
            yield pa.RecordBatch.from_arrays(columns, schema=readable)

    return pa.RecordBatchReader.from_batches(readable, converted_batches())
