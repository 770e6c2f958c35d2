"""Spark data frames as tables: passes run in `mapInArrow`, chunk by chunk, whatever the size of a partition.

The session that reads files is the one there is, else where its surroundings say, else on this machine.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, reduce
from importlib import import_module
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from aspca.duckdb_session import describe_briefly
from aspca.escaping import quoted
from aspca.tables.errors import SourceError
from aspca.tables.parted import PartedTable, Write
from aspca.tables.parts import Mapped, Pass, merge_outcomes, rows_of
from aspca.tables.table import MOST_CELLS
from aspca.writers.scratch import Scratch

# Variables that say where Spark runs: those of spark-submit, of Spark Connect, and of Spark's own scripts.
_SAY_WHERE = ("PYSPARK_GATEWAY_PORT", "SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "MASTER")
# Of a session of this machine: nothing on stderr, since errors are told by whoever asked.
_LOG = """rootLogger.level = off
rootLogger.appenderRef.errors.ref = errors
appender.errors.type = Console
appender.errors.name = errors
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = off
"""
# The code that Spark's Java process ends with after an OutOfMemoryError, and that of a process killed by the system.
_EXIT_CODES = {52: "its Java process ended for lack of it", 137: "its Java process was killed", -9: "it was killed"}
# What errors of Spark hold if memory was short, and what to call it.
_SHORT = (
    (re.compile(r"java\.lang\.OutOfMemoryError: ([^\n]{1,80})"), r"\1"),
    (re.compile(r"OutOfMemoryError|\bMemoryError\b"), "no memory could be had"),
    (re.compile(r"spark\.driver\.maxResultSize"), "what workers found exceeds spark.driver.maxResultSize"),
    (re.compile(r"ExecutorLostFailure"), "an executor was lost, mostly a sign of it"),
    (re.compile(r"Python worker exited unexpectedly"), "a worker was killed, mostly a sign of it"),
)


def spark_session(master: str | None) -> Any:
    """The session there is; else one at `master`, or where the surroundings say, or on all cores of this machine.

    SourceError where a session runs elsewhere than at `master`.
    """
    try:
        session = import_module("pyspark.sql").SparkSession
    except ImportError:
        raise SourceError(
            "--engine spark needs Spark, which is not installed; run: pip install 'aspca[spark]'."
        ) from None
    try:
        # Of this thread, or of the process.
        present = session.active()
    except Exception:
        present = None
    if present is not None:
        where = present.conf.get("spark.master", None)
        if master is not None and where != master:
            raise SourceError(
                f"--spark-master {quoted(master)}: a session of Spark runs already, at {quoted(str(where))}; stop it, "
                "or leave --spark-master out."
            )
        return present
    try:
        with quiet(), Scratch() as folder:
            return _builder(session, master, folder).getOrCreate()
    except Exception as error:
        where = "" if master is None else f" at {quoted(master)}"
        raise SourceError(
            f"--engine spark: Spark does not start{where} ({type(error).__name__}: {describe_briefly(error)}); it "
            "needs Java 17 or later on the PATH, and whoever --spark-master names must answer."
        ) from error


def _builder(session: Any, master: str | None, folder: Path) -> Any:
    """What makes a session; a log's settings are written to `folder`, and read when it starts."""
    builder = session.builder
    if master is None and _is_configured():
        return builder
    where = master or "local[*]"
    builder = builder.appName("aspca").config("spark.sql.session.timeZone", "UTC")
    builder = builder.remote(where) if where.startswith("sc://") else builder.master(where)
    if not where.startswith("local"):
        return builder
    # Workers run what this process runs.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # Read when the machine of Java starts, before any level can be set.
    log = folder / "log4j2.properties"
    log.write_text(_LOG)
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={log.as_uri()}",
    }.items():
        builder = builder.config(key, value)
    return builder


def _is_configured() -> bool:
    """Whether the surroundings say where Spark runs: spark-submit, variables, or its file of defaults."""
    if any(os.environ.get(name) for name in _SAY_WHERE):
        return True
    said = os.environ.get("PYSPARK_SUBMIT_ARGS", "")
    folder = os.environ.get("SPARK_CONF_DIR") or os.path.join(os.environ.get("SPARK_HOME") or os.curdir, "conf")
    defaults = Path(folder) / "spark-defaults.conf"
    if defaults.is_file():
        said += "\n" + defaults.read_text(errors="replace")
    return re.search(r"--(master|remote)\b|^\s*spark\.(master|remote)\b|spark\.master=", said, re.MULTILINE) is not None


@contextmanager
def quiet() -> Iterator[None]:
    """Without Spark's word on versions of pandas: only Arrow passes between it and the work."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield


def memory_lack(error: Exception) -> str | None:
    """What memory was short of, if an error of Spark tells of that; None: of something else."""
    text = f"{type(error).__name__}: {error}"
    for pattern, words in _SHORT:
        found = pattern.search(text)
        if found:
            return found.expand(words) if "\\" in words else words
    # A Java process that is gone says nothing; its exit code does.
    context = import_module("pyspark").SparkContext
    process = getattr(getattr(context, "_gateway", None), "proc", None)
    return None if process is None else _EXIT_CODES.get(process.poll())


# How many results are merged at once on a worker; and how many may come to the driver, of narrow and of wide tables.
FAN_IN = 16
FEW, FEW_WIDE, WIDE = 4, 1, 200
# A result travels in rows of so many bytes: Spark holds many rows at once.
PIECE = 8 << 20
_RESULT = "part long, piece long, data binary"


def read_spark(paths: Sequence[str], master: str | None = None) -> Any:
    """A Spark data frame of Parquet files or folders, in the session of `spark_session`."""
    session = spark_session(master)
    try:
        return session.read.parquet(*map(os.path.abspath, paths))
    except Exception as error:
        raise SourceError(
            f"{', '.join(paths)}: Spark cannot read it as Parquet ({type(error).__name__}); check the files."
        ) from error


class SparkTable(PartedTable):
    """The table of a Spark data frame; see `PartedTable`."""

    engine = "Spark"

    def __init__(self, frame: Any, description: str, missing: tuple[str, ...] = ()) -> None:
        pa = import_module("pyarrow")
        self.description = description
        names = [str(name).strip() or f"column_{place}" for place, name in enumerate(frame.columns, start=1)]
        # By place: names may hold whatever Spark's own grammar uses.
        self._frame = frame.toDF(*(f"c{index}" for index in range(len(names))))
        self._session = frame.sparkSession
        try:
            with quiet():
                found = self._frame.limit(0).toArrow().schema
        except Exception as error:
            raise self._explained(error) from error
        self._prunes = _keeps_places(self._frame)
        schema = pa.schema([(field.name, field.type) for field in found])
        super().__init__(description, names, schema, missing)

    def _pass(self, work: Pass | Write, columns: Sequence[int], small: bool) -> bytes:
        with quiet():
            results = self._narrow(columns).mapInArrow(partial(_run, work), _RESULT)
            count = len(self._layout.rows or ())
            few = FEW if len(columns) <= WIDE else FEW_WIDE
            while not small and count > few:
                results, count = self._level(results, work, count), -(-count // FAN_IN)
            rows = sorted((row[0], row[1], row[2]) for row in results.collect())
        return merge_outcomes(work.merge, [_joined(pieces, 2) for _, pieces in groupby(rows, itemgetter(0))])

    def _level(self, results: Any, work: Pass | Write, count: int) -> Any:
        """Each `FAN_IN` results as one, merged in their order on a worker."""
        column = import_module("pyspark.sql.functions").col
        parent = (column("part") / FAN_IN).cast("long")
        grouped = results.select(parent.alias("parent"), "part", "piece", "data")
        grouped = grouped.repartition(-(-count // FAN_IN), "parent").sortWithinPartitions("part", "piece")
        return grouped.mapInArrow(partial(_merge, work), _RESULT)

    def _read_rows(self, columns: Sequence[int], first: int, end: int) -> Iterator[Any]:
        pa = import_module("pyarrow")
        most, total, cuts = rows_of(PIECE, 8.0 * len(columns)), 0, dict[int, _Cut]()
        for number, low, high in self._layout.between(first, end):
            cuts[number] = _Cut(total, low, high, most)
            known = (self._layout.rows or ())[number] if high is None else high
            total += -(-(known - low) // most)
        with quiet():
            pieces = self._narrow(columns).mapInArrow(partial(_streams, cuts), "slot int, data binary")
            if (end - first) * len(columns) <= MOST_CELLS:
                # Spark runs no more parts than it takes, and no part to its end.
                rows: Iterable[Any] = sorted(pieces.limit(total).collect())
            else:
                # Spark brings partitions as a whole: one for each piece, from the disks of the workers.
                rows = pieces.repartitionById(total, "slot").toLocalIterator()
        for _, data in rows:
            yield from pa.ipc.open_stream(pa.py_buffer(bytes(data)))

    def _lazy(self, work: Mapped, columns: Sequence[int]) -> Any:
        schema = import_module("pyspark.sql.pandas.types").from_arrow_schema(work.schema)
        with quiet():
            return self._narrow(columns).mapInArrow(partial(_map, work), schema)

    def _narrow(self, columns: Sequence[int]) -> Any:
        """With no more columns than need be, but where Spark would send the rows elsewhere without the others."""
        if not self._prunes:
            return self._frame
        return self._frame.select(*(f"c{index}" for index in columns))

    def _explained(self, error: Exception) -> SourceError:
        short = memory_lack(error)
        if short is None:
            return super()._explained(error)
        return SourceError(
            f"{self.description}: Spark ran out of memory ({short}); give it more, on this machine by "
            "SPARK_DRIVER_MEMORY=4g in the environment, on a cluster by spark.executor.memory and spark.driver.memory, "
            "or cut the table into more partitions."
        )


# ---- on the workers


def _run(work: Callable[[int, Iterable[Any]], bytes], batches: Iterable[Any]) -> Iterator[Any]:
    number = _number()
    yield from _pieces(number, work(number, batches))


def _merge(work: Any, batches: Iterable[Any]) -> Iterator[Any]:
    """Rows are sorted; those of one parent become one result, of which there are never more than two in memory."""
    rows = (row for batch in batches for row in batch.to_pylist())
    for parent, of_parent in groupby(rows, itemgetter("parent")):
        parts = (_joined(pieces, "data") for _, pieces in groupby(of_parent, itemgetter("part")))
        yield from _pieces(parent, reduce(lambda before, later: merge_outcomes(work.merge, [before, later]), parts))


def _joined(pieces: Iterable[Any], data: int | str) -> bytes:
    return b"".join(bytes(piece[data]) for piece in pieces)


def _map(work: Mapped, batches: Iterable[Any]) -> Iterator[Any]:
    return work(_number(), batches)


@dataclass(frozen=True)
class _Cut:
    """Rows of a part from `first` to before `end` (None: to its end), in pieces of `most` numbered from `slot` on."""

    slot: int
    first: int
    end: int | None
    most: int

    def pieces(self, batches: Iterable[Any]) -> Iterator[list[Any]]:
        held, size, row = list[Any](), 0, 0
        for batch in batches:
            begin, stop = max(self.first - row, 0), batch.num_rows if self.end is None else self.end - row
            inside = batch.slice(begin, max(stop - begin, 0))
            while inside.num_rows:
                held.append(inside.slice(0, self.most - size))
                size += held[-1].num_rows
                inside = inside.slice(held[-1].num_rows)
                if size == self.most:
                    yield held
                    held, size = [], 0
            row += batch.num_rows
            if self.end is not None and row >= self.end:
                break
        if held:
            yield held


def _streams(cuts: dict[int, _Cut], batches: Iterable[Any]) -> Iterator[Any]:
    pa = import_module("pyarrow")
    cut = cuts.get(_number())
    if cut is None:
        return
    for slot, piece in enumerate(cut.pieces(batches), start=cut.slot):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, piece[0].schema) as writer:
            for batch in piece:
                writer.write_batch(batch)
        numbers = pa.array([slot], pa.int32())
        yield pa.RecordBatch.from_pydict({"slot": numbers, "data": [sink.getvalue().to_pybytes()]})


def _number() -> int:
    """Which partition this is: the same whenever it is run again."""
    return int(import_module("pyspark").TaskContext.get().partitionId())


def _pieces(number: int, data: bytes) -> Iterator[Any]:
    pa = import_module("pyarrow")
    for piece, start in enumerate(range(0, len(data), PIECE)):
        cut = {"part": [number], "piece": [piece], "data": [data[start : start + PIECE]]}
        yield pa.RecordBatch.from_pydict(cut)


# ---- here


def _keeps_places(frame: Any) -> bool:
    """Whether rows stay where they are if columns are left out: Spark deals them out by what is in all columns."""
    try:
        return "Exchange" not in frame._jdf.queryExecution().executedPlan().toString()
    except Exception:
        # A client of a remote session does not know.
        return False
