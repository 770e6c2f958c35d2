"""One sentence where far more rows are flagged than the level promises: how many, why that may be, what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt

import numpy as np

from aspca.harmless import name_text
from aspca.jobs.column_advice import examined, word_of
from aspca.jobs.result import Outcome
from aspca.jobs.tables import TableSource
from aspca.settings import AUTO, Settings

# Far more: so many times as many, and so many standard deviations more.
_TIMES, _DEVIATIONS = 2.0, 4.0
# Errors are rare: from this share of the rows on, and from so many, they are not plausible.
_MANY_ERRORS, _FEW_ERRORS = 0.05, 5
# A column has moved from so many deviations on; so many are named.
_MOVED, _NAMED = 0.5, 3


def remark_on_many(
    outcomes: Mapping[str | None, Outcome], table: TableSource, left_out: Sequence[str], *, elsewhere: bool
) -> tuple[str, ...]:
    """What there is to say; nothing where about as many rows are flagged as the level promises.

    Rows classified as errors are counted apart: they are flagged rightly.

    Parameters
    ----------
    table : TableSource
        The rows that were judged.
    left_out : sequence of str
        Columns that the user left out.
    elsewhere : bool
        Whether rules were learned from other rows.
    """
    everyone = list(outcomes.values())
    settings = everyone[0].model.settings
    limit, level = settings.total
    n, flagged = (sum(counts) for counts in zip(*map(_not_known, everyone), strict=True))
    of_changes = sum(outcome.n_anomalies - outcome.n_beyond for outcome in everyone)
    expected = (1.0 - level) * n
    counted = flagged if of_changes or elsewhere else flagged - sum(map(_count_errors, everyone))
    enough = max(_TIMES * expected, expected + _DEVIATIONS * sqrt(level * expected))
    # A threshold given as a number promises nothing.
    unlike = [outcome.unlike for outcome in everyone if outcome.unlike is not None]
    if unlike:
        moved = _moved(everyone, "M") or "Learn from newer rows as well: one more --train NEWER_FILE."
        return (
            f"The rows differ as a whole from the rows learned from, {max(unlike):.0%} of them would be flagged. "
            f"{moved} Verdicts compare the rows with each other.",
        )
    n_errors = sum(map(_count_errors, everyone))
    if n_errors > max(_MANY_ERRORS * n, _FEW_ERRORS) and counted <= enough:
        kinds = _kinds(table, left_out) if None in outcomes else ""
        reason = kinds or "they may be of several kinds, or a column may hold a word for missing (--missing)."
        return (f"{n_errors:,} of {n:,} rows are classified as errors, which is implausibly many: {reason}",)
    if isinstance(limit, float | int) or counted <= enough:
        return ()
    asked = f"--level {level:g}" if settings.contamination == "auto" else f"--contamination {settings.contamination:g}"
    reason = (
        _changes(everyone, of_changes, flagged - expected, elsewhere)
        or (_moved(everyone) if elsewhere else "")
        or (_kinds(table, left_out) if None in outcomes else "")
        or _tails(settings, elsewhere)
    )
    rows = "rows" if everyone[0].evaluation is None else "normal rows"
    times = flagged / max(expected, 1.0)
    told = f"{times:,.0f}" if times >= 10.0 else f"{times:.2g}"
    return (f"{flagged:,} of {n:,} {rows} are flagged, {told} times what {asked} lets expect: {reason}",)


def _not_known(outcome: Outcome) -> tuple[int, int]:
    """Rows, and flagged ones, that no label calls an anomaly."""
    labels = outcome.evaluation
    if labels is None:
        return outcome.n_rows, outcome.n_anomalies
    return labels.false_alarms + labels.passed, labels.false_alarms


def _count_errors(outcome: Outcome) -> int:
    return outcome.n_errors


def _changes(outcomes: Sequence[Outcome], of_changes: int, excess: float, elsewhere: bool) -> str:
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


def _moved(outcomes: Sequence[Outcome], begins: str = "they are not like the rows learned from, m") -> str:
    """Columns whose mean is no longer what it was, in any of the models."""
    moved: dict[str, float] = {}
    for outcome in outcomes:
        for feature, shift in zip(outcome.model.space.features, np.abs(outcome.shifts).tolist(), strict=True):
            moved[feature.column] = max(shift, moved.get(feature.column, 0.0))
    names = sorted((name for name, shift in moved.items() if shift >= _MOVED), key=lambda name: -moved[name])
    if not names:
        return ""
    shown = [f"{name_text(name)} by {moved[name]:.2g} deviations" for name in names[:_NAMED]]
    more = f" and {len(names) - _NAMED} more columns" if len(names) > _NAMED else ""
    return (
        f"{begins}eans have moved ({', '.join(shown)}{more}). Learn from newer rows "
        "as well: one more --train NEWER_FILE."
    )


def _kinds(table: TableSource, left_out: Sequence[str]) -> str:
    """A column of text that says of what kind a row is, and was left out."""
    texts = [column.name for column in table.columns if column.kind == "text" and column.name in left_out]
    kinds = [one for one in examined(table, texts) if one.few and not one.like_labels]
    if not kinds:
        return ""
    fewest = min(kinds, key=lambda one: one.n_values)
    return (
        f"they may be of several kinds. Rules for each of the {fewest.n_values} values of {name_text(fewest.name)}: "
        f"--by {word_of(fewest.name)}."
    )


def _tails(settings: Settings, elsewhere: bool) -> str:
    if not settings.judges_by_evidence and settings.total[0] == AUTO:
        return (
            "their tails are heavier than this limit assumes, or many are errors. A limit from rows: --limit quantile."
        )
    if elsewhere:
        return "they are not like the rows learned from. Learn from newer rows as well: one more --train NEWER_FILE."
    return "many may be errors. To see the worst only: --level 0.999."
