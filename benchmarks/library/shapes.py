"""Tables without a tight rule: independent columns, heavy tails, a few common factors. One feature is shifted.

`draw` gives rows of several laws without any relation: which fresh rows a limit flags is then its own doing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from library.labelled import Floats, Labelled, move_features

# How many columns a common factor has on average.
_PER_FACTOR = 5
LAWS = ("Gauss", "t5", "log-normal", "counts", "AR(1) 0.5", "AR(1) 0.9")
# Rows of a series before the first that counts.
_WARM = 200

Draw = Callable[[int, np.random.Generator], Floats]


def _gaussian(p: int, rng: np.random.Generator) -> Draw:
    return lambda count, draws: draws.normal(size=(count, p))


def _heavy(p: int, rng: np.random.Generator) -> Draw:
    return lambda count, draws: draws.standard_t(5, size=(count, p)) / np.sqrt(5.0 / 3.0)


def _factors(noise: float) -> Callable[[int, np.random.Generator], Draw]:
    """Columns of unit variance driven by p / 5 factors; `noise` is their own deviation over that of the common part."""

    def draw_for(p: int, rng: np.random.Generator) -> Draw:
        loadings = rng.normal(size=(max(1, p // _PER_FACTOR), p))
        loadings /= np.linalg.norm(loadings, axis=0)

        def draw(count: int, draws: np.random.Generator) -> Floats:
            common = draws.normal(size=(count, len(loadings))) @ loadings
            return np.asarray((common + noise * draws.normal(size=common.shape)) / np.sqrt(1.0 + noise**2))

        return draw

    return draw_for


SHAPES: dict[str, Callable[[int, np.random.Generator], Draw]] = {
    "independent": _gaussian,
    "independent, t5": _heavy,
    "factors, noise 0.3": _factors(0.3),
    "factors, noise 1.0": _factors(1.0),
}


def shapes(
    kind: str, p: int, shift: float, seed: int, *, n: int = 2000, n_normal: int = 2000, n_anomalies: int = 1000
) -> Labelled:
    """A table of this kind; an anomaly has one feature, any, `shift` of its deviations off, up or down."""
    rng = np.random.default_rng([seed, p, list(SHAPES).index(kind)])
    draw = SHAPES[kind](p, rng)
    train, test = draw(n, rng), draw(n_normal + n_anomalies, rng)
    features = rng.integers(p, size=n_anomalies)
    shifted = test[n_normal:] + shift * rng.choice((-1.0, 1.0), size=(n_anomalies, 1))
    labels, changed = move_features(test, shifted, features)
    return Labelled(train=train, test=test, labels=labels, changed=changed)


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
