"""Anomalies as a person reads them: how far beyond the limit, which rules are broken by how much, what stands out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aspca.jobs.verdicts import JudgedRows
from aspca.judging.explanation import Explanation
from aspca.judging.model import Model
from aspca.judging.proposals import Value
from aspca.judging.row_text import standing_out
from aspca.linalg.arrays import Bools
from aspca.rules.sentence import shown_terms

# Of the rules that a row breaks, those that matter most to its score; of columns that stand out, as many.
_MOST = 3
# What lies outside the rules is told beside broken ones from this share of the score on, without them from half of it.
_WORTH_TELLING, _MOSTLY = 0.2, 0.5


@dataclass(frozen=True)
class Break:
    """A rule that a row breaks.

    Attributes
    ----------
    rule : int
        Its number, from 0.
    text : str
    broken : bool
        Whether it is beyond its own limit; if not, it adds most to the score of a row that breaks none.
    share : float
        Its part of the score.
    size : float
        How far the two sides differ, in the numbers of the text.
    side : {"high", "low"} or None
        For a rule about one feature, where that is.
    off : str
        Both in words, as in ``0.5 too high`` or ``a factor of 3``.
    spreads : float or None
        The same in spreads of the rule; None for a rule that held exactly.
    needed : dict of str to pairs
        Per column in the text, what it is, and what it would have to be for the rule to hold: numbers, dates or
        categories as texts, None where it is missing or no one value would do. Most to blame first.
    """

    rule: int
    text: str
    broken: bool
    share: float
    size: float
    side: str | None
    off: str
    spreads: float | None
    needed: dict[str, tuple[Value, Value]]


@dataclass(frozen=True)
class StandsOut:
    """A column that is unusual in a row: what it is there, its mean and its deviation in the rows learned from.

    For what is no plain number the last two are None.
    """

    column: str
    value: Value
    mean: float | None
    deviation: float | None


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
    beyond : bool
        False if it is nothing but a row of a change: see `Outcome.changes`.
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
    beyond: bool = True

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
    order = np.argsort(-why.rule_contributions[i], kind="stable").tolist()
    score, limit = float(why.scores[i]), why.threshold
    outside = float(why.outside[i]) / score if score > 0.0 else 0.0
    told = [rule for rule in order if why.broken[i, rule]]
    mostly_outside = outside >= (_WORTH_TELLING if told else _MOSTLY)
    if not told and not mostly_outside:
        told = order[: _MOST - 1]
    return Finding(
        row=int(judged.rows[i]),
        name=judged.name(i),
        category=category,
        score=score,
        times=None if not limit else score / limit,
        breaks=tuple(_break(why, i, rule) for rule in told[:_MOST]),
        outside=outside,
        unusual=_unusual(why, i) if mostly_outside else (),
        text=why[i].text,
        keys=judged.keys.texts(judged.beside[i]),
        beyond=beyond,
    )


def _break(why: Explanation, i: int, number: int) -> Break:
    rule = why.rules[number]
    deviation = float(why.deviations[i, number])
    shown = shown_terms(rule)
    side = None
    if shown.size == 1:
        side = "high" if deviation * rule.coefficients[shown[0]] > 0 else "low"
    wanted = why[i].needed(number)
    blame = why.feature_contributions[i]
    features = sorted(why.shown_features(number).tolist(), key=lambda j: -blame[j])
    columns = {why.original.features[j].column: j for j in features}
    return Break(
        rule=number,
        text=str(rule),
        broken=bool(why.broken[i, number]),
        share=float(why.shares[i, number]),
        size=abs(deviation) * abs(rule.equation.unit),
        side=side,
        off=rule.off_by(deviation),
        spreads=None if rule.exact else abs(deviation) / rule.spread,
        needed={name: (why.original.value(i, j), wanted[name]) for name, j in columns.items()},
    )


def _unusual(why: Explanation, i: int) -> tuple[StandsOut, ...]:
    """The columns that most of the score is put down to."""
    return tuple(_stands_out(why, i, j) for j in standing_out(why, i).tolist())


def _stands_out(why: Explanation, i: int, feature: int) -> StandsOut:
    origin, space = why.original.features[feature], why.model.space
    plain = origin.kind == "number"
    return StandsOut(
        column=origin.column,
        value=why.original.value(i, feature),
        mean=float(space.mean[feature]) if plain else None,
        deviation=float(space.deviations[feature]) if plain else None,
    )
