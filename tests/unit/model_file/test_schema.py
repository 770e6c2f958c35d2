"""The published schema describes the files that are written, and no others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from jsonschema import Draft202012Validator

from aspca import ASPCA, Preprocessor
from aspca.estimators.stored import save
from aspca.identities.formula import DIGITS, FLOATS, FRACTIONS, FUNCTIONS, WHOLE
from aspca.identities.resolution import ALL_DIGITS, CONTINUOUS, Resolution
from aspca.model_file.encode import FORMAT, VERSION
from aspca.settings import LIMITS, SETTINGS
from zoo import with_gaps

SCHEMA: dict[str, Any] = json.loads((files("aspca.model_file") / "model.schema.json").read_text())


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
    assert len(found) >= 23
    for each in found:
        assert each["additionalProperties"] is False
        assert set(each["required"]) == set(each["properties"])


def words_of(schema: Any) -> set[str]:
    """The texts that a part of the schema allows."""
    if isinstance(schema, list):
        return set().union(*map(words_of, schema)) if schema else set()
    if not isinstance(schema, dict):
        return set()
    if "$ref" in schema:
        return words_of(SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]])
    own = {word for word in [*schema.get("enum", []), schema.get("const")] if isinstance(word, str)}
    return own | words_of(schema.get("anyOf", []))


def test_it_knows_the_same_words_as_the_code() -> None:
    at = SCHEMA["properties"]
    settings = at["settings"]["properties"]
    assert (at["format"]["const"], at["version"]["const"]) == (FORMAT, VERSION) == ("aspca-model", 6)
    assert list(settings) != []
    assert set(settings) == {setting.name for setting in SETTINGS}
    # Infinity is a word in JSON.
    beside = {"time_budget": {"Infinity"}}
    for setting in SETTINGS:
        assert words_of(settings[setting.name]) == set(setting.words) | beside.get(setting.name, set()), setting.name
        allows = Draft202012Validator(settings[setting.name] | {"$defs": SCHEMA["$defs"]}).is_valid
        assert allows(setting.default)
        assert allows(None) == setting.optional
        if setting.least is not None:
            assert allows(0.5) == setting.allows(0.5) or setting.whole, setting.name
            assert not allows(-1.0)
        assert not allows("neither")
    assert set(SCHEMA["$defs"]["limit_name"]["anyOf"][0]["enum"]) == set(LIMITS)


def test_it_knows_the_same_identities_as_the_code() -> None:
    identity = SCHEMA["$defs"]["identity"]["properties"]
    column, function, exponent, sign = SCHEMA["$defs"]["factors"]["items"]["prefixItems"]
    assert (column, function["enum"]) == ({"type": "integer", "minimum": 0}, list(FUNCTIONS))
    assert identity["tier"]["enum"] == [FLOATS, FRACTIONS, DIGITS, WHOLE]
    allows = Draft202012Validator(exponent).is_valid
    assert [allows(value) for value in (1, -0.5, 1e6, 0, 0.0, -0.0, 1.1e6, "1", None)] == [True] * 3 + [False] * 6
    assert [Draft202012Validator(sign).is_valid(value) for value in (1.0, -1, 0, "1")] == [True, True, False, False]
    decimals, significant, *flags = SCHEMA["properties"]["identities"]["properties"]["resolutions"]["items"][
        "prefixItems"
    ]
    assert (decimals["maximum"], significant["maximum"]) == (CONTINUOUS, ALL_DIGITS)
    assert len(flags) + 2 == len(fields(Resolution))


@pytest.mark.parametrize("options", [{}, {"private": True}, {"moments": False}, {"private": True, "moments": False}])
def test_files_follow_it(options: dict[str, bool], fitted: ASPCA, table: pd.DataFrame, tmp_path: Path) -> None:
    few = ASPCA(n_components=2, limit="conformal", time_budget=float("inf")).fit(table)
    # Three rows can promise nothing at this level: the limit is infinite.
    few.calibrate(table[:3])
    assert few.threshold_ == float("inf")
    for model in (fitted, few, ASPCA(variant="F", contamination=0.1).fit(table)):
        save(model, tmp_path / "model.json", **options)
        Draft202012Validator(SCHEMA).validate(json.loads((tmp_path / "model.json").read_text()))


@pytest.mark.parametrize("score", ["complete", "standardized", "spe"])
def test_files_of_tables_with_gaps_follow_it(score: str, table: pd.DataFrame, tmp_path: Path) -> None:
    gapped = pd.DataFrame(with_gaps(table.to_numpy(), 0.05), columns=table.columns)
    model = ASPCA(n_components=3, score=score, preprocessor=Preprocessor(missing="allow")).fit(gapped)
    for private in (False, True):
        save(model, tmp_path / "model.json", private=private)
        Draft202012Validator(SCHEMA).validate(json.loads((tmp_path / "model.json").read_text()))
