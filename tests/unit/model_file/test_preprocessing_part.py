"""What a file says about columns: kept exactly, and refused in one sentence wherever it was altered into nonsense."""

from __future__ import annotations

import copy
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from aspca import ASPCA, Preprocessor
from aspca.estimators.stored import load, save
from aspca.model_file.errors import ModelFileError

# The alterations of whole files, of this part alone.
_SPEC = importlib.util.spec_from_file_location("mutations", Path(__file__).with_name("test_mutations.py"))
assert _SPEC is not None
assert _SPEC.loader is not None
mutations = importlib.util.module_from_spec(_SPEC)
sys.modules["mutations"] = mutations
_SPEC.loader.exec_module(mutations)
OF_OTHER_PARTS = ("not_orthonormal", "negative_variance", "huge", "rules_of_another_length", "other_metric")
OF_ANY_PART = [one for one in mutations.ALTERATIONS if one.__name__ not in OF_OTHER_PARTS]


def orders(gaps: bool) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    table = pd.DataFrame(
        {
            "price": rng.lognormal(size=120),
            "]\n\u2028": rng.choice(["red", "</script>", "\x00\U0001f600"], 120),
            "size": rng.choice(["s", "m"], 120),
            "ok": rng.random(120) < 0.5,
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 99, 120), unit="D"),
        }
    )
    table["cost"] = 1.2 * table.price
    return table.mask(rng.random(table.shape) < 0.1) if gaps else table


def fitted(gaps: bool) -> ASPCA:
    made = Preprocessor(
        categorical={"]\n\u2028": "one-hot", "size": "codes"},
        transforms={"price": "log", "cost": "sqrt"},
        missing="allow" if gaps else "error",
    )
    return ASPCA(n_components=3, preprocessor=made).fit(orders(gaps))


@pytest.mark.parametrize("gaps", [True, False])
def test_it_is_kept_exactly(gaps: bool, tmp_path: Path) -> None:
    model, table = fitted(gaps), orders(gaps)
    save(model, tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.preprocessor_.plan_ == model.preprocessor_.plan_
    np.testing.assert_array_equal(again.preprocessor_.transform(table), model.preprocessor_.transform(table))
    content = json.loads((tmp_path / "model.json").read_text())["preprocessing"]
    assert [one["kind"] for one in content["columns"]] == ["log", "one-hot", "codes", "boolean", "date", "sqrt"]
    assert content["columns"][1]["levels"] == sorted({"red", "</script>", "\x00\U0001f600"})
    if gaps:
        assert sum(content["gaps"]["missing"]) == np.isnan(model.preprocessor_.transform(table)).sum()
    else:
        assert content["gaps"] is None


@pytest.mark.parametrize("gaps", [True, False])
def test_altered_parts_are_refused_or_harmless(gaps: bool, write: Callable[..., Path], tmp_path: Path) -> None:
    save(fitted(gaps), tmp_path / "whole.json")
    original = json.loads((tmp_path / "whole.json").read_text())
    # Without gaps there are no numbers in it.
    alterations = [one for one in OF_ANY_PART if gaps or one.__name__ not in ("extreme", "nudged")]
    refused = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        content = copy.deepcopy(original)
        content.pop("checksum")
        part = {"preprocessing": content["preprocessing"]}
        mutations.pick(rng, alterations)(part, rng)
        content.pop("preprocessing")
        content.update(part)
        path = write(content)
        try:
            plan = load(path).preprocessor_.plan_
        except ModelFileError as error:
            mutations.assert_one_sentence(str(error), path)
            refused += 1
            continue
        cells = [list(one.levels[:2]) * 2 if one.categorical else np.full(4, 0.5) for one in plan.columns]
        shortest = min(map(len, cells))
        assert np.isfinite(plan.encode([one[:shortest] for one in cells])).all()
    assert refused >= 90


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (
            ("columns", 0, "kind"),
            "ln",
            "preprocessing.columns[0].kind is 'ln', but must be one of number, boolean, date",
        ),
        (("columns", 0, "levels"), ["a"], "must be a list of categories for one-hot and codes, else null"),
        (("columns", 1, "levels"), ["a", "a", "b"], "a list without a category twice"),
        (("columns", 1, "levels"), ["a"], "preprocessing.columns is"),
        (("columns", 0, "name"), "size", "a list without a column twice"),
        (("columns", 0, "name"), "price2", "the features that preprocessing makes"),
        (("missing",), "allow", "an object where values may be missing, null where they may not"),
        (("gaps",), {}, "an object where values may be missing, null where they may not"),
    ],
)
def test_one_wrong_field(path: Any, value: Any, words: str, write: Callable[..., Path], tmp_path: Path) -> None:
    save(fitted(False), tmp_path / "whole.json")
    content = json.loads((tmp_path / "whole.json").read_text())
    at = content["preprocessing"]
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    with pytest.raises(ModelFileError) as caught:
        load(write(content))
    assert words in str(caught.value)
