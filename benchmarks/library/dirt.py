"""Families of data to spoil (totals, rules that share features, a factor model), and ways to spoil training rows.

Spoiled by gross rows and cells, a cluster, sentinels, a slipped unit, errors within the range; beside them clean rows
with heavy tails.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from library.labelled import Floats, Labelled, move_features
from library.planted import planted
from library.shapes import shapes
from library.sums import _members, sums

FAMILIES = ("sums", "shared features", "factor model")
TAILS = ("t3", "log-normal")
# Rows to learn from.
_ROWS = {"sums": 1500, "shared features": 2000, "factor model": 2000}
_NOISE = 0.01
# A moved feature of the factor model is so many of its deviations off: relations there are loose.
_SHIFT = 2.0
# Columns per common factor of rows with tails, and the deviation of what each column has of its own.
_PER_FACTOR, _OWN = 3, 0.1

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


@dataclass(frozen=True, eq=False)
class Known:
    """Data, and the features of each rule they were made by; none where there is no sparsest set of them."""

    data: Labelled
    rules: tuple[frozenset[int], ...] = ()


def family(name: str, p: int, seed: int, n: int | None = None) -> Known:
    """Data of a family with p features, n training rows."""
    n = _ROWS[name] if n is None else n
    if name == "sums":
        totals = round(p / 3)
        # The same draw as that of `sums`, which begins with it.
        members = _members(p - totals, totals, 3, np.random.default_rng([seed, p, 7]))
        return Known(sums(p, seed, n=n), tuple(frozenset([*those, p - totals + k]) for k, those in enumerate(members)))
    if name == "shared features":
        data = planted(p, _NOISE, seed, n=n, n_normal=2000, n_anomalies=1000)
        return Known(data, tuple(frozenset(np.flatnonzero(rule).tolist()) for rule in data.rules))
    return Known(shapes("factors, noise 0.3", p, _SHIFT, seed, n=n))


def with_tails(law: str, p: int, seed: int, n: int = 2000) -> Labelled:
    """Rows driven by p / 3 factors, factors and noise of a law with tails; an anomaly has a feature of another row."""
    rng = np.random.default_rng([seed, p, TAILS.index(law)])

    def draw(size: tuple[int, int]) -> Floats:
        return rng.standard_t(3, size) if law == "t3" else rng.lognormal(size=size)

    factors = max(2, p // _PER_FACTOR)
    loadings = rng.normal(size=(factors, p)) * (rng.random((factors, p)) < min(1.0, 4.0 / factors))
    loadings[rng.integers(factors, size=p), np.arange(p)] += 1.0

    def rows(count: int) -> Floats:
        return np.asarray(draw((count, factors)) @ loadings + _OWN * draw((count, p)))

    n_normal, n_anomalies = 2000, 1000
    train, test, donors = rows(n), rows(n_normal + n_anomalies), rows(n_anomalies)
    labels, changed = move_features(test, donors, rng.integers(p, size=n_anomalies))
    return Labelled(train=train, test=test, labels=labels, changed=changed)


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
