"""Rules and columns told: what each rule says, how tight it is, how far chance could have made it, who breaks it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from aspca.identities.identity import Identity, share_text
from aspca.judging.explanation import Explanation
from aspca.judging.given_text import remarks_on_given
from aspca.linalg.arrays import Floats
from aspca.linalg.ranking import round_for_ranking
from aspca.report.anchors import column_anchors
from aspca.report.evidence import Evidence
from aspca.report.naming import Naming
from aspca.report.short_names import cut
from aspca.report.summary import Column, Rule, Term
from aspca.report.telling_rows import column_blame, short_rule
from aspca.rules.rule import AnyRule
from aspca.rules.sentence import has_spread, left_side_up, short_number, shown_terms
from aspca.rules.table import RuleTable

# Rows that are named for a rule or a column.
_ROWS = 50
# A row is put down to a column from this share of its score on.
_TO_BLAME = 0.2
# Below this nobody can imagine a probability.
_NEVER = 1e-12
_LONGEST = 2000


def rules_of(evidence: Evidence, why: Explanation, naming: Naming) -> tuple[Rule, ...]:
    """The rules, by number; those of `why` have short names."""
    standings = dict(
        zip((k for k, rule in enumerate(why.rules) if rule.given), remarks_on_given(why.model), strict=False)
    )
    return tuple(_rule(evidence, why, naming, k, standings) for k in range(len(why.rules)))


def _rule(evidence: Evidence, why: Explanation, naming: Naming, k: int, standings: Mapping[int, str]) -> Rule:
    rule, table = why.rules[k], why.model.table
    place = k - why.model.n_identities
    probability = 0.0 if place < 0 else float(np.asarray(table.chances)[place])
    low, high = evidence.gathering.broken[k].tolist()
    if not left_side_up(rule):
        low, high = high, low
    return Rule(
        number=k,
        text=cut(str(rule), _LONGEST),
        short=cut(short_rule(rule), _LONGEST),
        kind=rule.kind,
        origin="given" if rule.given else "found",
        exact=rule.exact,
        spread="" if not has_spread(rule) else _size(rule, rule.spread),
        limit="" if rule.limit is None or _of_categories(rule) else _size(rule, rule.limit),
        chance=_chance(rule, probability),
        chance_probability=probability,
        widening=None if rule.widening is None or not np.isfinite(rule.widening) else float(rule.widening),
        low=low,
        high=high,
        terms=tuple(
            Term(naming.number[origin.column], origin.name, factor, loading)
            for origin, (factor, loading) in zip(rule.origins, _numbers(rule, table, place), strict=True)
        ),
        histogram=evidence.gathering.histogram(k, turned=not left_side_up(rule)),
        rows=tuple(_breakers(evidence, why, k)),
        standing=standings.get(k, ""),
    )


def _numbers(rule: AnyRule, table: RuleTable, place: int) -> list[tuple[float, float]]:
    """The coefficient and the loading of each feature, positive on the left side of the sentence; of an identity, which
    need not be linear, one for the column on the left and minus one for the others."""
    if isinstance(rule, Identity):
        return [(1.0, 1.0) if k == 0 else (-1.0, -1.0) for k in range(len(rule.columns))]
    side = 1.0 if left_side_up(rule) == (rule.equation.unit > 0.0) else -1.0
    loadings = table.loadings[np.flatnonzero(table.loadings[:, place]), place]
    return [(side * float(a), side * float(b)) for a, b in zip(rule.equation.coefficients, loadings, strict=True)]


def _of_categories(rule: AnyRule) -> bool:
    """Whether it says which categories a column has, so that there is nothing to measure."""
    return all(rule.origins[int(k)].kind == "level" for k in shown_terms(rule))


def _size(rule: AnyRule, deviation: float) -> str:
    """A size in the numbers of the text."""
    return rule.off_by(deviation).removesuffix(" too high").removesuffix(" too low")


def _chance(rule: AnyRule, probability: float) -> str:
    if rule.given:
        return "It was given, so chance had no part in it."
    if isinstance(rule, Identity):
        counted = f"Counted: {share_text(rule.n_kept, rule.n_broken)} satisfy it."
        return f"{counted} It accuses no row, since {rule.exceptions}." if rule.exceptions else counted
    if rule.kind != "relation":
        return "It is about one column by itself, so chance had no part in it."
    wider = ""
    if rule.widening is not None and np.isfinite(rule.widening):
        wider = f" On other rows it is about {rule.widening:.2f} times as wide."
    if probability < _NEVER:
        likely = "less than one in a million million"
    else:
        likely = f"at most {short_number(probability, probability)}"
    return f"Chance: {likely}.{wider}"


def _breakers(evidence: Evidence, why: Explanation, k: int) -> list[int]:
    """Numbers of the rows shown that break a rule, most of it first."""
    rows = np.flatnonzero(why.broken[:, k])
    order = rows[np.argsort(-round_for_ranking(np.abs(why.judgement.deviations[rows, k])), kind="stable")]
    return [int(evidence.shown.rows[i]) for i in order[:_ROWS]]


def columns_of(evidence: Evidence, why: Explanation, naming: Naming, told: Sequence[Rule]) -> tuple[Column, ...]:
    """The columns of the table."""
    anchors = column_anchors(list(naming.roles))
    blame = column_blame(why, naming)
    scores = np.minimum(why.scores, 1e150)
    total = float(scores.sum())
    shares = scores @ blame / total if total > 0.0 else np.zeros(len(naming.roles))
    by_column: dict[int, list[int]] = {}
    for rule in told:
        for column in dict.fromkeys(term.column for term in rule.terms if term.coefficient):
            by_column.setdefault(column, []).append(rule.number)
    return tuple(
        Column(
            number=number,
            name=naming.called[name],
            anchor=anchors[number],
            role=role,
            usual=_usual(why, name, naming),
            rules=tuple(by_column.get(number, ())),
            blame=float(f"{shares[number]:.4g}"),
            rows=tuple(_blamed(evidence, blame[:, number])),
        )
        for number, (name, role) in enumerate(naming.roles.items())
    )


def _usual(why: Explanation, name: str, naming: Naming) -> str:
    space = why.model.space
    for j, feature in enumerate(space.features):
        if feature.column == naming.called[name] and feature.kind == "number":
            mean, deviation = float(space.mean[j]), float(space.deviations[j])
            return f"{short_number(mean, deviation)} ± {short_number(deviation, deviation)}"
    return ""


def _blamed(evidence: Evidence, blame: Floats) -> list[int]:
    rows = np.flatnonzero(blame >= _TO_BLAME)
    return [int(evidence.shown.rows[i]) for i in rows[:_ROWS]]
