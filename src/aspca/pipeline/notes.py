"""Sentences about a whole table, said once: what was missing, what was excluded, why far more rows are flagged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import sqrt

import numpy as np

from aspca.escaping import name_text
from aspca.findings.words import describe_given
from aspca.model.model import Model
from aspca.pipeline.outcome import Outcome
from aspca.settings import AUTO, Settings
from aspca.tables.column_advice import examine_texts, quote_word
from aspca.tables.table import Table

# Far more rows are flagged than promised: so many times as many, and so many standard deviations more.
_TIMES, _DEVIATIONS = 2.0, 4.0
# Errors are rare: from this share of the rows on, and from so many, they are not plausible.
_MANY_ERRORS, _FEW_ERRORS = 0.05, 5
# A column has moved from so many deviations on.
_MOVED = 0.5


def _enumerate(items: Sequence[str], what: str = " columns", most: int = 6) -> str:
    """The first ones, and how many more there are."""
    return ", ".join(items[:most]) + (f" and {len(items) - most} more{what}" if len(items) > most else "")


def describe_outcomes(outcomes: Mapping[str | None, Outcome], learned_from: str = "") -> tuple[str, ...]:
    """All there is to say about what was found, for each category or for all; see `describe_excluded`."""
    topics: tuple[Callable[[Outcome], Iterable[str]], ...] = (
        lambda outcome: describe_given(outcome.model),
        _describe_partly_judged,
        lambda outcome: describe_excluded(outcome.model, learned_from),
        lambda outcome: outcome.remarks,
        lambda outcome: outcome.model.warnings,
    )
    return tuple(
        note if category is None else f"{category}: {note}"
        for topic in topics
        for category, outcome in outcomes.items()
        for note in topic(outcome)
    )


def describe_excluded(model: Model, learned_from: str = "") -> list[str]:
    """Sentences about cells that relations were not learned from.

    `learned_from` is what the table is called whose rows these are, where it is not the one that is judged.
    """
    excluded = model.excluded
    if excluded is None or not excluded.cells.any():
        return []
    columns = [feature.column for feature in model.space.features]
    cells = {name: int(count) for name, count in zip(columns, excluded.cells, strict=True) if count}
    where = _enumerate([f"{name} {count:,}" for name, count in cells.items()])
    many, rows = sum(cells.values()), excluded.rows
    shown = ", ".join(str(row) for row in rows[:10]) + (" and more" if rows.size > 10 else "")
    whose, judged = (f" of {learned_from}", "") if learned_from else ("", "; they are judged like all others")
    notes = [
        f"Relations were learned without {many:,} outlying value{'s' * (many != 1)} ({where}), in "
        f"row{'s' * (rows.size != 1)} {shown}{whose}{judged} (--robust off learns from everything)."
    ]
    repeated = [f"{value:g} stands {times:,} times in {columns[column]}" for column, value, times in excluded.repeated]
    if repeated:
        words = " ".join(f"--missing {value:.15g}" for value in dict.fromkeys(one[1] for one in excluded.repeated))
        looks = f"that looks like a word for missing, as which {words} would read it"
        notes.append(f"{_enumerate(repeated)}: {looks}.")
    return notes


def describe_gaps(model: Model) -> list[str]:
    """How many values were missing in what a model was learned from, and what was done about it; else nothing."""
    gaps = model.gaps
    if gaps is None or not gaps.missing.any():
        return []
    columns = [feature.column for feature in model.space.features]
    cells = {name: count for name, count in zip(columns, gaps.missing.tolist(), strict=True) if count}
    many = sum(cells.values())
    missing = "1 value is missing" if many == 1 else f"{many:,} values are missing"
    where = f"column{'s' * (len(cells) != 1)} {_enumerate([repr(name) for name in cells], '')}"
    steps = f"{gaps.iterations} step{'s' * (gaps.iterations != 1)}" + ("" if gaps.converged else ", not converged")
    left_out = f" {_rows(gaps.left_out)} of no use for that." if gaps.left_out else ""
    return [f"{missing} ({where}); mean and covariance are the likeliest given the others ({steps}).{left_out}"]


def _describe_partly_judged(outcome: Outcome) -> list[str]:
    """The same and, in the same line, how many rows were judged by some of the rules only."""
    partly = [f"{_rows(outcome.n_partly)} judged by some of the rules only."] if outcome.n_partly else []
    sentences = [*describe_gaps(outcome.model), *partly]
    return [" ".join(sentences)] if sentences else []


def _rows(count: int) -> str:
    return "1 row was" if count == 1 else f"{count:,} rows were"


# ---- far more rows are flagged than the level promises


def describe_many(
    outcomes: Mapping[str | None, Outcome], table: Table, left_out: Sequence[str], *, elsewhere: bool
) -> tuple[str, ...]:
    """What there is to say; nothing where about as many rows are flagged as the level promises.

    Rows classified as errors are counted apart: they are flagged rightly. `table` are the rows that were judged,
    `left_out` the columns that the user left out, `elsewhere` says whether rules were learned from other rows.
    """
    everyone = list(outcomes.values())
    settings = everyone[0].model.settings
    limit, level = settings.total
    # Of rows that labels call anomalies nothing is promised.
    n = sum(o.n_rows if o.evaluation is None else o.evaluation.false_alarms + o.evaluation.passed for o in everyone)
    flagged = sum(o.n_anomalies if o.evaluation is None else o.evaluation.false_alarms for o in everyone)
    of_changes = sum(outcome.n_anomalies - outcome.n_beyond for outcome in everyone)
    expected = (1.0 - level) * n
    n_errors = sum(outcome.n_errors for outcome in everyone)
    counted = flagged if of_changes or elsewhere else flagged - n_errors
    enough = max(_TIMES * expected, expected + _DEVIATIONS * sqrt(level * expected))
    # A threshold given as a number promises nothing.
    unlike = [outcome.unlike for outcome in everyone if outcome.unlike is not None]
    if unlike:
        moved = _describe_moved(everyone, "M") or "Learn from newer rows as well: one more --train NEWER_FILE."
        return (
            f"The rows differ as a whole from the rows learned from, {max(unlike):.0%} of them would be flagged. "
            f"{moved} Verdicts compare the rows with each other.",
        )
    if n_errors > max(_MANY_ERRORS * n, _FEW_ERRORS) and counted <= enough:
        groups = _column_of_groups(table, left_out) if None in outcomes else ""
        reason = groups or "they may be of several kinds, or a column may hold a word for missing (--missing)."
        return (f"{n_errors:,} of {n:,} rows are classified as errors, which is implausibly many: {reason}",)
    if isinstance(limit, float | int) or counted <= enough:
        return ()
    asked = f"--level {level:g}" if settings.contamination == "auto" else f"--contamination {settings.contamination:g}"
    reason = (
        _describe_changes(everyone, of_changes, flagged - expected, elsewhere)
        or (_describe_moved(everyone) if elsewhere else "")
        or (_column_of_groups(table, left_out) if None in outcomes else "")
        or _describe_tails(settings, elsewhere)
    )
    rows = "rows" if everyone[0].evaluation is None else "normal rows"
    times = flagged / max(expected, 1.0)
    told = f"{times:,.0f}" if times >= 10.0 else f"{times:.2g}"
    return (f"{flagged:,} of {n:,} {rows} are flagged, {told} times what {asked} lets expect: {reason}",)


def _describe_changes(outcomes: Sequence[Outcome], of_changes: int, excess: float, elsewhere: bool) -> str:
    if 2 * of_changes < excess:
        return ""
    events = sum(len(outcome.events) for outcome in outcomes)
    told = "a change" if events == 1 else f"{events:,} changes"
    if any(change.to_end for outcome in outcomes for change in outcome.changes):
        advice = "If that is to stay, learn from rows since then: --train NEWER_FILE."
    elif elsewhere:
        advice = "If that was as it should be, learn from such rows as well: one more --train FILE."
    else:
        advice = "Rules are tighter if learned from rows without it: --train OTHER_FILE."
    return f"{of_changes:,} anomalies are rows of {told}. {advice}"


def _describe_moved(outcomes: Sequence[Outcome], begins: str = "they are not like the rows learned from, m") -> str:
    """Columns whose mean is no longer what it was, in any of the models."""
    moved: dict[str, float] = {}
    for outcome in outcomes:
        for feature, shift in zip(outcome.model.space.features, np.abs(outcome.shifts).tolist(), strict=True):
            moved[feature.column] = max(shift, moved.get(feature.column, 0.0))
    names = sorted((name for name, shift in moved.items() if shift >= _MOVED), key=lambda name: -moved[name])
    if not names:
        return ""
    shown = _enumerate([f"{name_text(name)} by {moved[name]:.2g} deviations" for name in names], most=3)
    return f"{begins}eans have moved ({shown}). Learn from newer rows as well: one more --train NEWER_FILE."


def _column_of_groups(table: Table, left_out: Sequence[str]) -> str:
    """A column of text that says of what kind a row is, and was left out."""
    texts = [column.name for column in table.columns if column.kind == "text" and column.name in left_out]
    kinds = [one for one in examine_texts(table, texts) if one.few and not one.like_labels]
    if not kinds:
        return ""
    fewest = min(kinds, key=lambda one: one.n_values)
    values = f"the {fewest.n_values} values of {name_text(fewest.name)}"
    return f"they may be of several kinds. Rules for each of {values}: --by {quote_word(fewest.name)}."


def _describe_tails(settings: Settings, elsewhere: bool) -> str:
    if not settings.judges_by_evidence and settings.total[0] == AUTO:
        heavy = "their tails are heavier than this limit assumes, or many are errors"
        return f"{heavy}. A limit from rows: --limit quantile."
    if elsewhere:
        return "they are not like the rows learned from. Learn from newer rows as well: one more --train NEWER_FILE."
    return "many may be errors. To see the worst only: --level 0.999."
