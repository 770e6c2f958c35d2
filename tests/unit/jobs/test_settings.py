"""The command's defaults are those of `ASPCA`, and wrong options are named as options."""

from __future__ import annotations

import pytest

from aspca import ASPCA
from aspca.jobs.errors import RequestError
from aspca.jobs.settings import DEFAULTS, number_or_word, parameters_of, settings_of
from aspca.settings import Settings


def test_defaults_are_those_of_the_estimator() -> None:
    # What becomes of columns is said by other options.
    assert ASPCA().get_params() == {**DEFAULTS, "preprocessor": None}
    assert settings_of({}) == Settings.of(ASPCA().get_params())


def test_the_paper_preset_is_the_estimators() -> None:
    for given in ({}, {"score": "whitened"}):
        assert {**parameters_of(given, "paper"), "preprocessor": None} == ASPCA.paper(**given).get_params()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"n_components": 0}, "--n-components must be"),
        ({"alpha": "much"}, "--alpha must be"),
        ({"variant": "Z"}, "--variant must be one of"),
        ({"max_features": 0}, "--max-features must be"),
        ({"contamination": 0.9}, "--contamination must be"),
        ({"limit": "conformal"}, "--limit conformal needs normal rows kept out of the fit"),
    ],
)
def test_wrong_options_are_named(given: dict[str, object], words: str) -> None:
    with pytest.raises(RequestError, match=words):
        settings_of(given)


def test_unknown_preset() -> None:
    with pytest.raises(RequestError, match="--preset must be one of paper"):
        settings_of({}, "poster")


def test_numbers_and_words() -> None:
    assert [number_or_word(text) for text in ("3", "0.5", "1e-3", "auto", None)] == [3, 0.5, 1e-3, "auto", None]
    assert isinstance(number_or_word("3"), int)
