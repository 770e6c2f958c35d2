"""Files of the first version of the format: their models score, judge and say what they did when they were saved."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from aspca.files.consistency import check_moments, check_weights
from aspca.files.encode import packed_size, unpacked
from aspca.files.fields import Field
from aspca.files.model_parts import LARGEST, SUBSPACE, limits_of, n_components_of, settings_of, subspace_of
from aspca.judging.components import Components
from aspca.judging.gaps import Gaps
from aspca.judging.metric import Metric
from aspca.judging.model import Model
from aspca.linalg.arrays import LARGEST_VALUE, Floats, frozen
from aspca.moments import Moments
from aspca.moments.decimals import CONTINUOUS
from aspca.preparation import Preparation
from aspca.rules.table import RuleTable, component_table
from aspca.settings import Settings
from aspca.subspace.defaults import SHARE_OF_TYPICAL
from aspca.subspace.space import ScaledSpace

FIELDS = (
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
_BEFORE = {"rotation": "all", "robust": "auto"}
_VALUE = float(LARGEST_VALUE)


def earlier_model(at: dict[str, Field], preparation: Preparation, gaps: Gaps | None, private: bool) -> Model:
    """The model of the fields of such a file."""
    p = len(preparation.names)
    subspace_at = at["subspace"].members(*SUBSPACE)
    d = n_components_of(at["subspace"], p)
    asked = at["settings"]
    if isinstance(asked.value, dict):
        asked = Field(asked.file, asked.path, _BEFORE | asked.value, asked.cure)
    settings = settings_of(asked, d)
    at["settings"].require(not settings.rules, "without rules, which could not be given then", "with some")
    subspace = subspace_of(subspace_at, settings, p, d)
    at["settings"].require(settings.score != "complete", "of a score of its time", "of a later one")
    space, moments = _training(at["training"], settings, preparation, private, gaps is not None)
    at["rules"].require(
        at["rules"].absent == (space.known_covariance is not None),
        "null where training.scatter is there, and an object where it is not",
    )
    table = component_table(space, subspace.loadings) if at["rules"].absent else None
    if table is None:
        space, table = _from_facts(at["rules"], space, subspace.loadings)
    weights = at["weights"].sparse_columns(d, d, 1e162)
    check_weights(at["weights"], weights, settings.score)
    metric = Metric(
        settings.score, frozen(weights), frozen(np.zeros((p, 0))), 0.0, 0.0, SHARE_OF_TYPICAL * space.typical
    )
    part = at["limits"].members("total", "rules", "calibration", "floors")
    part["floors"].require(part["floors"].absent != private, "an object in a private file, and null in any other")
    alarms = limits_of(part, settings, d, private, lift=None)
    widenings = None if at["widenings"].absent else at["widenings"].extended(d, 0.0, math.inf)
    return Model(
        settings, preparation, space, Components.of(subspace, settings), table, metric, alarms, moments, widenings, gaps
    )


def _training(
    at: Field, settings: Settings, preparation: Preparation, private: bool, estimated: bool
) -> tuple[ScaledSpace, Moments | None]:
    p = len(preparation.names)
    part = at.members("rows", "weight", "centre", "residual", "scale", "minimum", "maximum", "scatter")
    rows = part["rows"].integer(2)
    weight = float(part["weight"].number(math.ulp(0.0), LARGEST))
    centre, residual = (part[name].vector(p, -_VALUE, _VALUE) for name in ("centre", "residual"))
    scale = part["scale"].vector(p, 1e-154, 4.0 * _VALUE)
    if settings.scaling == "none":
        part["scale"].require((scale == 1.0).all(), 'a list of ones, as scaling is "none"', "a list of other numbers")
    for name in ("minimum", "maximum"):
        part[name].require(part[name].absent == private, "null in a private file, and a list in any other")
    extremes = None
    if not private:
        extremes = part["minimum"].vector(p, -_VALUE, _VALUE), part["maximum"].vector(p, -_VALUE, _VALUE)
    scatter = None
    if not part["scatter"].absent:
        scatter = unpacked(part["scatter"].vector(packed_size(p), -LARGEST, LARGEST), p)
    check_moments(part, weight, centre + residual, scale, extremes, scatter, estimated)
    mean = centre + residual
    if scatter is not None:
        # Where extremes are missing, those of a column are no nearer than its mean and scale.
        minimum, maximum = extremes or (mean - scale, mean + scale)
        moments = Moments(weight, rows, centre, residual, scatter, minimum, maximum)
        space = ScaledSpace.scaled(moments, scale, preparation.features)
        return replace(space, extremes=extremes), moments if extremes else None
    minimum, maximum = extremes or (mean - scale, mean + scale)
    space = ScaledSpace(
        preparation.features,
        frozen(centre),
        frozen(residual),
        frozen(scale),
        frozen(np.ones(p)),
        None,
        rows,
        weight,
        np.maximum(np.abs(minimum), np.abs(maximum)),
        np.zeros(p, dtype=np.bool_) if extremes is None else minimum >= 0.0,
        np.full(p, CONTINUOUS, dtype=np.intp),
        extremes=extremes,
    )
    return space, None


def _from_facts(at: Field, space: ScaledSpace, loadings: Floats) -> tuple[ScaledSpace, RuleTable]:
    """What a file without a covariance keeps of it."""
    p, d = loadings.shape
    part = at.members("variances", "projected", "unresolved", "spreads", "exact", "widenings")
    for name in ("spreads", "widenings"):
        part[name].extended(d, 0.0, math.inf)
    for entry in part["exact"].items(d):
        entry.flag()
    variances = part["variances"].vector(p, 0.0, LARGEST)
    table = RuleTable(
        loadings,
        frozen(unpacked(part["projected"].vector(packed_size(d), -LARGEST, LARGEST), d)),
        frozen(part["unresolved"].vector(d, 0.0, LARGEST)),
        np.ones(d, dtype=np.bool_),
    )
    return replace(space, variances=frozen(variances)), table
