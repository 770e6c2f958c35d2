"""Lifted columns: logarithms and squares beside the columns, an explicit kernel whose components can be read.

A column of numbers x keeps its place and gets

- ``log(x)``, where all of its values are positive,
- ``x^2``, where it has more than five different values,

each unless a straight line in x says the same. Products of two columns are left out: there are p (p - 1) / 2 of them,
and where columns are positive, sums of logarithms are products already.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.preparation.columns import Preparation
from aspca.preparation.feature import LIFTS

# The square of a column with as few values as this says hardly more than the column.
FEW_VALUES = 5
# A lift is left out where a line in the column explains all of its variance but this share: with such a column (a year,
# say) it would make a component that holds for every row.
STRAIGHT = 1e-3


def add_transforms(preparation: Preparation, features: Floats, weights: Floats | None = None) -> Preparation:
    """The preparation with the lifts that its columns of numbers get from rows (n, p) of its features, NaN: missing.
    `weights` (n,) count the rows: one of weight zero decides nothing."""
    counts = np.ones(len(features)) if weights is None else weights
    plans, position = [], 0
    for plan in preparation.columns:
        lifts = find_lifts(features[:, position], counts) if plan.kind == "number" else ()
        plans.append(replace(plan, lifts=lifts))
        position += len(plan.features)
    return replace(preparation, columns=tuple(plans))


def find_lifts(values: Floats, weights: Floats) -> tuple[str, ...]:
    """Which lifts a column of these values (n,), counted by weights (n,), gets."""
    there = ~np.isnan(values) & (weights > 0.0)
    known = np.asarray(values[there], dtype=np.float64)
    if not known.size:
        return ()
    shares = weights[there] / weights[there].sum()
    few = np.unique(known).size <= FEW_VALUES
    return tuple(
        name
        for name, lift in LIFTS.items()
        if lift.defined(known).all()
        and not (few and name == "square")
        and not _is_straight(known, lift.forward(known), shares)
    )


def _is_straight(values: Floats, lifted: Floats, shares: Floats) -> bool:
    """Whether a line in `values` (n,) is nearly all of `lifted` (n,), or there is nothing to explain."""
    x, y = _standardize(values, shares), _standardize(lifted, shares)
    if x is None or y is None:
        return True
    residual = y - float(shares @ (x * y)) * x
    return float(shares @ np.square(residual)) <= STRAIGHT


def _standardize(values: Floats, shares: Floats) -> Floats | None:
    """Of mean zero and variance one; None where it does not vary."""
    size = float(np.abs(values).max())
    if size == 0.0:
        return None
    centred = values / size - float(shares @ (values / size))
    deviation = float(np.sqrt(shares @ np.square(centred)))
    # What varies by rounding alone has no shape.
    return centred / deviation if deviation > 4.0 * np.finfo(np.float64).eps else None


def refuse_contradictions(preparation: Preparation, features: Floats) -> None:
    """Raise for rows (n, p) of the features, lifts among them, that add a value which a lift is not defined for."""
    position = 0
    for plan in preparation.columns:
        values = features[:, position]
        for name in plan.lifts:
            bad = np.flatnonzero(~LIFTS[name].defined(values))
            if bad.size:
                raise ValueError(
                    f"Row {bad[0]} has the value {values[bad[0]]:g} in column {plan.name!r}, but by the rows fitted "
                    f"first its {name} is a feature, which needs values {LIFTS[name].domain}: fit all rows at once."
                )
        position += len(plan.features)
