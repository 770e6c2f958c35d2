"""The slow twins and the zoo of tables beside this file can be imported: pytest's importlib mode alone does not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
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
