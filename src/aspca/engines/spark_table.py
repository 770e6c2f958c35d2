"""Spark data frames as tables: passes run in `mapInArrow`, chunk by chunk, whatever the size of a partition."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any

from aspca.engines.errors import SourceError
from aspca.engines.part_files import Write
from aspca.engines.part_work import Mapped, Pass
from aspca.engines.parted import PartedTable
from aspca.engines.request import ReadOptions
from aspca.outputs.scratch import Scratch

# How many results are merged at once on a worker; and how many may come to the driver, of narrow and of wide tables.
FAN_IN = 16
FEW, FEW_WIDE, WIDE = 4, 1, 200
# A result travels in rows of so many bytes: Spark holds many rows at once.
PIECE = 8 << 20
_RESULT = "part long, piece long, data binary"
_ADAPTIVE = "spark.sql.adaptive.enabled"
# Of a session of our own: errors only.
_LOG = """rootLogger.level = error
rootLogger.appenderRef.errors.ref = errors
appender.errors.type = Console
appender.errors.name = errors
appender.errors.target = SYSTEM_ERR
appender.errors.layout.type = PatternLayout
appender.errors.layout.pattern = %p %c{1}: %m%n
"""


def open_spark(frame: Any, description: str, missing: tuple[str, ...] = ()) -> SparkTable:
    """The table of a Spark data frame.

    Raises
    ------
    SourceError
        In one sentence: what is wrong with which column or row, and what to do.
    """
    return SparkTable(frame, description, missing)


def read_spark(paths: Sequence[str], options: ReadOptions) -> Any:
    """A Spark data frame of Parquet files or folders, in the active session or in one of its own on this machine.

    Raises
    ------
    SourceError
        Spark is not installed or does not start, or they are no Parquet files.
    """
    from aspca.engines.engine_files import parquet_paths

    files = parquet_paths(paths, options, "spark")
    session = _session()
    try:
        return session.read.parquet(*files)
    except Exception as error:
        raise SourceError(
            f"{', '.join(paths)}: Spark cannot read it as Parquet ({type(error).__name__}); check the files."
        ) from error


class SparkTable(PartedTable):
    """See `PartedTable`."""

    engine = "Spark"

    def __init__(self, frame: Any, description: str, missing: tuple[str, ...] = ()) -> None:
        pa = import_module("pyarrow")
        self.description = description
        names = [str(name).strip() or f"column_{place}" for place, name in enumerate(frame.columns, start=1)]
        # By place: names may hold whatever Spark's own grammar uses.
        self._frame = frame.toDF(*(f"c{index}" for index in range(len(names))))
        self._session = frame.sparkSession
        try:
            with _quiet():
                found = self._frame.limit(0).toArrow().schema
        except Exception as error:
            raise self._explained(error) from error
        self._prunes = _keeps_places(self._frame)
        schema = pa.schema([(field.name, field.type) for field in found])
        super().__init__(description, names, schema, missing)

    def _pass(self, work: Pass | Write, columns: Sequence[int], small: bool) -> bytes:
        with self._steady(), _quiet():
            results = self._narrow(columns).mapInArrow(partial(_run, work), _RESULT)
            count = len(self._places.rows or ())
            few = FEW if len(columns) <= WIDE else FEW_WIDE
            while not small and count > few:
                results, count = self._level(results, work, count), -(-count // FAN_IN)
            rows = sorted((row[0], row[1], row[2]) for row in results.collect())
        return work.merged([data for _, data in _whole(rows)])

    def _level(self, results: Any, work: Pass | Write, count: int) -> Any:
        """Each `FAN_IN` results as one, merged in their order on a worker."""
        column = import_module("pyspark.sql.functions").col
        parent = (column("part") / FAN_IN).cast("long")
        grouped = results.select(parent.alias("parent"), "part", "piece", "data")
        grouped = grouped.repartition(-(-count // FAN_IN), "parent").sortWithinPartitions("part", "piece")
        return grouped.mapInArrow(partial(_merge, work), _RESULT)

    def _batches(self, columns: Sequence[int]) -> Iterator[Any]:
        pa = import_module("pyarrow")
        with self._steady(), _quiet():
            rows = self._narrow(columns).mapInArrow(_streams, "data binary").toLocalIterator()
        for (data,) in rows:
            yield from pa.ipc.open_stream(pa.py_buffer(bytes(data)))

    def _lazy(self, work: Mapped, columns: Sequence[int]) -> Any:
        schema = import_module("pyspark.sql.pandas.types").from_arrow_schema(work.schema)
        with _quiet():
            return self._narrow(columns).mapInArrow(partial(_map, work), schema)

    def _narrow(self, columns: Sequence[int]) -> Any:
        """With no more columns than need be, but where Spark would send the rows elsewhere without the others."""
        if not self._prunes:
            return self._frame
        return self._frame.select(*(f"c{index}" for index in columns))

    @contextmanager
    def _steady(self) -> Iterator[None]:
        """Without plans that adapt to sizes: partitions are to be the same in every pass, whatever columns it reads."""
        conf = self._session.conf
        before = conf.get(_ADAPTIVE, "true")
        conf.set(_ADAPTIVE, "false")
        try:
            yield
        finally:
            conf.set(_ADAPTIVE, before)


# ---- on the workers


def _run(work: Callable[[int, Iterable[Any]], bytes], batches: Iterable[Any]) -> Iterator[Any]:
    number = _number()
    yield from _pieces(number, work(number, batches))


def _merge(work: Any, batches: Iterable[Any]) -> Iterator[Any]:
    """Rows are sorted; those of one parent become one result."""
    rows = ((row["parent"], row["part"], row["data"]) for batch in batches for row in batch.to_pylist())
    parent, held, last, pieces = None, b"", None, list[bytes]()
    for above, part, data in rows:
        if part != last:
            held = _with(work, held, pieces)
            pieces, last = [], part
            if above != parent:
                if parent is not None:
                    yield from _pieces(parent, held)
                parent, held = above, b""
        pieces.append(data)
    if parent is not None:
        yield from _pieces(parent, _with(work, held, pieces))


def _with(work: Any, held: bytes, pieces: list[bytes]) -> bytes:
    if not pieces:
        return held
    one = b"".join(pieces)
    return bytes(work.merged([held, one])) if held else one


def _map(work: Mapped, batches: Iterable[Any]) -> Iterator[Any]:
    return work(_number(), batches)


def _streams(batches: Iterable[Any]) -> Iterator[Any]:
    pa = import_module("pyarrow")
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        yield pa.RecordBatch.from_pydict({"data": [sink.getvalue().to_pybytes()]})


def _number() -> int:
    """Which partition this is: the same whenever it is run again."""
    return int(import_module("pyspark").TaskContext.get().partitionId())


def _pieces(number: int, data: bytes) -> Iterator[Any]:
    pa = import_module("pyarrow")
    for piece, start in enumerate(range(0, len(data), PIECE)):
        cut = {"part": [number], "piece": [piece], "data": [data[start : start + PIECE]]}
        yield pa.RecordBatch.from_pydict(cut)


def _whole(rows: Iterable[tuple[int, int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """Sorted pieces, put together."""
    gathered: dict[int, list[bytes]] = {}
    for part, _, data in rows:
        gathered.setdefault(part, []).append(bytes(data))
    for part in sorted(gathered):
        yield part, b"".join(gathered[part])


# ---- here


def _keeps_places(frame: Any) -> bool:
    """Whether rows stay where they are if columns are left out: Spark deals them out by what is in all columns."""
    try:
        return "Exchange" not in frame._jdf.queryExecution().executedPlan().toString()
    except Exception:
        # A client of a remote session does not know.
        return False


@contextmanager
def _quiet() -> Iterator[None]:
    """Without Spark's word on versions of pandas: only Arrow passes between it and the work."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield


def _session() -> Any:
    """The active session, or one on this machine."""
    try:
        session = import_module("pyspark.sql").SparkSession
    except ImportError:
        raise SourceError(
            "--engine spark needs Spark, which is not installed; run: pip install 'aspca[spark]'."
        ) from None
    active = session.getActiveSession()
    if active is not None:
        return active
    # Workers run what this process runs.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = session.builder.master("local[*]").appName("aspca")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
    }.items():
        builder = builder.config(key, value)
    try:
        with _quiet(), Scratch() as folder:
            # Read when the machine of Java starts, before any level can be set.
            (folder / "log4j2.properties").write_text(_LOG)
            quiet = f"-Dlog4j2.configurationFile={(folder / 'log4j2.properties').as_uri()}"
            return builder.config("spark.driver.extraJavaOptions", quiet).getOrCreate()
    except Exception as error:
        raise SourceError(
            f"--engine spark: Spark does not start ({type(error).__name__}); it needs Java 17 or later on the PATH."
        ) from error
