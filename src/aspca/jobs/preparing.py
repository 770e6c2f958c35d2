"""What becomes of columns: what the user asked for, the plan for a table, and what a table must have to be judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from aspca.engines.source import Batch
from aspca.jobs.column_advice import PLURALS, columns_text, examined, ignoring
from aspca.jobs.errors import Instead, JobError, Obstacle, TableError
from aspca.jobs.tables import TableSource, column_of
from aspca.linalg.arrays import LARGEST_VALUE
from aspca.moments.validation import values_allowed
from aspca.preparation import CATEGORIES, ColumnPlan, Preparation
from aspca.preparation.columns import MOST_LEVELS, cell_text, plan_categories
from aspca.preparation.plan import missing_sentence

# What a column can hold to be a feature as it is.
NUMBERS = ("number", "boolean")


def plan_of(
    table: TableSource, features: Sequence[str], kinds: Mapping[str, str] | None = None, *, gaps: bool = False
) -> Preparation:
    """What becomes of a table's features: what `kinds` says, otherwise numbers as they are; with `gaps`, values may be
    missing.

    Raises
    ------
    JobError
        Values are missing where they may not be, or a column has no categories, or too many.
    """
    if not gaps:
        refuse_gaps(table, features)
    asked = {name: (kinds or {}).get(name, "number") for name in features}
    asked |= {name: _own_kind(table, name) for name, kind in asked.items() if kind == "number"}
    levels = _levels(table, {name: kind for name, kind in asked.items() if kind in CATEGORIES})
    try:
        plans = [
            plan_categories(name, kind, levels[name]) if name in levels else ColumnPlan(name, kind)
            for name, kind in asked.items()
        ]
        return Preparation(tuple(plans), "allow" if gaps else "error")
    except ValueError as error:
        raise JobError(f"{table.description}: {error}") from None


def has_gaps(table: TableSource, names: Sequence[str]) -> bool:
    """Whether values of these columns are missing, or may be."""
    columns = [column_of(table, name) for name in names]
    return any(column is not None and column.n_missing != 0 for column in columns)


def refuse_gaps(table: TableSource, names: Sequence[str], cure: str = "give --allow-missing") -> None:
    """Raise JobError if values of these columns are known to be missing, with the columns and how many."""
    found = gaps_in(table, names, cure)
    if found:
        raise JobError(found[0].sentence)


def gaps_in(table: TableSource, names: Sequence[str], cure: str = "leave out --no-allow-missing") -> list[Obstacle]:
    """What to say if values of these columns are known to be missing: the columns, and how many."""
    columns = {name: column_of(table, name) for name in names}
    # Cells that could not be read are findings, whatever the model knows of gaps.
    bad = Counter(cell.column for cell in table.bad_cells)
    counts = {
        name: (column.n_missing or 0) - bad[name] - bad[None] for name, column in columns.items() if column is not None
    }
    if not any(counts.values()):
        return []
    sentence = missing_sentence(counts, cure=cure)
    withdrawn = Instead("--no-allow-missing", "")
    return [Obstacle(f"{table.description}: {sentence[0].lower()}{sentence[1:]}", instead=withdrawn)]


def _own_kind(table: TableSource, name: str) -> str:
    column = column_of(table, name)
    return "boolean" if column is not None and column.kind == "boolean" else "number"


def _levels(table: TableSource, kinds: dict[str, str]) -> dict[str, set[str]]:
    """The categories of each column, in one pass; of a column with far too many, not all."""
    levels: dict[str, set[str]] = {name: set() for name in kinds}
    if not kinds:
        return levels
    for rows in table.cells(list(kinds)):
        for name, cells in zip(kinds, zip(*rows, strict=True), strict=True):
            if kinds[name] == "codes" or len(levels[name]) <= 100 * MOST_LEVELS:
                levels[name].update(text for cell in set(cells) if (text := cell_text(cell)) is not None)
    return levels


# ---- what a table must have


def other_columns(
    table: TableSource, kinds: Mapping[str, str], whose: str, *, can_ignore: bool = False
) -> list[Obstacle]:
    """What to say unless the table has all these columns, each fit for what is to become of it.

    `can_ignore`: rules are yet to be learned, so they can do without a column.
    """
    names = {column.name: column for column in table.columns}
    missing = [name for name in kinds if name not in names]
    found = []
    if missing:
        sentence = (
            f"{table.description} has no {columns_text(missing)}, which {whose} need; it has "
            f"{columns_text(list(names))}."
        )
        found.append(Obstacle(sentence, ignoring(missing) if can_ignore else (), settled=can_ignore))
    for name, kind in kinds.items():
        held = "" if name not in names else names[name].kind
        # A column without any value is taken for text.
        empty = not held or names[name].n_missing == table.count()
        if kind in CATEGORIES or empty or (held == "date" if kind == "date" else held in NUMBERS):
            continue
        needed = "dates" if kind == "date" else "numbers"
        why = f"cannot be read as {needed}, which {whose} need: {names[name].remark}"
        if not names[name].remark:
            example = examined(table, [name])[0].example if held == "text" else ""
            why = f"holds {PLURALS.get(held, held)}{example}, but {whose} need {needed} there; correct the column"
        sentence = f"Column {name!r} of {table.description} {why}."
        # While rules are learned, an option would change how the rows to learn from are read, too.
        remedy = ignoring([name]) if can_ignore else names[name].remedy
        found.append(Obstacle(sentence, remedy, settled=bool(remedy)))
    return found


def refuse_other_columns(table: TableSource, kinds: Mapping[str, str], whose: str) -> None:
    """Raise RequestError unless the table has all these columns, each fit for what is to become of it."""
    found = other_columns(table, kinds, whose)
    if found:
        raise TableError.of(found)


def columns_needed(plan: Preparation) -> dict[str, str]:
    """The columns that a model needs, and what becomes of each."""
    return {column.name: column.kind for column in plan.columns}


def refuse_values(
    table: TableSource, batch: Batch, names: Sequence[str], *, gaps: bool = False, learning: bool = False
) -> None:
    """Raise JobError if a value of a batch is missing (unless `gaps` are fine), infinite or beyond +-1e150.

    `learning`: rules are yet to be learned, so that columns can still be left out.
    """
    values = np.where(np.isnan(batch.values), 0.0, batch.values) if gaps else batch.values
    if not len(values) or values_allowed(values.min(axis=0), values.max(axis=0)):
        return
    row, column = (int(one) for one in np.argwhere(~(np.abs(values) <= LARGEST_VALUE))[0])
    where, value, name = table.where(batch.start + row), values[row, column], repr(names[column])
    if np.isnan(value):
        missing = getattr(column_of(table, names[column]), "n_missing", None)
        count = f" ({missing} of {table.count()} rows lack one)" if missing else ""
        raise JobError(
            f"{where} has no value in column {name}{count}; fill missing values, leave out their rows or the column, "
            "or learn the rules with --allow-missing."
        )
    wild = [names[k] for k in np.flatnonzero((np.abs(values) > LARGEST_VALUE).any(axis=0)).tolist()]
    raise JobError(
        f"{where} has the value {value:g} in column {name}; values must lie within +-{LARGEST_VALUE:g}, so correct it, "
        "rescale the column, or leave it out with --ignore.",
        ignoring(wild) if learning and len(wild) < len(names) else (),
    )
