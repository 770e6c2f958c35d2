"""From what the user names to files: paths, globs, addresses of files, "-", and folders of Parquet files.

A folder of Parquet files is one table: folders called ``year=2024`` inside it are columns. Files come in the order of
their paths; hidden ones and those that begin with an underscore are other programs' notes.
"""

from __future__ import annotations

import datetime
import glob
import math
import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote

from aspca.escaping import for_terminal, quoted
from aspca.masking import looks_like_address, mask_secrets
from aspca.tables.errors import SourceError
from aspca.tables.request import STANDARD_INPUT, ReadOptions

POSTGRES = ("postgresql", "postgres")
# By the format that a file of this scheme must have.
FILES = ("duckdb", "sqlite")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
PARQUET_MAGIC = b"PAR1"
# What Hive, and all that came after it, call a folder of rows without a value.
NO_PARTITION = "__HIVE_DEFAULT_PARTITION__"
# What depends on how text is written.
_OF_TEXT = ("delimiter", "encoding", "decimal", "header", "thousands", "date_order", "skip")


@dataclass(frozen=True)
class Partition:
    """A column that the name of a folder gives: `kind` is a type of DuckDB, `value` is None where it is missing."""

    name: str
    value: str | None
    kind: str


@dataclass(frozen=True)
class Given:
    """One input."""

    label: str  # how sentences call it
    path: Path | None
    is_stream: bool  # which can be read only once
    folder: str | None = None  # that was named, if it is in one
    partitions: tuple[Partition, ...] = ()  # columns that names of folders in it give
    format: str | None = None  # that the file must have


def expand(paths: Sequence[str]) -> list[Given]:
    """The inputs in the order given, the matches of each glob sorted by name; of a folder its Parquet files."""
    if isinstance(paths, str) or not paths:
        raise SourceError("No file is given; name at least one file, a glob, or - for standard input.")
    if list(paths).count(STANDARD_INPUT) > 1:
        raise SourceError("Standard input (-) is given twice; it can be read only once.")
    found: list[Given] = []
    for text in paths:
        if text == STANDARD_INPUT:
            found.append(Given("standard input", None, True))
        elif is_address(text) or (looks_like_address(text) and not os.path.lexists(text)):
            if is_postgres(text):
                raise SourceError(
                    f"{for_terminal(mask_secrets(text))}: a database is read alone, not beside other files or "
                    "databases; name one."
                )
            path, kind = parse_file_address(text)
            if not os.path.exists(path):
                raise SourceError(
                    f"{for_terminal(text)}: there is no file {for_terminal(path)}; check the path, which begins at the "
                    f"root only after four slashes, as in {kind}:////var/lib/plant.db."
                )
            found.append(replace(_checked(path), format=kind))
        elif os.path.isdir(text):
            files = parquet_files(text)
            found.extend(replace(_checked(name), folder=text, partitions=parts) for name, parts in files)
        else:
            found.extend(_checked(name) for name in _matches(text))
    return found


def _matches(text: str) -> list[str]:
    if "\0" in text:
        shown = for_terminal(mask_secrets(text))
        raise SourceError(f"{shown}: the path holds a NUL character; give the path of a file.")
    # A file of exactly this name wins, so that names with brackets and stars can be read.
    if os.path.lexists(text):
        return [text]
    names = sorted(glob.glob(text, recursive=True)) if glob.has_magic(text) else []
    names = [name for name in names if not os.path.isdir(name)]
    if not names:
        what = "no file matches this pattern" if glob.has_magic(text) else "there is no such file"
        # Somebody may have meant an address, password and all.
        raise SourceError(f"{for_terminal(mask_secrets(text))}: {what}; check the path.")
    return names


def _checked(name: str) -> Given:
    label = for_terminal(name)
    try:
        os.fsencode(os.path.abspath(name)).decode("utf-8")
    except UnicodeDecodeError:
        raise SourceError(f"{label}: this path is not in UTF-8, so that it cannot be read; rename the file.") from None
    try:
        mode = os.stat(name).st_mode
        if stat.S_ISDIR(mode):
            raise SourceError(f"{label}: this is a directory, not a file; name a file in it, or a glob such as *.csv.")
        if stat.S_ISFIFO(mode):
            return Given(label, Path(name), True)
        if not stat.S_ISREG(mode):
            raise SourceError(f"{label}: this is a device, not a file; name a file.")
        with open(name, "rb"):
            pass
    except PermissionError:
        raise SourceError(f"{label}: there is no permission to read this file; change its mode or its owner.") from None
    except FileNotFoundError:
        raise SourceError(f"{label}: this link points to a file that is not there; check the path.") from None
    except OSError as error:
        raise SourceError(f"{label}: this file cannot be opened ({error.strerror}); check the path.") from None
    return Given(label, Path(name), False)


# ---- addresses of databases


def is_address(text: object) -> bool:
    """Whether this is an address, such as ``postgresql://host/db``, and no path of a file."""
    return isinstance(text, str) and _SCHEME.match(text) is not None


def scheme_of(address: str) -> str:
    """The word before ``://``, in small letters; empty where there is none."""
    found = _SCHEME.match(address)
    return "" if found is None else found[1].lower()


def is_postgres(text: object) -> bool:
    """Whether this is an address of PostgreSQL."""
    return isinstance(text, str) and scheme_of(text) in POSTGRES


def parse_file_address(address: str) -> tuple[str, str]:
    """The path and the format of the file at an address of a DuckDB or SQLite file."""
    scheme, shown = scheme_of(address), for_terminal(mask_secrets(address))
    if scheme not in FILES:
        raise SourceError(
            f"{shown}: addresses of this kind are not read; they begin with postgresql://, duckdb:/// or sqlite:///, "
            "and files are named by their paths, so copy the table into a file first."
        )
    rest = address.partition("://")[2]
    if "?" in rest or not rest.startswith("/") or len(rest) < 2:
        raise SourceError(
            f"{shown}: this address must name a file and nothing else, as in {scheme}:///plant.db, or from the root "
            f"{scheme}:////var/lib/plant.db."
        )
    return unquote(rest[1:]), scheme


# ---- folders of Parquet files


def parquet_files(folder: str) -> list[tuple[str, tuple[Partition, ...]]]:
    """The Parquet files in a folder and in those inside it, in the order of paths, with what their folders say."""
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
    for kind, test in (("BIGINT", _is_whole), ("DOUBLE", _is_number), ("DATE", _is_date)):
        if given and all(map(test, given)):
            return kind
    return "VARCHAR"


def _is_whole(value: str) -> bool:
    return re.fullmatch(r"-?[0-9]{1,18}", value) is not None


def _is_number(value: str) -> bool:
    # Python's own is more generous: it takes underscores, blanks and letters of other scripts.
    plain = re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", value)
    return plain is not None and math.isfinite(float(value))


def _is_date(value: str) -> bool:
    try:
        return len(value) == len("2024-01-31") and datetime.date.fromisoformat(value) is not None
    except ValueError:
        return False


def expand_for_engine(paths: Sequence[str], options: ReadOptions, engine: str) -> list[Given]:
    """The Parquet files that paths, globs and folders name, for an engine that reads them itself."""
    if any(map(is_postgres, paths)) or STANDARD_INPUT in paths:
        raise SourceError(f"--engine {engine} reads Parquet files and folders; write the table as Parquet first.")
    if options.query is not None or options.table is not None:
        option = "--query" if options.table is None else "--table"
        raise SourceError(f"{option} is for databases, but --engine {engine} reads Parquet files and folders.")
    given = expand(paths)
    for one in given:
        if one.path is None or one.is_stream or not is_parquet(str(one.path)):
            raise SourceError(
                f"{one.label}: --engine {engine} reads Parquet files and folders, and this is none; write the table as "
                "Parquet first."
            )
    asked = [name for name in _OF_TEXT if getattr(options, name) is not None]
    if asked or options.format not in (None, "parquet"):
        what = f"--{asked[0].replace('_', '-')}" if asked else f"--format {options.format}"
        raise SourceError(
            f"{what} has no meaning for --engine {engine}, which reads Parquet only; leave one of them out."
        )
    return given
