"""What to fit, from a few options: the rest is as in `ASPCA`, which scikit-learn need not be loaded for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aspca.jobs.errors import RequestError
from aspca.settings import DEFAULTS, PAPER, Settings, check_parameters

PRESETS: dict[str, dict[str, Any]] = {"paper": dict(PAPER)}


def parameters_of(given: Mapping[str, Any], preset: str | None = None, *, calibrated: bool = False) -> dict[str, Any]:
    """All parameters of `ASPCA`: those given (not None), else the preset's, else the defaults.

    `calibrated`: there are rows kept out of the fit, which a conformal limit needs and no other takes.

    Raises
    ------
    RequestError
        One of them cannot be used.
    """
    if preset is not None and preset not in PRESETS:
        raise RequestError(f"--preset must be one of {', '.join(PRESETS)}, got {preset!r}.")
    chosen = {name: value for name, value in given.items() if value is not None}
    parameters = {**DEFAULTS, **(PRESETS[preset] if preset else {}), **chosen}
    try:
        check_parameters(parameters)
    except ValueError as error:
        raise RequestError(_in_options(str(error))) from None
    conformal = parameters["limit"] == "conformal" and parameters["contamination"] == "auto"
    if conformal and not calibrated:
        raise RequestError(
            "--limit conformal needs normal rows kept out of the fit: give a file of them by --calibrate."
        )
    if calibrated and not conformal:
        raise RequestError("--calibrate is for --limit conformal, without --contamination; leave it out, or give both.")
    return parameters


def settings_of(given: Mapping[str, Any], preset: str | None = None, *, calibrated: bool = False) -> Settings:
    """The settings of a fit; see `parameters_of`."""
    return Settings.of(parameters_of(given, preset, calibrated=calibrated))


def number_or_word(text: str | None) -> int | float | str | None:
    """An option that takes a number or a word such as ``auto``."""
    if text is None:
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _in_options(sentence: str) -> str:
    """A sentence that begins with a parameter's name, with the option's instead."""
    word, space, rest = sentence.partition(" ")
    return f"--{word.replace('_', '-')}{space}{rest}" if word in DEFAULTS else sentence
