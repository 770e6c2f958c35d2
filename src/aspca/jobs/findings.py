"""Anomalies as a person reads them: how far beyond the limit, and which rules are broken by how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aspca.judging.explanation import Explanation
from aspca.judging.proposals import Value
from aspca.rules.sentence import shown_terms

# Of the rules that a row breaks, those that matter most to its score.
_MOST_BREAKS = 3


@dataclass(frozen=True)
class Break:
    """A rule that a row breaks.

    Attributes
    ----------
    rule : int
        Its number, from 0.
    text : str
    broken : bool
        Whether it is beyond its own limit; if not, it is the rule that adds most to the score.
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
class Finding:
    """An anomaly: its row (from 0), its own name if it has one, its score, and that in multiples of the limit."""

    row: int
    name: str | None
    score: float
    times: float | None
    breaks: tuple[Break, ...]


def findings_of(explanation: Explanation, rows: Sequence[int], names: Sequence[object] | None) -> tuple[Finding, ...]:
    """One finding for each explained row; `rows` and `names` say where they were and what they are called."""
    return tuple(_finding(explanation, i, row, None if names is None else names[i]) for i, row in enumerate(rows))


def _finding(explanation: Explanation, i: int, row: int, name: object) -> Finding:
    order = np.argsort(-explanation.rule_contributions[i], kind="stable")
    broken = [int(rule) for rule in order if explanation.broken[i, rule]] or [int(order[0])]
    limit = explanation.threshold
    score = float(explanation.scores[i])
    return Finding(
        row=row,
        name=None if name is None else str(name),
        score=score,
        times=None if not limit else score / limit,
        breaks=tuple(_break(explanation, i, rule) for rule in broken[:_MOST_BREAKS]),
    )


def _break(explanation: Explanation, i: int, number: int) -> Break:
    rule = explanation.rules[number]
    deviation = float(explanation.deviations[i, number])
    shown = shown_terms(rule)
    side = None
    if shown.size == 1:
        side = "high" if deviation * rule.coefficients[shown[0]] > 0 else "low"
    wanted = explanation.needed(i, number)
    original = explanation.original
    position = {name: j for j, name in enumerate(explanation.names)}
    features = original.distinct(position[rule.features[k]] for k in shown)
    blame = explanation.feature_contributions[i]
    columns = {original.features[j].column: j for j in sorted(features.tolist(), key=lambda j: -blame[j])}
    return Break(
        rule=number,
        text=str(rule),
        broken=bool(explanation.broken[i, number]),
        share=float(explanation.shares[i, number]),
        size=abs(deviation) * abs(rule.equation.unit),
        side=side,
        off=rule.off_by(deviation),
        spreads=None if rule.exact else abs(deviation) / rule.spread,
        needed={name: (original.value(i, j), wanted[name]) for name, j in columns.items()},
    )
