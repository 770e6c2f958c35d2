"""Rows that violate identities: are they the corrupted ones, and is the right cell, and its value, named?

The cell of a row is *determined* if exactly one cell can be changed so that every violated accusing identity is
satisfied and no satisfied identity is violated: logic alone, without plausibility. A wrong y of y = f(x) alone is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .closure import differentiate, solve_for
from .corruption import WrongCell
from .finder import Found, Identity, Repair
from .relation import Floats

MOST_ROWS = 20
_NEWTON_STEPS = 12


@dataclass
class RepairCounts:
    """Numbers of rows; `examined` are the corrupted ones whose determination was computed, at most 20 per table."""

    corrupted: int = 0
    violating: int = 0
    violating_corrupted: int = 0
    right_cell: int = 0
    right_value: int = 0
    tied: int = 0
    examined: int = 0
    determined: int = 0
    determined_right: int = 0
    determined_value: int = 0

    def add(self, other: RepairCounts) -> None:
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


def judge_repairs(
    found: Found, spoiled: Floats, clean: Floats, H: Floats, wrong: Sequence[WrongCell]
) -> tuple[RepairCounts, list[str]]:
    """Counts, and words for every determined cell that was not named."""
    by_row = {cell.row: cell for cell in wrong}
    repairs = found.localize(spoiled)
    counts = RepairCounts(corrupted=len(wrong), violating=len(repairs))
    missed: list[str] = []
    for repair in repairs:
        cell = by_row.get(repair.row)
        if cell is None:
            continue
        counts.violating_corrupted += 1
        right = tuple(repair.cells) == (cell.column,)
        value = right and _is_right_value(found, repair, cell, clean, H)
        counts.right_cell += right
        counts.right_value += value
        counts.tied += not right and any(tuple(cells) == (cell.column,) for cells, _ in repair.ties)
        if counts.examined < MOST_ROWS:
            counts.examined += 1
            if find_possible_cells(found.identities, spoiled, repair.row) == [cell.column]:
                counts.determined += 1
                counts.determined_right += right
                counts.determined_value += value
                if not right:
                    missed.append(f"row {cell.row}: {cell.kind} in column {cell.column}, named {tuple(repair.cells)}")
    return counts, missed


def find_possible_cells(identities: Sequence[Identity], X: Floats, row: int) -> list[int]:
    """The single cells of a row whose change satisfies what is violated and violates nothing that is satisfied."""
    x = X[[row]]
    states = [(identity, _state(identity, x)) for identity in identities]
    violated = [identity for identity, state in states if state is False and identity.accuses]
    satisfied = [identity for identity, state in states if state]
    if not violated:
        return []
    shared = set.intersection(*(set(identity.columns) for identity in violated))
    return [column for column in sorted(shared) if _can_mend(column, violated, satisfied, X, row)]


def _state(identity: Identity, x: Floats) -> bool | None:
    """Whether one row satisfies an identity; None where it cannot be evaluated."""
    residual = float(identity.residual(x)[0])
    return None if np.isnan(residual) else bool(abs(residual) <= identity.tolerance(x)[0])


def _can_mend(column: int, violated: list[Identity], satisfied: list[Identity], X: Floats, row: int) -> bool:
    value = X[row, column]
    quantiles = np.nanquantile(X[:, column], [0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98])
    starts = np.array([value, 10 * value, value / 10, -value, *quantiles])
    trials = np.repeat(X[[row]], len(starts), axis=0)
    trials[:, column] = starts
    checked = [*violated, *(one for one in satisfied if column in one.columns)]
    return any(_solves(source, checked, trials, column) for source in violated)


def _solves(source: Identity, checked: list[Identity], trials: Floats, column: int) -> bool:
    """Whether a value that satisfies the source, from any start, satisfies all the others."""
    trials = trials.copy()
    solved = trials[:, column] = solve_for(source, trials, column, _NEWTON_STEPS)
    possible = np.isfinite(solved)
    with np.errstate(all="ignore"):
        for identity in checked:
            residual = np.abs(identity.residual(trials))
            slope = np.abs(differentiate(identity, trials, column)) * np.abs(solved)
            possible &= residual <= 2 * identity.tolerance(trials) + 1e-6 * np.nan_to_num(slope, posinf=0.0)
    return bool(possible.any())


def _is_right_value(found: Found, repair: Repair, cell: WrongCell, clean: Floats, H: Floats) -> bool:
    """Within half a step of the original, six digits, or what the rounding of an identity of the cell leaves open."""
    row = clean[[cell.row]]
    limit = max(1.01 * float(H[cell.row, cell.column]), 1e-6 * abs(cell.original))
    with np.errstate(all="ignore"):
        for identity in found.identities:
            if identity.accuses and cell.column in identity.columns:
                open_ = float(identity.tolerance(row)[0] / np.abs(differentiate(identity, row, cell.column))[0])
                limit = max(limit, open_ if np.isfinite(open_) else 0.0)
    return bool(abs(float(repair.values[0]) - cell.original) <= limit)
