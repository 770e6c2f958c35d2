"""The content of a file as a model: everything is checked before anything is built."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from aspca.files.consistency import check_basis, check_floors, check_moments, check_weights
from aspca.files.encode import FORMAT, NAMINGS, SETTINGS, VERSION, packed_size, unpacked
from aspca.files.errors import ModelFileError
from aspca.files.fields import LARGEST_INTEGER, Field
from aspca.files.json_text import check_sum, shown
from aspca.files.partial import PartialModel, PartialMoments, RuleFacts, is_missing, no_extremes, no_moments
from aspca.files.preprocessing import preprocessing_of
from aspca.judging.alarms import ALARMS, Alarms, AlarmSettings, Floors, needs_rows
from aspca.judging.limits import LIMITS, Limit
from aspca.judging.model import Model, Settings
from aspca.judging.scores import SCORES
from aspca.linalg.arrays import LARGEST_VALUE, Floats, frozen
from aspca.moments import Moments
from aspca.subspace.result import ROTATIONS, ROUNDINGS, VARIANTS, Certificate, SparseSubspace
from aspca.subspace.scaling import SCALINGS, scaled_covariance

# Loadings are sparse in the file and dense in memory: a small file must not ask for a huge matrix.
LARGEST_MATRIX = 2**25
_FIELDS = (
    "format",
    "version",
    "package",
    "private",
    "preprocessing",
    "features",
    "settings",
    "training",
    "subspace",
    "weights",
    "limits",
    "widenings",
    "rules",
    "checksum",
)
# Settings that came later: what files without them were made with.
_BEFORE = {"rotation": "all"}
_RELEASE = re.compile(r"[0-9][0-9A-Za-z.+]{0,39}")
_VALUE = float(LARGEST_VALUE)
_LARGEST = float(np.finfo(np.float64).max)
# A column's deviation is no smaller than the root of the smallest normal float64, or it counts as constant.
_SMALLEST_SCALE, _LARGEST_SCALE = 1e-154, 4.0 * _VALUE
_LARGEST_WEIGHT = 1e162


@dataclass(frozen=True)
class Contents:
    """A file read: its model, where the features' names come from (see `encode`), and the version that wrote it."""

    model: Model
    naming: str
    package: str


def check_header(content: object, file: str) -> dict[str, Any]:
    """The content of a model file of a version that is known, its checksum right."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ModelFileError(
            f'{file}: the field format must be "{FORMAT}", but is not, so this is no model file; give the path of a '
            "file written by aspca.save."
        )
    version = Field(file, "version", content.get("version"))
    if version.integer(1) > VERSION:
        package = content.get("package")
        known = isinstance(package, str) and _RELEASE.fullmatch(package)
        raise ModelFileError(
            f"{file}: the field version is {shown(version.value)}, but must be {VERSION} at most for this aspca; "
            f"install {f'aspca {package}, which wrote it, or a later one' if known else 'a newer aspca'}."
        )
    Field(file, "", content).members(*_FIELDS)
    check_sum(content, file)
    return content


def contents_of(top: Field) -> Contents:
    """The model of a checked header's content."""
    at = top.members(*_FIELDS)
    package = at["package"].text(100)
    private = at["private"].flag()
    names, naming = _features(at["features"])
    p = len(names)
    preparation, gaps = preprocessing_of(at["preprocessing"], p)
    columns = names if preparation is None else tuple(plan.name for plan in preparation.columns)
    if preparation is not None:
        at["features"].require(names == preparation.names, "the features that preprocessing makes", "of other names")
    if naming == "none":
        expected = all(name == f"x{j}" for j, name in enumerate(columns))
        at["features"].require(expected, 'x0, x1 and so on where naming is "none"', "of other names")
    subspace_at = at["subspace"].members("alpha", "loadings", "sequence", "rotation", "certificates")
    d = len(subspace_at["loadings"])
    subspace_at["loadings"].require(1 <= d <= p, f"a list of 1 to {p}")
    settings = _settings(at["settings"], d)
    subspace = _subspace(subspace_at, settings, p, d)
    moments, scale = _training(at["training"], settings, p, private, estimated=gaps is not None)
    whole = not is_missing(moments.scatter)
    weights = at["weights"].sparse_columns(d, d, _LARGEST_WEIGHT)
    check_weights(at["weights"], weights, settings.score)
    alarms, floors = _limits(at["limits"], settings, d, private)
    widenings = None if at["widenings"].absent else at["widenings"].extended(d, 0.0, math.inf)
    at["rules"].require(
        at["rules"].absent == whole, "null where training.scatter is there, and an object where it is not"
    )
    facts = None if whole else _facts(at["rules"], p, d)
    parts: dict[str, Any] = {
        "settings": settings,
        "names": names,
        "moments": moments,
        "scale": frozen(scale),
        "covariance": scaled_covariance(moments, scale) if whole else no_moments(),
        "subspace": subspace,
        "alpha": subspace.alpha,
        "weights": weights,
        "alarms": alarms,
        "widenings": widenings,
        "preparation": preparation,
        "gaps": gaps,
    }
    model = Model(**parts) if whole and not private else PartialModel(**parts, kept_floors=floors, facts=facts)
    return Contents(model, naming, package)


def _features(at: Field) -> tuple[tuple[str, ...], str]:
    parts = at.members("names", "naming")
    naming = parts["naming"].word(NAMINGS)
    names = tuple(name.text() for name in parts["names"].items(1, LARGEST_MATRIX))
    parts["names"].require(
        len(set(names)) == len(names), "a list without a name twice, since rules are written in names", "one with"
    )
    return names, naming


def _settings(at: Field, d: int) -> Settings:
    if isinstance(at.value, dict):
        at = Field(at.file, at.path, _BEFORE | at.value, at.cure)
    part = at.members(*SETTINGS)
    found: dict[str, Any] = {
        "variant": part["variant"].word(VARIANTS),
        "rounding": part["rounding"].word(ROUNDINGS),
        "rotation": part["rotation"].word(ROTATIONS),
        "scaling": part["scaling"].word(SCALINGS),
        "score": part["score"].word(SCORES),
        "alarm": part["alarm"].word(ALARMS),
        "contamination": _auto(part["contamination"], math.ulp(0.0), 0.5),
        "alpha": _auto(part["alpha"], 0.0, _LARGEST),
        "n_components": _auto(part["n_components"], d, d),
        "level": part["level"].number(math.ulp(0.0), 1.0 - 2.0**-53),
        "tol": part["tol"].number(math.ulp(0.0), 1.0 - 2.0**-53),
        "max_iter": part["max_iter"].number(1, LARGEST_INTEGER),
        "time_budget": None if part["time_budget"].absent else part["time_budget"].number(0.0, math.inf, infinite=True),
    }
    part["max_iter"].require(float(found["max_iter"]).is_integer(), "a whole number")
    cap = part["max_features"]
    found["max_features"] = None if cap.absent else cap.number(1, LARGEST_INTEGER)
    cap.require(cap.absent or float(found["max_features"]).is_integer(), "null or a whole number")
    cap.require(cap.absent or found["variant"] != "G", 'null where variant is "G"')
    for name in ("limit", "rule_limit"):
        named = isinstance(part[name].value, str)
        found[name] = part[name].word(LIMITS) if named else part[name].number(0.0, _LARGEST)
    alarms = AlarmSettings(**{field.name: found.pop(field.name) for field in fields(AlarmSettings)})
    return Settings(**found, alarms=alarms)


def _auto(at: Field, least: float, most: float) -> float | str:
    return "auto" if at.value == "auto" else at.number(least, most)


def _subspace(at: dict[str, Field], settings: Settings, p: int, d: int) -> SparseSubspace:
    steps = p if settings.variant in ("F", "FG") else d
    at["loadings"].require(
        p * steps <= LARGEST_MATRIX,
        f"of at most {LARGEST_MATRIX} loadings, features times steps",
        f"a basis of {steps} steps for {p} features",
    )
    # The lists' lengths first: they say how much memory is needed.
    for name, size in (("sequence", steps), ("certificates", steps), ("rotation", d)):
        at[name].items(size)
    alpha = float(at["alpha"].number(0.0, _LARGEST))
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


def _training(at: Field, settings: Settings, p: int, private: bool, estimated: bool) -> tuple[Moments, Floats]:
    part = at.members("rows", "weight", "centre", "residual", "scale", "minimum", "maximum", "scatter")
    rows = part["rows"].integer(2)
    weight = float(part["weight"].number(math.ulp(0.0), _LARGEST))
    centre = part["centre"].vector(p, -_VALUE, _VALUE)
    residual = part["residual"].vector(p, -_VALUE, _VALUE)
    scale = part["scale"].vector(p, _SMALLEST_SCALE, _LARGEST_SCALE)
    if settings.scaling == "none":
        part["scale"].require((scale == 1.0).all(), 'a list of ones, as scaling is "none"', "a list of other numbers")
    for name in ("minimum", "maximum"):
        part[name].require(part[name].absent == private, "null in a private file, and a list in any other")
    extremes = None if private else tuple(part[name].vector(p, -_VALUE, _VALUE) for name in ("minimum", "maximum"))
    packed = None if part["scatter"].absent else part["scatter"].vector(packed_size(p), -_LARGEST, _LARGEST)
    scatter = None if packed is None else unpacked(packed, p)
    check_moments(part, weight, centre + residual, scale, extremes, scatter, estimated)
    whole = extremes is not None and scatter is not None
    moments = (Moments if whole else PartialMoments)(
        weight,
        rows,
        centre,
        residual,
        no_moments() if scatter is None else scatter,
        *(extremes or (no_extremes(), no_extremes())),
    )
    return moments, scale


def _limits(at: Field, settings: Settings, d: int, private: bool) -> tuple[Alarms, Floors | None]:
    part = at.members("total", "rules", "calibration", "floors")
    asked, level = settings.alarms.total
    conformal = asked == "conformal"
    total = rules = calibration = None
    _waits(part["total"], asked)
    _waits(part["rules"], settings.alarms.rule_limit)
    if not part["total"].absent:
        total = _limit(part["total"], asked)
        if total.level is not None:
            part["total"].require(total.level == level, f"a limit of level {level!r}, as the settings ask for")
    if not part["rules"].absent:
        rules = tuple(_limit(entry, settings.alarms.rule_limit) for entry in part["rules"].items(d))
    expected = conformal and total is not None and not private
    part["calibration"].require(
        part["calibration"].absent != expected,
        'a list where the limit is "conformal", calibrated and not private, and null where it is not',
    )
    if expected:
        many = len(part["calibration"])
        part["calibration"].require(many > 0, "a list of at least 1 score")
        calibration = part["calibration"].vector(many, 0.0, _LARGEST)
        part["calibration"].require((np.diff(calibration) >= 0.0).all(), "ascending", "a list in another order")
    part["floors"].require(part["floors"].absent != private, "an object in a private file, and null in any other")
    floors = _floors(part["floors"], d) if private else None
    check_floors(part, total, rules, floors)
    return Alarms(settings.alarms, total, rules, calibration), floors


def _floors(at: Field, d: int) -> Floors:
    part = at.members("total", "squares")
    total = float(part["total"].number(0.0, math.inf, infinite=True))
    return Floors(total, part["squares"].extended(d, 0.0, math.inf))


def _waits(at: Field, asked: str | float) -> None:
    at.require(not at.absent or needs_rows(asked), f"there, as the limit {shown(asked)} needs no rows")


def _limit(at: Field, asked: str | float) -> Limit:
    part = at.members("name", "level", "value", "assumes")
    name = part["name"].word([asked if isinstance(asked, str) else "fixed"])
    part["level"].require(part["level"].absent == (name == "fixed"), "null for a number that was given, and only there")
    level = None if name == "fixed" else float(part["level"].number(math.ulp(0.0), 1.0 - 2.0**-53))
    value = float(part["value"].number(0.0, math.inf, infinite=True))
    if not isinstance(asked, str):
        part["value"].require(value >= float(asked), f"at least {asked!r}, as the settings ask for")
    return Limit(name, level, value, part["assumes"].text(1000))


def _facts(at: Field, p: int, d: int) -> RuleFacts:
    part = at.members("variances", "projected", "unresolved", "spreads", "exact", "widenings")
    projected = unpacked(part["projected"].vector(packed_size(d), -_LARGEST, _LARGEST), d)
    return RuleFacts(
        variances=part["variances"].vector(p, 0.0, _LARGEST),
        projected=projected,
        unresolved=part["unresolved"].vector(d, 0.0, _LARGEST),
        spreads=part["spreads"].vector(d, 0.0, _LARGEST),
        exact=np.array([entry.flag() for entry in part["exact"].items(d)]),
        widenings=part["widenings"].extended(d, 0.0, math.inf),
    )
