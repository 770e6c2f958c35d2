"""The anomalies of a summary: why each is one, its row as it stands in the table, the cells at fault, and the rows
around it.

A column takes part in many things at once, and blame is put down to all of them. What is marked is what the row's
reasons speak of: a mark that no reason explains, or a side that the value beside it denies, would only be puzzled over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from aspca.escaping import name_text
from aspca.findings.explanation import Explanation
from aspca.findings.finding import Finding
from aspca.findings.reasons import Violation
from aspca.findings.values import Value
from aspca.findings.words import amount
from aspca.linalg.arrays import Floats
from aspca.report.collect import Evidence, choose_units
from aspca.report.names import Naming, cut, shorten_rule
from aspca.report.summary import Anomaly, Break, Cell, Near, Needed, Neighbour, Unusual

# Of the rules that a row breaks, so many are told, and of the columns of a rule so many.
_RULES, _COLUMNS = 6, 12
# A row's cells are shown up to so many, those of all rows together, and at least so many: a file that can be sent.
_CELLS, _ALL_CELLS, _LEAST_CELLS = 64, 25_000, 12
# A column that is told of is marked from this share of the score on.
_MARKED = 0.1
# Where the rules that are told hold as much of the score as this, nothing else is marked.
_ALL_OF_IT = 0.9
# What a rule needs is shown from this share of the score on, and always of the first.
SHOWN_SHARE = 0.05
# An unusual value is at a side of the mean from so many deviations on: nearer, the mean as shown may be beyond it.
_APART = 0.5


def summarize_anomalies(
    evidence: Evidence, why: Explanation, naming: Naming, homes: Mapping[str, int]
) -> tuple[Anomaly, ...]:
    """The anomalies shown, explained by a model of short names; `homes` say to which group each signature belongs."""
    room = max(_LEAST_CELLS, min(_CELLS, _ALL_CELLS // max(len(why), 1)))
    blame = blame_columns(why, naming)
    turns = np.array([1.0 if rule.left_side_up else -1.0 for rule in why.rules])
    # In multiples of limits, positive where the left side of the sentence is the larger one.
    multiples = why.judgement.deviations / choose_units(why.model) * turns
    findings = [replace(finding, explanation=why) for finding in evidence.shown.findings]
    rows = zip(findings, map(homes.get, why.signatures), blame, multiples, strict=True)
    return tuple(_summarize(evidence, naming, room, *row) for row in rows)


def blame_columns(why: Explanation, naming: Naming) -> Floats:
    """The share of each row's score (n, columns) that is put down to each column of the table."""
    shares = np.zeros((len(why), len(naming.roles)))
    parts = why.feature_contributions / np.where(why.scores > 0.0, why.scores, 1.0)[:, None]
    for j, feature in enumerate(why.original.features):
        shares[:, naming.number[feature.column]] += parts[:, j]
    return shares


def _summarize(
    evidence: Evidence, naming: Naming, room: int, row: Finding, group: int | None, blame: Floats, multiples: Floats
) -> Anomaly:
    shown, i = evidence.shown, row.position
    # What is told of it, and no more columns of a rule than are shown.
    told = [replace(one, needed=dict(list(one.needed.items())[:_COLUMNS])) for one in row.violations[:_RULES]]
    breaks = tuple(_summarize_break(row, one, float(multiples[one.rule]), naming) for one in told)
    unusual = tuple(
        Unusual(
            naming.number[one.column],
            naming.value(one.value),
            # What other cells of the row let expect would tell them.
            one.usual_range if one.expected is None or naming.private else one.usual,
        )
        for one in row.unusual
    )
    cells = _mark_cells(row, told, shown.cells[i], blame, naming)
    named = {naming.number[column] for each in told for column in each.needed}
    kept = _choose_cells(cells, named, naming, room)
    times = row.score / evidence.limit if evidence.limit else None
    if times is not None and (not np.isfinite(times) or (row.bad_cells and times <= 1.0)):
        times = None
    return Anomaly(
        rank=i + 1,
        row=row.row,
        name=None if row.name is None or naming.private else cut(row.name),
        keys=tuple(Cell(naming.number[column], naming.cell(text), 0.0, False, "") for column, text in row.keys.items()),
        score=naming.rough(row.score),
        times=naming.rough_if_finite(times),
        verdict="error" if row.verdict == "error" else "unusual",
        confidence=row.confidence,
        p_value=naming.rough_if_finite(row.p_value),
        beyond=row.beyond,
        sampled=i >= shown.n_worst,
        group=group,
        reason=_give_reason(row, breaks, unusual, naming),
        text=_explain_privately(row, breaks, times) if naming.private else cut(row.text, 1500),
        breaks=breaks,
        more_breaks=max(0, len(row.violations) - _RULES),
        outside=naming.rough(row.outside),
        unusual=unusual,
        cells=kept,
        more_cells=len(cells) - len(kept),
        near=_summarize_neighbours(evidence, i, naming),
    )


# ---- rules and reasons


def _summarize_break(row: Finding, found: Violation, multiple: float, naming: Naming) -> Break:
    if found.deviation is None:
        off = "a value is missing"
    elif naming.private:
        off = "it does not hold" if found.spreads is None else f"off by {amount(found.spreads, 2)} times its spread"
    else:
        off = row.explanation.rules[found.rule].breach(found.deviation)
    return Break(
        rule=found.rule,
        broken=found.broken,
        share=naming.rough(found.share),
        off=off,
        spreads=naming.rough_if_finite(found.spreads),
        multiple=naming.rough_if_finite(multiple),
        needed=tuple(
            Needed(naming.number[column], naming.value(now), None if wanted is None else naming.value(wanted))
            for column, (now, wanted) in found.needed.items()
        ),
    )


def _give_reason(row: Finding, breaks: tuple[Break, ...], unusual: tuple[Unusual, ...], naming: Naming) -> str:
    """Why a row is an anomaly, in a few words."""
    if row.bad_cells:
        return "; ".join(cell.without_text if naming.private else str(cell) for cell in row.bad_cells)
    first = breaks[0] if breaks and breaks[0].broken else None
    names, rules = list(naming.called.values()), row.explanation.rules
    if (wrong := row.wrong_cells_text) and not naming.private and (first is None or not row.approximate):
        return wrong
    if first is not None:
        rule, more = shorten_rule(rules[first.rule]), f"and {len(breaks) - 1} more" if len(breaks) > 1 else ""
        # The cell that is likeliest wrong, and what would fit in its place.
        cell = first.needed[0] if first.needed and not naming.private else None
        if cell is not None and cell.needed is not None:
            more = f"; {more}" if more else ""
            return f"{name_text(names[cell.column])} is {cell.now}, {cell.needed} would fit ({rule}{more})"
        return f"{rule}: {first.off}" + (f" ({more})" if more else "")
    if unusual:
        columns = [(names[one.column], one.now) for one in unusual]
        return f"unusual: {', '.join(n if naming.private else f'{name_text(n)} is {now}' for n, now in columns)}"
    small = " and ".join(shorten_rule(rules[one.rule]) for one in breaks)
    return f"small deviations add up: {small}" if small else "unusual as a whole"


def _explain_privately(row: Finding, breaks: tuple[Break, ...], times: float | None) -> str:
    """The same in sentences without a value."""
    beyond = "" if times is None else f": its score is {amount(times, 2)} times the limit"
    called = "an anomaly"
    if row.p_value is not None:
        called = f"an error ({row.confidence})" if row.verdict == "error" else "unusual"
        beyond = f": p = {amount(row.p_value, 2)}"
    rules = row.explanation.rules
    broken = [f"It breaks {shorten_rule(rules[one.rule])}: {one.off}." for one in breaks if one.broken]
    unread = [f"{cell.without_text[0].upper()}{cell.without_text[1:]}." for cell in row.bad_cells]
    return " ".join([*unread, f"Row {row.label} is {called}{beyond}.", *broken])


# ---- cells


def _mark_cells(
    row: Finding, told: list[Violation], texts: Mapping[str, str | None], blame: Floats, naming: Naming
) -> list[Cell]:
    """The whole row as it stands in the table; `blame` (columns,) is the share of the score put down to each."""
    reasons = [naming.number[column] for each in told for column in each.needed]
    if sum(each.share for each in told) < _ALL_OF_IT:
        reasons += [naming.number[one.column] for one in row.unusual]
    marked = {column for column in reasons if blame[column] >= _MARKED or column == reasons[0]}
    sides = _find_sides(row, told, naming)
    return [
        Cell(number, naming.cell(text), naming.rough(float(blame[number]), 3), number in marked, sides.get(number, ""))
        for number, text in enumerate(texts.values())
    ]


def _find_sides(row: Finding, told: list[Violation], naming: Naming) -> dict[int, str]:
    """By column, where it is beside every value that is shown for it; none where two of these lie on either side."""
    pairs: list[tuple[str, Value, Value]] = [
        (column, now, needed)
        for each in told
        if each is told[0] or each.share >= SHOWN_SHARE
        for column, (now, needed) in each.needed.items()
    ]
    for one in row.unusual:
        beside = one.mean if one.expected is None or naming.private else one.expected
        if isinstance(one.value, float) and beside is not None and one.deviation is not None:
            pairs += [(one.column, one.value, beside)] * (abs(one.value - beside) > _APART * one.deviation)
    found: dict[int, set[str]] = {}
    for column, now, other in pairs:
        if isinstance(now, float) and isinstance(other, float) and now != other:
            found.setdefault(naming.number[column], set()).add("high" if now > other else "low")
    return {column: next(iter(sides)) for column, sides in found.items() if len(sides) == 1}


def _choose_cells(cells: list[Cell], named: set[int], naming: Naming, room: int) -> tuple[Cell, ...]:
    """The cells that are shown of a wide row, in the order of the table."""
    roles = list(naming.roles.values())

    def rank(cell: Cell) -> tuple[bool, bool, bool, float]:
        return not cell.marked, cell.column not in named, roles[cell.column] in ("feature", "not used"), -cell.blame

    return tuple(sorted(sorted(cells, key=rank)[:room], key=lambda cell: cell.column))


# ---- neighbours


def _summarize_neighbours(evidence: Evidence, i: int, naming: Naming) -> Near | None:
    around, course = evidence.neighbourhood, evidence.course
    rule = around.rules[i]
    turn = 1.0 if rule is None or evidence.model.rules[rule].left_side_up else -1.0
    rows = []
    for position, multiple, with_values in around.near(i):
        shown = with_values and not naming.private
        rows.append(
            Neighbour(
                row=course.called(position),
                when=evidence.moment(course.when[position]) if shown and course.when is not None else None,
                multiple=None if multiple is None else naming.rough(turn * multiple, 3),
                values=tuple(map(cut, around.values(i, position))) if shown else (),
            )
        )
    columns = [evidence.model.space.features[j].column for j in around.features[i]]
    return Near(rule, tuple(naming.number[column] for column in columns), tuple(rows)) if len(rows) > 1 else None
