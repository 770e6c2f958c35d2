"""What the user says of a table: how it is read, all of it optional, and which of several tables of a file is meant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from aspca.escaping import quoted
from aspca.preparation.cell_format import DATE_ORDERS, NO_FORMAT, THOUSANDS, CellFormat, is_encoding
from aspca.tables.errors import SourceError

FORMATS = ("csv", "parquet", "arrow", "jsonl", "xlsx", "ods", "sqlite", "duckdb")
STANDARD_INPUT = "-"
ENGINES = ("dask", "spark")
MOST_SKIPPED = 10_000
# So many are named in a sentence: all of them, in any file that a person made.
MOST_NAMED = 20


@dataclass(frozen=True)
class ReadOptions:
    """How to read a table; None means: found out from the file. SourceError for a value that is not allowed."""

    delimiter: str | None = None  # one character between the cells; found among comma, semicolon, tab and bar
    encoding: str | None = None  # any that Python knows; found by the byte order mark, otherwise UTF-8
    decimal: str | None = None  # "." or ","; found by the evidence of all columns
    # Whether the first line holds names. Found: it does if none of its cells is a number, a date or a truth value, or
    # if one is text above a column of values, or if they count 0, 1, 2, ... as those of pandas do. Columns without a
    # name are called column_1, column_2, ...
    header: bool | None = None
    format: str | None = None  # one of `FORMATS`; found by the first bytes, then by the suffix
    thousands: str | None = None  # what separates thousands, or "none"; found in the same way as `decimal`
    # Cells that stand for no value, besides the usual ones; a number such as "-999" in whatever way it is written.
    missing: tuple[str, ...] = ()
    date_order: str | None = None  # found for each column by its days beyond 12
    # Which table of a database, or sheet of a workbook (`Sheet1`, or from a cell on, `Sheet1!B4`); None: the only one.
    table: str | None = None
    query: str | None = None  # one SELECT whose rows are the table, for databases; instead of `table`
    engine: str | None = None  # one of `ENGINES`, which reads Parquet files and folders on all of its workers
    skip: int | None = None  # lines of a text file above its header, or its first row; found by what they hold
    learned: CellFormat = NO_FORMAT  # of the rows that a model was learned from, which others must not contradict
    # Where Spark runs, as in `local[4]`, `spark://host:7077`, `yarn` or `sc://host`; None: in the session there is, as
    # spark-submit, SPARK_REMOTE or spark-defaults.conf say, or on this machine.
    spark_master: str | None = None

    def __post_init__(self) -> None:
        def refuse_others(what: str, value: object, allowed: Sequence[str], listed: str = "") -> None:
            if value is not None and value not in tuple(allowed):
                listed = listed or f"one of {', '.join(allowed)}"
                raise SourceError(f"{what} must be {listed}, not {quoted(value)}.")

        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\n\r\0'):
            raise SourceError(f"The delimiter must be one character such as ',' or ';', not {quoted(self.delimiter)}.")
        refuse_others("The decimal sign", self.decimal, ".,", "'.' or ','")
        refuse_others("What separates thousands", self.thousands, THOUSANDS, "one of , . ' none or a blank")
        if self.decimal is not None and self.decimal == self.thousands:
            raise SourceError(f"The decimal sign and what separates thousands cannot both be {quoted(self.decimal)}.")
        refuse_others("The order of dates", self.date_order, DATE_ORDERS)
        refuse_others("The format", self.format, FORMATS)
        refuse_others("The engine", self.engine, ENGINES)
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


def choose_table(
    names: Sequence[str],
    wanted: str | None,
    label: str,
    what: str,
    whole: str = "the file",
    views: Sequence[str] = (),
) -> str:
    """The name that is meant; `what` they are is "table" or "sheet", `whole` what holds them, and `views` as well.

    A view is read only where it is named: it runs a SELECT of whoever made the file.
    """
    if wanted is None and not names and views:
        raise SourceError(
            f"{label}: {whole} holds views only, {_enumerated(views)}, each a query of whoever made it; name one by "
            "--table to have it run."
        )
    if wanted is not None:
        names = [*names, *views]
    if not names:
        raise SourceError(f"{label}: {whole} holds no {what} with anything in it; it must hold one.")
    if wanted is None and len(names) == 1:
        return names[0]
    if wanted in names:
        return str(wanted)
    there = _enumerated(names)
    if wanted is None:
        trouble = f"{whole} holds {len(names)} {what}s, {there}; name one by --table"
    else:
        trouble = (
            f"there is no {what} {quoted(wanted)}, but {there}; name {'it' if len(names) == 1 else 'one'} by --table"
        )
    raise SourceError(f"{label}: {trouble}.", remedy=("--table", names[0]))


def _enumerated(names: Sequence[str]) -> str:
    listed = [quoted(name) for name in names[:MOST_NAMED]]
    listed += [f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []
    return ", ".join(listed[:-1]) + f" and {listed[-1]}" if len(listed) > 1 else listed[0]
