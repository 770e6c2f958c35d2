"""What was asked of columns and cannot be: sentences, and what to type instead so that a command works."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from aspca.jobs.column_advice import PLURALS, absent, examined, ignoring
from aspca.jobs.errors import Instead, Obstacle, RequestError, TableError, UndefinedError
from aspca.jobs.labels import truth_of
from aspca.jobs.preparing import NUMBERS
from aspca.jobs.tables import MOST_CATEGORIES, TableSource, column_of
from aspca.preparation import CATEGORIES
from aspca.preparation.columns import MOST_LEVELS


def misnamed(table: TableSource, given: Mapping[str, str | None]) -> list[Obstacle]:
    found = [absent(table, name, option) for option, name in given.items() if name is not None]
    return [one for one in found if one is not None]


def unfit_time(table: TableSource, time: str | None) -> list[Obstacle]:
    column = None if time is None else column_of(table, time)
    if time is None or column is None:
        return []
    withdrawn = Instead("--time", time)
    if column.kind not in ("date", "number"):
        told = f"--time: column {time!r} of {table.description} holds no times; it must hold dates or numbers."
        return [Obstacle(told, instead=withdrawn)]
    if column.n_missing:
        told = f"--time: column {time!r} of {table.description} has no time in {column.n_missing:,} rows"
        return [Obstacle(f"{told}; every row needs one.", instead=withdrawn)]
    return []


def unfit_categories(table: TableSource, by: str | None) -> list[Obstacle]:
    """Of a column to have a model for each category of, what can be told without reading all of it."""
    column = None if by is None else column_of(table, by)
    if by is None or column is None:
        return []
    where = f"--by: column {by!r} of {table.description}"
    if column.n_missing:
        told = f"{where} has no category in {column.n_missing:,} rows; every row needs one."
    elif examined(table, [by])[0].n_values > MOST_CATEGORIES:
        told = f"{where} has more than {MOST_CATEGORIES} categories, and each would get a model of its own; "
        told += "name a column with fewer."
    else:
        return []
    return [Obstacle(told, instead=Instead("--by", by))]


def unfit_labels(table: TableSource, label: str) -> list[Obstacle]:
    try:
        truth_of(table, label)
    except RequestError as error:
        # It is left out of the rules all the same.
        return [Obstacle(str(error), ("--ignore", label), Instead("--label", label))]
    return []


def undefined(error: UndefinedError) -> TableError:
    """The same, with what to type instead while rules are yet to be learned."""
    if error.kind in NUMBERS:
        return TableError.of([Obstacle(str(error), ignoring([error.column]))])
    return TableError.of([Obstacle(str(error), instead=Instead(_option_of(error.kind), error.column))])


def _option_of(kind: str) -> str:
    options = {"date": "--date", "number": "--number", "log": "--log"} | dict.fromkeys(CATEGORIES, "--categorical")
    return options.get(kind, "--transform")


def wrong_kind(table: TableSource, name: str, kind: str, taken: Collection[str | None]) -> list[Obstacle]:
    """A column that is asked to become something that it cannot."""
    option = _option_of(kind)
    missing = absent(table, name, option)
    if missing is not None:
        return [missing]
    withdrawn = Instead(option, name)
    if name in taken:
        return [Obstacle(f"{option}: column {name!r} has another role already; give it one of them.", (), withdrawn)]
    column = column_of(table, name)
    held = "" if column is None else column.kind
    if kind == "date" and held != "date":
        sentence = (
            f"--date: column {name!r} of {table.description} holds no dates, but {PLURALS.get(held, held)}; "
            "dates are written as in 2024-12-31 or 2024-12-31 23:59:00."
        )
        return [Obstacle(sentence, (), withdrawn)]
    if kind == "number" and held in NUMBERS:
        return []
    if kind == "one-hot" and examined(table, [name])[0].n_values > MOST_LEVELS:
        told = f"--categorical: column {name!r} of {table.description} has more than {MOST_LEVELS} different values"
        return [Obstacle(f"{told}, too many to be features of their own; leave it out.", instead=withdrawn)]
    if kind not in CATEGORIES and kind != "date" and held != "number":
        found = examined(table, [name])[0].example if held == "text" else ""
        sentence = (
            f"{option}: column {name!r} of {table.description} holds {PLURALS.get(held, held)}{found}, but {kind} "
            "takes numbers."
        )
        return [Obstacle(sentence, (), withdrawn)]
    return []


# ---- commands that work


def withdrawn(one: Obstacle, table: TableSource, source: TableSource, taken: Collection[str | None]) -> Obstacle:
    """The same, an option withdrawn where the column that may have been meant cannot be what was asked for."""
    change = one.instead
    if change is None or change.value is None or change.option == "--ignore":
        return one
    checks = {"--time": unfit_time, "--by": unfit_categories, "--label": unfit_labels}
    kinds = {"--date": "date", "--log": "log", "--transform": "log", "--number": "number", "--categorical": "one-hot"}
    option, value = change.option, change.value
    unfit = checks[option](table, value) if option in checks else []
    unfit += wrong_kind(source, value, kinds[option], taken) if option in kinds else []
    if unfit or (option not in kinds and value in taken):
        return replace(one, instead=replace(change, value=None))
    return one


def possible(obstacles: list[Obstacle], features: Sequence[str]) -> list[Obstacle]:
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
