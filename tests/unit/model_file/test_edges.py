"""What a file may just about hold: read as it stands, and the same when it is saved again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from aspca import ASPCA, Preprocessor
from aspca.estimators.stored import load, save
from aspca.model_file.json_text import ModelFileError

Write = Callable[..., Path]


def content_of(model: ASPCA, folder: Path) -> dict[str, Any]:
    save(model, folder / "saved.json")
    found: dict[str, Any] = json.loads((folder / "saved.json").read_text())
    return found


def kept(content: dict[str, Any], write: Write, folder: Path) -> ASPCA:
    """The model of an altered content, of which nothing is lost on the way."""
    model = load(write(content))
    again = content_of(model, folder)
    assert {**again, "checksum": ""} == {**content, "checksum": ""}
    return model


def test_no_row_is_an_error(content: dict[str, Any], write: Write, tmp_path: Path) -> None:
    content["thresholds"]["error"] = "Infinity"
    kept(content, write, tmp_path)
    content["thresholds"]["error"] = "-Infinity"
    with pytest.raises(ModelFileError, match=r"thresholds\.error is '-Infinity'"):
        load(write(content))


def test_excluded_cells_of_either_sign(content: dict[str, Any], write: Write, tmp_path: Path) -> None:
    content["excluded"] = {
        "cells": [1, 3, 0, 0, 0, 0],
        "shown": {"rows": [7, 7], "columns": [0, 1], "values": [-1e6, 1e6], "expected": [-0.5, 0.5]},
        "repeated": [{"column": 1, "value": -999.0, "times": 2}],
    }
    kept(content, write, tmp_path)


def test_nothing_was_excluded(content: dict[str, Any], write: Write, tmp_path: Path) -> None:
    content["excluded"] = None
    kept(content, write, tmp_path)


def test_evidence_at_its_edges(content: dict[str, Any], write: Write, tmp_path: Path) -> None:
    """A tail of one point that says nothing further out, a distance of nothing, a cap for every column, a law of a
    point."""
    evidence = content["evidence"]
    point = {"middle": -4e150, "unit": 5e-324, "knots": [0.0], "log_p": [0.0], "slopes": [0.0, 1e9]}
    evidence["whole"] = point
    evidence["distance"]["mean"] = [1e9, -1e9, *evidence["distance"]["mean"][2:]]
    evidence["distance"]["root"] = [{"index": [], "value": []}] * len(evidence["distance"]["root"])
    evidence["caps"] = [{"index": [0], "value": ["-Infinity"]}] * len(evidence["caps"][0])
    evidence["law"] |= {"knots": [0.0], "log_p": [0.0], "unusual": 1.0, "error": 1.0, "n_rows": 1}
    kept(content, write, tmp_path)


def test_columns_without_names_are_numbered(table: pd.DataFrame, write: Write, tmp_path: Path) -> None:
    content = content_of(ASPCA(n_components=2).fit(table.to_numpy()), tmp_path)
    assert content["naming"] == "none"
    kept(content, write, tmp_path)
    content["preparation"]["columns"][1]["name"] = "y1"
    with pytest.raises(ModelFileError, match='x0, x1 and so on where naming is "none"'):
        load(write(content))


def test_gaps_that_needed_no_step(table: pd.DataFrame, write: Write, tmp_path: Path) -> None:
    """Nothing was missing, so that nothing had to be estimated."""
    model = ASPCA(n_components=2, preprocessor=Preprocessor(missing="allow")).fit(table)
    content = content_of(model, tmp_path)
    assert content["gaps"] is not None
    content["gaps"]["iterations"] = 0
    kept(content, write, tmp_path)


def test_one_given_rule_holds_and_another_does_not(write: Write, tmp_path: Path) -> None:
    a, b, c, noise = np.random.default_rng(2).normal(size=(4, 150))
    rows = pd.DataFrame({"total": a + b + 0.1 * noise + 0.02, "a": a, "b": b, "c": 50.0 + 0.1 * c + 0.1 * a})
    with pytest.warns(UserWarning, match="The rule you gave, c = 1, does not hold"):
        model = ASPCA(rules=["total = a + b", "c = 1"]).fit(rows)
    content = content_of(model, tmp_path)
    assert content["holds"] == [True, False]
    assert content["space"]["shift"] is not None
    assert np.array_equal(kept(content, write, tmp_path).score_samples(rows), model.score_samples(rows))


def test_two_rows_are_the_fewest(content: dict[str, Any], write: Write, tmp_path: Path) -> None:
    """One row has no variance."""
    content["space"]["n_rows"] = 2
    kept(content, write, tmp_path)
    content["space"]["n_rows"] = 1
    with pytest.raises(ModelFileError, match=r"space\.n_rows is 1, but must be"):
        load(write(content))
