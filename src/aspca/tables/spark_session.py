"""The session of Spark that reads files: the one there is, else where its surroundings say, else on this machine."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from aspca.duckdb_session import describe_briefly
from aspca.escaping import quoted
from aspca.tables.errors import SourceError
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
