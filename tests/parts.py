"""Rows in parts, each passed over by itself and what was found merged afterwards: what engines on many machines do."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

import numpy as np

from aspca.moments.rows import Blocks, Rows, numbered


def in_parts(parts: Iterable[np.ndarray]) -> Rows:
    """Each part on a machine of its own; what comes back has been sent, so that nothing is shared."""
    parts = list(parts)
    starts = np.cumsum([0, *(len(part) for part in parts)])

    def over(task: Callable[[Blocks], Any], merge: Callable[[Any, Any], Any]) -> Any:
        found = [copy.deepcopy(task(numbered([part], int(start)))) for part, start in zip(parts, starts, strict=False)]
        return reduce(merge, found)

    return Rows(over)
