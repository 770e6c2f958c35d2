"""Reading, judging and writing at once: the next part is made, or the last one written, while one is worked on."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")
# From so many rows on it pays to do several things at once, and to hold BLAS to one thread meanwhile.
MANY = 100_000


def made_ahead(items: Iterator[Item]) -> Iterator[Item]:
    """The same items, of which one is made in a thread while the one before is worked on; no more than that."""
    # Not needed for small tables.
    from concurrent.futures import ThreadPoolExecutor

    end = object()
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, items, end)
        try:
            while (item := coming.result()) is not end:
                coming = pool.submit(next, items, end)
                yield item  # type: ignore[misc]  # not the end
        finally:
            # Whoever stops early leaves one to be made, and nobody to hear of it.
            with contextlib.suppress(Exception):
                coming.result()
            close = getattr(items, "close", None)
            if close is not None:
                close()


def used_behind(items: Iterable[Item], use: Callable[[Item], None]) -> None:
    """Use one item after the other, each in a thread while the next is made; what it raises is raised here."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        used = None
        for item in items:
            if used is not None:
                used.result()
            used = pool.submit(use, item)
        if used is not None:
            used.result()
