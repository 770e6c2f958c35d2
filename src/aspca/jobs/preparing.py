"""From the roles of columns to what becomes of them; and the sentence for values that are missing."""

from __future__ import annotations

from collections.abc import Sequence

from aspca.jobs.columns import Roles
from aspca.jobs.errors import JobError
from aspca.jobs.table import Table, column_of
from aspca.preparation import CATEGORIES, ColumnPlan, Preparation
from aspca.preparation.columns import MOST_LEVELS, cell_text, plan_categories
from aspca.preparation.plan import missing_sentence


def plan_of(table: Table, roles: Roles, *, gaps: bool) -> Preparation | None:
    """What becomes of a table's features; None where all are numbers as they are. `gaps`: values may be missing.

    Raises
    ------
    JobError
        Values are missing where they may not be, or a column has no categories, or too many.
    """
    if not gaps:
        refuse_gaps(table, roles.features)
    kinds = {name: roles.kinds.get(name, "number") for name in roles.features}
    kinds |= {name: _own_kind(table, name) for name, kind in kinds.items() if kind == "number"}
    levels = _levels(table, {name: kind for name, kind in kinds.items() if kind in CATEGORIES})
    try:
        plans = [
            plan_categories(name, kind, levels[name]) if name in levels else ColumnPlan(name, kind)
            for name, kind in kinds.items()
        ]
        plan = Preparation(tuple(plans), "allow" if gaps else "error")
    except ValueError as error:
        raise JobError(f"{table.description}: {error}") from None
    return None if plan.plain else plan


def refuse_gaps(table: Table, names: Sequence[str], cure: str = "give --allow-missing") -> None:
    """Raise JobError if values of these columns are known to be missing, with the columns and how many."""
    found = {name: column_of(table, name) for name in names}
    counts = {name: column.n_missing or 0 for name, column in found.items() if column is not None}
    if any(counts.values()):
        sentence = missing_sentence(counts, cure=cure)
        raise JobError(f"{table.description}: {sentence[0].lower()}{sentence[1:]}")


def _own_kind(table: Table, name: str) -> str:
    column = column_of(table, name)
    return "boolean" if column is not None and column.kind == "boolean" else "number"


def _levels(table: Table, kinds: dict[str, str]) -> dict[str, set[str]]:
    """The categories of each column, in one pass; of a column with far too many, not all."""
    levels: dict[str, set[str]] = {name: set() for name in kinds}
    if not kinds:
        return levels
    for part in table.cells(list(kinds)):
        for name, cells in zip(kinds, zip(*part, strict=True), strict=True):
            if kinds[name] == "codes" or len(levels[name]) <= 100 * MOST_LEVELS:
                levels[name].update(text for cell in set(cells) if (text := cell_text(cell)) is not None)
    return levels
