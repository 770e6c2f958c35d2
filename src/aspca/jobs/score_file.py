"""A file of scores, written part by part: as CSV, as JSON lines, or as Parquet."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, TextIO

import numpy as np

from aspca.jobs.errors import RequestError
from aspca.jobs.judging import Judged, judged
from aspca.jobs.progress import Progress
from aspca.jobs.table import Table
from aspca.judging.model import Model
from aspca.linalg.arrays import Floats
from aspca.outputs.csv_text import CsvWriter
from aspca.outputs.replaced_file import replaced_bytes, replaced_file

FORMATS = ("csv", "parquet")
PartWriter = Callable[[Judged], None]


def write_scores(
    model: Model, table: Table, name: str | None, write: PartWriter, progress: Progress
) -> tuple[int, int | None]:
    """Write row, score and anomaly of every row of a table.

    Returns
    -------
    rows : int
    anomalies : int or None
        None if the model has no limit.
    """
    rows, found = 0, 0
    known = True
    for part in judged(model, table, name, progress):
        write(part)
        rows += len(part.scores)
        known = part.anomalies is not None
        found += 0 if part.anomalies is None else int(part.anomalies.sum())
    return rows, found if known else None


def score_format(path: str, *, lines: bool) -> str:
    """The format of a file of scores: "parquet" by its suffix, "jsonl" if `lines` are asked for, otherwise "csv".

    Raises
    ------
    RequestError
        Both are asked for.
    """
    parquet = Path(path).suffix.lower() in (".parquet", ".pq")
    if parquet and lines:
        raise RequestError(f"--json writes lines of JSON, but {path!r} is to be a Parquet file; give one of them.")
    return "parquet" if parquet else "jsonl" if lines else "csv"


def refuse_format(name: str) -> None:
    """Raise RequestError unless scores can be written in this format."""
    if name not in FORMATS:
        raise RequestError(f"--scores must be csv or parquet, not {name!r}.")


@contextlib.contextmanager
def score_file(path: str, kind: str, name: str | None, gaps: bool) -> Iterator[PartWriter]:
    """A function that writes parts to a file, which is replaced as a whole at the end, or to stdout for "-".

    Parameters
    ----------
    kind : as `score_format` says
    name : the column that names rows, if any
    gaps : whether to say what share of the rules each row was judged by
    """
    with contextlib.ExitStack() as stack:
        if kind == "parquet":
            yield stack.enter_context(parquet_scores(stack.enter_context(replaced_bytes(path)), name, gaps))
        else:
            stream = sys.stdout if path == "-" else stack.enter_context(replaced_file(path))
            yield stack.enter_context((json_scores if kind == "jsonl" else csv_scores)(stream, name, gaps))


def score_header(name: str | None, gaps: bool) -> list[str]:
    """The columns of a file of scores; `name` is the column that names rows."""
    columns = ["row", "score", "anomaly", *(["share_of_rules"] if gaps else [])]
    return columns if name is None else [columns[0], *apart([name], columns), *columns[1:]]


def apart(names: Sequence[str], taken: Sequence[str]) -> list[str]:
    """Names of columns, told apart from those that are taken."""
    return [f"id: {name}" if name in taken else name for name in names]


@contextlib.contextmanager
def csv_scores(stream: TextIO, name: str | None, gaps: bool) -> Iterator[PartWriter]:
    """A function that writes parts as lines of CSV; a missing verdict is empty."""
    with CsvWriter(stream, score_header(name, gaps)) as writer:

        def write(part: Judged) -> None:
            names = [] if part.names is None else [part.names]
            anomalies = [None] * len(part.scores) if part.anomalies is None else part.anomalies
            writer.columns(part.rows, *names, part.scores, anomalies, *_shares(part))

        yield write


@contextlib.contextmanager
def json_scores(stream: TextIO, name: str | None, gaps: bool) -> Iterator[PartWriter]:
    """A function that writes parts as lines of JSON, one object each."""
    header = score_header(name, gaps)

    def write(part: Judged) -> None:
        flags = [None] * len(part.scores) if part.anomalies is None else part.anomalies.tolist()
        names = [] if part.names is None else [part.names]
        shares = [column.tolist() for column in _shares(part)]
        for values in zip(part.rows.tolist(), *names, part.scores.tolist(), flags, *shares, strict=True):
            stream.write(json.dumps(dict(zip(header, values, strict=True)), ensure_ascii=False, default=str) + "\n")

    yield write


@contextlib.contextmanager
def parquet_scores(stream: BinaryIO, name: str | None, gaps: bool) -> Iterator[PartWriter]:
    """A function that takes parts, which are all written at the end; rows are BIGINT, scores DOUBLE, names text."""
    from aspca.outputs.desk import Desk

    with Desk() as desk:
        header = score_header(name, gaps)
        types = ["BIGINT", "DOUBLE", "BOOLEAN", *(["DOUBLE"] if gaps else [])]
        if name is not None:
            types.insert(1, "VARCHAR")
            # Capitals do not tell columns apart there.
            if len({column.lower() for column in header}) < len(header):
                header[1] = f"id: {name}"
        desk.begin(header, types)

        def write(part: Judged) -> None:
            names = [] if part.names is None else [_texts(part.names)]
            unknown = np.full(len(part.scores), None, dtype=object)
            verdicts = unknown if part.anomalies is None else part.anomalies
            desk.add([part.rows, *names, part.scores, verdicts, *_shares(part)])

        yield write
        desk.parquet(stream)


def _shares(part: Judged) -> list[Floats]:
    return [] if part.shares is None else [part.shares]


def _texts(cells: Sequence[object]) -> np.ndarray[tuple[int], np.dtype[np.object_]]:
    texts = np.empty(len(cells), dtype=object)
    texts[:] = [None if cell is None else str(cell) for cell in cells]
    return texts
