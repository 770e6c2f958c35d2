"""A small table with a rule, in memory."""

from __future__ import annotations

import numpy as np
import pytest

from aspca.jobs.table import ArrayTable


@pytest.fixture(scope="package")
def table() -> ArrayTable:
    """Rows 0 to 299 obey b = 2 a and c = 5; rows 100, 101 and 200 do not."""
    rng = np.random.default_rng(5)
    a = rng.normal(size=300)
    values = np.column_stack([a, 2 * a + 0.01 * rng.normal(size=300), 5 + 0.01 * rng.normal(size=300), a**2])
    values[[100, 101], 1] += 1.0
    values[200, 2] -= 0.5
    # Times, one a minute.
    everything = np.column_stack([values, 60.0 * np.arange(300)])
    texts = {
        "host": [f"=web-{i}" for i in range(300)],
        "kind": ["bad" if i in (100, 101, 200) else "ok" for i in range(300)],
    }
    return ArrayTable("memory", ("a", "b", "c", "d", "when"), everything, texts)
