"""Rows of several laws without any relation between columns: what fresh rows a limit flags is then its own doing."""

from __future__ import annotations

import numpy as np

from library.labelled import Floats

LAWS = ("Gauss", "t5", "log-normal", "counts", "AR(1) 0.5", "AR(1) 0.9")
# Rows of a series before the first that counts.
_WARM = 200


def draw(law: str, n: int, p: int, rng: np.random.Generator) -> Floats:
    """Rows (n, p) of a law, columns unrelated."""
    if law == "Gauss":
        return rng.normal(size=(n, p))
    if law == "t5":
        return rng.standard_t(5, size=(n, p))
    if law == "log-normal":
        return rng.lognormal(size=(n, p))
    if law == "counts":
        return rng.poisson(4.0, size=(n, p)).astype(np.float64)
    kept = float(law.split(" ")[1])
    rows = rng.normal(size=(n + _WARM, p))
    for i in range(1, len(rows)):
        rows[i] = kept * rows[i - 1] + np.sqrt(1.0 - kept**2) * rows[i]
    return rows[_WARM:]
