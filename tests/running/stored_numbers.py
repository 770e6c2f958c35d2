"""The numbers that a stored model holds."""

from __future__ import annotations

from typing import Any


def numbers(value: Any) -> set[float]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return set().union(*(numbers(entry) for entry in value)) if value else set()
    return {float(value)} if isinstance(value, int | float) and not isinstance(value, bool) else set()
