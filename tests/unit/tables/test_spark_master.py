"""Where Spark is started, by what is asked for and by what its surroundings say; nothing is started here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import aspca
from aspca.tables.errors import JobError

pyspark_sql = pytest.importorskip("pyspark.sql", reason="the extra spark is not installed")


class Asked(dict[str, str]):
    """Stands for the builder of sessions: takes down what is asked for."""

    def config(self, key: str, value: str) -> Asked:
        self[key] = value
        return self

    def master(self, url: str) -> Asked:
        return self.config("master", url)

    def remote(self, url: str) -> Asked:
        return self.config("remote", url)

    def appName(self, name: str) -> Asked:
        return self

    def getOrCreate(self) -> Any:
        raise RuntimeError("nobody answers\nat all")


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """What a fit of Parquet files asks of Spark, where no session runs and the surroundings say nothing."""
    pq.write_table(pa.table({"a": np.arange(3.0)}), tmp_path / "a.parquet")
    taken = Asked()

    class Sessions:
        builder = taken

        @staticmethod
        def active() -> Any:
            raise RuntimeError("there is none")

        getActiveSession = staticmethod(lambda: None)

    monkeypatch.setattr(pyspark_sql, "SparkSession", Sessions)
    for name in ("PYSPARK_GATEWAY_PORT", "SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "MASTER", "PYSPARK_SUBMIT_ARGS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYSPARK_PYTHON", "python3")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    return taken


def fitted(folder: Path, **options: Any) -> str:
    with pytest.raises(JobError) as caught:
        aspca.fit_source(str(folder / "a.parquet"), **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_on_this_machine_if_nobody_says_where(asked: Asked, tmp_path: Path) -> None:
    assert "Spark does not start (RuntimeError: nobody answers" in fitted(tmp_path, engine="spark")
    assert asked["master"] == "local[*]"
    assert asked["spark.driver.host"] == "127.0.0.1"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PYSPARK_GATEWAY_PORT", "4711"),
        ("SPARK_REMOTE", "sc://cluster:15002"),
        ("MASTER", "yarn"),
        ("PYSPARK_SUBMIT_ARGS", "--master yarn pyspark-shell"),
        ("spark-defaults.conf", "spark.executor.memory 4g\nspark.master yarn\n"),
    ],
)
def test_where_the_surroundings_say(
    asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    if name == "spark-defaults.conf":
        (tmp_path / name).write_text(value)
    else:
        monkeypatch.setenv(name, value)
    fitted(tmp_path, engine="spark")
    assert asked == {}


@pytest.mark.parametrize(
    ("url", "kind", "here"),
    [("spark://host:7077", "master", False), ("sc://host", "remote", False), ("local[3]", "master", True)],
)
def test_where_the_option_says(asked: Asked, tmp_path: Path, url: str, kind: str, here: bool) -> None:
    assert f"Spark does not start at '{url}'" in fitted(tmp_path, engine="spark", spark_master=url)
    assert asked[kind] == url
    # Workers of other machines could not reach a driver that listens to this one only.
    assert ("spark.driver.host" in asked) == here


def test_the_option_is_for_spark_only(asked: Asked, tmp_path: Path) -> None:
    for options in ({"spark_master": "yarn"}, {"spark_master": "yarn", "engine": "dask"}):
        assert "spark_master is for engine spark" in fitted(tmp_path, **options)
    assert asked == {}
