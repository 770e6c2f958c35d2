"""Features, settings, components and limits of a model file, each checked before anything is built."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import numpy as np

from aspca.linalg.arrays import frozen
from aspca.model.components import Components
from aspca.model.thresholds import Limit, Thresholds
from aspca.model_file.consistency import check_basis
from aspca.model_file.fields import LARGEST_INTEGER, Field, words_of_infinity
from aspca.model_file.json_text import shown
from aspca.moments.space import ScaledSpace
from aspca.rules.equation_text import LONGEST as LONGEST_RULE
from aspca.settings import AUTO, COMPONENT_SCORES, SETTINGS, Settings
from aspca.sparse_pca.certificate import Certificate
from aspca.sparse_pca.subspace import SparseSubspace

NAMINGS = ("table", "given", "none")
_SUBSPACE = ("alpha", "loadings", "sequence", "rotation", "certificates")
# Loadings are sparse in the file and dense in memory: a small file must not ask for a huge matrix.
LARGEST_MATRIX = 2**25
LARGEST = float(np.finfo(np.float64).max)


def features_of(at: Field) -> tuple[tuple[str, ...], str]:
    """Names, and where they come from."""
    parts = at.members("names", "naming")
    naming = parts["naming"].word(NAMINGS)
    names = tuple(name.text() for name in parts["names"].items(1, LARGEST_MATRIX))
    parts["names"].require(
        len(set(names)) == len(names), "a list without a name twice, since rules are written in names", "one with"
    )
    return names, naming


def settings_of(at: Field, d: int) -> Settings:
    """What was asked for; `d` is the number of components."""
    part = at.members(*(setting.name for setting in SETTINGS))
    found: dict[str, Any] = {}
    for setting in SETTINGS:
        field = part[setting.name]
        value = words_of_infinity(field.value) if setting.most == math.inf else field.value
        huge = isinstance(value, int) and abs(value) > LARGEST_INTEGER
        field.require(setting.allows(value) and not huge, setting.allowed)
        found[setting.name] = value
    part["n_components"].require(found["n_components"] in ("auto", d), f'"auto" or {d}')
    part["max_features"].require(found["max_features"] is None or found["variant"] != "G", 'null where variant is "G"')
    part["rules"].require(
        not found["rules"] or found["score"] not in COMPONENT_SCORES, "null, as the score has no readable rules"
    )
    part["lift"].require(
        found["lift"] is None or found["score"] in COMPONENT_SCORES, "null, as the score is not of components"
    )
    for text in () if part["rules"].absent else part["rules"].items(0, LARGEST_MATRIX):
        text.text(LONGEST_RULE)
    return Settings.of(found)


def n_components_of(at: Field, p: int) -> int:
    """How many components there are."""
    if _unsolved(at):
        return at.members("n_components")["n_components"].integer(1, p)
    loadings = at.members(*_SUBSPACE)["loadings"]
    d = len(loadings)
    loadings.require(1 <= d <= p, f"a list of 1 to {p}")
    return d


def solved_of(at: Field, settings: Settings, p: int, d: int) -> SparseSubspace | None:
    """The components with their certificates; None where nobody had asked for them."""
    if not _unsolved(at):
        return _subspace(at.members(*_SUBSPACE), settings, p, d)
    at.require(settings.judges_by_evidence, "with the loadings, which judge", "without")
    return None


def components_of(
    at: Field, settings: Settings, space: ScaledSpace, d: int, solved: SparseSubspace | None
) -> Components:
    """Those solved, or what they can be found from."""
    if solved is not None:
        return Components.of(solved, settings)
    at.require(space.known_covariance is not None, "with the loadings, as there are no moments", "without")
    return Components(settings, np.asarray(space.plain.covariance), d)


def _unsolved(at: Field) -> bool:
    return isinstance(at.value, dict) and "n_components" in at.value


def _subspace(at: dict[str, Field], settings: Settings, p: int, d: int) -> SparseSubspace:
    """The components and their certificates, as the file has them."""
    steps = p if settings.variant in ("F", "FG") else d
    at["loadings"].require(
        p * steps <= LARGEST_MATRIX,
        f"of at most {LARGEST_MATRIX} loadings, features times steps",
        f"a basis of {steps} steps for {p} features",
    )
    # The lists' lengths first: they say how much memory is needed.
    for name, size in (("sequence", steps), ("certificates", steps), ("rotation", d)):
        at[name].items(size)
    alpha = float(at["alpha"].number(0.0, LARGEST))
    # A cap on the features may raise it.
    if settings.alpha != "auto" and settings.max_features is None:
        at["alpha"].require(alpha == float(settings.alpha), "the settings' alpha")
    certificates = tuple(_certificate(step) for step in at["certificates"].items(steps))
    loadings = at["loadings"].sparse_columns(p, d, 1.0 + 1e-9)
    sequence = at["sequence"].sparse_columns(p, steps, 1.0 + 1e-9)
    rotation = at["rotation"].sparse_columns(d, d, 1.0 + 1e-9)
    check_basis(at, loadings, sequence, rotation)
    return SparseSubspace(
        n_components=d,
        alpha=alpha,
        variant=settings.variant,
        rounding=settings.rounding,
        tol=settings.tol,
        sequence=frozen(sequence),
        rotation=frozen(rotation),
        loadings=frozen(loadings),
        certificates=certificates,
        witness=None,
    )


def _certificate(at: Field) -> Certificate:
    part = at.members(*(field.name for field in fields(Certificate)))
    bounds = {
        name: float(part[name].number(-math.inf, math.inf, infinite=True)) for name in ("lower", "upper", "primal")
    }
    gaps = {name: float(part[name].number(0.0, math.inf, infinite=True)) for name in ("gap", "sdp_gap")}
    size = max(abs(bounds["lower"]), abs(bounds["upper"]))
    part["lower"].require(
        not math.isfinite(size) or bounds["lower"] <= bounds["upper"] + 1e-6 * size, "no more than the upper bound"
    )
    return Certificate(
        **bounds,
        **gaps,
        rank_one=part["rank_one"].flag(),
        tie=part["tie"].flag(),
        iterations=part["iterations"].integer(0),
        status=part["status"].text(1000),
    )


def thresholds_of(at: Field, settings: Settings, m: int, private: bool) -> Thresholds:
    """The thresholds in use, of m relations."""
    part = at.members("total", "rules", "error", "calibration")
    asked, _ = settings.total
    judged = settings.judges_by_evidence
    part["error"].require(part["error"].absent != judged, "a number where tail models judge, and null where not")
    error = float(part["error"].number(0.0, math.inf, infinite=True)) if judged else None
    part["total"].require(
        not part["total"].absent or settings.needs_rows, f"there, as the limit {shown(asked)} needs no rows"
    )
    total = None if part["total"].absent else _limit(part["total"], asked)
    rules, calibration = part["rules"].extended(m, 0.0, math.inf), None
    expected = asked == "conformal" and total is not None and not private
    part["calibration"].require(
        part["calibration"].absent != expected,
        'a list where the limit is "conformal", calibrated and not private, and null where it is not',
    )
    if expected:
        many = len(part["calibration"])
        part["calibration"].require(many > 0, "a list of at least 1 score")
        calibration = part["calibration"].vector(many, 0.0, LARGEST)
        part["calibration"].require((np.diff(calibration) >= 0.0).all(), "ascending", "a list in another order")
    return Thresholds(total, rules, error, calibration)


def _limit(at: Field, asked: str | float) -> Limit:
    part = at.members("name", "level", "value")
    allowed = ("held-out", "gaussian", "pearson") if asked == AUTO else (asked if isinstance(asked, str) else "fixed",)
    name = part["name"].word(allowed)
    part["level"].require(part["level"].absent == (name == "fixed"), "null for a number that was given, and only there")
    level = None if name == "fixed" else float(part["level"].number(math.ulp(0.0), 1.0 - 2.0**-53))
    value = float(part["value"].number(0.0, math.inf, infinite=True))
    if not isinstance(asked, str):
        part["value"].require(value >= float(asked), f"at least {asked!r}, as the settings ask for")
    return Limit(name, level, value)
