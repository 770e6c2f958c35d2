"""What a model cannot be trusted with, in sentences: too few rows for its columns, or too many columns."""

from __future__ import annotations

from aspca.moments.space import ScaledSpace
from aspca.rules.forward import MOST_TERMS, WIDE, finds_short_only

# Rows per column from which on planted rules are found (benchmarks/silence.py) and limits are mostly right (limits.py).
_ENOUGH = 3.0


def doubts_of(space: ScaledSpace) -> tuple[str, ...]:
    """Sentences about what the rows are too few, or the columns too many for; none where all is well."""
    return (*_many_columns(space), *_few_rows(space))


def _many_columns(space: ScaledSpace) -> tuple[str, ...]:
    p = space.n_varying
    if not finds_short_only(space):
        return ()
    why = f"more than {WIDE}" if p > WIDE else f"as many as rows or more ({space.n_rows:,})"
    return (
        f"Of {p:,} columns, {why}, only rules of at most {MOST_TERMS + 1} columns were looked for; what "
        "longer ones would say is judged outside of the rules: learn from fewer columns at once to find them.",
    )


def _few_rows(space: ScaledSpace) -> tuple[str, ...]:
    p = space.n_varying
    worth = space.worth
    if worth >= _ENOUGH * p:
        return ()
    rows = f"{space.n_rows:,} rows"
    if space.n_rows >= _ENOUGH * p:
        rows += f" that follow each other are worth {worth:,.0f}, which"
    return (
        f"{rows} are few for {p:,} column{'s' * (p != 1)}: relations may be missed, and rows may be flagged far more "
        f"or less often than the level says; learn from at least {_ENOUGH:.0f} rows a column.",
    )
