"""The slow twins and the zoo of tables beside this file can be imported: pytest's importlib mode alone does not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import threadpoolctl
from hypothesis import settings

if TYPE_CHECKING:
    from xdist.scheduler import Scheduling

    from running.postgres import Cluster

sys.path.insert(0, str(Path(__file__).parent))

# No test asserts a time, so none fails for one: a busy machine is no counterexample. And the same tree passes or fails
# each time; `make test-long` draws anew.
settings.register_profile("aspca", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("long", deadline=None)
settings.load_profile("aspca")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.markexpr == "long":
        settings.load_profile("long")


# One process runs these one after the other, so that each engine, and the browser, starts once.
TOGETHER = {
    "engines": ("parity/test_engines.py", *(f"unit/tables/test_{name}.py" for name in ("dask", "postgres", "spark"))),
    "pages": tuple(f"e2e/report/test_{name}.py" for name in ("events", "hostile", "page", "refusals")),
}


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling | None:
    from xdist.scheduler import LoadFileScheduling

    class ByFileOrTogether(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file: str = super()._split_scope(nodeid)
            return next((name for name, files in TOGETHER.items() if file.endswith(files)), file)

    return ByFileOrTogether(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Of small matrices a second BLAS thread only waits, on a busy machine long; and sums are in one order."""
    with threadpoolctl.threadpool_limits(1):
        yield


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A session of Spark."""
    from running.spark_session import spark_session

    with spark_session() as session:
        yield session


@pytest.fixture(scope="session")
def dask_workers() -> Iterator[Any]:
    """A cluster of Dask; whose clients leave it running."""
    from running.dask_cluster import dask_cluster

    with dask_cluster() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def postgres() -> Iterator[Cluster]:
    """A private server of PostgreSQL: one for each process of tests that asks for it."""
    pytest.importorskip("adbc_driver_postgresql", reason="the extra postgres is not installed")
    from running.postgres import CannotRun, cluster

    started = cluster()
    try:
        made = started.__enter__()
    except CannotRun as reason:
        pytest.skip(f"PostgreSQL cannot run here: {reason}")
    try:
        yield made
    finally:
        started.__exit__(None, None, None)
