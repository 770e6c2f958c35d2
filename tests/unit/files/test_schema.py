"""The published schema describes the files that are written, and no others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from aspca.judging.scores import SCORES
from jsonschema import Draft202012Validator

from aspca import ASPCA
from aspca.estimators.stored import save
from aspca.files.encode import FORMAT, SETTINGS, VERSION
from aspca.judging.alarms import ALARMS
from aspca.settings import LIMITS, ROTATIONS, ROUNDINGS, SCALINGS, VARIANTS

SCHEMA: dict[str, Any] = json.loads((files("aspca.files") / "model.schema.json").read_text())
# Settings that files of earlier releases do not have.
LATER = {"rotation"}
GOLDEN = Path(__file__).parents[2] / "compat" / "v1"


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for value in schema.values():
            yield from objects(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from objects(value)


def test_it_is_a_schema_that_refuses_unknown_keys() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    found = list(objects(SCHEMA))
    assert len(found) == 14
    for each in found:
        assert each["additionalProperties"] is False
        later = LATER if each is SCHEMA["properties"]["settings"] else set()
        assert set(each["required"]) == set(each["properties"]) - later


def test_it_knows_the_same_words_as_the_code() -> None:
    at = SCHEMA["properties"]
    settings = at["settings"]["properties"]
    assert (at["format"]["const"], at["version"]["const"]) == (FORMAT, VERSION)
    assert set(settings) == set(SETTINGS)
    words = {
        "variant": VARIANTS,
        "rounding": ROUNDINGS,
        "rotation": ROTATIONS,
        "scaling": SCALINGS,
        "score": SCORES,
        "alarm": ALARMS,
    }
    for name, allowed in words.items():
        assert set(settings[name]["enum"]) == set(allowed)
    assert set(SCHEMA["$defs"]["limit_name"]["anyOf"][0]["enum"]) == set(LIMITS)


@pytest.mark.parametrize("options", [{}, {"private": True}, {"moments": False}, {"private": True, "moments": False}])
def test_files_follow_it(options: dict[str, bool], fitted: ASPCA, table: pd.DataFrame, tmp_path: Path) -> None:
    few = ASPCA(n_components=2, limit="conformal", rule_limit=0.5, time_budget=float("inf")).fit(table)
    # Three rows can promise nothing at this level: the limit is infinite.
    few.calibrate(table[:3])
    assert few.threshold_ == float("inf")
    for model in (fitted, few, ASPCA(variant="F", contamination=0.1).fit(table)):
        save(model, tmp_path / "model.json", **options)
        Draft202012Validator(SCHEMA).validate(json.loads((tmp_path / "model.json").read_text()))


def test_stored_models_follow_it() -> None:
    stored = sorted(GOLDEN.glob("*.model.json"))
    assert stored
    for path in stored:
        Draft202012Validator(SCHEMA).validate(json.loads(path.read_text()))
