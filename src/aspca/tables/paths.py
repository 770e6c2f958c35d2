"""From what the user names to files: paths, globs, addresses of files, "-", and folders of Parquet files.

A folder of Parquet files is one table: folders called ``year=2024`` inside it are columns. Files come in the order of
their paths; hidden ones and those that begin with an underscore are other programs' notes.
"""

from __future__ import annotations

import datetime
import glob
import math
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from urllib.parse import unquote

from aspca.escaping import for_terminal, quoted
from aspca.masking import looks_like_address, masked
from aspca.tables.addresses import file_of, is_address, is_postgres
from aspca.tables.errors import SourceError
from aspca.tables.request import STANDARD_INPUT, ReadOptions

PARQUET_MAGIC = b"PAR1"
# What Hive, and all that came after it, call a folder of rows without a value.
NO_PARTITION = "__HIVE_DEFAULT_PARTITION__"
_LONGEST = 18
# What does not depend on how text is written, or is no matter of files.
_ANY_FORMAT = ("missing", "format", "query", "engine", "spark_master", "learned")


@dataclass(frozen=True)
class Partition:
    """A column that the name of a folder gives: `kind` is a type of DuckDB, `value` is None where it is missing."""

    name: str
    value: str | None
    kind: str


@dataclass(frozen=True)
class Given:
    """One input: `label` is how sentences call it, `path` where it is; a stream can be read only once.

    `folder` is the one that was named, if that was one, and `partitions` the columns that names of folders in it give;
    `format` is the one that the file must have, if any.
    """

    label: str
    path: Path | None
    is_stream: bool
    folder: str | None = None
    partitions: tuple[Partition, ...] = ()
    format: str | None = None


def expand(paths: Sequence[str]) -> list[Given]:
    """The inputs in the order given, the matches of each glob sorted by name; of a folder its Parquet files.

    Raises
    ------
    SourceError
        No path, nothing there, a directory without Parquet files, a device, no permission, an address that names no
        file, or standard input twice.
    """
    if isinstance(paths, str) or not paths:
        raise SourceError("No file is given; name at least one file, a glob, or - for standard input.")
    if list(paths).count(STANDARD_INPUT) > 1:
        raise SourceError("Standard input (-) is given twice; it can be read only once.")
    found: list[Given] = []
    for text in paths:
        if text == STANDARD_INPUT:
            found.append(Given("standard input", None, True))
        elif is_address(text) or (looks_like_address(text) and not os.path.lexists(text)):
            found.append(_at_address(text))
        elif os.path.isdir(text):
            files = parquet_files(text)
            found.extend(replace(_checked(name), folder=text, partitions=parts) for name, parts in files)
        else:
            found.extend(_checked(name) for name in _matches(text))
    return found


def _at_address(address: str) -> Given:
    if is_postgres(address):
        raise SourceError(
            f"{for_terminal(masked(address))}: a database is read alone, not beside other files or databases; name one."
        )
    path, kind = file_of(address)
    if not os.path.exists(path):
        raise SourceError(
            f"{for_terminal(address)}: there is no file {for_terminal(path)}; check the path, which begins at the root "
            f"only after four slashes, as in {kind}:////var/lib/plant.db."
        )
    return replace(_checked(path), format=kind)


def _matches(text: str) -> list[str]:
    if "\0" in text:
        raise SourceError(f"{for_terminal(masked(text))}: the path holds a NUL character; give the path of a file.")
    # A file of exactly this name wins, so that names with brackets and stars can be read.
    if os.path.lexists(text):
        return [text]
    names = sorted(glob.glob(text, recursive=True)) if glob.has_magic(text) else []
    names = [name for name in names if not os.path.isdir(name)]
    if not names:
        what = "no file matches this pattern" if glob.has_magic(text) else "there is no such file"
        # Somebody may have meant an address, password and all.
        raise SourceError(f"{for_terminal(masked(text))}: {what}; check the path.")
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


# ---- folders of Parquet files


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


# ---- for engines that read files themselves


def parquet_paths(paths: Sequence[str], options: ReadOptions, engine: str) -> list[str]:
    """The Parquet files and folders that paths and globs name; addresses (``s3://...``) are left to the engine.

    Raises
    ------
    SourceError
        One of them is no Parquet file, or is to be read in a way that only text is.
    """
    asked = [
        field.name
        for field in fields(options)
        if field.name not in _ANY_FORMAT and getattr(options, field.name) is not None
    ]
    if asked or options.format not in (None, "parquet"):
        what = f"--{asked[0].replace('_', '-')}" if asked else f"--format {options.format}"
        raise SourceError(
            f"{what} has no meaning for --engine {engine}, which reads Parquet only; leave one of them out."
        )
    found = []
    for path in paths:
        if "://" in path or os.path.isdir(path):
            found.append(path)
            continue
        for given in expand([path]):
            if given.path is None or given.is_stream or not is_parquet(str(given.path)):
                raise SourceError(
                    f"{given.label}: --engine {engine} reads Parquet only; write it as Parquet, or leave --engine out."
                )
            found.append(str(given.path))
    return [path if "://" in path else os.path.abspath(path) for path in found]
