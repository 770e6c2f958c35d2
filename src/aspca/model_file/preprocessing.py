"""The part of a model file that says how tables become features, and what was missing in those that were fitted."""

from __future__ import annotations

from typing import Any

import numpy as np

from aspca.model.model import Gaps
from aspca.model_file.fields import LARGEST_INTEGER, Field
from aspca.preparation import CATEGORIES, KINDS, MISSING, ColumnPlan, Preparation
from aspca.preparation.feature import LIFTS

_MOST_COLUMNS = 2**25


def preprocessing_content(preparation: Preparation, gaps: Gaps | None) -> dict[str, Any] | None:
    """As plain values; None where there is nothing to prepare."""
    if preparation.plain:
        return None
    return {
        "missing": preparation.missing,
        "columns": [
            {
                "name": plan.name,
                "kind": plan.kind,
                "levels": list(plan.levels) if plan.categorical else None,
                "lifts": list(plan.lifts),
            }
            for plan in preparation.columns
        ],
        "gaps": None
        if gaps is None
        else {
            "missing": [int(count) for count in gaps.missing],
            "iterations": int(gaps.iterations),
            "converged": bool(gaps.converged),
            "left_out": int(gaps.left_out),
        },
    }


def preprocessing_of(at: Field, names: tuple[str, ...]) -> tuple[Preparation, Gaps | None]:
    """What a file says about the preparation of features of these names."""
    if at.absent:
        return Preparation.identity(names), None
    p = len(names)
    part = at.members("missing", "columns", "gaps")
    missing = part["missing"].word(MISSING)
    plans = tuple(_plan(entry) for entry in part["columns"].items(1, _MOST_COLUMNS))
    for values, what in (
        ([plan.name for plan in plans], "column"),
        ([feature.name for plan in plans for feature in plan.features], "feature"),
    ):
        part["columns"].require(len(set(values)) == len(values), f"a list without a {what} twice", "one with")
    part["columns"].require(sum(len(plan.features) for plan in plans) == p, f"of {p} features in all")
    part["gaps"].require(
        part["gaps"].absent == (missing == "error"),
        "an object where values may be missing, null where they may not",
    )
    return Preparation(plans, missing), None if part["gaps"].absent else _gaps(part["gaps"], p)


def _plan(at: Field) -> ColumnPlan:
    part = at.members("name", "kind", "levels", "lifts")
    kind = part["kind"].word(KINDS)
    levels = part["levels"]
    levels.require(levels.absent == (kind not in CATEGORIES), "a list of categories for one-hot and codes, else null")
    names = () if levels.absent else tuple(level.text() for level in levels.items(1, _MOST_COLUMNS))
    levels.require(len(set(names)) == len(names), "a list without a category twice", "one with")
    lifts = tuple(lift.word(tuple(LIFTS)) for lift in part["lifts"].items(0, len(LIFTS)))
    part["lifts"].require(len(set(lifts)) == len(lifts), "a list without a lift twice", "one with")
    part["lifts"].require(not lifts or kind == "number", "an empty list for what is no number", "a list of some")
    return ColumnPlan(part["name"].text(), kind, names, lifts)


def _gaps(at: Field, p: int) -> Gaps:
    part = at.members("missing", "iterations", "converged", "left_out")
    counts = [entry.integer(0) for entry in part["missing"].items(p)]
    return Gaps(
        missing=np.array(counts, dtype=np.intp),
        iterations=part["iterations"].integer(0, LARGEST_INTEGER),
        converged=part["converged"].flag(),
        left_out=part["left_out"].integer(0),
    )
