"""Tables with identities of every form, and errors in their cells."""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats

NAMES = [
    *("wage", "lwage", "tenure", "tenursq", "net", "tax", "total"),
    *("totelg", "totpart", "prate", "hours", "minutes", "sched", "noise"),
]
EQUATIONS = {
    "lwage = log(wage)",
    "tenursq = tenure^2",
    "total = net + tax",
    "prate = 100 totpart / totelg",
    "sched = 100 hours + minutes",
}


def everyday(n: int = 600, seed: int = 0) -> Floats:
    """Wages and their logarithms, squares, cents that add up, percentages with one decimal, clock times, noise."""
    rng = np.random.default_rng(seed)
    wage = np.round(rng.lognormal(2.0, 0.5, n), 2)
    tenure = rng.integers(0, 30, n).astype(float)
    net, tax = np.round(rng.gamma(2.0, 100.0, n), 2), np.round(rng.gamma(2.0, 20.0, n), 2)
    totelg = rng.integers(20, 5000, n).astype(float)
    totpart = np.floor(totelg * rng.beta(5.0, 2.0, n))
    hours, minutes = rng.integers(0, 24, n).astype(float), rng.integers(0, 60, n).astype(float)
    return np.column_stack(
        [
            wage,
            np.log(wage),
            tenure,
            tenure**2,
            net,
            tax,
            np.round(net + tax, 2),
            totelg,
            totpart,
            np.round(100.0 * totpart / totelg, 1),
            hours,
            minutes,
            100.0 * hours + minutes,
            rng.normal(size=n),
        ]
    )


def corrupted(X: Floats, share: float, seed: int = 1) -> tuple[Floats, dict[int, int]]:
    """A share of the rows with one wrong cell each, and which: ten times as large, and one more."""
    rng = np.random.default_rng(seed)
    spoiled, where = X.copy(), {}
    for row in rng.choice(len(X), round(share * len(X)), replace=False).tolist():
        where[row] = int(rng.integers(X.shape[1]))
        spoiled[row, where[row]] = 10.0 * spoiled[row, where[row]] + 1.0
    return spoiled, where
