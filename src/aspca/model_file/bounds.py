"""What each field of a model file may hold: sizes, ranges and words; all else follows from its type."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from aspca.identities import Identities, Identity
from aspca.identities.formula import FUNCTIONS, WHOLE, Condition, Factor, Formula, Term
from aspca.identities.resolution import ALL_DIGITS, Resolution
from aspca.linalg.arrays import LARGEST_VALUE
from aspca.model.columns import Conditional, Distance, Scales
from aspca.model.evidence import Evidence, RowLaw, Steady
from aspca.model.model import Gaps
from aspca.model.outliers import Excluded, ExcludedCells, Repeated
from aspca.model.tails import Tail
from aspca.model.thresholds import ASSUMES, Limit, Thresholds
from aspca.model_file.codec import LARGEST, LARGEST_MATRIX, Bounds
from aspca.model_file.contents import Contents
from aspca.moments.blocks import CONTINUOUS
from aspca.moments.space import ScaledSpace
from aspca.preparation import KINDS, MISSING, ColumnPlan, Preparation
from aspca.preparation.cell_format import (
    COLUMN_KINDS,
    DATE_ORDERS,
    DECIMALS,
    THOUSANDS,
    CellFormat,
    ColumnFormat,
    is_encoding,
)
from aspca.preparation.feature import LIFTS
from aspca.rules.table import RuleTable
from aspca.settings import SETTINGS, Settings
from aspca.sparse_pca.certificate import Certificate
from aspca.sparse_pca.subspace import SparseSubspace

_VALUE, _FOUR, _ABOVE_ZERO = float(LARGEST_VALUE), 4.0 * float(LARGEST_VALUE), math.ulp(0.0)
# A column's deviation is no smaller than the root of the smallest normal float64, or it counts as constant.
_SMALLEST_SCALE = 1e-154
# Coefficients of standardised features: products with the farthest of these, and their squares, stay finite.
_COEFFICIENT, _FARTHEST = 1e30, 1e9
# Terms of formulas, and of rounding.
_TERM = 1e300
# Knots are logarithms of at most 1e250, and log p-values no smaller than this.
_KNOT, _LEAST_LOG_P = 600.0, -1e6
_UNIT = 1.0 + 1e-9


def _numbers(least: float, most: float | str, shape: str = "", **more: Any) -> Bounds:
    return Bounds(tuple(int(size) if size.isdigit() else size for size in shape.split()), least, most, **more)


def _is_encoding(name: str | None) -> bool:
    return name is None or is_encoding(name)


# Sizes: p features, m relations, g of them given, d components, s steps of their sequence, q features with tail models,
# v quantiles; k is another in every object.
_BOUNDS: tuple[tuple[type, str, Bounds], ...] = (
    (Contents, "naming", Bounds(words=("table", "given", "none"))),
    (Contents, "scatter", _numbers(-LARGEST, LARGEST, "p p")),
    (Contents, "components", _numbers(1, LARGEST)),
    (Contents, "holds", Bounds(("g",))),
    (Contents, "kept", _numbers(0.0, 1.0, "g")),
    (Contents, "widenings", _numbers(0.0, math.inf, "m")),
    (Preparation, "missing", Bounds(words=MISSING)),
    (Preparation, "columns", Bounds(many=(1, LARGEST_MATRIX))),
    (Preparation, "chosen", _numbers(0, LARGEST)),
    (ColumnPlan, "kind", Bounds(words=KINDS)),
    (ColumnPlan, "lifts", Bounds(words=tuple(LIFTS))),
    (Gaps, "missing", _numbers(0, LARGEST, "p")),
    (Gaps, "iterations left_out", _numbers(0, LARGEST)),
    *((Settings, one.name, _numbers(-math.inf, math.inf, test=one.allows, allowed=one.allowed)) for one in SETTINGS),
    (ScaledSpace, "centre residual extremes", _numbers(-_VALUE, _VALUE, "p")),
    (ScaledSpace, "scale", _numbers(_SMALLEST_SCALE, _FOUR, "p")),
    (ScaledSpace, "variances peaks", _numbers(0.0, LARGEST, "p")),
    (ScaledSpace, "known_covariance", _numbers(-LARGEST, LARGEST, "p p")),
    (ScaledSpace, "n_rows", _numbers(2, LARGEST)),
    (ScaledSpace, "weight", _numbers(_ABOVE_ZERO, LARGEST)),
    (ScaledSpace, "largest", _numbers(0.0, 2.0 * _VALUE, "p")),
    (ScaledSpace, "nonnegative", Bounds(("p",))),
    (ScaledSpace, "decimals", _numbers(0, CONTINUOUS, "p")),
    (ScaledSpace, "shift", _numbers(-1e6, 1e6, "p")),
    (SparseSubspace, "n_components", _numbers(1, LARGEST)),
    (SparseSubspace, "alpha", _numbers(0.0, LARGEST)),
    (SparseSubspace, "sequence", _numbers(-_UNIT, _UNIT, "p s")),
    (SparseSubspace, "rotation", _numbers(-_UNIT, _UNIT, "d d")),
    (SparseSubspace, "loadings", _numbers(-_UNIT, _UNIT, "p d")),
    (SparseSubspace, "certificates", Bounds(("s",))),
    (Certificate, "lower upper primal", _numbers(-math.inf, math.inf)),
    (Certificate, "gap sdp_gap", _numbers(0.0, math.inf)),
    (Certificate, "iterations", _numbers(0, LARGEST)),
    (RuleTable, "loadings", _numbers(-_UNIT, _UNIT, "p m")),
    (RuleTable, "covariance", _numbers(-LARGEST, LARGEST, "m m")),
    (RuleTable, "unresolved", _numbers(0.0, LARGEST, "m")),
    (RuleTable, "sparsest", Bounds(("m",))),
    (RuleTable, "chances", _numbers(0.0, 1.0, "m")),
    (Resolution, "decimals", _numbers(-6, CONTINUOUS)),
    (Resolution, "significant", _numbers(1, ALL_DIGITS)),
    (Identities, "quantiles", _numbers(-_VALUE, _VALUE, "p v", gaps=True)),
    (Identities, "n_sample", _numbers(0, LARGEST)),
    (Identities, "determined", _numbers(0, "p")),
    (Identity, "tier", _numbers(0, WHOLE)),
    (Identity, "n_kept n_broken", _numbers(0, LARGEST)),
    (Formula, "constant", _numbers(-_TERM, _TERM)),
    (Condition, "column", _numbers(0, "p")),
    (Condition, "value", _numbers(-_VALUE, _VALUE)),
    (Term, "coefficient", _numbers(-_TERM, _TERM)),
    (Term, "factors", Bounds(many=(1, 1000))),
    (Factor, "column", _numbers(0, "p")),
    (Factor, "function", Bounds(words=tuple(FUNCTIONS))),
    (Factor, "exponent", _numbers(-1e6, 1e6)),
    (Factor, "sign", _numbers(-1.0, 1.0)),
    (Thresholds, "rules", _numbers(0.0, math.inf, "m")),
    (Thresholds, "error", _numbers(0.0, math.inf)),
    (Thresholds, "calibration", _numbers(0.0, LARGEST, "k", many=(1, LARGEST_MATRIX))),
    (Limit, "name", Bounds(words=tuple(ASSUMES))),
    (Limit, "level", _numbers(_ABOVE_ZERO, math.nextafter(1.0, 0.0))),
    (Limit, "value", _numbers(0.0, math.inf)),
    (Evidence, "views", Bounds(many=(1, 2))),
    (Evidence, "chosen", _numbers(0, 1, "q")),
    (Evidence, "ranges conditionals", Bounds(("q",))),
    (Evidence, "relations", Bounds(("m",))),
    (Evidence, "caps", _numbers(-math.inf, 0.0, "2 q")),
    (Evidence, "rounding", _numbers(0.0, _TERM, "q")),
    (Evidence, "relation_caps", _numbers(-math.inf, 0.0, "2 m")),
    (Evidence, "relation_rounding", _numbers(0.0, _TERM, "m")),
    (Scales, "columns", _numbers(0, "p", "q")),
    (Scales, "sides", _numbers(-1.0, 1.0, "q")),
    (Scales, "origins floors", _numbers(-_FOUR, _FOUR, "q")),
    (Scales, "middles", _numbers(-_VALUE, _VALUE, "q")),
    (Scales, "reaches units", _numbers(_ABOVE_ZERO, _FOUR, "q")),
    (Conditional, "mean low high", _numbers(-_FARTHEST, _FARTHEST, "q")),
    (Conditional, "coefficients", _numbers(-_COEFFICIENT, _COEFFICIENT, "q q")),
    (Distance, "mean", _numbers(-_FARTHEST, _FARTHEST, "q")),
    (Distance, "root", _numbers(-_COEFFICIENT, _COEFFICIENT, "q q")),
    (Steady, "columns", _numbers(0, "p", "k")),
    (Steady, "values", _numbers(-_VALUE, _VALUE, "k")),
    (Steady, "log_p", _numbers(_LEAST_LOG_P, 0.0, "k")),
    (Tail, "middle", _numbers(-_FOUR, _FOUR)),
    (Tail, "unit", _numbers(_ABOVE_ZERO, _FOUR)),
    (Tail, "knots", _numbers(-_KNOT, 2.0 * _KNOT, "k", many=(1, 1000))),
    (Tail, "log_p", _numbers(_LEAST_LOG_P, 0.0, "k")),
    (Tail, "slopes", _numbers(0.0, _FARTHEST)),
    (RowLaw, "knots", _numbers(0.0, 2.0 * _KNOT, "k", many=(1, 1000))),
    (RowLaw, "log_p", _numbers(_LEAST_LOG_P, 0.0, "k")),
    (RowLaw, "unusual error", _numbers(0.0, 1e306)),
    (RowLaw, "n_rows", _numbers(1, LARGEST)),
    (Excluded, "cells", _numbers(0, LARGEST, "p")),
    (ExcludedCells, "rows", _numbers(0, LARGEST, "k")),
    (ExcludedCells, "columns", _numbers(0, "p", "k")),
    (ExcludedCells, "values expected", _numbers(-LARGEST, LARGEST, "k")),
    (Repeated, "column", _numbers(0, "p")),
    (Repeated, "times", _numbers(2, LARGEST)),
    (CellFormat, "decimal", Bounds(words=DECIMALS)),
    (CellFormat, "thousands", Bounds(words=THOUSANDS)),
    (CellFormat, "encoding", Bounds(test=_is_encoding, allowed="a text encoding that Python knows, or null")),
    (ColumnFormat, "kind", Bounds(words=COLUMN_KINDS)),
    (ColumnFormat, "order", Bounds(words=("", *DATE_ORDERS))),
)
BOUNDS: dict[type, dict[str, Bounds]] = {}
for _kind, _fields, _one in _BOUNDS:
    BOUNDS.setdefault(_kind, {}).update(dict.fromkeys(_fields.split(), _one))
SIZES: dict[type, tuple[str, Callable[[Any], int]]] = {Preparation: ("p", lambda made: len(made.features))}
