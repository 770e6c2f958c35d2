"""What was asked of columns and what a table must have: sentences, and what to type so that a command works."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches

from aspca.model.model import Model
from aspca.preparation import CATEGORIES
from aspca.preparation.columns import MOST_LEVELS, describe_missing
from aspca.tables.column_advice import (
    MOST_NAMES,
    PLURALS,
    TextColumn,
    examine_texts,
    list_names,
    name_columns,
    quote_word,
)
from aspca.tables.errors import Instead, JobError, Obstacle, RequestError, SourceError, TableError, UndefinedError
from aspca.tables.keys import Keys, find_ids, read_labels
from aspca.tables.table import Column, Table, find_column

# What a column can hold to be a feature as it is.
NUMBERS = ("number", "boolean")
# A model for each of more categories is nothing that a person would read.
MOST_CATEGORIES = 100


def check_name(table: Table, name: str, option: str, given: str | None = None) -> Obstacle | None:
    """What to say if there is no such column, which `option` named; `given` is all that was typed there."""
    names = [column.name for column in table.columns]
    if name in names:
        return None
    close = get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"its columns are {list_names(names)}."
    typed = name if given is None else given
    parts = [close[0] if part == name and close else part for part in typed.split(",") if part != name or close]
    instead = Instead(option, typed, ",".join(parts) or None)
    return Obstacle(f"{option}: {table.description} has no column {name!r}; {hint}", instead=instead)


def find_keys(
    table: Table, ids: Sequence[str], time: str | None = None, label: str | None = None, categories: Sequence[str] = ()
) -> Keys:
    """The columns that stand beside rows; RequestError if one is not there."""
    names = find_ids(table, ids)
    for option, column in (("--time", time), ("--label", label), *(("--id", name) for name in names)):
        found = None if column is None else check_name(table, column, option)
        if found is not None:
            raise TableError.of([found])
    return Keys(names, time, tuple(categories), label)


def check_role(table: Table, option: str, name: str) -> list[Obstacle]:
    """A column that is asked to time rows, to part them (as its first rows tell) or to label them, and cannot."""
    column = find_column(table, name)
    where, told = f"{option}: column {name!r} of {table.description}", ""
    remedy: tuple[str, ...] = ()
    if column is None:
        return []
    if option == "--time" and column.kind not in ("date", "number"):
        told = f"{where} holds no times; it must hold dates or numbers."
    elif option in ("--time", "--by") and column.n_missing:
        what = "time" if option == "--time" else "category"
        told = f"{where} has no {what} in {column.n_missing:,} rows; every row needs one."
    elif option == "--by" and examine_texts(table, [name])[0].n_values > MOST_CATEGORIES:
        told = f"{where} has more than {MOST_CATEGORIES} categories, and each would get a model of its own; "
        told += "name a column with fewer."
    elif option == "--label":
        try:
            read_labels(table, name)
        except RequestError as error:
            # It is left out of the rules all the same.
            told, remedy = str(error), ("--ignore", name)
    return [Obstacle(told, remedy, Instead(option, name))] if told else []


def explain_undefined(error: UndefinedError) -> TableError:
    """The same, with what to type instead while rules are yet to be learned."""
    if error.kind in NUMBERS:
        return TableError.of([Obstacle(str(error), leave_out_words([error.column]))])
    return TableError.of([Obstacle(str(error), instead=Instead(_find_option(error.kind), error.column))])


def _find_option(kind: str) -> str:
    options = {"date": "--date", "number": "--number", "log": "--log"} | dict.fromkeys(CATEGORIES, "--categorical")
    return options.get(kind, "--transform")


def check_kind(table: Table, name: str, kind: str, taken: Collection[str | None]) -> list[Obstacle]:
    """A column that is asked to become something that it cannot."""
    option = _find_option(kind)
    missing = check_name(table, name, option)
    if missing is not None:
        return [missing]
    column = find_column(table, name)
    held, where = "" if column is None else column.kind, f"{option}: column {name!r} of {table.description}"
    if name in taken:
        told = f"{option}: column {name!r} has another role already; give it one of them."
    elif kind == "date" and held != "date":
        told = f"{where} holds no dates, but {PLURALS.get(held, held)}; "
        told += "dates are written as in 2024-12-31 or 2024-12-31 23:59:00."
    elif kind == "one-hot" and examine_texts(table, [name])[0].n_values > MOST_LEVELS:
        told = f"{where} has more than {MOST_LEVELS} different values, too many to be features of their own; "
        told += "leave it out."
    elif kind not in (*CATEGORIES, "date") and held != "number" and not (kind == "number" and held in NUMBERS):
        found = examine_texts(table, [name])[0].example if held == "text" else ""
        told = f"{where} holds {PLURALS.get(held, held)}{found}, but {kind} takes numbers."
    else:
        return []
    return [Obstacle(told, instead=Instead(option, name))]


# ---- commands that work


def withdraw_unfit(one: Obstacle, table: Table, source: Table, taken: Collection[str | None]) -> Obstacle:
    """The same, an option withdrawn where the column that may have been meant cannot be what was asked for."""
    change = one.instead
    if change is None or change.value is None or change.option == "--ignore":
        return one
    kinds = {"--date": "date", "--log": "log", "--transform": "log", "--number": "number", "--categorical": "one-hot"}
    option, value = change.option, change.value
    unfit = check_kind(source, value, kinds[option], taken) if option in kinds else check_role(table, option, value)
    if unfit or (option not in kinds and value in taken):
        return replace(one, instead=replace(change, value=None))
    return one


def resolve_conflicts(obstacles: list[Obstacle], features: Sequence[str]) -> list[Obstacle]:
    """The same, unsettled where leaving columns out would leave nothing; no column is named for two things."""
    ignored = {name for one in obstacles if one.remedy[:1] == ("--ignore",) for name in one.remedy}
    gained = any(one.remedy and one.remedy[0] not in ("--ignore", "--ignore-text") for one in obstacles)
    named: set[str] = set(ignored)
    for position, one in enumerate(obstacles):
        value = None if one.instead is None else one.instead.value
        if one.instead is not None and value is not None and one.instead.option != "--ignore":
            if value in named:
                obstacles[position] = replace(one, instead=replace(one.instead, value=None))
            named.add(value)
    if gained or not ignored.issuperset(features):
        return obstacles
    return [replace(one, settled=False) if one.remedy else one for one in obstacles]


# ---- what stands in the way, and what is said instead


def shorten(obstacles: Sequence[Obstacle]) -> list[Obstacle]:
    """The same, but of many columns alike only the first are told one by one."""
    if len(obstacles) <= MOST_NAMES:
        return list(obstacles)
    told, rest = list(obstacles[: MOST_NAMES - 1]), obstacles[MOST_NAMES - 1 :]
    remedy = tuple(word for one in rest for word in one.remedy)
    return [*told, Obstacle(f"So it is with {len(rest):,} more columns.", remedy)]


def check_text(table: Table, column: Column, text: TextColumn, settled: dict[str, str]) -> Obstacle | None:
    """What to say of a column that should be numbers and cannot be read as such; None for other text. `settled` are
    options that other columns asked for already, with their values: no two columns may ask for different ones."""
    # Who read a file has said why a column is text, and whether it seems to be meant as something else.
    if not column.remedy and (column.remark or not text.mostly_numbers):
        return None
    sentence, remedy = _why_no_numbers(table, column, text)
    asked = dict(zip(remedy[::2], remedy[1::2], strict=False)) if remedy[:1] != ("--missing",) else {}
    agreed = all(settled.setdefault(option, value) == value for option, value in asked.items())
    if agreed and remedy and remedy[0] != "--ignore":
        return Obstacle(sentence, remedy)
    # A name that cannot be printed cannot be pasted either.
    return Obstacle(sentence, leave_out_words([column.name]) if column.name.isprintable() else ("--ignore-text",))


def _why_no_numbers(table: Table, column: Column, text: TextColumn) -> tuple[str, tuple[str, ...]]:
    """The sentence of who read the table, who knows the line and the cell; and what would settle the matter."""
    try:
        # A table in memory says nothing before it is read.
        table.batches([column.name])
    except SourceError as error:
        return str(error), column.remedy or error.remedy
    parts = [part for part in (text.example.strip(" ()"), column.remark) if part]
    why = f" ({'; '.join(parts)})" if parts else ""
    told = f"Column {column.name!r} of {table.description} holds text{why}, though most of it is numbers"
    return f"{told}: correct what is none, or leave it out with --ignore {quote_word(column.name)}.", column.remedy


def leave_out_words(names: Sequence[str]) -> tuple[str, ...]:
    """The words that leave columns out."""
    return tuple(word for name in names for word in ("--ignore", name))


# ---- what a table must have


def check_columns(table: Table, kinds: Mapping[str, str], whose: str, *, can_ignore: bool = False) -> list[Obstacle]:
    """What to say unless the table has all these columns, each fit for what is to become of it. `can_ignore`: rules are
    yet to be learned, so they can do without a column."""
    names = {column.name: column for column in table.columns}
    missing = [name for name in kinds if name not in names]
    found = []
    if missing:
        sentence = (
            f"{table.description} has no {name_columns(missing)}, which {whose} need; it has "
            f"{name_columns(list(names))}."
        )
        found.append(Obstacle(sentence, leave_out_words(missing) if can_ignore else (), settled=can_ignore))
    for name, kind in kinds.items():
        held = "" if name not in names else names[name].kind
        # A column without any value is taken for text.
        empty = not held or names[name].n_missing == table.count()
        if kind in CATEGORIES or empty or (held == "date" if kind == "date" else held in NUMBERS):
            continue
        needed = "dates" if kind == "date" else "numbers"
        why = f"cannot be read as {needed}, which {whose} need: {names[name].remark}"
        if not names[name].remark:
            example = examine_texts(table, [name])[0].example if held == "text" else ""
            why = f"holds {PLURALS.get(held, held)}{example}, but {whose} need {needed} there; correct the column"
        sentence = f"Column {name!r} of {table.description} {why}."
        # While rules are learned, an option would change how the rows to learn from are read, too.
        remedy = leave_out_words([name]) if can_ignore else names[name].remedy
        found.append(Obstacle(sentence, remedy, settled=bool(remedy)))
    return found


def has_gaps(table: Table, names: Sequence[str]) -> bool:
    """Whether values of these columns are missing, or may be."""
    columns = [find_column(table, name) for name in names]
    return any(column is not None and column.n_missing != 0 for column in columns)


def refuse_gaps(table: Table, names: Sequence[str], cure: str = "give --allow-missing") -> None:
    """Raise JobError if values of these columns are known to be missing, with the columns and how many."""
    found = check_gaps(table, names, cure)
    if found:
        raise JobError(found[0].sentence)


def check_gaps(table: Table, names: Sequence[str], cure: str = "leave out --no-allow-missing") -> list[Obstacle]:
    """What to say if values of these columns are known to be missing: the columns, and how many."""
    columns = {name: find_column(table, name) for name in names}
    # Cells that could not be read are findings, whatever the model knows of gaps.
    bad = Counter(cell.column for cell in table.bad_cells)
    counts = {
        name: (column.n_missing or 0) - bad[name] - bad[None] for name, column in columns.items() if column is not None
    }
    if not any(counts.values()):
        return []
    sentence = describe_missing(counts, cure=cure)
    withdrawn = Instead("--no-allow-missing", "")
    return [Obstacle(f"{table.description}: {sentence[0].lower()}{sentence[1:]}", instead=withdrawn)]


def refuse_unfit(table: Table, model: Model, gaps: bool = False) -> None:
    """Raise JobError unless a table has what a model needs: columns, and values, unless `gaps` are fine."""
    kinds = model.preparation.types
    found = check_columns(table, kinds, "the rules of the model")
    if found:
        raise TableError.of(found)
    if not gaps and not model.allows_gaps:
        refuse_gaps(table, list(kinds), cure="learn the model with --allow-missing")
