"""`aspca.score_source`: rows of any source judged by a model, written beside their keys or given as a frame."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields
from typing import Any

from aspca.engines.request import ReadOptions
from aspca.jobs.column_advice import refuse_absent
from aspca.jobs.errors import RequestError
from aspca.jobs.keys import Keys, ids_in
from aspca.jobs.progress import Silent, Watcher
from aspca.jobs.python_errors import in_one_sentence
from aspca.jobs.requests import in_python, named_files, reading_of
from aspca.jobs.score_outputs import Destination, destination_of, write_scored
from aspca.jobs.scored import ScoringOfParts, Tally, scored_fields, scored_parts, scored_schema
from aspca.jobs.sources import open_for
from aspca.jobs.stored import refuse_misfit
from aspca.jobs.tables import Parted, TableSource
from aspca.judging.model import Model

MEMORY = "the table"


@dataclass(frozen=True)
class Scored:
    """Rows that were judged and written.

    Attributes
    ----------
    n_rows : int
    n_anomalies : int or None
        None where the model has no limit, so that no row is called an anomaly.
    out : str
        Where they are; no password stands in it.
    """

    n_rows: int
    n_anomalies: int | None
    out: str

    def __repr__(self) -> str:
        flagged = "no limit" if self.n_anomalies is None else f"{self.n_anomalies:,} anomalies"
        return f"Scored({self.n_rows:,} rows, {flagged}, in {self.out})"


def _spelled(sentence: str) -> str:
    # What the command calls --output is `out` here.
    return in_python(sentence.replace("--output", "--out"))


@in_one_sentence(_spelled)
def score_source(
    model: Any,
    source: Any,
    out: str | os.PathLike[str] | None = None,
    *,
    id: str | Sequence[str] | None = None,
    time: str | None = None,
    table: str | None = None,
    query: str | None = None,
    engine: str | None = None,
    out_table: str | None = None,
    replace: bool = False,
    **reading: Any,
) -> Any:
    """Judge the rows of a source by a model: scores, verdicts, broken rules and proposed values beside the keys.

    Parameters
    ----------
    model : ASPCA, or path
        Fitted, or the file of a stored one.
    source : whatever `aspca.detect` takes
    out : path, address, or None
        A file by its suffix (.parquet, .csv, .jsonl, .arrow, .duckdb) or ``postgresql://...``: written whole or not at
        all, in memory that does not grow with the rows; of Dask and Spark, Parquet is a folder of files, written by the
        workers. None: a frame is returned.
    id, time : str, or list of str
        Columns that stand beside each row: text in Parquet, Arrow and databases, since that alone is the same from
        every engine.
    table, query, engine
        Which table of a file or database is judged, or what a query gives; which engine reads files.
    out_table : str or None
        The table to write, where `out` is a database: "scores" if it is not given.
    replace : bool
        Whether a table of that name that aspca did not write may be replaced.
    delimiter, encoding, decimal, thousands, missing, date_order, header, spark_master
        How to read files, where that is not found out; where Spark runs.

    Returns
    -------
    Scored
        Where `out` is given: how many rows and anomalies were written, and where.
    frame
        Otherwise: a row for each of the source's, in its own library (pandas where it has none). For a data frame of
        Dask or Spark one that is not computed yet.

        - row: its number, from 0
        - the columns of `id` and `time`
        - score, anomaly: anomaly is missing where the model has no limit
        - share_of_rules: where values may be missing, the share of the rules that could be used
        - broken_rules: the sentences of the rules that an anomaly breaks, worst first, with "; " between
        - proposed: a JSON object, for the worst of them what each of its columns would have to be for it to hold

    Raises
    ------
    JobError
        What was asked for, or a table, cannot be used: one sentence.
    OSError
        It cannot be written; nothing is changed.
    """
    options = {**reading, "table": table, "query": query, "engine": engine}
    given = {name: value for name, value in options.items() if value is not None}
    known = [field.name for field in fields(ReadOptions) if field.name != "learned"]
    for name in given:
        if name not in known:
            raise RequestError(f"There is no option {name!r}; files are read by {', '.join(known)}.")
    how = reading_of(**given)
    destination = None
    if out is not None:
        destination = destination_of(os.fspath(out), table=out_table, replace=replace)
    elif out_table is not None:
        raise RequestError("--output-table is for databases; give one as out.")
    stored, files = model_of(model), named_files(source)
    if destination is not None:
        destination.refuse_inputs(files, model, how)
    with ExitStack() as stack:
        rows = stack.enter_context(open_for(stored, files, how, MEMORY))
        refuse_misfit(rows, stored)
        keys = keys_in(rows, [id] if isinstance(id, str) else list(id or ()), time)
        return scored(stored, rows, keys, destination, Silent(), getattr(rows, "library", "pandas"))


def model_of(model: Any) -> Model:
    """The model of a fitted estimator, of a file, or itself.

    Raises
    ------
    RequestError
        It is none of these, or not fitted.
    """
    if isinstance(model, Model):
        return model
    if isinstance(model, str | os.PathLike):
        # Not needed for a model in memory.
        from aspca.files.model_file import read_model

        return read_model(model)
    found = getattr(model, "model_", None)
    if isinstance(found, Model):
        return found
    if hasattr(model, "fit"):
        raise RequestError(f"This {type(model).__name__} has no model to judge rows by; fit an ASPCA first.")
    raise RequestError(f"A model is a fitted ASPCA or the path of a stored one, got {type(model).__name__}.")


def keys_in(table: TableSource, ids: Sequence[str], time: str | None = None) -> Keys:
    """The columns that stand beside rows; RequestError if one is not there."""
    if time is not None:
        refuse_absent(table, time, "--time")
    return Keys(ids_in(table, ids), time)


def scored(
    model: Model, table: TableSource, keys: Keys, destination: Destination | None, watcher: Watcher, library: str
) -> Any:
    """The rows of a table judged, and written or returned as a frame of that library."""
    if destination is not None:
        tally = write_scored(model, table, keys, destination, watcher)
        return Scored(tally.n_rows, tally.anomalies, destination.shown)
    if isinstance(table, Parted):
        work = ScoringOfParts(model, keys)
        return table.mapped(scored_schema(model, keys), work, work.names)
    from aspca.judging.frames import frame

    columns: list[list[Any]] = [[] for _ in scored_fields(model, keys)]
    for part in scored_parts(model, table, keys, Tally(), watcher):
        for column, more in zip(columns, part, strict=True):
            column.append(more)
    fields = scored_fields(model, keys)
    return frame({field.name: _whole(several) for field, several in zip(fields, columns, strict=True)}, library)


def _whole(parts: list[Any]) -> Any:
    # Not needed for files.
    import numpy as np

    if parts and all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    return [cell for part in parts for cell in part]
