"""Tail models in model files: written as plain numbers, and checked before anything is built of them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from aspca.linalg.arrays import LARGEST_VALUE, Floats, frozen
from aspca.model.columns import Conditional, Distance, Scales, View
from aspca.model.evidence import Evidence, RowLaw, Steady
from aspca.model.tails import Tail
from aspca.model_file.fields import Field, finite_or_word

_SCALES = ("columns", "sides", "origins", "reaches", "floors", "middles", "units")
_CONDITIONAL = ("mean", "coefficients", "low", "high")
_TAIL = ("middle", "unit", "knots", "log_p", "slopes")
_LAW = ("knots", "log_p", "unusual", "error", "rows")
_EVIDENCE = (
    "views",
    "chosen",
    "ranges",
    "conditionals",
    "distance",
    "whole",
    "steady",
    "caps",
    "rounding",
    "relations",
    "relation_caps",
    "relation_rounding",
    "law",
)
_VALUE = float(LARGEST_VALUE)
_MOST_KNOTS, _MOST_VIEWS = 1000, 2
# Knots are logarithms of at most 1e250, and log p-values no smaller than this.
_FARTHEST, _LEAST_LOG_P = 600.0, -1e6
_LARGEST = 1e300
# Coefficients of standardised features: products with the farthest of these, and their squares, stay finite.
_LARGEST_COEFFICIENT = 1e30
# A private file tells a column's quantiles in so many steps of a unit: too coarse for a value of a row, and fine enough
# for nearly the same scores.
_PRIVATE_STEPS, _PRIVATE_DIGITS = 1000.0, 3


def evidence_content(evidence: Evidence | None, *, private: bool) -> dict[str, Any] | None:
    """Tail models as JSON; a private file has quantiles of columns in coarse steps only."""
    if evidence is None or evidence.law is None:
        return None
    law = evidence.law
    return {
        "views": [_view_content(view, private=private) for view in evidence.views],
        "chosen": [int(view) for view in evidence.chosen],
        "ranges": [_tail_content(tail, private=private) for tail in evidence.ranges],
        "conditionals": [_tail_content(tail) for tail in evidence.conditionals],
        "distance": _distance_content(evidence, private=private),
        "whole": _tail_content(evidence.whole),
        "steady": {
            "columns": [int(j) for j in evidence.steady.columns],
            "values": evidence.steady.values.tolist(),
            "log_p": evidence.steady.log_p.tolist(),
        },
        "caps": [finite_or_word(cap) for cap in evidence.caps.ravel()],
        "rounding": evidence.rounding.tolist(),
        "relations": [_tail_content(tail) for tail in evidence.relations],
        "relation_caps": [finite_or_word(cap) for cap in evidence.relation_caps.ravel()],
        "relation_rounding": evidence.relation_rounding.tolist(),
        "law": {
            "knots": law.knots.tolist(),
            "log_p": law.log_p.tolist(),
            "unusual": float(law.unusual),
            "error": float(law.error),
            "rows": int(law.n_rows),
        },
    }


def _view_content(view: View, *, private: bool) -> dict[str, Any]:
    scales, conditional = view.scales, view.conditional
    if private:
        scales, conditional = _without_quantiles(scales, conditional)
    return {
        "scales": {
            "columns": [int(j) for j in scales.columns],
            "sides": scales.sides.tolist(),
            "origins": scales.origins.tolist(),
            "reaches": scales.reaches.tolist(),
            "floors": scales.floors.tolist(),
            "middles": scales.middles.tolist(),
            "units": scales.units.tolist(),
        },
        "conditional": {name: getattr(conditional, name).ravel().tolist() for name in _CONDITIONAL},
    }


def _distance_content(evidence: Evidence, *, private: bool) -> dict[str, Any]:
    distance, scales = evidence.distance, evidence.views[0].scales
    mean = distance.mean + (_make_coarse(scales)[1] if private else 0.0)
    return {"mean": mean.tolist(), "root": distance.root.ravel().tolist()}


def _without_quantiles(scales: Scales, conditional: Conditional) -> tuple[Scales, Conditional]:
    """The same columns standardised from medians in coarse steps; what is learned about them is moved with them."""
    coarse, moved = _make_coarse(scales)
    parts = {name: getattr(conditional, name) + moved for name in ("mean", "low", "high")}
    # Quantiles: of some numbers of rows these are cells.
    parts |= {name: _coarse(parts[name], 1.0) for name in ("low", "high")}
    return coarse, replace(conditional, **parts)


def _make_coarse(scales: Scales) -> tuple[Scales, Floats]:
    """Columns standardised from medians in coarse steps, and by how much standardised values are larger then (q,)."""
    reaches = np.array([float(f"{reach:.{_PRIVATE_DIGITS}g}") for reach in scales.reaches])
    further = scales.sides * np.log(scales.reaches / reaches)
    middles = _coarse(scales.middles + further, scales.units)
    moved = (scales.middles + further - middles) / scales.units + 0.0
    floors = _coarse(scales.floors + further, scales.units)
    return replace(scales, reaches=reaches, floors=floors, middles=middles), moved


def _coarse(values: Floats, units: Floats | float) -> Floats:
    # No -0.0, which a second file would not have.
    return np.asarray(np.rint(values / units * _PRIVATE_STEPS) / _PRIVATE_STEPS * units + 0.0)


def _tail_content(tail: Tail | None, *, private: bool = False) -> dict[str, Any] | None:
    if tail is None:
        return None
    middle, unit, knots, log_p = tail.middle, tail.unit, tail.knots, tail.log_p
    if private:
        unit = float(f"{unit:.{_PRIVATE_DIGITS}g}")
        middle = float(_coarse(np.array(middle), unit))
        # The same places, seen from there.
        with np.errstate(over="ignore"):
            off = np.sign(knots) * np.expm1(np.abs(knots)) * (tail.unit / unit) + (tail.middle - middle) / unit
        knots = np.sign(off) * np.log1p(np.minimum(np.abs(off), 1e250))
        knots, first = np.unique(np.round(knots, _PRIVATE_DIGITS) + 0.0, return_index=True)
        log_p = np.maximum.reduceat(log_p, first)
    return {
        "middle": float(middle),
        "unit": float(unit),
        "knots": knots.tolist(),
        "log_p": log_p.tolist(),
        "slopes": [float(slope) for slope in tail.slopes],
    }


def evidence_of(at: Field, p: int, m: int, determined: tuple[int, ...]) -> Evidence | None:
    """The tail models of p columns, of which some are determined by identities, and m relations."""
    if at.absent:
        return None
    part = at.members(*_EVIDENCE)
    views = tuple(_view_of(entry, p) for entry in part["views"].items(1, _MOST_VIEWS))
    columns = views[0].scales.columns
    q = columns.size
    alike = all(np.array_equal(view.scales.columns, columns) for view in views)
    part["views"].require(alike, "of the same columns", "of others")
    free = not set(determined) & set(columns.tolist())
    part["views"].require(free, "of features that no identity determines", "of others")
    chosen = np.array([entry.integer(0, len(views) - 1) for entry in part["chosen"].items(q)], dtype=np.intp)
    law = part["law"].members(*_LAW)
    knots, log_p = _steps_of(law["knots"], law["log_p"], 0.0)
    law["log_p"].require((np.diff(log_p) <= 0.0).all(), "descending", "a list in another order")
    for by_itself, given_others in zip(part["ranges"].items(q), part["conditionals"].items(q), strict=True):
        given_others.require(given_others.absent or not by_itself.absent, "null where that of ranges is")
    unusual = float(law["unusual"].number(0.0, _LARGEST * 1e6))
    return Evidence(
        views,
        chosen,
        tuple(_tail_of(entry) for entry in part["ranges"].items(q)),
        tuple(_tail_of(entry) for entry in part["conditionals"].items(q)),
        _distance_of(part["distance"], q),
        _known_tail_of(part["whole"]),
        _steady_of(part["steady"], p),
        _caps_of(part["caps"], q),
        frozen(part["rounding"].vector(q, 0.0, _LARGEST)),
        tuple(_known_tail_of(entry) for entry in part["relations"].items(m)),
        _caps_of(part["relation_caps"], m),
        frozen(part["relation_rounding"].vector(m, 0.0, _LARGEST)),
        RowLaw(knots, log_p, unusual, float(law["error"].number(unusual, _LARGEST * 1e6)), law["rows"].integer(1)),
    )


def _view_of(at: Field, p: int) -> View:
    part = at.members("scales", "conditional")
    scales = _scales_of(part["scales"], p)
    return View(scales, _conditional_of(part["conditional"], scales.columns.size))


def _scales_of(at: Field, p: int) -> Scales:
    part = at.members(*_SCALES)
    columns = np.array([entry.integer(0, p - 1) for entry in part["columns"].items(0, p)], dtype=np.intp)
    part["columns"].require((np.diff(columns) > 0).all(), "ascending", "a list in another order")
    q = columns.size
    sides = part["sides"].vector(q, -1.0, 1.0)
    part["sides"].require(np.isin(sides, (-1.0, 0.0, 1.0)).all(), "a list of -1, 0 and 1", "a list with another number")
    return Scales(
        columns,
        frozen(sides),
        frozen(part["origins"].vector(q, -4.0 * _VALUE, 4.0 * _VALUE)),
        frozen(part["reaches"].vector(q, math.ulp(0.0), 4.0 * _VALUE)),
        frozen(part["floors"].vector(q, -4.0 * _VALUE, 4.0 * _VALUE)),
        frozen(part["middles"].vector(q, -_VALUE, _VALUE)),
        frozen(part["units"].vector(q, math.ulp(0.0), 4.0 * _VALUE)),
    )


def _conditional_of(at: Field, q: int) -> Conditional:
    part = at.members(*_CONDITIONAL)
    coefficients = _square_of(part["coefficients"], q)
    own = np.diag(coefficients)
    part["coefficients"].require((own == 1.0).all(), "of 1 for each feature itself", "of another number")
    mean, low, high = (part[name].vector(q, -1e9, 1e9) for name in ("mean", "low", "high"))
    part["low"].require((low <= high).all(), "no more than high", "above it")
    return Conditional(frozen(mean), frozen(coefficients), frozen(low), frozen(high))


def _distance_of(at: Field, q: int) -> Distance:
    part = at.members("mean", "root")
    return Distance(frozen(part["mean"].vector(q, -1e9, 1e9)), frozen(_square_of(part["root"], q)))


def _square_of(at: Field, q: int) -> Floats:
    return at.vector(q * q, -_LARGEST_COEFFICIENT, _LARGEST_COEFFICIENT).reshape(q, q)


def _steady_of(at: Field, p: int) -> Steady:
    part = at.members("columns", "values", "log_p")
    columns = np.array([entry.integer(0, p - 1) for entry in part["columns"].items(0, p)], dtype=np.intp)
    part["columns"].require((np.diff(columns) > 0).all(), "ascending", "a list in another order")
    values = part["values"].vector(columns.size, -_VALUE, _VALUE)
    return Steady(columns, frozen(values), frozen(part["log_p"].vector(columns.size, _LEAST_LOG_P, 0.0)))


def _caps_of(at: Field, count: int) -> Floats:
    caps = [float(entry.number(-math.inf, 0.0, infinite=True)) for entry in at.items(2 * count)]
    return frozen(np.array(caps).reshape(2, count))


def _tail_of(at: Field) -> Tail | None:
    return None if at.absent else _known_tail_of(at)


def _known_tail_of(at: Field) -> Tail:
    part = at.members(*_TAIL)
    knots, log_p = _steps_of(part["knots"], part["log_p"], -_FARTHEST)
    top = int(log_p.argmax())
    falls = (np.diff(log_p[: top + 1]) >= 0.0).all() and (np.diff(log_p[top:]) <= 0.0).all()
    part["log_p"].require(falls, "falling to both sides of its largest", "a list in another order")
    slopes = part["slopes"].vector(2, 0.0, 1e9)
    return Tail(
        float(part["middle"].number(-4.0 * _VALUE, 4.0 * _VALUE)),
        float(part["unit"].number(math.ulp(0.0), 4.0 * _VALUE)),
        knots,
        log_p,
        (float(slopes[0]), float(slopes[1])),
    )


def _steps_of(knots: Field, log_p: Field, least: float) -> tuple[Floats, Floats]:
    """Ascending places, and log p-values there."""
    many = len(knots)
    knots.require(1 <= many <= _MOST_KNOTS, f"a list of 1 to {_MOST_KNOTS}")
    places = knots.vector(many, least, 2.0 * _FARTHEST)
    knots.require((np.diff(places) > 0.0).all(), "ascending", "a list in another order")
    return frozen(places), frozen(log_p.vector(many, _LEAST_LOG_P, 0.0))
