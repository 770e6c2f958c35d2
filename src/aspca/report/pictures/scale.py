"""Axes: where a value stands, and which round numbers are written beside it."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class LogScale:
    """From `low` to `high`, both above zero, onto the pixels `start` to `stop`, by logarithms."""

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        inside = min(max(value, self.low), self.high)
        width = math.log(self.high / self.low) or 1.0
        return self.start + (self.stop - self.start) * math.log(inside / self.low) / width

    def ticks(self, most: int) -> list[float]:
        """Powers of ten, at most so many."""
        first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
        powers = list(range(first, last + 1))
        step = max(1, -(-len(powers) // most))
        return [10.0**power for power in powers if power % step == 0] or [10.0**power for power in powers[:1]]


def tick_text(value: float) -> str:
    """A round number: 0.01, 1,000, or 1e+09."""
    return f"{value:,.6g}" if 1e-4 <= value < 1e7 else f"{value:.0e}"
