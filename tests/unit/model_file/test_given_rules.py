"""Rules that the user gave, in model files: the same when read, and nothing forged beside them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from aspca import ASPCA
from aspca.estimators.stored import load, save
from aspca.model_file.json_text import ModelFileError

RULES = ["total = a + b", "[c %] = 1"]


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    a, b, c, noise = np.random.default_rng(2).normal(size=(4, 150))
    return pd.DataFrame({"total": a + b + 0.1 * noise + 0.02, "a": a, "b": b, "c %": 1.05 + c})


@pytest.fixture(scope="module")
def model(rows: pd.DataFrame) -> ASPCA:
    return ASPCA(rules=RULES).fit(rows)


@pytest.mark.parametrize("options", [{}, {"private": True}, {"moments": False}, {"private": True, "moments": False}])
def test_it_is_the_same_when_read(model: ASPCA, rows: pd.DataFrame, tmp_path: Path, options: dict[str, bool]) -> None:
    path = tmp_path / "model.json"
    save(model, path, **options)
    for _ in range(2):
        read = load(path)
        assert read.rules == RULES
        assert [str(rule) for rule in read.rules_] == [str(rule) for rule in model.rules_]
        for one, other in zip(read.rules_, model.rules_, strict=True):
            assert (one.standing is None) == (other.standing is None)
            if one.standing is not None and other.standing is not None:
                assert one.standing.kept == other.standing.kept
                assert one.standing.offset == other.standing.offset
        # A private file tells quantiles of columns in coarse steps.
        coarse = 0.15 if "private" in options else 0.0
        for one, other in (
            (read.score_samples, model.score_samples),
            (read.decision_function, model.decision_function),
        ):
            np.testing.assert_allclose(one(rows), other(rows), rtol=coarse, atol=coarse * model.threshold_)
        assert np.array_equal(read.transform(rows), model.transform(rows))
        save(read, path)
    if not options:
        assert [rule.given for rule in read.partial_fit(rows).rules_[:2]] == [True, True]


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("settings", "rules"), ["total = a + b"], "holds is a list of 2, but must be a list of 1"),
        (("settings", "rules"), ["total = a + b", "zzz = 1"], "settings.rules is one that cannot"),
        (("settings", "rules"), ["total = a + b", "total = a + b"], "says the same as"),
        (("settings", "rules"), ["total = a + 2 b", "[c %] = 1"], "must be those of the rules given first"),
        (("settings", "rules"), ["total = a + b", "[c %] = 9"], "a point within the spread of the rules that hold"),
        (("settings", "rules"), ["total = a + b", 3], "settings.rules[1] is 3, but must be a text"),
        (("settings", "rules"), ["a = 1"] * 9, "rules that can be read"),
        (("settings", "rules"), ["total = a + b" + 30_000 * " "], "settings.rules"),
        (("settings", "score"), "spe", "settings.rules is a list of 2, but must be empty, as the score has no"),
        (("holds",), [True, 1], "holds[1] is 1, but must be true or false"),
        (("holds",), [False, False], "space.shift is a list, but must be null where no rule that was given holds"),
        (("kept",), [0.5, 1.5], "kept[1] is 1.5"),
        (("kept",), [0.5], "kept is a list of 1"),
        (("space", "shift"), [1e9, 0.0, 0.0, 0.0], "space.shift[0] is 1000000000.0"),
        (("space", "shift"), [5.0, 0.0, 0.0, 0.0], "a point within the spread of the rules that hold"),
        (("space", "shift"), [0.0], "space.shift is a list of 1"),
    ],
)
def test_what_is_forged_is_refused(
    model: ASPCA, tmp_path: Path, write: Callable[..., Path], path: tuple[str, ...], value: Any, said: str
) -> None:
    save(model, tmp_path / "whole.json")
    content = json.loads((tmp_path / "whole.json").read_text())
    assert content["space"]["shift"] is not None
    (content[path[0]] if path[1:] else content)[path[-1]] = value
    with pytest.raises(ModelFileError) as caught:
        load(write(content))
    message = str(caught.value)
    assert said in message
    assert message.endswith(".")
    assert "\n" not in message
