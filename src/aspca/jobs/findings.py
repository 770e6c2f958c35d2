"""Anomalies as a person reads them: how far beyond the limit, which rules are broken by how much, what stands out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from aspca.jobs.verdicts import JudgedRows
from aspca.judging.breaks import Break, StandsOut, break_of, outside_share, told_rules, unusual_columns
from aspca.judging.explanation import Explanation
from aspca.judging.model import Model
from aspca.judging.proposals import Value
from aspca.judging.row_text import confidence_of
from aspca.judging.short_reasons import in_column
from aspca.linalg.arrays import Bools
from aspca.preparation.bad_cells import BadCell

__all__ = ["Break", "Finding", "StandsOut", "findings_of"]

# Of the rules that a row breaks, those that matter most to its score.
_MOST = 3


@dataclass(frozen=True)
class Finding:
    """An anomaly.

    Attributes
    ----------
    row : int
        Its number, from 0.
    name : str or None
        Its own name, if columns hold one.
    keys : dict of str to str or None
        What stands in its key columns, in the table's own words: names, time, categories, label.
    category : str or None
        Whose model judged it, where there is one for each category.
    score : float
    times : float or None
        The score in multiples of the limit.
    breaks : tuple of Break
        The rules that it breaks, those that matter most first. Where it breaks none, but small deviations add up, the
        rules that add most (``broken`` is False); where it keeps its rules, none.
    outside : float
        The share of the score that lies outside the rules.
    unusual : tuple of StandsOut
        The columns that stand out, where a good part of the score lies outside the rules.
    text : str
        All of it in a few sentences.
    bad_cells : tuple of BadCell
        Cells that are not what their columns hold.
    beyond : bool
        False if it is nothing but a row of a change: see `Outcome.changes`.
    verdict : {"error", "unusual"}
    p_value : float or None
        How often normal rows are as far out; None where rows are not judged by tail models.
    confidence : str or None
        Of an error, how sure it is that it is wrong: certain, very likely or likely.
    repair : dict of str to pairs
        Its wrong cells by column: what they are, and what they should be.
    approximate : bool
        Whether these are what the other columns let expect, and not what an exact relation asks for.
    ties : tuple of such dicts
        Other cells that may be the wrong ones as well.
    """

    row: int
    name: str | None
    category: str | None
    score: float
    times: float | None
    breaks: tuple[Break, ...]
    outside: float
    unusual: tuple[StandsOut, ...]
    text: str
    keys: dict[str, str | None]
    bad_cells: tuple[BadCell, ...] = ()
    beyond: bool = True
    verdict: str = "unusual"
    p_value: float | None = None
    confidence: str | None = None
    approximate: bool = False
    repair: dict[str, tuple[Value, Value]] = field(default_factory=dict)
    ties: tuple[dict[str, tuple[Value, Value]], ...] = ()

    @property
    def breaks_a_rule(self) -> bool:
        return any(each.broken for each in self.breaks)


def findings_of(model: Model, judged: JudgedRows, beyond: Bools, category: str | None = None) -> tuple[Finding, ...]:
    """One finding for each of some judged rows, in their order; `beyond` (n,) says which are more than a change."""
    if not len(judged):
        return ()
    why = judged.explained(model, named=True)
    return tuple(_finding(why, judged, i, bool(beyond[i]), category) for i in range(len(judged)))


def _finding(why: Explanation, judged: JudgedRows, i: int, beyond: bool, category: str | None) -> Finding:
    score, limit = float(why.scores[i]), why.threshold
    told, mostly_outside = told_rules(why, i)
    bad_cells = why.bad_cells(i)
    return Finding(
        row=int(judged.rows[i]),
        name=judged.name(i),
        category=category,
        score=score,
        times=None if not limit or (bad_cells and score <= limit) else score / limit,
        breaks=tuple(break_of(why, i, rule) for rule in told[:_MOST]),
        outside=outside_share(why, i),
        unusual=unusual_columns(why, i) if mostly_outside else (),
        text=why[i].text,
        keys=judged.keys.texts(judged.beside[i]),
        bad_cells=bad_cells,
        beyond=beyond,
        verdict="error" if why.errors[i] else "unusual",
        p_value=None if why.p_values is None else float(why.p_values[i]),
        **_wrong_cells(why, i),
    )


def _wrong_cells(why: Explanation, i: int) -> dict[str, Any]:
    repair, sure = why.repairs.get(i), confidence_of(why, i) if why.errors[i] else None
    if repair is None and i not in why.likely_wrong:
        return {"confidence": sure}
    if repair is None:
        j, value = why.likely_wrong[i]
        origin = why.original.features[j]
        cell = {origin.column: (why.original.value(i, j), in_column(origin, value))}
        return {"confidence": sure, "repair": cell, "approximate": True}
    first, *ties = [
        {
            why.original.features[j].column: (why.original.value(i, j), in_column(why.original.features[j], value))
            for j, value in zip(cells, values, strict=True)
        }
        for cells, values in ((repair.cells, repair.values), *repair.ties)
    ]
    return {"confidence": sure, "repair": first, "ties": tuple(ties)}
