"""What a row breaks and what stands out in it, with the values that it has and would have to have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from aspca.findings.proposals import Value
from aspca.findings.short_reasons import MOSTLY
from aspca.identities import Identity
from aspca.linalg.ranking import round_for_ranking
from aspca.rules.sentence import shown_terms

if TYPE_CHECKING:
    from aspca.findings.explanation import Explanation

# What lies outside the rules is told beside broken ones from this share of the score on, without them from half of it.
_WORTH_TELLING = 0.2
# Where no rule is broken, so many that add most to the score.
_ADD_MOST = 2


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


def told_rules(why: Explanation, i: int) -> tuple[list[int], bool]:
    """The rules to tell of a row, those that matter most first, and whether what lies outside of them is told too.

    The rules that it breaks; where small deviations add up, those that add most; where it keeps its rules, none.
    """
    order = np.argsort(-round_for_ranking(why.rule_contributions[i]), kind="stable").tolist()
    told = [rule for rule in order if why.broken[i, rule]]
    outside = outside_share(why, i) >= (_WORTH_TELLING if told else MOSTLY)
    # What adds nothing is no reason, if there is another.
    adding = [rule for rule in order if why.rule_contributions[i, rule] > 0.0] or order
    return (told if told or outside else adding[:_ADD_MOST]), outside


def outside_share(why: Explanation, i: int) -> float:
    """The share of a row's score that lies outside the rules; all of it where nothing is said against the row."""
    score = float(why.scores[i])
    return float(why.outside[i]) / score if score > 0.0 else 1.0


def break_of(why: Explanation, i: int, number: int) -> Break:
    """What a row is off by at a rule, and what would be normal."""
    rule = why.rules[number]
    deviation = float(why.deviations[i, number])
    shown = shown_terms(rule)
    side, size = None, abs(deviation)
    if not isinstance(rule, Identity):
        size *= abs(rule.equation.unit)
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
        size=size,
        side=side,
        off=rule.off_by(deviation),
        spreads=None if rule.exact else abs(deviation) / rule.spread,
        needed={name: (why.original.value(i, j), wanted[name]) for name, j in columns.items()},
    )
