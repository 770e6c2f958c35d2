"""Sentences about a whole table, said once: what was missing, what was excluded, what is in doubt."""

from __future__ import annotations

from collections.abc import Mapping

from aspca.jobs.result import Outcome
from aspca.judging.gaps import Gaps
from aspca.judging.given_text import remarks_on_given
from aspca.judging.model import Model

# Columns and rows named in a remark.
_COLUMNS_TOLD, _ROWS_TOLD = 6, 10


def remarks_on(outcomes: Mapping[str | None, Outcome], learned_from: str = "") -> tuple[str, ...]:
    """All there is to say about what was found, for each category or for all; see `describe_excluded`."""
    excluded = [
        remark if category is None else f"{category}: {remark}"
        for category, outcome in outcomes.items()
        for remark in describe_excluded(outcome.model, learned_from)
    ]
    return (*_given(outcomes), *_gaps(outcomes), *excluded, *_found(outcomes), *_doubts(outcomes))


def _given(outcomes: Mapping[str | None, Outcome]) -> list[str]:
    """How the rules that were given stand, for each category or for all."""
    return [
        remark if category is None else f"{category}: {remark}"
        for category, outcome in outcomes.items()
        for remark in remarks_on_given(outcome.model)
    ]


def _found(outcomes: Mapping[str | None, Outcome]) -> list[str]:
    """What was noticed while rows were judged, for each category or for all."""
    return [
        remark if category is None else f"{category}: {remark}"
        for category, outcome in outcomes.items()
        for remark in outcome.remarks
    ]


def _doubts(outcomes: Mapping[str | None, Outcome]) -> list[str]:
    """What the models cannot be trusted with, for each category or for all."""
    return [
        doubt if category is None else f"{category}: {doubt}"
        for category, outcome in outcomes.items()
        for doubt in outcome.model.doubts
    ]


def describe_excluded(model: Model, learned_from: str = "") -> list[str]:
    """Sentences about cells that relations were not learned from.

    `learned_from` is what the table is called whose rows these are, where it is not the one that is judged.
    """
    excluded = model.excluded
    if excluded is None or not excluded.cells.any():
        return []
    columns = [feature.column for feature in model.space.features]
    cells = {name: int(count) for name, count in zip(columns, excluded.cells, strict=True) if count}
    where = ", ".join(f"{name} {count:,}" for name, count in list(cells.items())[:_COLUMNS_TOLD])
    where += f" and {len(cells) - _COLUMNS_TOLD} more columns" if len(cells) > _COLUMNS_TOLD else ""
    many, rows = sum(cells.values()), excluded.rows
    shown = ", ".join(str(row) for row in rows[:_ROWS_TOLD]) + (" and more" if rows.size > _ROWS_TOLD else "")
    whose, judged = (f" of {learned_from}", "") if learned_from else ("", "; they are judged like all others")
    remarks = [
        f"Relations were learned without {many:,} outlying value{'s' * (many != 1)} ({where}), in "
        f"row{'s' * (rows.size != 1)} {shown}{whose}{judged} (--robust off learns from everything)."
    ]
    told = [f"{value:g} stands {times:,} times in {columns[column]}" for column, value, times in excluded.repeated]
    if told:
        more = f" and {len(told) - _COLUMNS_TOLD} more columns" if len(told) > _COLUMNS_TOLD else ""
        values = dict.fromkeys(value for _, value, _ in excluded.repeated)
        words = " ".join(f"--missing {value:.15g}" for value in values)
        remarks.append(
            f"{', '.join(told[:_COLUMNS_TOLD])}{more}: that looks like a word for missing, as which {words} would read "
            "it."
        )
    return remarks


def gaps_remark(model: Model) -> str:
    """How many values were missing in what a model was learned from, and what was done about it; else nothing."""
    gaps = model.gaps
    if gaps is None or not gaps.missing.any():
        return ""
    cells = {
        feature.column: lacking for feature, lacking in zip(model.space.features, gaps.missing.tolist(), strict=True)
    }
    where = [name for name, lacking in cells.items() if lacking]
    told = ", ".join(repr(name) for name in where[:_COLUMNS_TOLD])
    more = f" and {len(where) - _COLUMNS_TOLD} more" if len(where) > _COLUMNS_TOLD else ""
    one = sum(cells.values()) == 1
    missing = f"{sum(cells.values()):,} value{'' if one else 's'} {'is' if one else 'are'} missing"
    return f"{missing} (column{'s' * (len(where) != 1)} {told}{more}){_estimated(gaps)}"


def _rows(count: int) -> str:
    return "1 row was" if count == 1 else f"{count:,} rows were"


def _estimated(gaps: Gaps) -> str:
    """How rules were learned in spite of gaps."""
    steps = f"{gaps.iterations} step{'s' * (gaps.iterations != 1)}" + ("" if gaps.converged else ", not converged")
    left_out = f" {_rows(gaps.left_out)} of no use for that." if gaps.left_out else ""
    return f"; mean and covariance are the likeliest given the others ({steps}).{left_out}"


def _gaps(outcomes: Mapping[str | None, Outcome]) -> list[str]:
    """Sentences about values that were missing, for each category or for all."""
    remarks = []
    for category, outcome in outcomes.items():
        told = gaps_remark(outcome.model)
        whose = "" if category is None else f"{category}: "
        partly = f"{_rows(outcome.n_partly)} judged by some of the rules only." if outcome.n_partly else ""
        if told or partly:
            remarks.append(f"{whose}{' '.join(part for part in (told, partly) if part)}")
    return remarks
