"""A folder of Parquet files as one table: folders called ``year=2024`` inside it are columns.

Files come in the order of their paths; hidden ones and those that begin with an underscore are other programs' notes.
"""

from __future__ import annotations

import datetime
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from aspca.engines.errors import SourceError
from aspca.harmless import for_terminal, quoted

PARQUET_MAGIC = b"PAR1"
# What Hive, and all that came after it, call a folder of rows without a value.
NO_PARTITION = "__HIVE_DEFAULT_PARTITION__"
_LONGEST = 18


@dataclass(frozen=True)
class Partition:
    """A column that the name of a folder gives: `kind` is a type of DuckDB, `value` is None where it is missing."""

    name: str
    value: str | None
    kind: str


def parquet_files(folder: str) -> list[tuple[str, tuple[Partition, ...]]]:
    """The Parquet files in a folder and in those inside it, in the order of their paths, with what their folders say.

    Raises
    ------
    SourceError
        There is none, there are other files beside, or the folders of some files say less than those of others.
    """
    label = for_terminal(folder)
    found = list(_files(folder, ()))
    odd = [path for path, _ in found if not is_parquet(path)]
    if len(odd) == len(found):
        raise SourceError(
            f"{label}: this is a directory without Parquet files; name a file in it, or a glob such as "
            f"*{(os.path.splitext(odd[0])[1] if odd else '') or '.csv'}."
        )
    if odd:
        inside = os.path.relpath(odd[0], folder)
        raise SourceError(
            f"{label}: a folder is read if all files in it are Parquet files, but {quoted(inside, 80)} is none; move "
            "it elsewhere, or name the files by a glob such as *.parquet."
        )
    keys = [name for name, _ in found[0][1]]
    for path, parts in found:
        if [name for name, _ in parts] != keys or len(set(keys)) < len(keys):
            first, other = (os.path.relpath(each, folder) for each in (found[0][0], path))
            raise SourceError(
                f"{label}: the folders of {quoted(other, 80)} name other columns than those of {quoted(first, 80)}; "
                "all files must lie in folders of the same names, such as year=2024/month=01, each once."
            )
    kinds = {name: _kind([dict(parts)[name] for _, parts in found]) for name in keys}
    return [(path, tuple(Partition(name, value, kinds[name]) for name, value in parts)) for path, parts in found]


def _files(
    folder: str, parts: tuple[tuple[str, str | None], ...]
) -> Iterator[tuple[str, tuple[tuple[str, str | None], ...]]]:
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise SourceError(
            f"{for_terminal(folder)}: this folder cannot be read ({error.strerror}); check its mode and its owner."
        ) from None
    for name in names:
        path = os.path.join(folder, name)
        if name.startswith((".", "_")) and "=" not in name:
            continue
        if os.path.isdir(path):
            key, equals, value = name.partition("=")
            said = (*parts, (unquote(key), None if value == NO_PARTITION else unquote(value))) if equals else parts
            yield from _files(path, said)
        else:
            yield path, parts


def is_parquet(path: str) -> bool:
    """Whether a file begins as Parquet files do."""
    try:
        with open(path, "rb") as file:
            return file.read(len(PARQUET_MAGIC)) == PARQUET_MAGIC
    except OSError as error:
        raise SourceError(
            f"{for_terminal(path)}: this file cannot be opened ({error.strerror}); check its mode and its owner."
        ) from None


def _kind(values: Sequence[str | None]) -> str:
    """The type that all values are of."""
    given = [value for value in values if value is not None]
    if given and all(_is_whole(value) for value in given):
        return "BIGINT"
    if given and all(_is_number(value) for value in given):
        return "DOUBLE"
    if given and all(_is_date(value) for value in given):
        return "DATE"
    return "VARCHAR"


def _is_whole(value: str) -> bool:
    digits = value.removeprefix("-")
    return digits.isascii() and digits.isdecimal() and len(digits) <= _LONGEST


def _is_number(value: str) -> bool:
    # Python's own is more generous: it takes underscores, blanks and letters of other scripts.
    if not value.isascii() or "_" in value or value != value.strip():
        return False
    try:
        return math.isfinite(float(value))
    except ValueError:
        return False


def _is_date(value: str) -> bool:
    try:
        return len(value) == len("2024-01-31") and datetime.date.fromisoformat(value) is not None
    except ValueError:
        return False
