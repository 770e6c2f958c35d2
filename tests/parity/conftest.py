"""Engines, each started when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from typing import Any

import pytest

from running.dask_cluster import dask_client


@pytest.fixture(scope="module")
def engines(request: pytest.FixtureRequest) -> Iterator[Callable[[str], Any]]:
    """Each engine when it is first asked for; Dask sends no work to its cluster afterwards."""
    with ExitStack() as stack:

        @cache
        def engine(name: str) -> Any:
            if name == "dask":
                return stack.enter_context(dask_client(request.getfixturevalue("dask_workers")))
            return request.getfixturevalue(name)

        yield engine
