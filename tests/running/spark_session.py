"""Spark on this machine, with two cores, for as long as tests run."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

# Of versions of pandas that it was not tried with; nothing of pandas is used.
PANDAS = "PySpark does not yet fully support pandas"


@contextmanager
def spark_session(master: str = "local[2,4]") -> Iterator[Any]:
    """A session whose tasks may fail three times; skips where Spark or Java is missing."""
    pytest.importorskip("pyspark", reason="the extra spark is not installed")
    java = os.environ.get("JAVA_HOME") or shutil.which("java")
    if not java:
        pytest.skip("Spark needs Java, which is not installed")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", PANDAS, FutureWarning)
        from pyspark.sql import SparkSession

        settings = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.sql.shuffle.partitions": "2",
            # Whoever fetches a large partition as a whole is refused, long before memory would run out.
            "spark.driver.maxResultSize": "16m",
            "spark.sql.session.timeZone": "UTC",
            "spark.log.level": "OFF",
            # A few seconds of work do not pay for much compiling: this takes a third of the time.
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "spark.sql.codegen.wholeStage": "false",
        }
        builder = SparkSession.builder.master(master).appName("tests")
        for key, value in settings.items():
            builder = builder.config(key, value)
        session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()
