"""The estimator's parameters: each refused in one sentence that says what is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from aspca.judging.alarms import ALARMS
from aspca.judging.limits import LIMITS, check_level
from aspca.judging.scores import SCORES
from aspca.subspace.result import ROTATIONS, ROUNDINGS, VARIANTS
from aspca.subspace.scaling import SCALINGS

# What the paper did; it chose the number of components and its lambda by hand.
PAPER = {"score": "spe", "rounding": "dominant", "scaling": "maxabs", "variant": "BG", "rotation": "all"}


class ParameterOnly:
    """A constructor parameter that is no attribute.

    scikit-learn takes an attribute named `score` for a method. The parameter is read through `get_params`.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __set__(self, instance: object, value: object) -> None:
        vars(instance)[self.name] = value

    def __get__(self, instance: object, owner: type | None = None) -> object:
        raise AttributeError(f"{self.name!r} is a parameter, not a method: read it with get_params().")


def check_parameters(given: Mapping[str, Any]) -> None:
    """Raise ValueError for the first parameter that cannot be used."""
    n, alpha, contamination = given["n_components"], given["alpha"], given["contamination"]
    if n != "auto" and not (_is_real(n) and np.isfinite(float(n)) and float(n) == int(n) >= 1):
        raise ValueError(f'n_components must be "auto" or an integer of at least 1, got {n!r}.')
    if alpha != "auto" and not (_is_real(alpha) and 0 <= float(alpha) < np.inf):
        raise ValueError(f'alpha must be "auto" or a finite number >= 0, got {alpha!r}.')
    if contamination != "auto" and not (_is_real(contamination) and 0 < float(contamination) <= 0.5):
        raise ValueError(f'contamination must be "auto" or a number in (0, 0.5], got {contamination!r}.')
    level = given["level"]
    for name in ("limit", "rule_limit"):
        limit = given[name]
        if not (limit in LIMITS if isinstance(limit, str) else _is_real(limit) and 0 <= float(limit) < np.inf):
            raise ValueError(f"{name} must be one of {', '.join(LIMITS)}, or a finite number >= 0, got {limit!r}.")
    if not _is_real(level):
        raise ValueError(f"level must be a number between 0 and 1, got {level!r}.")
    check_level(float(level))
    cap = given["max_features"]
    if cap is not None and not (_is_real(cap) and float(cap).is_integer() and cap >= 1):
        raise ValueError(f"max_features must be None or an integer of at least 1, got {cap!r}.")
    if cap is not None and given["variant"] == "G":
        raise ValueError("max_features raises alpha, which variant G does not use; take another variant.")
    tol, max_iter, time_budget = given["tol"], given["max_iter"], given["time_budget"]
    if not (_is_real(tol) and 0 < tol < 1):
        raise ValueError(f"tol must be a number between 0 and 1, got {tol!r}.")
    if not (_is_real(max_iter) and float(max_iter).is_integer() and max_iter >= 1):
        raise ValueError(f"max_iter must be an integer of at least 1, got {max_iter!r}.")
    if time_budget is not None and not (_is_real(time_budget) and time_budget >= 0):
        raise ValueError(f"time_budget must be None or seconds >= 0, got {time_budget!r}.")
    for name, allowed in (
        ("variant", VARIANTS),
        ("rounding", ROUNDINGS),
        ("rotation", ROTATIONS),
        ("scaling", SCALINGS),
        ("score", SCORES),
        ("alarm", ALARMS),
    ):
        if given[name] not in allowed:
            raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {given[name]!r}.")


def _is_real(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
