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


def name_of(path: Path) -> str:
    return f"{path.parent.name}-{path.name.removesuffix('.model.json')}"


def expected_of(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.with_name(path.name.replace(".model.", ".expected.")).read_text())
    return found


def rows_of(model: ASPCA, expected: dict[str, Any]) -> Any:
    rows = np.array(expected["rows"])
    return pd.DataFrame(rows, columns=model.feature_names_in_) if hasattr(model, "feature_names_in_") else rows


def number(value: float | str) -> float:
    return float(value)


def close(found: Any, expected: list[Any], rtol: float = 1e-12) -> None:
    # BLAS may sum in another order on another machine: what is zero but for rounding is zero, or other rounding.
    wanted = np.array(expected, dtype=np.float64)
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=1e-12 * float(np.abs(wanted).max(initial=0.0)))


def judges_as_it_did(model: ASPCA, rows: Any, expected: dict[str, Any]) -> None:
    # Other parameters that came later have their defaults.
    assert model.get_params() == ASPCA().get_params() | BEFORE | expected["parameters"]
    close(-model.score_samples(rows), expected["scores"])
    close(model.transform(rows), expected["transform"])
    assert model.predict(rows).tolist() == expected["predictions"]
    assert model.threshold_ == number(expected["threshold"])
    assert model.rule_limits_.tolist() == [number(value) for value in expected["rule_limits"]]
    assert [str(rule) for rule in model.rules_] == expected["rules"]


def test_there_are_stored_models() -> None:
    assert len(STORED) >= 11
    assert {json.loads(path.read_text())["version"] for path in STORED} == {1}


@pytest.mark.parametrize("path", STORED, ids=name_of)
def test_a_stored_model_says_what_it_said(path: Path) -> None:
    expected, model = expected_of(path), load(path)
    rows = rows_of(model, expected)
    judges_as_it_did(model, rows, expected)
    if json.loads(path.read_text())["training"]["scatter"] is None:
        with pytest.raises(ValueError, match=r"saved with moments=False, so it does not hold the covariance"):
            model.t2(rows)
    elif model.n_components_ == 4:
        # Exact directions beside fewer components count by now: what stood still may move.
        np.testing.assert_allclose(model.t2(rows), expected["t2"], rtol=1e-8)
    else:
        assert (model.t2(rows) >= np.array(expected["t2"]) * (1.0 - 1e-8)).all()


@pytest.mark.parametrize("path", STORED, ids=name_of)
def test_its_explanation_agrees_with_its_verdicts(path: Path) -> None:
    expected, model = expected_of(path), load(path)
    rows = rows_of(model, expected)
    why = model.explain(rows)
    flagged = np.array(expected["predictions"]) == -1
    assert why.anomalies.tolist() == flagged.tolist()
    assert (model.decision_function(rows) < 0).tolist() == flagged.tolist()
    assert [" is an anomaly: " in why.text(row) for row in range(len(rows))] == flagged.tolist()
    # Then each score was the sum over the components, and nothing lay outside of them.
    assert (why.outside == 0.0).all()
    for parts in (why.rule_contributions, why.feature_contributions):
        assert (parts >= 0.0).all()
        close(parts.sum(axis=1), expected["scores"], rtol=1e-9)
    squares = np.square(np.array(expected["transform"]))
    limits = np.array([number(value) for value in expected["rule_limits"]])
    clear = np.abs(squares - limits) > 1e-9 * np.abs(squares)
    assert np.array_equal(why.broken[clear], (squares > limits)[clear])


@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize("path", STORED, ids=name_of)
def test_saved_again_in_the_format_of_today_it_still_does(path: Path, private: bool, tmp_path: Path) -> None:
    expected, model = expected_of(path), load(path)
    rows = rows_of(model, expected)
    save(model, tmp_path / "again.json", private=private)
    assert json.loads((tmp_path / "again.json").read_text())["version"] == 2
    again = load(tmp_path / "again.json")
    judges_as_it_did(again, rows, expected)
    assert np.array_equal(again.score_samples(rows), model.score_samples(rows))
    assert np.array_equal(again.decision_function(rows), model.decision_function(rows))
    texts, whys = again.explain(rows), model.explain(rows)
    for row in range(len(rows)):
        told, before = texts.text(row), whys.text(row)
        if private:
            # What was seen of each column such a model does not know: it may propose what others would not.
            told, before = (text.partition(" It would hold")[0] for text in (told, before))
        assert told == before
