"""`aspca.score_source`: rows of any source judged by a model, and written whole or not at all, or given as a frame."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from aspca.linalg.arrays import Bools, Ints
from aspca.masking import looks_like_address, mask_secrets
from aspca.model.judgement import Judgement
from aspca.model.model import Model
from aspca.pipeline.judged_rows import judged_rows
from aspca.pipeline.options import files_named, for_python, in_python, is_named, named_files, reading_of
from aspca.pipeline.passes import MANY, Silent, Watcher, write_behind
from aspca.pipeline.sources import open_for
from aspca.tables.column_checks import find_keys
from aspca.tables.errors import RequestError
from aspca.tables.keys import Keys
from aspca.tables.parted import PartedTable
from aspca.tables.paths import is_postgres
from aspca.tables.request import ReadOptions
from aspca.tables.table import Table
from aspca.writers.fields import Field, Kind, Part
from aspca.writers.replaced_file import STANDARD_STREAM, refuse_inputs, refuse_special
from aspca.writers.row_file import choose_format, row_file

if TYPE_CHECKING:
    from aspca.findings.short_reasons import ShortReasons


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


# What the command calls --output is `out` here.
@for_python(spelled=lambda sentence: in_python(sentence.replace("--output", "--out")))
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
    with open_for(stored, files, how, Silent(), description="the table") as rows:
        keys = find_keys(rows, [id] if isinstance(id, str) else list(id or ()), time)
        if destination is None:
            return make_scored_frame(stored, rows, keys)
        tally = write_scored(stored, rows, keys, destination, Silent())
        return Scored(tally.n_rows, tally.anomalies, destination.shown)


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
        from aspca.model_file.model_file import read_model

        return read_model(model)
    found = getattr(model, "model_", None)
    if isinstance(found, Model):
        return found
    if hasattr(model, "fit"):
        raise RequestError(f"This {type(model).__name__} has no model to judge rows by; fit an ASPCA first.")
    raise RequestError(f"A model is a fitted ASPCA or the path of a stored one, got {type(model).__name__}.")


def make_scored_frame(model: Model, table: Table, keys: Keys) -> Any:
    """The rows of a table judged, as a frame of its own library; of a table in parts one that is not computed yet."""
    if isinstance(table, PartedTable):
        scorer = PartScorer(model, keys)
        return table.map(scorer.schema, scorer, scorer.names)
    # Not needed for files.
    from aspca.findings.rendering import make_frame

    names = [field.name for field in score_fields(model, keys)]
    parts = list(scored_parts(model, table, keys, Tally(), Silent()))
    columns = zip(*parts, strict=True) if parts else ((),) * len(names)
    whole: dict[str, Any] = {}
    for name, several in zip(names, columns, strict=True):
        arrays = bool(several) and all(isinstance(part, np.ndarray) for part in several)
        whole[name] = np.concatenate(several) if arrays else [cell for part in several for cell in part]
    return make_frame(whole, getattr(table, "library", "pandas"))


# ---- as columns of a table: record batches are made of them only for what is written by way of Arrow, or is lazy


def score_fields(model: Model, keys: Keys, *, reasons: bool = True) -> tuple[Field, ...]:
    """Which columns a table of scores has; `reasons`: also which rules anomalies break and what would mend them."""
    own: dict[str, Kind] = {"row": "integer", "score": "number", "anomaly": "truth"}
    own |= {"verdict": "text", "p_value": "number"} if model.evidence is not None else {}
    own |= {"share_of_rules": "number"} if model.allows_gaps else {}
    own |= {"broken_rules": "text", "proposed": "text"} if reasons else {}
    row, *others = (Field(name, kind) for name, kind in own.items())
    return (row, *(Field(name, "cell") for name in keys.header(own)), *others)


def score_columns(
    model: Model, rows: Ints, keys: list[list[object]], found: Judgement
) -> list[Sequence[Any] | npt.NDArray[Any]]:
    """The columns of some judged rows, without reasons; `keys` are the cells of the key columns, by column."""
    anomalies = [None] * len(rows) if found.anomalies is None else found.anomalies
    grades: list[Any] = [] if model.evidence is None else [found.verdicts, found.p_values]
    return [rows, *keys, found.scores, anomalies, *grades, *([found.share_of_rules] if model.allows_gaps else [])]


@dataclass
class Tally:
    """How many rows were judged, how many are anomalies, None where the model has no limit, and how many errors."""

    n_rows: int = 0
    anomalies: int | None = 0
    errors: int = 0

    def add(self, anomalies: Bools | None, errors: Bools | None, n_rows: int) -> None:
        """More of them; where errors are not told from others, every anomaly counts as one."""
        self.n_rows += n_rows
        self.anomalies = None if anomalies is None else (self.anomalies or 0) + int(anomalies.sum())
        worst = anomalies if errors is None else errors
        self.errors += 0 if worst is None else int(worst.sum())


def scored_parts(
    model: Model, table: Table, keys: Keys, tally: Tally, watcher: Watcher, start: int = 0
) -> Iterator[Part]:
    """The rows of a table judged, in parts of plain columns, `score_fields`.

    `start` is the number of the table's first row, where it is a part of a larger one.
    """
    reasons: ShortReasons | None = None
    for judged in judged_rows(model, table, keys, watcher):
        found, limit = judged.judgement, model.thresholds.total
        tally.add(found.anomalies, found.errors, len(judged))
        broken: list[str | None] = [None] * len(judged)
        proposed: list[str | None] = [None] * len(judged)
        # Of the anomalies only, whatever cells could not be read, so that normal rows cost nothing.
        flagged = np.flatnonzero(found.scores > limit.value) if limit is not None else np.empty(0, dtype=np.intp)
        if flagged.size:
            if reasons is None:
                # Words are loaded where there is something to say.
                from aspca.findings.short_reasons import ShortReasons

                reasons = ShortReasons(model)
            texts = reasons.of(judged.values[flagged], found.take(flagged))
            for row, sentence, wanted in zip(flagged.tolist(), *texts, strict=True):
                broken[row], proposed[row] = sentence, wanted
        for row, cells in enumerate(() if found.bad_cells is None else found.bad_cells):
            if cells:
                broken[row] = "; ".join(text for text in [*map(str, cells), broken[row]] if text)
        yield [*score_columns(model, judged.rows + start, judged.key_columns(), found), broken, proposed]


@dataclass(frozen=True, eq=False)
class PartScorer:
    """Judges parts of a table where they are: `scored_parts` of each as pyarrow record batches."""

    model: Model
    keys: Keys

    def __call__(self, part: Table, start: int = 0) -> Iterator[Any]:
        from aspca.writers.arrow_rows import record_batch

        fields, schema = score_fields(self.model, self.keys), self.schema
        for columns in scored_parts(self.model, part, self.keys, Tally(), Silent(), start):
            yield record_batch(fields, schema, columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that it reads."""
        return tuple(dict.fromkeys([*self.model.preparation.types, *self.keys.columns]))

    @property
    def schema(self) -> Any:
        """Of its batches; it depends on the names of the keys alone, not on a table."""
        from aspca.writers.arrow_rows import arrow_schema

        return arrow_schema(score_fields(self.model, self.keys))


# ---- where scores go


_NAMES = {
    "csv": "a CSV file",
    "parquet": "a Parquet file",
    "arrow": "an Arrow file",
    "duckdb": "a DuckDB file",
    "postgres": "a database",
}


@dataclass(frozen=True)
class Destination:
    """Where scores are written."""

    out: str  # a path, "-" for standard output, or an address
    kind: str  # csv, jsonl, parquet, arrow, duckdb or postgres
    table: str = "scores"  # of a database
    replace: bool = False  # whether a table that is there and that aspca did not write may be replaced

    @property
    def shown(self) -> str:
        """What it is called where a person reads it: no password stands in it."""
        inside = f", table {self.table}" if self.kind in ("duckdb", "postgres") else ""
        return mask_secrets(self.out) + inside

    def refuse_inputs(self, source: Any, model: Any, reading: ReadOptions) -> None:
        """Raise OutputError if it is one of the files or tables that are read, or none that could be written.

        `source` is as `named_files` gives it, `model` a path or a model in memory.
        """
        named = source if is_named(source) else []
        if self.kind == "postgres":
            if len(named) == 1 and is_postgres(named[0]):
                # Not needed for files.
                from aspca.tables.postgres import refuse_same_table

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
            f"--output: there is no way to write to {mask_secrets(out)}; give postgresql:// or the path of a file."
        )
    kind = "postgres" if is_postgres(out) else choose_format(out)
    if lines and kind != "jsonl" and out != STANDARD_STREAM:
        name = "--output" if kind == "postgres" else repr(out)
        raise RequestError(f"--json writes lines of JSON, but {name} is to be {_NAMES[kind]}; give one of them.")
    if table is not None and kind not in ("duckdb", "postgres"):
        raise RequestError(
            f"--output-table is for databases, but {out!r} is none; leave it out, or give a file that ends in .duckdb "
            "or an address."
        )
    if table is not None and not table.strip():
        raise RequestError("--output-table is empty; name a table.")
    return Destination(out, "jsonl" if lines else kind, "scores" if table is None else table, replace)


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


def write_scored(model: Model, table: Table, keys: Keys, destination: Destination, watcher: Watcher) -> Tally:
    """Judge all rows of a table and write them, in memory that does not grow with them.

    Parquet of a table in parts is a folder with a file for each, written where the parts are.
    """
    tally = Tally()
    if destination.kind == "parquet" and isinstance(table, PartedTable):
        scorer = PartScorer(model, keys)
        table.write_parquet(destination.out, scorer.schema, scorer, scorer.names)
        _count_in(destination.out, tally)
        return tally
    if destination.kind == "parquet":
        refuse_special(destination.out)
    fields = score_fields(model, keys)
    parts = scored_parts(model, table, keys, tally, watcher)
    if destination.kind == "postgres":
        # Not needed for files.
        from aspca.tables.postgres import write_postgres
        from aspca.writers.arrow_rows import arrow_schema, record_batch

        schema = arrow_schema(fields)
        batches = (record_batch(fields, schema, part) for part in parts)
        write_postgres(destination.out, destination.table, schema, batches, replace=destination.replace)
        return tally
    with row_file(destination.out, destination.kind, fields, destination.table, replace=destination.replace) as write:
        if table.count() < MANY:
            for part in parts:
                write(part)
        else:
            write_behind(parts, write)
    return tally
