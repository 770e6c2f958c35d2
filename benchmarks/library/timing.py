"""Seconds of work: the fastest of some runs, their median, or one run with its result."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

Result = TypeVar("Result")


def timed(work: Callable[[], Result]) -> tuple[Result, float]:
    """What it gives, and the seconds it took."""
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def fastest(work: Callable[[], object], runs: int = 7) -> float:
    return min(timed(work)[1] for _ in range(runs))


def median(work: Callable[[], object], runs: int = 1) -> float:
    return float(np.median([timed(work)[1] for _ in range(runs)]))
