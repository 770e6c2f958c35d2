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
from aspca.preparation.columns import ColumnPlan
from aspca.preparation.plan import Preparation
from aspca.preparation.transforms import LIFTS

# The square of a column with as few values as this says hardly more than the column.
FEW_VALUES = 5
# A lift is left out where a line in the column explains all of its variance but this share: with such a column (a year,
# say) it would make a component that holds for every row.
STRAIGHT = 1e-3


def lift_columns(preparation: Preparation, features: Floats) -> Preparation:
    """The preparation with the lifts that its columns of numbers get from rows (n, p) of its features, NaN: missing."""
    plans, position = [], 0
    for plan in preparation.columns:
        plans.append(_lifted(plan, features[:, position]))
        position += len(plan.features)
    return replace(preparation, columns=tuple(plans))


def _lifted(plan: ColumnPlan, values: Floats) -> ColumnPlan:
    return replace(plan, lifts=lifts_of(values)) if plan.kind == "number" else plan


def lifts_of(values: Floats) -> tuple[str, ...]:
    """Which lifts a column of these values (n,) gets."""
    known = np.asarray(values[~np.isnan(values)], dtype=np.float64)
    if not known.size:
        return ()
    few = np.unique(known).size <= FEW_VALUES
    return tuple(
        name
        for name, lift in LIFTS.items()
        if lift.defined(known).all() and not (few and name == "square") and not _straight(known, lift.forward(known))
    )


def _straight(values: Floats, lifted: Floats) -> bool:
    """Whether a line in `values` (n,) is nearly all of `lifted` (n,), or there is nothing to explain."""
    x, y = _standardized(values), _standardized(lifted)
    if x is None or y is None:
        return True
    residual = y - (x @ y / len(x)) * x
    return float(residual @ residual) / len(x) <= STRAIGHT


def _standardized(values: Floats) -> Floats | None:
    """Of mean zero and variance one; None where it does not vary."""
    size = float(np.abs(values).max())
    centred = values / size - np.mean(values / size) if size > 0.0 else np.zeros(values.shape)
    deviation = float(np.sqrt(np.mean(np.square(centred))))
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
