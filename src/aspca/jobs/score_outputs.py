"""Where scores go: a file by its suffix, a table of a database by its address; all of them, or none."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from aspca.engines.addresses import is_postgres
from aspca.engines.request import ReadOptions
from aspca.jobs.ahead import MANY, used_behind
from aspca.jobs.errors import RequestError
from aspca.jobs.keys import Keys
from aspca.jobs.progress import Watcher
from aspca.jobs.requests import files_named, is_named
from aspca.jobs.scored import ScoringOfParts, Tally, scored_fields, scored_parts, scored_schema
from aspca.jobs.tables import Parted, TableSource
from aspca.judging.model import Model
from aspca.masking import looks_like_address, masked
from aspca.outputs.inputs import STANDARD_STREAM, refuse_inputs
from aspca.outputs.replaced_file import refuse_special
from aspca.outputs.row_file import format_of, row_file

TABLE = "scores"
_NAMES = {
    "csv": "a CSV file",
    "parquet": "a Parquet file",
    "arrow": "an Arrow file",
    "duckdb": "a DuckDB file",
    "postgres": "a database",
}


@dataclass(frozen=True)
class Destination:
    """Where scores are written.

    Attributes
    ----------
    out : str
        A path, "-" for standard output, or an address.
    kind : {"csv", "jsonl", "parquet", "arrow", "duckdb", "postgres"}
    table : str
        Of a database.
    replace : bool
        Whether a table that is there and that aspca did not write may be replaced.
    """

    out: str
    kind: str
    table: str = TABLE
    replace: bool = False

    @property
    def shown(self) -> str:
        """What it is called where a person reads it: no password stands in it."""
        inside = f", table {self.table}" if self.kind in ("duckdb", "postgres") else ""
        return masked(self.out) + inside

    def refuse_inputs(self, source: Any, model: Any, reading: ReadOptions) -> None:
        """Raise OutputError if it is one of the files or tables that are read, or none that could be written.

        Parameters
        ----------
        source : as `named_files` gives it
        model : path, or a model in memory
        reading : how the source is read, and which of its tables
        """
        named = source if is_named(source) else []
        if self.kind == "postgres":
            if len(named) == 1 and is_postgres(named[0]):
                # Not needed for files.
                from aspca.engines.postgres import refuse_same_table

                refuse_same_table(named[0], reading, self.out, self.table)
            return
        inputs = [*files_named(named), *([os.fspath(model)] if isinstance(model, str | os.PathLike) else [])]
        if self.out == STANDARD_STREAM or (self.kind == "parquet" and os.path.isdir(self.out)):
            # Of a table in parts Parquet is a folder, which is looked at once the table is open.
            refuse_inputs(self.out, inputs)
        else:
            refuse_special(self.out, inputs, replaced=self.kind != "duckdb")


def destination_of(out: str, *, table: str | None = None, lines: bool = False, replace: bool = False) -> Destination:
    """What an output is: a database by its address, a file by its suffix; `lines` asks for JSON instead of CSV.

    Raises
    ------
    RequestError, OutputError
        Nothing can be written there, or what is asked for excludes each other.
    """
    if looks_like_address(out) and not is_postgres(out) and not os.path.lexists(out):
        raise RequestError(
            f"--output: there is no way to write to {masked(out)}; give postgresql:// or the path of a file."
        )
    kind = "postgres" if is_postgres(out) else format_of(out)
    if lines and kind != "jsonl" and out != STANDARD_STREAM:
        raise RequestError(
            f"--json writes lines of JSON, but {_shown(out, kind)} is to be {_NAMES[kind]}; give one of them."
        )
    if table is not None and kind not in ("duckdb", "postgres"):
        raise RequestError(
            f"--output-table is for databases, but {out!r} is none; leave it out, or give a file that ends in .duckdb "
            "or an address."
        )
    if table is not None and not table.strip():
        raise RequestError("--output-table is empty; name a table.")
    return Destination(out, "jsonl" if lines else kind, TABLE if table is None else table, replace)


def _shown(out: str, kind: str) -> str:
    return "--output" if kind == "postgres" else repr(out)


def _count_in(folder: str, tally: Tally) -> None:
    """Count the rows of some Parquet files, and the anomalies among them."""
    pq = import_module("pyarrow.parquet")
    for path in sorted(Path(folder).rglob("*.parquet")):
        columns = [name for name in ("anomaly", "verdict") if name in pq.read_schema(path).names]
        written = pq.read_table(path, columns=columns)
        anomalies = written["anomaly"]
        known = anomalies.null_count < len(anomalies) or not len(anomalies)
        found = anomalies.to_numpy() if known else None
        errors = np.array(written["verdict"].to_pylist()) == "error" if "verdict" in columns else None
        tally.add(found, errors, len(anomalies))


def write_scored(model: Model, table: TableSource, keys: Keys, destination: Destination, watcher: Watcher) -> Tally:
    """Judge all rows of a table and write them, in memory that does not grow with them.

    Parquet of a table in parts is a folder with a file for each, written where the parts are.
    """
    tally = Tally()
    if destination.kind == "parquet" and isinstance(table, Parted):
        work = ScoringOfParts(model, keys)
        table.write_parquet(destination.out, scored_schema(model, keys), work, work.names)
        _count_in(destination.out, tally)
        return tally
    if destination.kind == "parquet":
        refuse_special(destination.out)
    fields = scored_fields(model, keys)
    parts = scored_parts(model, table, keys, tally, watcher)
    if destination.kind == "postgres":
        # Not needed for files.
        from aspca.engines.postgres import write_postgres
        from aspca.outputs.arrow_rows import arrow_schema, record_batch

        schema = arrow_schema(fields)
        batches = (record_batch(fields, schema, part) for part in parts)
        write_postgres(destination.out, destination.table, schema, batches, replace=destination.replace)
        return tally
    with row_file(destination.out, destination.kind, fields, destination.table, replace=destination.replace) as write:
        if table.count() < MANY:
            for part in parts:
                write(part)
        else:
            used_behind(parts, write)
    return tally
