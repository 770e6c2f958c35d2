"""Models of prepared columns saved by earlier releases load, and say what they said then."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from aspca import load, save

HERE = Path(__file__).parent
STORED = sorted(HERE.glob("prepared-v*/*.model.json"))


def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_prepared_v1", HERE / "make_prepared_v1.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_there_are_stored_models() -> None:
    assert len(STORED) >= 4


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.name.removesuffix(".model.json"))
def test_a_stored_model_says_what_it_said(path: Path, tmp_path: Path) -> None:
    expected = json.loads(path.with_name(path.name.replace(".model.", ".expected.")).read_text())
    model, judged = load(path), maker().rows(expected["gaps"])
    save(model, tmp_path / "again.json")
    for one in (model, load(tmp_path / "again.json")):
        # BLAS may sum in another order on another machine.
        np.testing.assert_allclose(-one.score_samples(judged), expected["scores"], rtol=1e-10, atol=1e-12)
        assert one.predict(judged).tolist() == expected["predictions"]
        assert one.threshold_ == expected["threshold"]
        assert [str(rule) for rule in one.rules_] == expected["rules"]
        why = one.explain(judged)
        assert why.share_of_rules.tolist() == expected["shares"]
        assert (why.anomalies == (np.array(expected["predictions"]) == -1)).all()
        for parts in (why.rule_contributions, why.feature_contributions):
            assert (parts >= 0.0).all()
            np.testing.assert_allclose(parts.sum(axis=1), expected["scores"], rtol=1e-9, atol=1e-12)
        assert np.array_equal(one.score_samples(judged), model.score_samples(judged))
