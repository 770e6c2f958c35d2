"""How much memory this process may address (``ulimit -v``): with too little, libraries end it without a word."""

from __future__ import annotations

import math
import sys

# Measured, of libraries that have read a small file: 1.3 GB with DuckDB, 3.0 GB with pyarrow, which keeps much for
# later.
LEAST = 3 * 2**29
LEAST_WITH_ARROW = 3 * 2**30


def address_space() -> float:
    """Bytes; infinity where there is no limit."""
    if sys.platform == "win32":
        return math.inf
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return math.inf if limit == resource.RLIM_INFINITY else limit


def refuse_small_address_space(least: int) -> None:
    """Raise MemoryError if there are fewer bytes than that: before a library is loaded that would crash."""
    if address_space() < least:
        raise MemoryError(
            f"The limit on the address space of this process (ulimit -v) is {address_space() / 1024:,.0f} kB, but this "
            f"needs {least // 1024:,} kB at least; raise it."
        )
