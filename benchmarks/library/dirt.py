"""Ways to spoil training rows: gross rows and cells, a cluster, sentinels, a slipped unit, errors within the range."""

from __future__ import annotations

import numpy as np

from library.labelled import Floats

KINDS = (
    "nothing",
    "0.2 % cells",
    "1 % cells",
    "5 % cells",
    "0.2 % rows",
    "1 % rows",
    "5 % rows",
    "10 % rows",
    "20 % rows",
    "10 % in one cluster",
    "five cells of -9999",
    "one cell times 1000",
    "5 % in range",
)
# A unit that slipped once is looked for among so many rows; all other kinds take as many as the data have.
ROWS = {"one cell times 1000": 10_000}
# How much of the AUC of the clean fit each kind may cost.
_SLACK, _MORE = 0.005, {"20 % rows": 0.02}
# How far gross rows are off, and the rows of a cluster, in deviations of their columns.
_GROSS, _APART = 10.0, 8.0


def slack(kind: str) -> float:
    return _MORE.get(kind, _SLACK)


def spoiled(rows: Floats, kind: str, rng: np.random.Generator) -> Floats:
    """A copy of rows (n, p) with errors of one kind."""
    X = rows.copy()
    n, p = X.shape
    mean, spread = X.mean(axis=0), X.std(axis=0)
    share = float(kind.split(" ")[0]) / 100 if "%" in kind else 0.0
    chosen = rng.random(n) < share
    if kind.endswith("cells"):
        gross = rng.random(X.shape) < share
        X[gross] *= 10.0
    elif kind.endswith("rows"):
        X[chosen] = mean + _GROSS * spread * rng.normal(size=(chosen.sum(), p))
    elif kind.endswith("cluster"):
        X[chosen] = mean + spread * (_APART * rng.choice([-1.0, 1.0], p) + 0.01 * rng.normal(size=(chosen.sum(), p)))
    elif kind.endswith("-9999"):
        for _ in range(5):
            X[rng.integers(n), rng.integers(p)] = -9999.0
    elif kind.endswith("1000"):
        X[rng.integers(n), rng.integers(p)] *= 1000.0
    elif kind.endswith("range"):
        for row in np.flatnonzero(chosen):
            column = rng.integers(p)
            X[row, column] = rows[rng.integers(n), column]
    return X
