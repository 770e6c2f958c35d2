"""What is wrong with the times of rows: the same time twice, rows out of order, times that are missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from aspca.linalg.arrays import Floats, Ints

# A clock is even if so many of its steps are the usual one, give or take so much of it; weekends and nights are no
# part of an even clock.
_EVEN, _SLACK = 0.9, 0.25
# Fewer steps show no clock.
_ENOUGH_STEPS = 10
# Rows out of order beyond this share are in no order at all.
_DISORDER = 0.1


def clock_remarks(column: str, when: npt.NDArray[np.generic], rows: Ints) -> list[str]:
    """Sentences about the times of rows (n,), in the order of the table; `rows` (n,) are their numbers.

    A table whose newest row comes first is in order, too.
    """
    if len(when) < 2:
        return []
    times = when.astype("datetime64[us]").astype(np.float64) if when.dtype.kind == "M" else when.astype(np.float64)
    steps = np.diff(times)
    backwards = steps if (steps < 0).sum() <= (steps > 0).sum() else -steps
    return [
        *_doubled(column, times, when, rows),
        *_disordered(column, backwards, when, rows),
        *_missing(column, times, when, rows),
    ]


def _doubled(column: str, times: Floats, when: npt.NDArray[np.generic], rows: Ints) -> list[str]:
    _, first = np.unique(times, return_index=True)
    again = np.setdiff1d(np.arange(times.size), first)
    if not again.size:
        return []
    at = again[0]
    many = "1 row has" if again.size == 1 else f"{again.size:,} rows have"
    return [f"Column {column!r}: {many} the time of an earlier row{_first(again.size, rows[at], when[at])}."]


def _disordered(column: str, steps: Floats, when: npt.NDArray[np.generic], rows: Ints) -> list[str]:
    back = np.flatnonzero(steps < 0) + 1
    if not back.size:
        return []
    if back.size > _DISORDER * len(when):
        return [f"Column {column!r}: the rows are in no order of time ({back.size:,} times the next one is earlier)."]
    many = f"{back.size:,} row{'s' * (back.size != 1)} {'come' if back.size > 1 else 'comes'}"
    at = back[0]
    return [f"Column {column!r}: {many} out of the order of time{_first(back.size, rows[at], when[at])}."]


def _missing(column: str, times: Floats, when: npt.NDArray[np.generic], rows: Ints) -> list[str]:
    """Steps of twice the usual one and more, where nearly all are the usual one."""
    order = np.argsort(times, kind="stable")
    steps = np.diff(times[order])
    before = order[:-1][steps > 0]
    steps = steps[steps > 0]
    if steps.size < _ENOUGH_STEPS:
        return []
    usual = float(np.median(steps))
    long = np.flatnonzero(steps >= (2.0 - _SLACK) * usual)
    if not long.size or (np.abs(steps - usual) <= _SLACK * usual).mean() < _EVEN:
        return []
    lacking = int(np.round(steps[long] / usual - 1.0).sum())
    at = before[long[0]]
    gaps = f"{lacking:,} time{'s' * (lacking != 1)} {'are' if lacking != 1 else 'is'} missing in an even clock"
    where = "," if long.size == 1 else f", in {long.size:,} gaps, the first"
    return [f"Column {column!r}: {gaps}{where} after row {rows[at]} ({_time(when[at])})."]


def _first(count: int, row: Any, when: Any) -> str:
    """Where, of so many rows."""
    return f"{', the first is' if count > 1 else ':'} row {row} ({_time(when)})"


def _time(when: Any) -> str:
    return str(when) if isinstance(when, np.datetime64) else f"{float(when):.15g}"
