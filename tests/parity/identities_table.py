"""A table of identities: what they are, which cells are wrong, and what these should be."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

N_ROWS = 6000
NAMES = ("a", "b", "total", "wage", "lwage", "paid", "hours", "rate", "side", "area", "d", "e", "f")
# Wrong cells of each column, all in rows that have no gap.
WRONG = {"total": 7, "wage": 5, "rate": 6, "side": 4}
# What is found, to what, by its columns, and in which of them cells are wrong.
FOUND = {
    frozenset({"total", "a", "b"}): ("exactly", "total"),
    frozenset({"lwage", "wage"}): ("exactly", "wage"),
    frozenset({"rate", "paid", "hours"}): ("to rounding", "rate"),
    frozenset({"area", "side"}): ("exactly", "side"),
}
# Where values may be missing in the second variant.
GAPPY = ("b", "lwage", "hours", "e")


class Made(NamedTuple):
    """Rows (n, 13), NaN where a value is missing, and the wrong cells: by row and name what they should be."""

    rows: np.ndarray
    wrong: dict[tuple[int, str], float]


def identity_rows(*, gaps: bool = False, n_rows: int = N_ROWS) -> Made:
    """A total, a logarithm, a ratio rounded to one decimal, a square, and a relation with noise."""
    rng = np.random.default_rng(31)
    rows = np.empty((n_rows, len(NAMES)))
    column = {name: rows[:, place] for place, name in enumerate(NAMES)}
    column["a"][:], column["b"][:] = np.round(rng.uniform(10, 500, size=(2, n_rows)), 2)
    column["total"][:] = np.round(column["a"] + column["b"], 2)
    column["wage"][:] = np.round(rng.lognormal(2.5, 0.5, n_rows), 2)
    column["lwage"][:] = np.log(column["wage"])
    column["paid"][:] = np.round(rng.uniform(100, 3000, n_rows), 2)
    column["hours"][:] = np.round(rng.uniform(5, 60, n_rows))
    column["rate"][:] = np.round(column["paid"] / column["hours"], 1)
    column["side"][:] = np.round(rng.uniform(1, 90, n_rows), 1)
    column["area"][:] = np.round(column["side"] ** 2, 2)
    column["d"][:], column["e"][:] = rng.normal(size=(2, n_rows))
    column["f"][:] = 2 * column["d"] - column["e"] + 0.05 * rng.normal(size=n_rows)
    wrong = {}
    taken = rng.permutation(n_rows)[: sum(WRONG.values())].tolist()
    for name, several in WRONG.items():
        for row in (taken.pop() for _ in range(several)):
            wrong[row, name] = float(column[name][row])
            # Beyond what the column holds, and by another factor each: a misplaced point is one of many slips.
            column[name][row] = np.round(column[name][row] * rng.uniform(5, 50) + 1000.0, 1)
    if gaps:
        spared = np.array([row for row, _ in wrong])
        for name in GAPPY:
            some = rng.random(n_rows) < 0.03
            some[spared] = False
            column[name][some] = np.nan
    return Made(rows, wrong)
