"""Models to save: small, but with everything a file must hold."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from aspca import ASPCA
from aspca.model_file.json_text import seal

HOSTILE = ("a", "b]\n\u2028", '"c\\', "</script>", "\x00\U0001f600", "[d]")


@pytest.fixture(scope="session")
def table() -> pd.DataFrame:
    """200 rows of 6 features with hostile names: a duplicate, a sum, a constant, and free ones."""
    rng = np.random.default_rng(7)
    a, b = rng.normal(size=(2, 200))
    columns = [a, b, a + 0.05 * rng.normal(size=200), np.full(200, 3.0), 2.0 * a, 100.0 + a + b]
    return pd.DataFrame(np.column_stack(columns), columns=list(HOSTILE))


@pytest.fixture(scope="session")
def fitted(table: pd.DataFrame) -> ASPCA:
    """A calibrated model with every optional part but those that a file may leave out."""
    model = ASPCA(n_components=4, limit="conformal", level=0.9).fit(table[:150])
    model.calibrate(table[150:])
    model.check_rules(table[150:])
    # Asked for, so that files hold them.
    assert len(model.components_) == 4
    return model


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a content to a file; its checksum is right."""

    def write(content: dict[str, Any], name: str = "model.json") -> Path:
        path = tmp_path / name
        path.write_bytes(seal({key: value for key, value in content.items() if key != "checksum"}))
        return path

    return write


@pytest.fixture
def content(fitted: ASPCA, tmp_path: Path) -> dict[str, Any]:
    """What the file of `fitted` holds."""
    from aspca.estimators.stored import save

    save(fitted, tmp_path / "whole.json")
    found: dict[str, Any] = json.loads((tmp_path / "whole.json").read_text())
    return found
