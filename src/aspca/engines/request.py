"""What the user wrote: which files (paths, globs, "-"), and what is known about them, all of it optional."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from aspca.engines.addresses import file_of, is_address, is_postgres
from aspca.engines.errors import SourceError
from aspca.engines.parquet_folder import Partition, parquet_files
from aspca.harmless import for_terminal, quoted
from aspca.masking import looks_like_address, masked
from aspca.preparation.cell_format import DATE_ORDERS, NO_FORMAT, THOUSANDS, CellFormat, is_encoding

FORMATS = ("csv", "parquet", "arrow", "jsonl", "xlsx", "ods", "sqlite", "duckdb")
STANDARD_INPUT = "-"
ENGINES = ("dask", "spark")
MOST_SKIPPED = 10_000


@dataclass(frozen=True)
class ReadOptions:
    """How to read a table; None means: found out from the file.

    Parameters
    ----------
    delimiter : one character between the cells of a CSV file; found among comma, semicolon, tab and bar.
    encoding : any text encoding Python knows; found by the byte order mark, otherwise UTF-8.
    decimal : "." or ","; found by the evidence of all columns.
    thousands : what separates thousands: ".", ",", " ", "'" or "none"; found in the same way.
    missing : cells that stand for no value, besides the usual ones; a number such as "-999" in whatever way it is
        written.
    date_order : "dmy", "mdy" or "ymd"; found for each column by its days beyond 12.
    header : whether the first line holds names. Found: it does if none of its cells is a number, a date or a truth
        value, or if one is text above a column of values, or if they count 0, 1, 2, ... as those of pandas do.
        Columns without a name are called column_1, column_2, ...
    format : one of `FORMATS`; found by the first bytes, then by the suffix.
    table : which table of a database, or which sheet of a workbook (``Sheet1``, or from a cell on, ``Sheet1!B4``); the
        only one where it is not given.
    query : one SELECT whose rows are the table, for databases; instead of `table`.
    engine : one of `ENGINES`, which then reads Parquet files and folders on all of its workers.
    skip : how many lines of a text file stand above its header, or above its first row; found by what they hold.
    learned : how the rows that a model was learned from are written, which others must not contradict.
    spark_master : where Spark runs, as in ``local[4]``, ``spark://host:7077``, ``yarn`` or ``sc://host``; where it is
        not given, in the session there is, as spark-submit, SPARK_REMOTE or spark-defaults.conf say, or on this
        machine.

    Raises
    ------
    SourceError
        A value that is not allowed.
    """

    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    header: bool | None = None
    format: str | None = None
    thousands: str | None = None
    missing: tuple[str, ...] = ()
    date_order: str | None = None
    table: str | None = None
    query: str | None = None
    engine: str | None = None
    skip: int | None = None
    learned: CellFormat = NO_FORMAT
    spark_master: str | None = None

    def __post_init__(self) -> None:
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\n\r\0'):
            raise SourceError(f"The delimiter must be one character such as ',' or ';', not {quoted(self.delimiter)}.")
        if self.decimal not in (None, ".", ","):
            raise SourceError(f"The decimal sign must be '.' or ',', not {quoted(self.decimal)}.")
        if self.thousands not in (None, *THOUSANDS):
            raise SourceError(
                f"What separates thousands must be one of , . ' none or a blank, not {quoted(self.thousands)}."
            )
        if self.decimal is not None and self.decimal == self.thousands:
            raise SourceError(f"The decimal sign and what separates thousands cannot both be {quoted(self.decimal)}.")
        if self.date_order not in (None, *DATE_ORDERS):
            raise SourceError(
                f"The order of dates must be one of {', '.join(DATE_ORDERS)}, not {quoted(self.date_order)}."
            )
        if self.format is not None and self.format not in FORMATS:
            raise SourceError(f"The format must be one of {', '.join(FORMATS)}, not {quoted(self.format)}.")
        if self.engine is not None and self.engine not in ENGINES:
            raise SourceError(f"The engine must be one of {', '.join(ENGINES)}, not {quoted(self.engine)}.")
        if self.skip is not None and not 0 <= self.skip <= MOST_SKIPPED:
            raise SourceError(f"The lines to skip must be a number from 0 to {MOST_SKIPPED}, not {self.skip}.")
        if self.spark_master is not None and self.engine != "spark":
            raise SourceError("--spark-master is for --engine spark, which is not given; give both or none.")
        if self.query is not None and self.table is not None:
            raise SourceError("--table and --query exclude each other; give one of them.")
        if self.query is not None and not self.query.strip():
            raise SourceError("--query must be one SELECT, as in SELECT a, b FROM readings, but it is empty.")
        if self.encoding is not None and not is_encoding(self.encoding):
            known = "use for example 'utf-8', 'utf-16' or 'latin-1'"
            raise SourceError(f"The encoding {quoted(self.encoding)} is not known; {known}.")


def read_alike(options: ReadOptions, learned: CellFormat) -> ReadOptions:
    """The options for rows that are judged by others: what is not given is as in those."""
    decimal, thousands = options.decimal, options.thousands
    return replace(
        options,
        decimal=decimal or (None if thousands == learned.decimal else learned.decimal),
        thousands=thousands or (None if decimal == learned.thousands else learned.thousands),
        missing=options.missing or learned.missing,
        learned=learned,
    )


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
