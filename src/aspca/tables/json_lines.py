"""JSON lines: a text with one object per line, checked object by object; numbers to the last digit as they stand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aspca.escaping import quoted
from aspca.tables.errors import SourceError
from aspca.tables.file_bytes import PlainText
from aspca.tables.file_table import FileTable
from aspca.tables.request import ReadOptions
from aspca.tables.text_table import TextTable
from aspca.tables.typed_rows import read_typed_rows

if TYPE_CHECKING:
    import duckdb


def read_json_lines(
    text: PlainText, label: str, asked: ReadOptions, connection: duckdb.DuckDBPyConnection, folder: Path
) -> TextTable:
    """The table of a text with one JSON object per line; its columns are the keys in order of first use.

    A key that an object lacks, a null and an empty text are missing values. As in CSV, kinds are those of all cells of
    a column: numbers in quotes are numbers. SourceError for a line that is not an object, a key that occurs twice in
    it, or a value that is a list or an object.
    """
    names: dict[str, None] = {}
    for _, record in _read_records(text.path, label):
        names.update(dict.fromkeys(record))
    if not names:
        raise SourceError(f"{label}: the objects have no keys; every key is a column, and one is needed.")
    if any(not name.strip() for name in names):
        raise SourceError(f"{label}: a key is blank; every column needs a name.")

    def rows() -> Iterator[list[object]]:
        return ([record.get(name) for name in names] for _, record in _read_records(text.path, label, checked=True))

    def line_of(row: int) -> int | None:
        return next(line for line, _ in islice(_read_records(text.path, label), row, None))

    # Numbers in JSON have points and nothing between thousands, so that texts with commas stay text.
    options = replace(
        asked,
        decimal=asked.decimal or (None if asked.thousands in (".", ",") else "."),
        thousands=asked.thousands or (None if asked.decimal else "none"),
    )
    table = read_typed_rows(rows, label, options, connection, folder, tuple(names), line_of)

    def note_guesses(known: FileTable) -> FileTable:
        cell_format = replace(known.cell_format, encoding=text.other_encoding)
        return replace(known, remarks=(*text.notes, *known.remarks), cell_format=cell_format)

    return table.then(note_guesses)


class _Pairs(list[tuple[str, Any]]):
    """An object with all its keys, also those that occur twice."""


def _read_records(path: Path, label: str, checked: bool = False) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects, each with its line, from 1; numbers are texts. `checked`: so are their values."""
    row = 0
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            where = f"{label}: row {row} (line {number})"
            if line.lstrip().startswith("["):
                raise SourceError(
                    f"{where} begins a list; every line must hold one object, so write those of the list as lines."
                )
            try:
                record = json.loads(line, parse_int=str, parse_float=str, parse_constant=str, object_pairs_hook=_Pairs)
            except (json.JSONDecodeError, RecursionError):
                raise SourceError(f"{where} is not a JSON object; every line must hold one object.") from None
            if not isinstance(record, _Pairs):
                raise SourceError(
                    f"{where} is JSON but not an object; every line must hold one object of names and values."
                )
            found = dict(record)
            if len(found) < len(record):
                keys = [key for key, _ in record]
                twice = next(key for key in keys if keys.count(key) > 1)
                raise SourceError(f"{where} has the key {quoted(twice)} twice; every key may occur once.")
            for name, value in found.items() if checked else ():
                if value is not None and not isinstance(value, bool | str):
                    raise SourceError(
                        f"{where} has a list or an object in column {quoted(name)}; every cell must be one value, "
                        "so leave the key out or split it."
                    )
                if isinstance(value, str) and "\0" in value:
                    raise SourceError(f"{where} has a NUL character in column {quoted(name)}; remove it.")
            yield number, found
            row += 1
