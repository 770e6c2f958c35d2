"""Models saved by earlier releases load, and say what they said then. These files are never made again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from aspca import ASPCA
from aspca.estimators.stored import load, save

# Parameters that came later, where what was done before is not the default now.
BEFORE = {"rotation": "all"}
STORED = sorted(Path(__file__).parent.glob("v*/*.model.json"))


def test_there_are_stored_models() -> None:
    assert len(STORED) >= 11


def number(value: float | str) -> float:
    return float(value)


def close(found: Any, expected: list[Any]) -> None:
    # BLAS may sum in another order on another machine.
    wanted = np.array(expected, dtype=np.float64)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12 * float(np.abs(wanted).max(initial=0.0)))


@pytest.mark.parametrize("path", STORED, ids=lambda path: f"{path.parent.name}-{path.name.removesuffix('.model.json')}")
def test_a_stored_model_says_what_it_said(path: Path, tmp_path: Path) -> None:
    expected = json.loads(path.with_name(path.name.replace(".model.", ".expected.")).read_text())
    model = load(path)
    rows: Any = np.array(expected["rows"])
    if hasattr(model, "feature_names_in_"):
        rows = pd.DataFrame(rows, columns=model.feature_names_in_)
    # Other parameters that came later have their defaults.
    assert model.get_params() == ASPCA().get_params() | BEFORE | expected["parameters"]
    close(-model.score_samples(rows), expected["scores"])
    close(model.transform(rows), expected["transform"])
    assert model.predict(rows).tolist() == expected["predictions"]
    assert model.threshold_ == number(expected["threshold"])
    assert model.rule_limits_.tolist() == [number(value) for value in expected["rule_limits"]]
    assert [str(rule) for rule in model.rules_] == expected["rules"]
    why = model.explain(rows)
    assert [why.text(i) for i in range(len(rows))] == expected["texts"]
    if json.loads(path.read_text())["training"]["scatter"] is not None:
        assert [str(rule) for rule in model.canonical_rules_] == expected["canonical_rules"]
        np.testing.assert_allclose(model.t2(rows), expected["t2"], rtol=1e-8)
    # And it can be saved again, as whatever the format is by now.
    save(model, tmp_path / "again.json")
    assert np.array_equal(load(tmp_path / "again.json").score_samples(rows), model.score_samples(rows))
