"""One wrong cell in a share of the rows, of seven kinds of error."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .relation import Floats

KINDS = ("x10", "/10", "sign", "digit swap", "+5 sd", "other row", "zero")


@dataclass(frozen=True)
class WrongCell:
    row: int
    column: int
    kind: str
    original: float


def make_rng(seed: int, *words: str) -> np.random.Generator:
    """The same numbers for the same seed and words, whatever else is run."""
    digest = hashlib.sha256("/".join(words).encode()).digest()
    return np.random.default_rng([seed, int.from_bytes(digest[:8], "big")])


def corrupt(X: Floats, share: float, rng: np.random.Generator) -> tuple[Floats, list[WrongCell]]:
    """A copy with one changed cell in the share of the rows (at least one row), and the cells that were changed."""
    n, p = X.shape
    spoiled = X.copy()
    wrong: list[WrongCell] = []
    for row in rng.choice(n, max(1, round(share * n)), replace=False):
        for _ in range(50):
            column, kind = int(rng.integers(p)), KINDS[int(rng.integers(len(KINDS)))]
            value = _change(X, int(row), column, kind, rng)
            if np.isfinite(value) and value != X[row, column]:
                wrong.append(WrongCell(int(row), column, kind, float(X[row, column])))
                spoiled[row, column] = value
                break
    return spoiled, wrong


def _change(X: Floats, row: int, column: int, kind: str, rng: np.random.Generator) -> float:
    value = float(X[row, column])
    if not np.isfinite(value):
        return np.nan
    if kind == "+5 sd":
        return _round_like(value + 5 * float(np.nanstd(X[:, column])), value)
    if kind == "other row":
        return float(X[rng.integers(len(X)), column])
    if kind == "digit swap":
        return _swap_digits(value, rng)
    return {"x10": 10 * value, "/10": value / 10, "sign": -value, "zero": 0.0}[kind]


def _round_like(value: float, example: float) -> float:
    """Rounded to the decimals that the original was written with."""
    text = repr(example)
    decimals = 0 if text.endswith(".0") else len(text.partition(".")[2])
    return value if "e" in text else round(value, decimals)


def _swap_digits(value: float, rng: np.random.Generator) -> float:
    """Two neighbouring digits exchanged, of the first eight significant ones; NaN where all are equal."""
    text = repr(value)
    if "e" in text:
        return np.nan
    places = [k for k, sign in enumerate(text) if sign.isdigit()]
    if text.endswith(".0"):
        places = places[:-1]
    pairs = [(a, b) for a, b in pairwise(places) if text[a] != text[b]][:8]
    if not pairs:
        return np.nan
    a, b = pairs[int(rng.integers(len(pairs)))]
    signs = list(text)
    signs[a], signs[b] = signs[b], signs[a]
    return float("".join(signs))
