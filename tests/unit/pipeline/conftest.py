"""A small table with a rule, in memory."""

from __future__ import annotations

import numpy as np
import pytest

from aspca.tables.memory import MemoryTable, make_array_table


@pytest.fixture(scope="package")
def table() -> MemoryTable:
    """Rows 0 to 299 obey b = 2 a and c = 5; rows 100, 101 and 200 do not."""
    rng = np.random.default_rng(5)
    a = rng.normal(size=300)
    values = np.column_stack([a, 2 * a + 0.01 * rng.normal(size=300), 5 + 0.01 * rng.normal(size=300), a**2])
    values[[100, 101], 1] += 1.0
    values[200, 2] -= 0.5
    # Times, one a minute.
    everything = np.column_stack([values, 60.0 * np.arange(300)])
    return make_array_table(
        "memory",
        ("a", "b", "c", "d", "when"),
        everything,
        host=[f"=web-{i}" for i in range(300)],
        kind=["bad" if i in (100, 101, 200) else "ok" for i in range(300)],
    )


@pytest.fixture(scope="package")
def values(table: MemoryTable) -> np.ndarray:
    """Its features a, b, c and d (300, 4)."""
    return np.column_stack([table.content[name].numbers for name in "abcd"])
