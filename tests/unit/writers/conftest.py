"""A table and a model to be written."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from aspca import ASPCA


@pytest.fixture(scope="session")
def table() -> pd.DataFrame:
    """200 rows of 4 features, one nearly the sum of two others."""
    a, b, c, noise = np.random.default_rng(7).normal(size=(4, 200))
    return pd.DataFrame({"a": a, "b": b, "c": c, "sum": a + b + 0.01 * noise})


@pytest.fixture(scope="session")
def fitted(table: pd.DataFrame) -> ASPCA:
    return ASPCA(n_components=1).fit(table)
