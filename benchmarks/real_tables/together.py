"""Many errors in one table, learned from as it is: are those that are found alone found together too?"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from .ours import fitted, scores
from .spoiling import Case, many_cases, spoiled_table
from .table import Table

# No more errors than this share of the rows: more would not be errors but another kind of row.
_MOST = 0.1


@dataclass(frozen=True)
class Together:
    """Of one table: how many errors, and which of them (by place and by verdict) alone and together."""

    table: str
    n: int
    p: int
    first_alone: list[bool]
    first_together: list[bool]
    flagged_alone: list[bool]
    flagged_together: list[bool]
    excluded: str
    missed: list[str]
    seconds: float


def together(table: Table, count: int) -> Together:
    """Each error alone in the table, then all of them, at most a tenth of its rows.

    *First* is a row that scores higher than all others, and together one among the first as many rows as there are
    errors; *flagged* what `predict` says. Both after a robust fit to the spoiled table.
    """
    start = time.perf_counter()
    cases = many_cases(table, min(count, max(1, int(_MOST * len(table.frame)))))
    if not cases:
        return Together(table.name, *table.frame.shape, [], [], [], [], "", [], 0.0)
    alone = [_found(table, [case])[:2] for case in cases]
    first, flagged, excluded = _found(table, cases)
    first_alone, flagged_alone = [bool(one[0]) for one, _ in alone], [bool(one[0]) for _, one in alone]
    lost = [str(case) for case, one, all_of in zip(cases, first_alone, first, strict=True) if one and not all_of]
    return Together(
        table.name, *table.frame.shape, first_alone, first, flagged_alone, flagged, excluded, lost,
        time.perf_counter() - start,
    )  # fmt: skip


def _found(table: Table, cases: list[Case]) -> tuple[list[bool], list[bool], str]:
    frame = spoiled_table(table, cases)
    model = fitted(table, frame, itself=True)
    rows = [case.row for case in cases]
    order = np.argsort(-scores(model, frame), kind="stable")
    flagged = np.asarray(model.predict(frame))[rows] == -1
    excluded = model.model_.excluded
    words = f"{int(excluded.cells.sum())} cells in {len(excluded.rows)} rows"
    return np.isin(rows, order[: len(rows)]).tolist(), flagged.tolist(), words
