"""A model as the content of a file: plain JSON values, every number exact."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from aspca.linalg.arrays import Bools, Floats
from aspca.model.model import Model
from aspca.model.outliers import ExcludedCells
from aspca.model.thresholds import Limit
from aspca.model_file.evidence import evidence_content
from aspca.model_file.fields import finite_or_word, sparse_columns_of
from aspca.model_file.identities import identities_content
from aspca.model_file.preprocessing import preprocessing_content
from aspca.moments.space import ScaledSpace, raise_to_powers_of_two
from aspca.settings import Settings
from aspca.sparse_pca.certificate import Certificate

FORMAT, VERSION = "aspca-model", 6


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
    table, thresholds = model.table, model.thresholds
    private = private or model.space.extremes is None
    return {
        "format": FORMAT,
        "version": VERSION,
        "package": package,
        "private": private,
        "preprocessing": preprocessing_content(model.preparation, model.gaps),
        "features": {"names": [str(name) for name in model.names], "naming": naming},
        "settings": _settings(model.settings),
        "training": _training(model, private, moments),
        "subspace": _subspace(model, moments),
        "rules": {
            "loadings": sparse_columns_of(table.loadings),
            "covariance": table.covariance[upper_triangle(len(table))].tolist(),
            "unresolved": table.unresolved.tolist(),
            "sparsest": table.sparsest.tolist(),
            "chances": None if table.chances is None else table.chances.tolist(),
            "holds": [rule.holds for rule in table.given],
            "kept": None if model.kept is None else model.kept.tolist(),
            "shift": None if model.space.shift is None else model.space.shift.tolist(),
        },
        "identities": identities_content(model.identities, private=private),
        "thresholds": {
            "total": None if thresholds.total is None else _limit(thresholds.total),
            "rules": [finite_or_word(value) for value in thresholds.rules],
            "error": None if thresholds.error is None else finite_or_word(thresholds.error),
            # One score per row of the user's: private.
            "calibration": None if private or thresholds.calibration is None else thresholds.calibration.tolist(),
        },
        "excluded": _excluded(model, private),
        "evidence": evidence_content(model.evidence, private=private),
        "widenings": None if model.widenings is None else [finite_or_word(value) for value in model.widenings],
        # They quote cells.
        "reading": [] if private else list(model.reading),
        "cell_format": {
            "decimal": model.cell_format.decimal,
            "thousands": model.cell_format.thousands,
            "missing": list(model.cell_format.missing),
            "encoding": model.cell_format.encoding,
            "columns": [[one.name, one.kind, one.unit, one.order] for one in model.cell_format.columns],
        },
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
    return {field.name: _plain(getattr(settings, field.name)) for field in fields(Settings)}


def _plain(value: Any) -> Any:
    """A parameter without numpy: an int stays one, a float that is none gets a word."""
    if isinstance(value, tuple):
        return list(value) or None
    if value is None or isinstance(value, str | bool):
        return value
    return int(value) if isinstance(value, int | np.integer) else finite_or_word(value)


def _training(model: Model, private: bool, moments: bool) -> dict[str, Any]:
    space, extremes = model.space.plain, None if private else model.space.extremes
    triangle = upper_triangle(space.n_features)
    covariance = space.known_covariance if moments and private else None
    scatter = model.moments.scatter if moments and not private and model.moments is not None else None
    return {
        "rows": int(space.n_rows),
        "weight": float(space.weight),
        "centre": space.centre.tolist(),
        "residual": space.residual.tolist(),
        "scale": space.scale.tolist(),
        "variances": space.variances.tolist(),
        "largest": _largest(space, private),
        "peaks": np.square(raise_to_powers_of_two(np.sqrt(space.peaks))).tolist() if private else None,
        "nonnegative": space.nonnegative.tolist(),
        "decimals": [int(count) for count in space.decimals],
        "minimum": None if extremes is None else extremes[0].tolist(),
        "maximum": None if extremes is None else extremes[1].tolist(),
        "scatter": None if scatter is None else scatter[triangle].tolist(),
        # A private file has no moments to fit further; this is what verify needs of it.
        "covariance": None if covariance is None else covariance[triangle].tolist(),
    }


def _largest(space: ScaledSpace, private: bool) -> list[float]:
    """Largest sizes; in a private file rounded up to powers of two, or they would give values away."""
    return list((raise_to_powers_of_two(space.largest) if private else space.largest).tolist())


def _subspace(model: Model, moments: bool) -> dict[str, Any]:
    if model.components.solved is None and moments:
        # Whoever asks for them finds them from the moments.
        return {"n_components": int(model.components.n_components)}
    subspace = model.subspace
    return {
        "alpha": float(subspace.alpha),
        "loadings": sparse_columns_of(subspace.loadings),
        "sequence": sparse_columns_of(subspace.sequence),
        "rotation": sparse_columns_of(subspace.rotation),
        "certificates": [_certificate(one) for one in subspace.certificates],
    }


def _certificate(one: Certificate) -> dict[str, Any]:
    return {
        **{name: finite_or_word(getattr(one, name)) for name in ("lower", "upper", "gap", "primal", "sdp_gap")},
        "rank_one": bool(one.rank_one),
        "tie": bool(one.tie),
        "iterations": int(one.iterations),
        "status": str(one.status),
    }


def _excluded(model: Model, private: bool) -> dict[str, Any] | None:
    excluded = model.excluded
    if excluded is None:
        return None
    return {
        "cells": [int(count) for count in excluded.cells],
        # Values of the user's: private.
        "shown": [] if private else _excluded_cells(excluded.shown),
        "repeated": [] if private else [[column, value, times] for column, value, times in excluded.repeated],
    }


def _excluded_cells(shown: ExcludedCells) -> list[list[float]]:
    return [
        [int(row), int(column), float(value), float(expected)]
        for row, column, value, expected in zip(shown.rows, shown.columns, shown.values, shown.expected, strict=True)
    ]


def _limit(limit: Limit) -> dict[str, Any]:
    return {
        "name": limit.name,
        "level": None if limit.level is None else float(limit.level),
        "value": finite_or_word(limit.value),
    }
