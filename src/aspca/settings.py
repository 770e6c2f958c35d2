"""Everything that can be set about a model: name, default, what is allowed, what it means. Each is said once, here.

The estimator's defaults and checks, the command's options and their help, the settings part of model files and the
refusals are all drawn from `SETTINGS`. Nothing but the standard library is imported: `--help` must not wait.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from numbers import Real
from textwrap import fill
from typing import Any

VARIANTS = ("F", "B", "FG", "BG", "G")
ROUNDINGS = ("sparse", "dominant")
ROTATIONS = ("levels", "all")
LIFTINGS = ("auto",)
# Of `sparse_subspace`: until all bounds meet, or until most do.
PROOFS = ("full", "quick")
SCALINGS = ("maxabs", "standard", "none")
SCORES = ("complete", "standardized", "spe")
# Those that judge by components, as the paper does.
COMPONENT_SCORES = SCORES[1:]
# From rows that were not fitted where there are rows, from moments where there are none.
AUTO = "auto"
# From scores of the rows fitted, and of rows that are kept out of the fit and given to `calibrate`.
FROM_TRAINING_ROWS, FROM_KEPT_OUT_ROWS = ("quantile",), ("conformal",)
LIMITS = (AUTO, *FROM_TRAINING_ROWS, *FROM_KEPT_OUT_ROWS)

_LARGEST = math.nextafter(math.inf, 0.0)
_ABOVE_ZERO, _BELOW_ONE = math.ulp(0.0), math.nextafter(1.0, 0.0)


@dataclass(frozen=True)
class Setting:
    """One parameter of `ASPCA`."""

    name: str
    default: Any
    allowed: str  # completes "must be ..."
    meaning: str  # in a sentence or two
    words: tuple[str, ...] = ()  # the texts it may be
    least: float | None = None  # the numbers it may be, both included; None: no number
    most: float = _LARGEST
    whole: bool = False  # numbers must be whole
    optional: bool = False  # may be None
    switch: bool = False  # may be True or False
    texts: bool = False  # a list of texts

    def allows(self, value: object) -> bool:
        if value is None:
            return self.optional
        if isinstance(value, str):
            return value in self.words
        if isinstance(value, list | tuple):
            return self.texts and all(isinstance(text, str) for text in value)
        # Truth values are numbers to Python, but not to anybody else.
        if type(value) is bool:
            return self.switch
        if self.least is None or not isinstance(value, Real):
            return False
        number = float(value)
        return self.least <= number <= self.most and (not self.whole or number.is_integer())

    @property
    def head(self) -> str:
        """As numpydoc writes it: name, what is allowed, default."""
        allowed = self.allowed
        if len(self.words) > 1 and not self.switch:
            words = ", ".join(f'"{word}"' for word in self.words)
            allowed = f"{{{words}}}" + ("" if self.least is None else " or a finite number >= 0")
        default = f'"{self.default}"' if isinstance(self.default, str) else f"{self.default}"
        return f"{self.name} : {allowed}, default={default}"

    def check(self, value: object) -> None:
        """Raise ValueError, in a sentence, unless it may be this."""
        if not self.allows(value):
            raise ValueError(f"{self.name} must be {self.allowed}, got {value!r}.")


def _setting(default: Any, allowed: str, meaning: str, *words: str, **more: Any) -> Any:
    """A field of `Settings`; see `Setting` for what it says."""
    return field(default=default, metadata={"allowed": allowed, "meaning": meaning, "words": words, **more})


def _choice(default: str, words: tuple[str, ...], meaning: str) -> Any:
    return _setting(default, f"one of {', '.join(words)}", meaning, *words)


def _share(default: float, meaning: str) -> Any:
    return _setting(default, "a number between 0 and 1", meaning, least=_ABOVE_ZERO, most=_BELOW_ONE)


@dataclass(frozen=True)
class Settings:
    """What to fit, every parameter with its value, its default and what it means."""

    n_components: int | str = _setting(
        "auto",
        '"auto" or an integer of at least 1',
        'How many rules; "auto" finds them among the directions with at most 0.3 of a typical feature\'s variance, and '
        "leaves out what chance explains.",
        "auto",
        least=1,
        whole=True,
    )
    alpha: float | str = _setting(
        "auto",
        '"auto" or a finite number >= 0',
        'Weight of sparsity (the paper\'s lambda divided by n); "auto" is the mean variance of those directions.',
        "auto",
        least=0.0,
    )
    variant: str = _choice("BG", VARIANTS, "How the subspace is found: see the table of variants.")
    rounding: str = _choice(
        "sparse", ROUNDINGS, "How a vector is made of a convex solution: the best sparse one, or the paper's."
    )
    scaling: str = _choice(
        "maxabs",
        SCALINGS,
        "What centred columns are divided by: their largest size (the paper's), their deviation, or nothing.",
    )
    lift: str | None = _setting(
        None,
        'None or "auto"',
        "Whether logarithms and squares of columns are features too, so that a component can say tenursq = tenure^2; "
        '"auto": which columns get which is decided by the rows fitted. For the scores standardized and spe.',
        *LIFTINGS,
        optional=True,
    )
    score: str = _choice(
        "complete",
        SCORES,
        "What is judged: rules, columns and whole rows by their tails (complete), or the components, in units of their "
        "spread (standardized) or plain (spe, the paper's).",
    )
    robust: str | bool = _setting(
        "auto",
        'True or "on", False or "off", or "auto"',
        "Whether cells that look like errors are excluded while means, covariances and relations are learned; they are "
        'judged all the same. "auto" is "on".',
        "auto",
        "on",
        "off",
        switch=True,
    )
    rules: tuple[str, ...] = _setting(
        None,
        "None or a list of equations",
        "Rules that are known, as in total = a + b, rate = 100 part / whole or y = log(x) if kind is bolt: they come "
        "first, judge like those that are found, and are never left out.",
        optional=True,
        texts=True,
    )
    false_discovery_rate: float = _share(
        0.1,
        "The share of the rows classified as errors that may be none (Benjamini and Hochberg, on the training rows).",
    )
    contamination: float | str = _setting(
        "auto",
        '"auto" or a number in (0, 0.5]',
        'The share of the training rows to flag; "auto" leaves it to limit and level.',
        "auto",
        least=_ABOVE_ZERO,
        most=0.5,
    )
    limit: str | float = _setting(
        AUTO,
        f"one of {', '.join(LIMITS)}, or a finite number >= 0",
        "Where the threshold comes from: p-values of training rows by models fitted without them (auto; after "
        "fit_moments p-values of Gaussian rows), training scores as they are (quantile), rows given to calibrate "
        "(conformal), or a number.",
        *LIMITS,
        least=0.0,
    )
    level: float = _share(0.975, "The share of normal rows meant to pass; the others are unusual.")
    max_features: int | None = _setting(
        None,
        "None or an integer of at least 1",
        "At most so many features per component: alpha is raised until none has more.",
        least=1,
        whole=True,
        optional=True,
    )
    rotation: str = _choice(
        "levels",
        ROTATIONS,
        "Which components are made sparse together: those of one level of tightness, or all (the paper's).",
    )
    tol: float = _setting(
        1e-6,
        "a number above 0 and at most 0.01",
        "The relative gap at which a component counts as solved.",
        least=_ABOVE_ZERO,
        most=0.01,
    )
    max_iter: int = _setting(
        5000, "an integer of at least 1", "The most first-order iterations per component.", least=1, whole=True
    )
    time_budget: float | None = _setting(
        None,
        "None or seconds >= 0",
        "Seconds after which the solver takes what it has; the certificates say how far that may be from the best.",
        least=0.0,
        most=math.inf,
        optional=True,
    )

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> Settings:
        """From the parameters of `ASPCA`, checked by their caller."""
        made = {one.name: parameters[one.name] for one in fields(cls)}
        return cls(**{**made, "rules": tuple(made["rules"] or ())})

    @property
    def total(self) -> tuple[str | float, float]:
        """Name (or number) and level of the threshold asked for."""
        if self.contamination != "auto":
            return "quantile", 1.0 - float(self.contamination)
        return self.limit, float(self.level)

    @property
    def excludes_outliers(self) -> bool:
        """Whether cells that look like errors are excluded while relations are learned."""
        return self.robust in (True, "on", "auto")

    @property
    def judges_by_evidence(self) -> bool:
        """Whether rows are judged by tail models, and not by components."""
        return self.score not in COMPONENT_SCORES

    @property
    def needs_rows(self) -> bool:
        """Whether the threshold asked for takes scores of rows."""
        return self.total[0] in FROM_TRAINING_ROWS + FROM_KEPT_OUT_ROWS

    @property
    def needs_training_rows(self) -> bool:
        """Whether it takes those of the rows fitted."""
        return self.total[0] in FROM_TRAINING_ROWS

    @property
    def words(self) -> str:
        """The threshold as the user wrote it."""
        return f"limit={self.limit!r}" if self.contamination == "auto" else f"contamination={self.contamination}"


SETTINGS: tuple[Setting, ...] = tuple(Setting(one.name, one.default, **one.metadata) for one in fields(Settings))
# Settings for rows that are at hand, and not for sources that are read in passes.
IN_MEMORY = ("lift",)
BY_NAME = {setting.name: setting for setting in SETTINGS}
DEFAULTS: dict[str, Any] = {setting.name: setting.default for setting in SETTINGS}
# What the paper did; it chose the number of components and its lambda by hand.
PAPER: dict[str, Any] = {
    "score": "spe",
    "rounding": "dominant",
    "scaling": "maxabs",
    "variant": "BG",
    "rotation": "all",
    "robust": "off",
}
PRESETS = {"paper": PAPER}


def parameters_text(indent: str) -> str:
    """All settings as the parameters of a numpydoc docstring."""
    wrapped = (
        f"{indent}{one.head}\n"
        + fill(one.meaning, 110, initial_indent=indent + "    ", subsequent_indent=indent + "    ")
        for one in SETTINGS
    )
    return "\n".join(wrapped).strip()


def check_parameters(given: Mapping[str, Any]) -> None:
    """Raise ValueError for the first parameter that cannot be used."""
    for setting in SETTINGS:
        setting.check(given[setting.name])
    if given["max_features"] is not None and given["variant"] == "G":
        raise ValueError("max_features raises alpha, which variant G does not use; take another variant.")
    if given["lift"] is not None and given["score"] not in COMPONENT_SCORES:
        allowed = " or ".join(COMPONENT_SCORES)
        raise ValueError(
            f"lift is for scores of components, {allowed}, got score={given['score']!r}: leave it out, or take "
            'ASPCA.paper(lift="auto").'
        )
    if given["rules"] and given["score"] in COMPONENT_SCORES:
        raise ValueError(f"score must be {SCORES[0]} where rules are given, got {given['score']!r}.")
