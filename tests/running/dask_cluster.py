"""A Dask cluster on this machine, with two worker processes, for as long as tests run, and clients of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def dask_cluster(workers: int = 2) -> Iterator[Any]:
    """A cluster of worker processes with one thread each; skips where Dask is not installed."""
    distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
    pytest.importorskip("dask.dataframe", reason="the extra dask is not installed")
    # Any free port for its HTTP server: others may run beside. What it says of a worker that was killed is expected.
    cluster = distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", silence_logs=50
    )
    with cluster:
        yield cluster


def dask_client(cluster: Any) -> Any:
    """Its client, a context: inside of it, Dask sends all work to the cluster."""
    import distributed

    return distributed.Client(cluster)
