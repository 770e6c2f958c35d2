"""Tables with identities, models of them, and rows that violate these: what model files must keep."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from aspca import ASPCA, Preprocessor

NAMES = ("a]\n", "b", "total", "x", "sq", "w", "lw", "pct", "free", "noisy")
EQUATIONS = ("sq = x^2", "lw = log(w)", "total = [a]]\\n] + b", "pct = 100 [a]]\\n] / b")


class Case(NamedTuple):
    """A fitted model, the rows it was fitted to, rows that violate identities, and what it must have found."""

    model: ASPCA
    rows: pd.DataFrame
    wrong: pd.DataFrame
    equations: tuple[str, ...]


def exact(n: int = 300, seed: int = 5) -> pd.DataFrame:
    """A total, a square, a logarithm, a percentage with one decimal, and a relation with noise; no cell is a count."""
    rng = np.random.default_rng(seed)
    a, b = np.round(1000.0 + rng.gamma(2.0, 100.0, (2, n)), 2) + 0.001
    x, w = np.round(rng.normal(5.0, 2.0, n), 3), np.round(rng.lognormal(2.0, 0.5, n), 2)
    free, noise = rng.normal(size=(2, n))
    pct = np.round(100.0 * a / b, 1)
    columns = [a, b, np.round(a + b, 3), x, x**2, w, np.log(w), pct, free, 2.0 * free + 0.1 * noise]
    return pd.DataFrame(np.column_stack(columns), columns=list(NAMES))


def conditional(n: int = 300, seed: int = 6) -> pd.DataFrame:
    """price = 2 weight for kind a only."""
    rng = np.random.default_rng(seed)
    kind, weight = rng.choice(["a", "b", "</c>"], n, p=[0.8, 0.1, 0.1]), np.round(rng.lognormal(1.0, 0.5, n), 2)
    other, (u, noise) = np.round(rng.lognormal(2.0, 0.5, n), 2), rng.normal(size=(2, n))
    price = np.where(kind == "a", np.round(2.0 * weight, 2), other)
    return pd.DataFrame({"kind": kind, "weight": weight, "price": price, "u": u, "v": u + 0.1 * noise})


def spoiled(rows: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """The first forty rows, in most of which one cell of these columns is wrong, and in some two."""
    found = rows[:40].reset_index(drop=True)
    for row in range(36):
        for column in columns[row % len(columns) :][: 1 + (row % 9 == 8)]:
            value = found.loc[row, column]
            found.loc[row, column] = (10.0 * value, value / 10.0, value + 0.5, -value)[row % 4]
    return found


@cache
def cases() -> dict[str, Case]:
    """One of each kind."""
    rows, related = exact(), [name for name in NAMES if name not in ("free", "noisy")]
    wrong = spoiled(rows, related)
    errors = pd.concat([wrong[:4], rows[40:]], ignore_index=True)
    some = np.random.default_rng(1).random(rows.shape) < 0.04
    gapped, kinds = rows.mask(some), conditional()
    rule = "price = 2 weight if kind is a"
    found = {
        "exact": (ASPCA().fit(rows), rows, wrong, EQUATIONS),
        "standard": (ASPCA(scaling="standard").fit(rows), rows, wrong, EQUATIONS),
        "errors": (ASPCA().fit(errors), errors, wrong, EQUATIONS),
        "gaps": (
            ASPCA(preprocessor=Preprocessor(missing="allow")).fit(gapped),
            gapped,
            wrong.mask(some[:40]),
            EQUATIONS,
        ),
        "categories": (
            ASPCA(rules=[rule], preprocessor=Preprocessor(categorical={"kind": "one-hot"})).fit(kinds),
            kinds,
            spoiled(kinds, ["weight", "price"]),
            (rule, "kind is [</c>], a or b"),
        ),
        "given": (
            ASPCA(rules=["total = [a]]\n] + b", "noisy = 2 free"]).fit(rows),
            rows,
            wrong,
            EQUATIONS,
        ),
    }
    return {name: Case(*parts) for name, parts in found.items()}


def repairs(model: ASPCA, rows: pd.DataFrame) -> list[Any]:
    """What is wrong in which row, and what it should be; as texts, since NaN is no other NaN."""
    return [repr(repair) for repair in model.explain(rows).repairs.values()]
