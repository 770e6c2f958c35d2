"""A Dask cluster on this machine, with two worker processes, for as long as tests run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def dask_cluster(workers: int = 2) -> Iterator[Any]:
    """The client of a cluster of worker processes with one thread each; skips where Dask is not installed."""
    distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
    pytest.importorskip("dask.dataframe", reason="the extra dask is not installed")
    # What it says of a worker that was killed is what a test is about.
    cluster = distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    )
    with cluster, distributed.Client(cluster) as client:
        yield client
