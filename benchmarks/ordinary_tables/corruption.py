"""One wrong cell in a share of the rows, of seven kinds of error, each rounded to the decimals of its column."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .loading import Floats

# Only columns of more distinct values are changed.
FEW_VALUES = 10
SHIFT = 5.0
CONSTANTS = (0.0, -999.0, 9999.0)
# Digits beyond these are not misread, and decimals beyond these are those of a computation.
_DIGITS, _DECIMALS = 8, 15
_ATTEMPTS = 30


@dataclass(frozen=True)
class WrongCell:
    row: int
    column: int
    kind: str


@dataclass(frozen=True, eq=False)
class _Cell:
    """What an error needs to know of a cell: its value, the values of its column, the other values of its row."""

    value: float
    decimals: int
    column: Floats
    others: Floats


def corrupt(X: Floats, share: float, rng: np.random.Generator) -> tuple[Floats, list[WrongCell]]:
    """A copy with one changed cell in the share of the rows (at least one row), and the cells; none if none can be.

    A row's kind of error is drawn first, then the column; what changes nothing is drawn again, at last with another
    kind. Rows in which nothing can be changed are replaced by others.
    """
    spoiled, wrong = X.copy(), []
    columns = [j for j, column in enumerate(X.T) if len(np.unique(column[np.isfinite(column)])) > FEW_VALUES]
    decimals = {j: count_decimals(X[:, j]) for j in columns}
    wanted = max(1, round(share * len(X)))
    for row in rng.permutation(len(X)).tolist():
        if len(wrong) == wanted:
            break
        usable = [j for j in columns if np.isfinite(X[row, j])]
        if not usable:
            continue
        for attempt in range(len(KINDS) * _ATTEMPTS):
            if attempt % _ATTEMPTS == 0:
                kind = str(rng.choice(list(KINDS)))
            j = int(rng.choice(usable))
            cell = _Cell(float(X[row, j]), decimals[j], X[:, j], np.delete(X[row], j))
            value = round(KINDS[kind](cell, rng), decimals[j])
            if np.isfinite(value) and abs(value - cell.value) > 0.5 * 10.0 ** -decimals[j]:
                spoiled[row, j] = value
                wrong.append(WrongCell(row, j, kind))
                break
    return spoiled, wrong


def count_decimals(column: Floats) -> int:
    """The decimals that the values of a column are written with, at most `_DECIMALS` (more where all are small)."""
    values = column[np.isfinite(column)]
    most = _DECIMALS + max(0, -math.floor(math.log10(np.abs(values).max())))
    for decimals in range(most):
        if np.allclose(values, np.round(values, decimals), rtol=1e-12, atol=0.0):
            return decimals
    return most


def _move_point(cell: _Cell, rng: np.random.Generator) -> float:
    return cell.value * float(rng.choice([10.0, 0.1]))


def _flip_sign(cell: _Cell, rng: np.random.Generator) -> float:
    return -cell.value


def _misread_digits(cell: _Cell, rng: np.random.Generator) -> float:
    """Two neighbouring digits exchanged, or one digit replaced; NaN where that cannot be."""
    text = list(f"{cell.value:.{cell.decimals}f}")
    places = [k for k, sign in enumerate(text) if sign.isdigit()]
    first = next((k for k, place in enumerate(places) if text[place] != "0"), 0)
    places = places[first : first + _DIGITS]
    if rng.random() < 0.5:
        pairs = [(a, b) for a, b in pairwise(places) if text[a] != text[b]]
        if not pairs:
            return float("nan")
        a, b = pairs[int(rng.integers(len(pairs)))]
        text[a], text[b] = text[b], text[a]
    else:
        text[int(rng.choice(places))] = str(rng.integers(10))
    return float("".join(text))


def _shift(cell: _Cell, rng: np.random.Generator) -> float:
    return cell.value + float(rng.choice([-SHIFT, SHIFT])) * _estimate_spread(cell.column)


def _estimate_spread(column: Floats) -> float:
    """A robust standard deviation: of the median deviation, else of the quartiles, else the plain one."""
    values = column[np.isfinite(column)]
    low, median, high = np.quantile(values, [0.25, 0.5, 0.75])
    candidates = (1.4826 * np.median(np.abs(values - median)), (high - low) / 1.349, values.std())
    return next(float(spread) for spread in candidates if spread > 0)


def _take_far_value(cell: _Cell, rng: np.random.Generator) -> float:
    """The value of one of the quarter of the rows that are farthest from it in this column."""
    values = cell.column[np.isfinite(cell.column)]
    order = np.argsort(np.abs(values - cell.value), kind="stable")
    return float(values[rng.choice(order[-max(1, len(order) // 4) :])])


def _take_constant(cell: _Cell, rng: np.random.Generator) -> float:
    return float(rng.choice(CONSTANTS))


def _take_other_column(cell: _Cell, rng: np.random.Generator) -> float:
    known = cell.others[np.isfinite(cell.others)]
    return float(rng.choice(known)) if len(known) else float("nan")


KINDS: dict[str, Callable[[_Cell, np.random.Generator], float]] = {
    "x10 or /10": _move_point,
    "sign": _flip_sign,
    "digits": _misread_digits,
    "shifted": _shift,
    "other row": _take_far_value,
    "constant": _take_constant,
    "other column": _take_other_column,
}
