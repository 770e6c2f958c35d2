"""Whole days, hours or minutes on an axis of rows in time order."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_SECOND, _HOUR, _DAY = 1, 3600, 86400
# Steps that people count in, in seconds.
_STEPS = (
    *(times * _SECOND for times in (1, 5, 15, 60, 300, 900, 1800)),
    *(times * _HOUR for times in (1, 2, 3, 6, 12)),
    *(times * _DAY for times in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)),
)
# Labels nearer than this share of the usual distance would stand in each other's way.
_NEAREST = 0.6


def round_times(when: npt.NDArray[np.generic], most: int) -> list[tuple[int, str]]:
    """Places of rows (n,) at whole times, ascending, with their labels; none where times are too uneven for that."""
    if when.dtype.kind != "M" or len(when) < most or np.isnat(when).any():
        return []
    seconds = when.astype("datetime64[s]").astype(np.int64)
    first, last = int(seconds[0]), int(seconds[-1])
    step = next((step for step in _STEPS if (last - first) // step < most), None)
    if step is None or last - first < 2 * step:
        return []
    # Several days are counted from the first, so that none stands for a round number that no calendar has.
    base = -(-first // _DAY) * _DAY if step > _DAY else 0
    marks = np.arange(base + -(-(first - base) // step) * step, last + 1, step)
    places = np.searchsorted(seconds, marks)
    # A gap has no row at its times.
    near = places[seconds[places] - marks <= step // 10]
    marks = marks[seconds[places] - marks <= step // 10]
    if near.size < 2 or int(np.diff(near).min()) < _NEAREST * len(when) / most:
        return []
    return [(int(place), _label(int(mark), step)) for place, mark in zip(near, marks, strict=True)]


def _label(seconds: int, step: int) -> str:
    text = str(np.datetime64(seconds, "s")).replace("T", " ")
    return text[:10] if step % _DAY == 0 else text[:16] if step % 60 == 0 else text
