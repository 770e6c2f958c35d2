"""The anomalies of a summary: why each is one, its row as it stands in the table, the cells at fault, and the rows
around it.

A column takes part in many things at once, and blame is put down to all of them. What is marked is what the row's
reasons speak of: a mark that no reason explains, or a side that the value beside it denies, would only be puzzled over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from aspca.escaping import name_text
from aspca.findings import reasons
from aspca.findings.explanation import Explanation
from aspca.findings.finding import Finding
from aspca.findings.reasons import Violation
from aspca.findings.values import Value
from aspca.findings.words import amount
from aspca.linalg.arrays import Floats
from aspca.report.collect import Evidence, deviation_units
from aspca.report.names import Naming, cut, shorten_rule
from aspca.report.summary import Anomaly, Break, Cell, Near, Needed, Neighbour, Unusual
from aspca.rules.rule import AnyRule

# Of the rules that a row breaks, so many are told, and of the columns of a rule so many.
_RULES, _COLUMNS = 6, 12
# A row's cells are shown up to so many, those of all rows together, and at least so many: a file that can be sent.
_CELLS, _ALL_CELLS, _LEAST_CELLS = 64, 25_000, 12
# A row's sentences are cut where they are longer.
_LONGEST = 1500
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
    """The anomalies shown.

    Parameters
    ----------
    why : Explanation
        Of these rows, by a model of short names.
    homes : mapping of str to int
        The group that each signature belongs to.
    """
    shown = evidence.shown
    room = max(_LEAST_CELLS, min(_CELLS, _ALL_CELLS // max(len(shown), 1)))
    blame = blame_columns(why, naming)
    return tuple(_summarize(evidence, why, naming, homes, i, blame[i], room) for i in range(len(shown)))


def _summarize(
    evidence: Evidence, why: Explanation, naming: Naming, homes: Mapping[str, int], i: int, blame: Floats, room: int
) -> Anomaly:
    shown, finding = evidence.shown, why[i]
    rules = finding.violations
    broken = [replace(one, needed=dict(list(one.needed.items())[:_COLUMNS])) for one in rules[:_RULES]]
    breaks = tuple(_summarize_break(why, i, one, naming) for one in broken)
    unusual = tuple(_summarize_unusual(one, naming) for one in finding.unusual)
    cells = _mark_cells(shown.cells[i], blame, broken, finding.unusual, naming)
    kept = _choose_cells(cells, broken, naming, room)
    times = finding.score / evidence.limit if evidence.limit else None
    times = times if times is not None and np.isfinite(times) else None
    reason = _give_reason(finding, breaks, unusual, naming)
    if finding.bad_cells:
        reason = "; ".join(cell.without_text if naming.private else str(cell) for cell in finding.bad_cells)
        times = times if times is not None and times > 1.0 else None
    name = shown.names[i]
    return Anomaly(
        rank=i + 1,
        row=int(shown.rows[i]),
        name=None if name is None or naming.private else cut(name),
        keys=tuple(
            Cell(naming.number[column], naming.cell(text), 0.0, False, "") for column, text in shown.keys[i].items()
        ),
        score=naming.rough(finding.score),
        times=None if times is None else naming.rough(times),
        verdict="error" if finding.verdict == "error" else "unusual",
        confidence=finding.confidence,
        p_value=None if finding.p_value is None else naming.rough(finding.p_value),
        beyond=bool(shown.beyond[i]),
        sampled=i >= shown.n_worst,
        group=homes.get(why.signatures[i]),
        reason=reason,
        text=_explain_privately(finding, breaks, times) if naming.private else cut(finding.text, _LONGEST),
        breaks=breaks,
        more_breaks=max(0, len(rules) - _RULES),
        outside=naming.rough(finding.outside),
        unusual=unusual,
        cells=kept,
        more_cells=len(cells) - len(kept),
        near=_summarize_neighbours(evidence, i, naming),
    )


# ---- rules and reasons


def _summarize_break(why: Explanation, i: int, found: Violation, naming: Naming) -> Break:
    number, spreads = found.rule, found.spreads
    rule, deviation = why.rules[number], float(why.deviations[i, number])
    multiple = float(why.judgement.deviations[i, number] / deviation_units(why.model)[number]) * _turn(rule)
    if np.isnan(deviation):
        off = "a value is missing"
    elif naming.private:
        off = "it does not hold" if spreads is None else f"off by {amount(spreads, 2)} times its spread"
    else:
        off = rule.breach(deviation)
    return Break(
        rule=number,
        broken=found.broken,
        share=naming.rough(found.share),
        off=off,
        spreads=naming.rough(spreads) if spreads is not None and np.isfinite(spreads) else None,
        multiple=naming.rough(multiple) if np.isfinite(multiple) else None,
        needed=tuple(
            Needed(naming.number[column], naming.value(now), None if wanted is None else naming.value(wanted))
            for column, (now, wanted) in found.needed.items()
        ),
    )


def _turn(rule: AnyRule) -> float:
    """What deviations are multiplied by, so that the left side of the sentence is the larger one above zero."""
    return 1.0 if rule.left_side_up else -1.0


def _summarize_unusual(column: reasons.Cell, naming: Naming) -> Unusual:
    # What other cells of the row let expect would tell them.
    usual = column.usual_range if column.expected is None or naming.private else column.usual
    return Unusual(naming.number[column.column], naming.value(column.value), usual)


def _give_reason(finding: Finding, breaks: tuple[Break, ...], unusual: tuple[Unusual, ...], naming: Naming) -> str:
    first, rules_told = breaks[0] if breaks and breaks[0].broken else None, finding.explanation.rules
    names = list(naming.called.values())
    if (wrong := finding.wrong_cells_text) and not naming.private and (first is None or not finding.approximate):
        return wrong
    if first is not None:
        rule, more = shorten_rule(rules_told[first.rule]), f"and {len(breaks) - 1} more" if len(breaks) > 1 else ""
        # The cell that is likeliest wrong, and what would fit in its place.
        cell = first.needed[0] if first.needed and not naming.private else None
        if cell is not None and cell.needed is not None:
            more = f"; {more}" if more else ""
            return f"{name_text(names[cell.column])} is {cell.now}, {cell.needed} would fit ({rule}{more})"
        return f"{rule}: {first.off}" + (f" ({more})" if more else "")
    if unusual:
        columns = [
            names[one.column] if naming.private else f"{name_text(names[one.column])} is {one.now}" for one in unusual
        ]
        return f"unusual: {', '.join(columns)}"
    rules = " and ".join(shorten_rule(rules_told[one.rule]) for one in breaks)
    return f"small deviations add up: {rules}" if rules else "unusual as a whole"


def _explain_privately(finding: Finding, breaks: tuple[Break, ...], times: float | None) -> str:
    """Why a row is an anomaly, in sentences without a value."""
    rules_told = finding.explanation.rules
    beyond = "" if times is None else f": its score is {amount(times, 2)} times the limit"
    called = "an anomaly"
    if finding.p_value is not None:
        called = f"an error ({finding.confidence})" if finding.verdict == "error" else "unusual"
        beyond = f": p = {amount(finding.p_value, 2)}"
    broken = [f"It breaks {shorten_rule(rules_told[one.rule])}: {one.off}." for one in breaks if one.broken]
    unread = [f"{cell.without_text[0].upper()}{cell.without_text[1:]}." for cell in finding.bad_cells]
    return " ".join([*unread, f"Row {finding.label} is {called}{beyond}.", *broken])


# ---- cells


def blame_columns(why: Explanation, naming: Naming) -> Floats:
    """The share of each row's score (n, columns) that is put down to each column of the table."""
    shares = np.zeros((len(why), len(naming.roles)))
    parts = why.feature_contributions / np.where(why.scores > 0.0, why.scores, 1.0)[:, None]
    for j, feature in enumerate(why.original.features):
        shares[:, naming.number[feature.column]] += parts[:, j]
    return shares


def _mark_cells(
    texts: Mapping[str, str | None],
    blame: Floats,
    broken: Sequence[Violation],
    unusual: Sequence[reasons.Cell],
    naming: Naming,
) -> list[Cell]:
    """The whole row as it stands in the table.

    Parameters
    ----------
    blame : ndarray of shape (columns,)
        The share of the score that is put down to each.
    broken, unusual : sequences
        What is told of the row, that which matters most first.
    """
    reasons = [naming.number[column] for each in broken for column in each.needed]
    if sum(each.share for each in broken) < _ALL_OF_IT:
        reasons += [naming.number[one.column] for one in unusual]
    marked = {column for column in reasons if blame[column] >= _MARKED or column == reasons[0]}
    sides = _find_sides(broken, unusual, naming)
    return [
        Cell(number, naming.cell(text), naming.rough(float(blame[number]), 3), number in marked, sides.get(number, ""))
        for number, text in enumerate(texts.values())
    ]


def _find_sides(broken: Sequence[Violation], unusual: Sequence[reasons.Cell], naming: Naming) -> dict[int, str]:
    """By column, where it is beside every value that is shown for it; none where two of these lie on either side."""
    pairs: list[tuple[str, Value, Value]] = [
        (column, now, needed)
        for each in broken
        if each is broken[0] or each.share >= SHOWN_SHARE
        for column, (now, needed) in each.needed.items()
    ]
    for one in unusual:
        beside = one.mean if one.expected is None or naming.private else one.expected
        if isinstance(one.value, float) and beside is not None and one.deviation is not None:
            pairs += [(one.column, one.value, beside)] * (abs(one.value - beside) > _APART * one.deviation)
    found: dict[int, set[str]] = {}
    for column, now, other in pairs:
        if isinstance(now, float) and isinstance(other, float) and now != other:
            found.setdefault(naming.number[column], set()).add("high" if now > other else "low")
    return {column: next(iter(sides)) for column, sides in found.items() if len(sides) == 1}


def _choose_cells(cells: Sequence[Cell], broken: Sequence[Violation], naming: Naming, room: int) -> tuple[Cell, ...]:
    """The cells that are shown of a wide row, in the order of the table."""
    named = {naming.number[column] for each in broken for column in each.needed}
    roles = list(naming.roles.values())
    order = sorted(
        cells,
        key=lambda cell: (
            not cell.marked,
            cell.column not in named,
            roles[cell.column] in ("feature", "not used"),
            -cell.blame,
        ),
    )
    return tuple(sorted(order[:room], key=lambda cell: cell.column))


# ---- neighbours


def _summarize_neighbours(evidence: Evidence, i: int, naming: Naming) -> Near | None:
    around, course = evidence.around, evidence.course
    rule = around.rules[i]
    turn = 1.0 if rule is None else _turn(evidence.model.rules[rule])
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
