"""A Parquet file as a table: DuckDB reads it, after every page that has a checksum was compared with it.

DuckDB does not look at checksums. pyarrow does (`page_checksum_verification`, from version 15 on), but the extra `cli`,
which reads Parquet, does without it. What no checksum covers cannot be noticed: the footer, and headers of pages
themselves but for sizes and numbers of values. A header is a struct of Thrift's compact protocol:
https://parquet.apache.org/docs/file-format/data-pages/checksumming/.
"""

from __future__ import annotations

import os
import zlib
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from aspca.duckdb_session import plain_path
from aspca.tables.arrow_types import MOST_DIGITS, SECONDS, note_rounded_decimals
from aspca.tables.errors import SourceError
from aspca.tables.file_table import FileTable, unreadable
from aspca.tables.paths import PARQUET_MAGIC, Partition
from aspca.tables.sql_moments import duckdb_moments
from aspca.tables.typed_table import typed_table

if TYPE_CHECKING:
    import duckdb

# Numbers of the fields of a PageHeader: compressed size, CRC-32, and the headers of data pages of versions 1 and 2, in
# which field 1 is the number of values.
_SIZE, _CHECKSUM, _DATA, _DATA_V2, _COUNT = 3, 4, 5, 8, 1
# Numbers of Thrift's types; all others are whole numbers.
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
_NUMBERS = (4, 5, 6)
# Headers hold statistics, which may be texts of any length; more than this, or deeper, is none.
_LONGEST_HEADER = 1 << 24
_DEEPEST = 8
# Bytes of a page that are read at once.
_CHUNK = 1 << 20


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
    said = note_rounded_decimals(label, [name for name, digits in fields if (digits or 0) > MOST_DIGITS])
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


# ---- checksums of pages


class Damaged(ValueError):
    """A page is not as it was written."""


class Page(NamedTuple):
    """Where a page's content begins, how long it is, its checksum, if it has one, and how many values it holds."""

    start: int
    size: int
    checksum: int | None
    n_values: int


def _refuse_damaged(chunks: FileTable, path: Path, connection: duckdb.DuckDBPyConnection) -> None:
    """Raise SourceError if a page does not fit its checksum, or a column has not as many values as the footer says."""
    # Where there is a dictionary it comes first; 0, where the file itself begins, stands for none.
    begin = "least(nullif(data_page_offset, 0), nullif(dictionary_page_offset, 0))"
    wanted = [begin, "total_compressed_size", "num_values"]
    found = chunks.rows(connection, wanted, 4096, f"WHERE {begin} IS NOT NULL")
    places = [place for places in found for place in places]
    with path.open("rb") as file:
        try:
            for start, size, n_values in places:
                seen = 0
                for page in pages(file, start, size):
                    seen += page.n_values
                    if page.checksum is not None and _crc32(file, page) != page.checksum & 0xFFFFFFFF:
                        raise Damaged("a checksum does not fit")
                if seen != n_values:
                    raise Damaged("not as many values as there should be")
        except Damaged as error:
            raise chunks.explain(error) from None


def pages(file: BinaryIO, start: int, size: int) -> Iterator[Page]:
    """The pages of one column in one group of rows, which begin at `start` and take `size` bytes with their headers.

    Raises
    ------
    Damaged
        There is none where one should be.
    """
    if start < 0 or size < 0:
        raise Damaged("a place before the beginning")
    place = start
    # Writers of old count the first header or do not, so that the last page may end a little later.
    while place < start + size:
        header = _Header(file, place)
        fields = header.struct()
        length = fields.get((_SIZE,), -1)
        if length < 0:
            raise Damaged("a page without a size")
        # A dictionary holds none of the column's own values.
        n_values = fields.get((_DATA, _COUNT), 0) + fields.get((_DATA_V2, _COUNT), 0)
        yield Page(header.place, length, fields.get((_CHECKSUM,)), n_values)
        place = header.place + length


def _crc32(file: BinaryIO, page: Page) -> int:
    file.seek(page.start)
    value, left = 0, page.size
    while left:
        part = file.read(min(left, _CHUNK))
        if not part:
            raise Damaged("cut short")
        value, left = zlib.crc32(part, value), left - len(part)
    return value


class _Header:
    """A reader of one header; `place` is where it has come to in the file."""

    def __init__(self, file: BinaryIO, place: int) -> None:
        self._file, self._end, self.place = file, place + _LONGEST_HEADER, place
        file.seek(place)

    def struct(self, depth: int = 0) -> dict[tuple[int, ...], int]:
        """The fields that are whole numbers, by their numbers from the outside in; all others are passed over."""
        found: dict[tuple[int, ...], int] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._signed()
            # Of a truth value the type says all.
            if head & 15 not in (_TRUE, _FALSE):
                inside = self._value(head & 15, depth + 1)
                found.update({(number, *inner): value for inner, value in inside.items()})
        return found

    def _value(self, kind: int, depth: int) -> dict[tuple[int, ...], int]:
        """The whole numbers in a value of a type: itself, or those in a struct."""
        if depth > _DEEPEST:
            raise Damaged("a header too deep")
        if kind in _NUMBERS:
            return {(): self._signed()}
        if kind == _STRUCT:
            return self.struct(depth)
        if kind in (_TRUE, _FALSE, _BYTE):
            # Inside a list a truth value is a byte.
            self._byte()
        elif kind == _DOUBLE:
            self._skip(8)
        elif kind == _BINARY:
            self._skip(self._varint())
        elif kind in (_LIST, _SET):
            head = self._byte()
            self._pass_all(head >> 4 if head >> 4 < 15 else self._varint(), (head & 15,), depth)
        elif kind == _MAP:
            count = self._varint()
            kinds = self._byte() if count else 0
            self._pass_all(count, (kinds >> 4, kinds & 15), depth)
        else:
            raise Damaged("a header of no known kind")
        return {}

    def _pass_all(self, count: int, kinds: tuple[int, ...], depth: int) -> None:
        if count > _LONGEST_HEADER:
            raise Damaged("a header too long")
        for _ in range(count):
            for kind in kinds:
                self._value(kind, depth + 1)

    def _byte(self) -> int:
        read = self._file.read(1)
        self.place += 1
        if not read or self.place > self._end:
            raise Damaged("a header without an end")
        return read[0]

    def _skip(self, count: int) -> None:
        self.place += count
        if self.place > self._end:
            raise Damaged("a header without an end")
        self._file.seek(self.place)

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise Damaged("a number too long")

    def _signed(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
