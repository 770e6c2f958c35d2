"""Anomalies by kind: rows with one signature, or nearly, as groups."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aspca.judging.explanation import Explanation
from aspca.judging.groups import entries_of, homes_of
from aspca.report.evidence import Evidence
from aspca.report.short_names import cut
from aspca.report.summary import Group
from aspca.report.telling_rows import short_rule
from aspca.rules.rule import AnyRule
from aspca.rules.sentence import left_side_up

# Rows that are named for a group, groups that are told, and rules of a group.
_ROWS, _GROUPS, _RULES = 50, 40, 4
_SIGNATURES = 1000
_LONGEST = 600


def groups_of(evidence: Evidence, why: Explanation) -> tuple[tuple[Group, ...], dict[str, int]]:
    """The groups, largest first, the one that breaks no rule last, and to which each signature shown belongs."""
    kinds = evidence.gathering.kinds
    # Merging compares each with each: of very many those of a few rows are told of no more.
    often = sorted(kinds, key=lambda signature: (-kinds[signature].count, signature))[:_SIGNATURES]
    counts = {signature: kinds[signature].count for signature in often}
    homes = homes_of(counts, max(1, sum(counts.values()) // 50))
    sizes: dict[str, int] = {}
    for signature, home in homes.items():
        sizes[home] = sizes.get(home, 0) + counts[signature]
    order = sorted(sizes, key=lambda home: (-sizes[home], home))[:_GROUPS]
    order.sort(key=lambda home: not home)
    numbers = {home: number for number, home in enumerate(order)}
    members: dict[str, list[int]] = {}
    for row, signature in zip(evidence.shown.rows.tolist(), why.signatures, strict=True):
        if signature in homes:
            members.setdefault(homes[signature], []).append(row)
    groups = tuple(
        Group(
            number=number,
            signature=home,
            text=cut(_text(why.rules, home, _outside(evidence, home)), _LONGEST),
            count=sizes[home],
            rows=tuple(members.get(home, [])[:_ROWS]),
        )
        for home, number in numbers.items()
    )
    return groups, {signature: numbers[home] for signature, home in homes.items() if home in numbers}


def _outside(evidence: Evidence, signature: str) -> float:
    kind = evidence.gathering.kinds[signature]
    return 1.0 - float(np.sum(kind.parts)) / kind.score if kind.score > 0.0 else 0.0


def _text(rules: Sequence[AnyRule], signature: str, outside: float) -> str:
    """What its rows have in common."""
    if not signature:
        if outside >= 0.5:
            return "They keep every rule, but stand out."
        return "No single rule is broken, but small deviations add up."
    entries = list(entries_of(signature).items())
    told = [f"{short_rule(rules[rule])}, {_side(rules[rule], side)}" for rule, side in entries[:_RULES]]
    more = f"; and {len(entries) - _RULES} more rules" if len(entries) > _RULES else ""
    return f"{'; '.join(told)}{more}"


def _side(rule: AnyRule, side: str) -> str:
    up = (side == "H") == left_side_up(rule)
    if rule.kind in ("identity", "relation"):
        return "left side too large" if up else "left side too small"
    return "too high" if up else "too low"
