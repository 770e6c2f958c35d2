"""BLAS threads while the solver runs, or rows meet small matrices: the one place that limits them.

Below a few hundred features every call is too small to share: two threads cost more in waking than they save, many
times more on a busy machine. The caller's own setting is restored on return.

The setting is the whole process's, while solves may overlap in several Python threads and end in any order: if each
restored what it had found, the last might leave one thread behind for good. So at any time at most one solve holds
the setting, and restores it; the others run along. One that outlasts it gets the caller's threads: slower, never wrong.

threadpoolctl is a dependency of scikit-learn, so it is always there.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock

from threadpoolctl import ThreadpoolController

# Features from which on LAPACK gains from a second thread.
_LARGE = 300

_held = Lock()


@cache
def _controller(with_scipy: bool) -> ThreadpoolController:
    # Looking up the loaded libraries takes milliseconds: once is enough, and once more when SciPy has brought its own.
    return ThreadpoolController()


@contextmanager
def blas_threads_for(p: int) -> Iterator[None]:
    """One BLAS thread inside the `with` if matrices of p features are too small to share."""
    if p >= _LARGE or not _held.acquire(blocking=False):
        yield
        return
    try:
        with _controller("scipy.linalg" in sys.modules).limit(limits=1, user_api="blas"):
            yield
    finally:
        _held.release()
