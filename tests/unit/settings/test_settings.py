"""Each setting is said once, in `SETTINGS`: the estimator, its checks, the docs and model files agree with it."""

from __future__ import annotations

import inspect
import math
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aspca import ASPCA
from aspca.settings import (
    AUTO,
    BY_NAME,
    DEFAULTS,
    LIMITS,
    PAPER,
    SCORES,
    SETTINGS,
    Setting,
    Settings,
    check_parameters,
)

PAGE = (Path(__file__).parents[3] / "docs" / "parameters.md").read_text(encoding="utf-8")
NAMES = [setting.name for setting in SETTINGS]


def test_the_estimator_has_these_and_a_preprocessor() -> None:
    signature = inspect.signature(ASPCA.__init__).parameters
    defaults = {name: one.default for name, one in signature.items() if name != "self"}
    assert defaults == {**DEFAULTS, "preprocessor": None}
    assert ASPCA().get_params() == {**DEFAULTS, "preprocessor": None}
    assert len(set(NAMES)) == len(NAMES)
    assert list(BY_NAME) == NAMES == list(DEFAULTS)
    assert {field.name for field in fields(Settings)} == set(NAMES)


def test_the_docstring_speaks_of_each_with_its_default() -> None:
    told = inspect.getdoc(ASPCA) or ""
    parameters = told.partition("Parameters\n")[2].partition("Attributes\n")[0]
    heads = dict(re.findall(r"^(\w+) : (.*)$", parameters, flags=re.MULTILINE))
    assert set(heads) == {*NAMES, "preprocessor"}
    for setting in SETTINGS:
        shown = f'"{setting.default}"' if isinstance(setting.default, str) else f"{setting.default}"
        assert heads[setting.name].endswith(f"default={shown}"), heads[setting.name]
        if len(setting.words) > 1 and "as `limit`" not in heads[setting.name] and not setting.switch:
            assert set(re.findall(r'"([\w-]+)"', heads[setting.name].partition(", default=")[0])) == set(setting.words)


def test_the_page_of_parameters_has_a_line_for_each() -> None:
    lines = PAGE.partition("| parameter |")[2].partition("\n\n")[0].splitlines()[2:]
    assert lines
    named = [name for line in lines for name in re.findall(r"`(\w+)`", line.split("|")[1])]
    assert len(set(named)) == len(named)
    assert set(named) == {*NAMES, "preprocessor"}
    # Words of a setting that the table quotes are words that it has.
    for line in lines:
        head, said = line.split("|")[1], line.split("|")[2]
        words = {word for name in re.findall(r"`(\w+)`", head) for word in getattr(BY_NAME.get(name), "words", ())}
        quoted = set(re.findall(r'`"([\w-]+)"`', said))
        assert quoted <= words or "preprocessor" in head, line


def wrong_values(setting: Setting) -> list[Any]:
    values: list[Any] = ["", "Auto", {}, object(), float("nan"), complex(1, 0), b"auto"]
    values += [["a = b", 3], ("a = b", None), [["a = b"]]] if setting.texts else [[], ["auto"]]
    values += [] if setting.switch else [True, False]
    values += [] if setting.optional else [None]
    if setting.least is None:
        return [*values, 0.5]
    values += [setting.least - 1.0, -math.inf]
    values += [math.inf] if setting.most < math.inf else []
    values += [setting.most * 2.0] if setting.most < 1e300 else []
    values += [1.5] if setting.whole else []
    return values


@pytest.mark.parametrize("setting", SETTINGS, ids=NAMES)
def test_what_may_not_be_is_refused_in_one_sentence(setting: Setting) -> None:
    for value in wrong_values(setting):
        assert not setting.allows(value)
        with pytest.raises(ValueError, match=f"^{setting.name} must be ") as caught:
            check_parameters({**DEFAULTS, setting.name: value})
        message = str(caught.value)
        assert message == f"{setting.name} must be {setting.allowed}, got {value!r}."
        for word in setting.words:
            assert word in setting.allowed
        with pytest.raises(ValueError, match=f"^{setting.name} must be "):
            ASPCA(**{setting.name: value}).fit(np.eye(3))


@pytest.mark.parametrize("setting", SETTINGS, ids=NAMES)
def test_what_may_be_is_allowed(setting: Setting) -> None:
    assert setting.allows(setting.default)
    values: list[Any] = list(setting.words)
    if setting.least is not None:
        values += [setting.least, setting.most, np.float64(setting.least), (setting.least + min(setting.most, 9.0)) / 2]
    values = [round(value) if setting.whole and not isinstance(value, str) else value for value in values]
    values += [None] if setting.optional else []
    values += [True, False] if setting.switch else []
    values += [[], (), ["x0 = x1"], ("x0 = 0", "x1 = 0")] if setting.texts else []
    for value in values:
        assert setting.allows(value), value
        # Lifted columns are judged by components.
        score = {"score": "spe"} if setting.name == "lift" else {}
        check_parameters({**DEFAULTS, **score, setting.name: value})
    assert setting.meaning.endswith(".")


def test_the_paper_and_what_needs_rows() -> None:
    assert {name: value for name, value in ASPCA.paper().get_params().items() if name in PAPER} == PAPER
    assert PAPER["score"] == "spe"
    for name, value in PAPER.items():
        assert BY_NAME[name].allows(value)
    # An automatic limit takes rows where there are some, and never waits for them.
    assert [name for name in LIMITS if not Settings.of({**DEFAULTS, "limit": name}).needs_rows] == [AUTO]
    for given, total, needs_rows, words in (
        ({}, (AUTO, 0.975), False, "limit='auto'"),
        ({"limit": 0.5}, (0.5, 0.975), False, "limit=0.5"),
        ({"contamination": 0.1}, ("quantile", 0.9), True, "contamination=0.1"),
    ):
        found = Settings.of({**DEFAULTS, **given})
        assert (found.total, found.needs_rows, found.words) == (total, needs_rows, words)
    # Tail models judge by the complete score; cells that look like errors are excluded unless that is switched off.
    assert [Settings.of({**DEFAULTS, "score": one}).judges_by_evidence for one in SCORES] == [True, False, False]
    switches = {"auto": True, "on": True, True: True, "off": False, False: False}
    assert {one: Settings.of({**DEFAULTS, "robust": one}).excludes_outliers for one in switches} == switches


def test_two_settings_that_contradict_each_other() -> None:
    paper = {**DEFAULTS, "score": "spe"}
    for given, sentence in (
        ({**DEFAULTS, "variant": "G", "max_features": 3}, "max_features raises alpha, which variant G does not use; "),
        ({**DEFAULTS, "lift": "auto"}, "lift is for scores of components, standardized or spe, got score="),
        ({**paper, "rules": ["a = b"]}, "score must be complete where rules are given, got 'spe'"),
    ):
        with pytest.raises(ValueError, match=rf"^{sentence}.*\.$"):
            check_parameters(given)
    check_parameters({**paper, "lift": "auto"})
