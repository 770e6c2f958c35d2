"""The table that every source must give the same model of: 20,000 rows of 12 columns, each hard in its own way."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

N_ROWS = 20_000
NAMES = ("a", "b", "c", "far", "constant", "twin", "part_1", "part_2", "total", "d", "e", "f")
# Where values may be missing in the second variant.
GAPPY = ("b", "d", "e")


def parity_rows(*, gaps: bool = False, n_rows: int = N_ROWS) -> np.ndarray:
    """The rows (n, 12), and in the second variant NaN in 2 % of the cells of some columns.

    `far` is at an offset of 1e8, `constant` is one, `twin` is `a` but for noise of 1e-4 of its spread, and `total` is
    the sum of its parts, exactly. One cell in a hundred is grossly wrong.
    """
    rng = np.random.default_rng(18)
    rows = rng.normal(size=(n_rows, len(NAMES)))
    column = {name: rows[:, place] for place, name in enumerate(NAMES)}
    column["far"] += 1e8
    column["constant"][:] = 7.25
    column["twin"][:] = column["a"] + 1e-4 * rng.normal(size=n_rows)
    # Multiples of 1/64, so that the sum is one in float64 as well.
    for name in ("part_1", "part_2"):
        column[name][:] = np.round(column[name] * 640) / 64
    column["total"][:] = column["part_1"] + column["part_2"]
    column["f"][:] = 2 * column["d"] - column["e"] + 0.05 * rng.normal(size=n_rows)
    # The constant has no spread to be wrong by.
    wrong = rng.random(size=rows.shape) < 0.01
    wrong[:, NAMES.index("constant")] = False
    rows[wrong] += rng.choice([-1.0, 1.0], size=int(wrong.sum())) * np.round(rng.uniform(20, 60, int(wrong.sum())))
    if gaps:
        for name in GAPPY:
            column[name][rng.random(size=n_rows) < 0.02] = np.nan
    return rows


def in_pieces(n_rows: int, rng: np.random.Generator, most: int = 4000) -> list[slice]:
    """The rows cut anywhere, into pieces of 1 to `most` rows."""
    cuts = [0]
    while cuts[-1] < n_rows:
        cuts.append(min(n_rows, cuts[-1] + int(rng.integers(1, most + 1))))
    return [slice(start, stop) for start, stop in pairwise(cuts)]
