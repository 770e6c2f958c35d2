"""A model as the content of a file: plain JSON values, every number exact."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from aspca.files.fields import finite_or_word, sparse_columns_of
from aspca.files.partial import facts_of, is_missing
from aspca.files.preprocessing import preprocessing_content
from aspca.judging.alarms import AlarmSettings, Floors
from aspca.judging.limits import Limit
from aspca.judging.model import Model, Settings
from aspca.linalg.arrays import Bools, Floats
from aspca.subspace.scaling import scaled_covariance

FORMAT, VERSION = "aspca-model", 1
SETTINGS = tuple(field.name for part in (Settings, AlarmSettings) for field in fields(part) if field.name != "alarms")
NAMINGS = ("table", "given", "none")


def content_of(model: Model, *, naming: str, private: bool, moments: bool, package: str) -> dict[str, Any]:
    """Everything but the checksum.

    Parameters
    ----------
    naming : {"table", "given", "none"}
        Where the features' names come from: the table fitted, the caller of `fit_moments`, or nowhere.
    private, moments
        See `write_model`. What a model read from a file does not hold stays out of the next file too.
    package : str
        The version that writes.
    """
    m = model.moments
    private = private or is_missing(m.minimum) or is_missing(m.maximum)
    moments = moments and not is_missing(m.scatter)
    if moments and not np.array_equal(scaled_covariance(m, model.scale), model.covariance):
        raise ValueError("The covariance of this model is not that of its moments, so no file can hold it; fit again.")
    return {
        "format": FORMAT,
        "version": VERSION,
        "package": package,
        "private": private,
        "preprocessing": preprocessing_content(model.preparation, model.gaps),
        "features": {"names": [str(name) for name in model.names], "naming": naming},
        "settings": _settings(model.settings),
        "training": {
            "rows": int(m.n_rows),
            "weight": float(m.weight),
            "centre": m.centre.tolist(),
            "residual": m.residual.tolist(),
            "scale": model.scale.tolist(),
            "minimum": None if private else m.minimum.tolist(),
            "maximum": None if private else m.maximum.tolist(),
            "scatter": m.scatter[upper_triangle(m.n_features)].tolist() if moments else None,
        },
        "subspace": {
            "alpha": float(model.alpha),
            "loadings": sparse_columns_of(model.loadings),
            "sequence": sparse_columns_of(model.subspace.sequence),
            "rotation": sparse_columns_of(model.subspace.rotation),
            "certificates": [
                {
                    **{
                        name: finite_or_word(getattr(c, name))
                        for name in ("lower", "upper", "gap", "primal", "sdp_gap")
                    },
                    "rank_one": bool(c.rank_one),
                    "tie": bool(c.tie),
                    "iterations": int(c.iterations),
                    "status": str(c.status),
                }
                for c in model.subspace.certificates
            ],
        },
        "weights": sparse_columns_of(model.weights),
        "limits": _limits(model, private),
        "widenings": None if model.widenings is None else [finite_or_word(value) for value in model.widenings],
        "rules": None if moments else _rules(model),
    }


def upper_triangle(size: int) -> Bools:
    """Which entries of a symmetric matrix a file holds, row by row; the diagonal is among them."""
    return ~np.tri(size, k=-1, dtype=np.bool_)


def unpacked(packed: Floats, size: int) -> Floats:
    """The symmetric matrix (size, size) of a packed upper triangle."""
    matrix = np.zeros((size, size))
    matrix[upper_triangle(size)] = packed
    lower = ~upper_triangle(size)
    matrix[lower] = matrix.T[lower]
    return matrix


def packed_size(size: int) -> int:
    """How many numbers the upper triangle has."""
    return size * (size + 1) // 2


def _settings(settings: Settings) -> dict[str, Any]:
    given = {**vars(settings), **vars(settings.alarms)}
    return {name: _plain(given[name]) for name in SETTINGS}


def _plain(value: Any) -> Any:
    """A parameter without numpy: an int stays one, a float that is none gets a word."""
    if value is None or isinstance(value, str):
        return value
    return int(value) if isinstance(value, int | np.integer) else finite_or_word(value)


def _limits(model: Model, private: bool) -> dict[str, Any]:
    alarms = model.alarms
    keep = alarms.calibration is not None and not private
    return {
        "total": None if alarms.total is None else _limit(alarms.total),
        "rules": None if alarms.rules is None else [_limit(limit) for limit in alarms.rules],
        # One score per row of the user's: private.
        "calibration": alarms.calibration.tolist() if keep and alarms.calibration is not None else None,
        "floors": _floors(model.floors) if private else None,
    }


def _floors(floors: Floors) -> dict[str, Any]:
    total = float(blurred(np.array([floors.total]))[0])
    return {"total": finite_or_word(total), "squares": [finite_or_word(floor) for floor in blurred(floors.squares)]}


def blurred(floors: Floats) -> Floats:
    """Floors rounded up to powers of two: a rule of one feature would give its largest value away to the last digit."""
    mantissa, exponent = np.frexp(floors)
    with np.errstate(over="ignore"):
        raised = np.ldexp(np.where(mantissa > 0.5, 1.0, 0.5), exponent)
    return np.where((floors > 0.0) & np.isfinite(floors), raised, floors)


def _limit(limit: Limit) -> dict[str, Any]:
    return {
        "name": limit.name,
        "level": None if limit.level is None else float(limit.level),
        "value": finite_or_word(limit.value),
        "assumes": limit.assumes,
    }


def _rules(model: Model) -> dict[str, Any]:
    facts = facts_of(model)
    return {
        "variances": facts.variances.tolist(),
        "projected": facts.projected[upper_triangle(len(facts.projected))].tolist(),
        "unresolved": facts.unresolved.tolist(),
        "spreads": facts.spreads.tolist(),
        "exact": facts.exact.tolist(),
        "widenings": [finite_or_word(value) for value in facts.widenings],
    }
