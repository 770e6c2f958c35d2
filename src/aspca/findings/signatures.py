"""Signatures: per row the rules at which it is low or high, as in ``2L 5H``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aspca.linalg.arrays import Bools
from aspca.model.judgement import Judgement

if TYPE_CHECKING:
    from aspca.model.model import Model


def signatures_of(model: Model, judgement: Judgement) -> tuple[str, ...]:
    """One for each judged row; empty where no single rule stands out. See `Explanation.signatures`."""
    low, high = _sides(model, judgement)
    # Few patterns occur, in many rows: each is put into words once.
    pattern = np.packbits(np.hstack([low, high]), axis=1)
    _, first, kind = np.unique(pattern, axis=0, return_index=True, return_inverse=True)
    words = [
        " ".join(f"{rule}{'L' if low[row, rule] else 'H'}" for rule in np.flatnonzero(low[row] | high[row]))
        for row in first
    ]
    return tuple(words[k] for k in kind.ravel())


def _sides(model: Model, judgement: Judgement) -> tuple[Bools, Bools]:
    if model.thresholds.total is None:
        raise ValueError("Signatures need a threshold, which this model does not have yet: call calibrate(X) first.")
    if model.evidence is not None:
        high = np.nan_to_num(judgement.deviations, nan=0.0) > 0.0
        return judgement.broken & ~high, judgement.broken & high
    weighted = np.nan_to_num(judgement.deviations) * model.component_weights
    edge = float(np.sqrt(0.5 * model.thresholds.total.value))
    return weighted <= -edge, weighted >= edge
