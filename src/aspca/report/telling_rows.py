"""Anomalies told: why each is one, its row as it stands in the table, the cells at fault, and the rows around it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from aspca.harmless import name_text
from aspca.identities import Identity
from aspca.judging import breaks as judged
from aspca.judging.breaks import StandsOut, break_of, outside_share, told_rules, unusual_columns
from aspca.judging.explanation import Explanation
from aspca.judging.row_text import amount, confidence_of, likely_wrong_text, wrong_cells_text
from aspca.linalg.arrays import Floats
from aspca.report.around import Around
from aspca.report.evidence import Evidence
from aspca.report.gathering import deviation_units
from aspca.report.naming import Naming
from aspca.report.short_names import cut
from aspca.report.summary import Anomaly, Break, Cell, Near, Needed, Neighbour, Unusual
from aspca.report.telling_cells import COLUMNS, cells_of, most_telling
from aspca.rules.rule import AnyRule
from aspca.rules.sentence import breach_of, left_side_up, short_number

# Of the rules that a row breaks, so many are told.
_RULES = 6
# A row's cells are shown up to so many, and those of all rows together.
_CELLS, _ALL_CELLS = 64, 25_000
_LEAST_CELLS = 12
# A sentence is cut where it is longer.
_LONGEST = 1500


def anomalies_of(evidence: Evidence, why: Explanation, naming: Naming, homes: Mapping[str, int]) -> list[Anomaly]:
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
    blame = column_blame(why, naming)
    return [_anomaly(evidence, why, naming, homes, i, blame[i], room) for i in range(len(shown))]


def _anomaly(
    evidence: Evidence,
    why: Explanation,
    naming: Naming,
    homes: Mapping[str, int],
    i: int,
    blame: Floats,
    room: int,
) -> Anomaly:
    shown = evidence.shown
    told, mostly_outside = told_rules(why, i)
    broken = [break_of(why, i, rule) for rule in told[:_RULES]]
    stands_out = unusual_columns(why, i) if mostly_outside else ()
    breaks = tuple(_break(why, i, one, naming) for one in broken)
    unusual = tuple(_unusual(one, naming) for one in stands_out)
    cells = cells_of(shown.cells[i], blame, broken, stands_out, naming)
    kept = most_telling(cells, broken, naming, room)
    times = float(why.scores[i]) / evidence.limit if evidence.limit else None
    times = times if times is not None and np.isfinite(times) else None
    reason = _reason(why, i, breaks, unusual, naming)
    bad_cells = why.bad_cells(i)
    if bad_cells:
        reason = "; ".join(cell.without_text if naming.private else str(cell) for cell in bad_cells)
        times = times if times is not None and times > 1.0 else None
    name = shown.names[i]
    return Anomaly(
        rank=i + 1,
        row=int(shown.rows[i]),
        name=None if name is None or naming.private else cut(name),
        keys=tuple(
            Cell(naming.number[column], naming.cell(text), 0.0, False, "") for column, text in shown.keys[i].items()
        ),
        score=naming.rough(float(why.scores[i])),
        times=None if times is None else naming.rough(times),
        verdict="error" if why.errors[i] else "unusual",
        confidence=confidence_of(why, i) if why.errors[i] else None,
        p_value=None if why.p_values is None else naming.rough(float(why.p_values[i])),
        beyond=bool(shown.beyond[i]),
        sampled=i >= shown.n_worst,
        group=homes.get(why.signatures[i]),
        reason=reason,
        text=_private_text(why, i, breaks, times) if naming.private else cut(why[i].text, _LONGEST),
        breaks=breaks,
        more_breaks=max(0, len(told) - _RULES),
        outside=naming.rough(outside_share(why, i)),
        unusual=unusual,
        cells=kept,
        more_cells=len(cells) - len(kept),
        near=_near(evidence, i, naming),
    )


# ---- rules


def _break(why: Explanation, i: int, found: judged.Break, naming: Naming) -> Break:
    number = found.rule
    rule, deviation = why.rules[number], float(why.deviations[i, number])
    multiple = float(why.judgement.deviations[i, number] / deviation_units(why.model)[number]) * turn(rule)
    return Break(
        rule=number,
        broken=found.broken,
        share=naming.rough(found.share),
        off=_off(rule, deviation, found.spreads, naming),
        spreads=naming.rough(found.spreads) if found.spreads is not None and np.isfinite(found.spreads) else None,
        multiple=naming.rough(multiple) if np.isfinite(multiple) else None,
        needed=tuple(
            Needed(naming.number[column], naming.value(now), None if wanted is None else naming.value(wanted))
            for column, (now, wanted) in list(found.needed.items())[:COLUMNS]
        ),
    )


def _off(rule: AnyRule, deviation: float, spreads: float | None, naming: Naming) -> str:
    if np.isnan(deviation):
        return "a value is missing"
    if naming.private:
        return "it does not hold" if spreads is None else f"off by {amount(spreads, 2)} times its spread"
    return breach_of(rule, deviation)


def turn(rule: AnyRule) -> float:
    """What deviations are multiplied by, so that the left side of the sentence is the larger one above zero."""
    return 1.0 if left_side_up(rule) else -1.0


def short_rule(rule: AnyRule) -> str:
    """A rule without what stands in brackets at its end."""
    if isinstance(rule, Identity):
        return rule.equation
    text = str(rule)
    return text.rpartition(" (")[0] if text.endswith(")") and " (" in text else text


def _reason(why: Explanation, i: int, breaks: tuple[Break, ...], unusual: tuple[Unusual, ...], naming: Naming) -> str:
    if i in why.repairs and not naming.private:
        return wrong_cells_text(why, i)
    if i in why.likely_wrong and not naming.private and not (breaks and breaks[0].broken):
        return likely_wrong_text(why, i)
    if fits := _would_fit(why, breaks, naming):
        return fits
    if breaks and breaks[0].broken:
        more = "" if len(breaks) == 1 else f" (and {len(breaks) - 1} more)"
        return f"{short_rule(why.rules[breaks[0].rule])}: {breaks[0].off}{more}"
    if unusual:
        names = list(naming.called.values())
        told = [f"{name_text(names[one.column])} is {one.now}" for one in unusual]
        return f"unusual: {', '.join(names[one.column] for one in unusual) if naming.private else ', '.join(told)}"
    rules = " and ".join(short_rule(why.rules[one.rule]) for one in breaks)
    return f"small deviations add up: {rules}" if rules else "unusual as a whole"


def _would_fit(why: Explanation, breaks: tuple[Break, ...], naming: Naming) -> str:
    """The cell that is likeliest wrong, and what would fit in its place; empty where that is private or not known."""
    if naming.private or not breaks or not breaks[0].broken or not breaks[0].needed:
        return ""
    first, names = breaks[0].needed[0], list(naming.called.values())
    if first.needed is None:
        return ""
    more = "" if len(breaks) == 1 else f"; and {len(breaks) - 1} more"
    rule = short_rule(why.rules[breaks[0].rule])
    return f"{name_text(names[first.column])} is {first.now}, {first.needed} would fit ({rule}{more})"


def _private_text(why: Explanation, i: int, breaks: tuple[Break, ...], times: float | None) -> str:
    beyond = "" if times is None else f": its score is {amount(times, 2)} times the limit"
    called = "an anomaly"
    if why.p_values is not None:
        called = f"an error ({confidence_of(why, i)})" if why.errors[i] else "unusual"
        beyond = f": p = {amount(float(why.p_values[i]), 2)}"
    broken = [f"It breaks {short_rule(why.rules[one.rule])}: {one.off}." for one in breaks if one.broken]
    unread = [f"{cell.without_text[0].upper()}{cell.without_text[1:]}." for cell in why.bad_cells(i)]
    return " ".join([*unread, f"Row {why.index[i]} is {called}{beyond}.", *broken])


def _unusual(column: StandsOut, naming: Naming) -> Unusual:
    usual = ""
    if column.mean is not None and column.deviation is not None:
        usual = f"{short_number(column.mean, column.deviation)} ± {short_number(column.deviation, column.deviation)}"
    return Unusual(naming.number[column.column], naming.value(column.value), usual)


# ---- cells


def column_blame(why: Explanation, naming: Naming) -> Floats:
    """The share of each row's score (n, columns) that is put down to each column of the table."""
    shares = np.zeros((len(why), len(naming.roles)))
    scores = np.where(why.scores > 0.0, why.scores, 1.0)[:, None]
    columns = [naming.number[feature.column] for feature in why.original.features]
    parts = why.feature_contributions / scores
    for j, column in enumerate(columns):
        shares[:, column] += parts[:, j]
    return shares


# ---- neighbours


def _near(evidence: Evidence, i: int, naming: Naming) -> Near | None:
    around, course = evidence.around, evidence.course
    found = around.near(i)
    if len(found) < 2:
        return None
    rows, rule = [], around.rules[i]
    times = 1.0 if rule is None else turn(evidence.model.rules[rule])
    for position, multiple, told in found:
        rows.append(
            Neighbour(
                row=course.called(position),
                when=_when(evidence, position, naming) if told else None,
                multiple=None if multiple is None else naming.rough(times * multiple, 3),
                values=_values(around, i, position, naming) if told else (),
            )
        )
    columns = [evidence.model.space.features[j].column for j in around.features[i]]
    return Near(rule, tuple(naming.number[column] for column in columns), tuple(rows))


def _values(around: Around, i: int, position: int, naming: Naming) -> tuple[str, ...]:
    return () if naming.private else tuple(map(cut, around.values(i, position)))


def _when(evidence: Evidence, position: int, naming: Naming) -> str | None:
    when = evidence.course.when
    return None if when is None or naming.private else evidence.moment(when[position])
