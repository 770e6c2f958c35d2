"""What a source is, and the table in it: paths, addresses, and tables of many libraries, none of which is imported."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from typing import Any

import numpy as np

from aspca.escaping import for_terminal
from aspca.model.model import Model
from aspca.pipeline.options import named_files
from aspca.pipeline.passes import Watcher
from aspca.preparation.columns import cell_text
from aspca.tables.column_checks import refuse_unfit
from aspca.tables.column_notes import describe_rounded
from aspca.tables.errors import JobError, SourceError
from aspca.tables.formats import open_source
from aspca.tables.memory import MemoryColumn, MemoryTable
from aspca.tables.parted import PartedTable
from aspca.tables.paths import expand_for_engine, is_postgres
from aspca.tables.request import ReadOptions, read_alike
from aspca.tables.table import Table

Opened = AbstractContextManager[Table]


def open_table(source: Any, reading: ReadOptions, description: str) -> Opened:
    """The table in some files, at an address, or in memory, then called `description`; to be closed after use.

    Parameters
    ----------
    source : path or address, list of paths, or a table
        Files, globs, folders of Parquet files, ``postgresql://...``, ``duckdb:///file``, ``sqlite:///file``; a data
        frame of any library that narwhals knows, eager or lazy, an array, a memory map, a table, batch, dataset,
        scanner or stream of pyarrow, whatever has an Arrow C stream, a relation of DuckDB, a data frame of Dask or
        Spark.

    Raises
    ------
    SourceError, JobError
        In one sentence: what is wrong with which file, column or row, and what to do.
    """
    if isinstance(source, MemoryTable):
        return nullcontext(source)
    paths = named_files(source)
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        for option, value in (("--query", reading.query), ("--engine", reading.engine)):
            if value is not None:
                what = "databases" if option == "--query" else "Parquet files and folders"
                raise SourceError(f"{description}: {option} is for {what}, not for a table in memory; leave it out.")
        return _open_object(source, reading.missing, description)
    if reading.engine is not None:
        return _open_by_engine(paths, reading, reading.engine)
    if len(paths) == 1 and is_postgres(paths[0]):
        table: Opened = import_module("aspca.tables.postgres").open_postgres(paths[0], reading)
        return table
    return open_source(paths, reading)


@contextmanager
def open_for(
    model: Model,
    source: Any,
    reading: ReadOptions,
    watcher: Watcher,
    note: Callable[..., None] = lambda *_: None,
    *,
    description: str = "",
    gaps: bool = False,
) -> Iterator[Table]:
    """The table to judge by a model: its cells are read as those of the rows that the model was learned from.

    `note` is told what was guessed about it.

    Raises
    ------
    JobError
        It lacks what the model needs: columns, or, unless `gaps` are fine, values. More columns, or another order of
        them, do no harm.
    """
    watcher.stage("Opening", unit="")
    with open_table(source, read_alike(reading, model.cell_format), description) as table:
        note(*table.remarks)
        refuse_unfit(table, model, gaps)
        yield table


def _open_by_engine(paths: list[str], reading: ReadOptions, engine: str) -> Opened:
    """Parquet files and folders, read by Dask or Spark."""
    given = expand_for_engine(paths, reading, engine)
    # Folders as they are: the engine finds what their names say by itself.
    files = list(dict.fromkeys(str(one.path) if one.folder is None else one.folder for one in given))
    label = for_terminal(paths[0]) if len(paths) == 1 else f"{len(given)} files"
    table: PartedTable
    if engine == "dask":
        from aspca.tables.dask_table import DaskTable, read_dask

        table = DaskTable(read_dask(files), label, reading.missing)
    else:
        from aspca.tables.spark_table import SparkTable, read_spark

        table = SparkTable(read_spark(files, reading.spark_master), label, reading.missing)
    if len(given) > 1:
        table.remarks += (
            f"{label}: rows are numbered in the order in which {table.engine} reads the {len(given)} files, which may "
            "not be that of their names; name rows by a column with --id to find them in the files.",
        )
    return table


def _open_object(source: Any, missing: tuple[str, ...], description: str) -> Opened:
    """A table of another library, told by the names of its types: the library is there if the table is."""
    roots = {kind.__module__.partition(".")[0] for kind in type(source).__mro__}
    name = type(source).__name__
    if "narwhals" in roots and hasattr(source, "to_native"):
        return _open_object(source.to_native(), missing, description)
    if "dask" in roots and hasattr(source, "map_partitions") and name == "DataFrame":
        from aspca.tables.dask_table import DaskTable

        return DaskTable(source, description, missing)
    if "pyspark" in roots and name == "DataFrame" and hasattr(source, "mapInArrow"):
        from aspca.tables.spark_table import SparkTable

        return SparkTable(source, description, missing)
    if name == "DuckDBPyConnection":
        raise SourceError(
            f"{description}: this is a connection of DuckDB and no table of it; give a relation, such as "
            "connection.table('readings') or connection.sql('SELECT ...')."
        )
    if isinstance(source, np.memmap):
        from aspca.tables.mapped_array import MappedArray

        return nullcontext(MappedArray(source, description))
    from aspca.tables.arrow_table import arrow_reading, open_arrow

    of_arrow = arrow_reading(source, description)
    return nullcontext(frame_table(source, description)) if of_arrow is None else open_arrow(of_arrow, missing)


def frame_table(frame: Any, description: str) -> MemoryTable:
    """A data frame (pandas, polars, pyarrow) or a two-dimensional array as a table.

    Raises
    ------
    JobError
        It is something else, or holds what is no number, text or date.
    """
    from aspca.estimators.frames import get_library, get_row_labels, read_columns, refuse_odd_shapes

    try:
        refuse_odd_shapes(frame)
        columns = read_columns(frame, leave_odd=True)
    except (ValueError, TypeError) as error:
        raise JobError(f"{description}: {error}") from None
    names = [column.name for column in columns]
    doubled = next((name for name in names if names.count(name) > 1), None)
    if doubled is not None:
        raise JobError(f"{description} has several columns {doubled!r}, but each must be unique; rename the others.")
    content = {one.name: MemoryColumn(one.kind, one.numbers, one.cells, one.remark) for one in columns}
    beyond = [name for name, column in content.items() if _would_be_rounded(column)]
    for name in beyond:
        texts = [None if cell_text(cell) is None else str(cell) for cell in content[name].cells]
        content[name] = MemoryColumn("text", None, texts)
    labels = get_row_labels(frame, len(columns[0].cells))
    index = None
    if list(labels) != list(range(len(labels))):
        index = str(getattr(getattr(frame, "index", None), "name", None) or "index")
        if index in content:
            index = None
        else:
            content[index] = MemoryColumn("text", None, [str(label) for label in labels])
    return MemoryTable(description, content, index, get_library(frame), tuple(describe_rounded(description, beyond)))


def _would_be_rounded(column: MemoryColumn) -> bool:
    """Whether it holds integers that are no float64: ids, mostly, and others would be taken for them."""
    cells = column.cells
    if column.kind != "number" or column.numbers is None:
        return False
    if isinstance(cells, np.ndarray) and cells.dtype.kind not in "iu":
        return False
    large = (cells[row] for row in np.flatnonzero(np.abs(column.numbers) >= 2.0**53).tolist())
    return any(isinstance(cell, int | np.integer) and int(float(cell)) != int(cell) for cell in large)
