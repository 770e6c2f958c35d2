"""Which columns are tied to which: a line for each column, a lane for each rule, and a dot where the rule names it.

A graph of rules and columns, drawn so that nothing crosses a name: filled dots stand on the left side of a rule's
sentence, rings on the right.
"""

from __future__ import annotations

from collections.abc import Sequence

from aspca.report.pictures.svg import clipped, element, hint, label, line, picture
from aspca.report.summary import Report, Rule

_LANE, _LINE, _TOP = 22.0, 20.0, 24.0
_NAME = 28
_RULES = 60


def ties_picture(report: Report) -> str:
    """The picture, or nothing where no rule relates columns."""
    rules = [rule for rule in report.rules if len(_used(rule)) > 1][:_RULES]
    if not rules:
        return ""
    columns, rules = _ordered(rules)
    names = {column: clipped(report.columns[column].name, _NAME) for column in columns}
    left = 14.0 + 6.6 * max(map(len, names.values()))
    width = left + len(rules) * _LANE + 12
    height = _TOP + len(columns) * _LINE + 8
    place = {column: _TOP + (k + 0.5) * _LINE for k, column in enumerate(columns)}
    parts = []
    for column, y in place.items():
        text = label(left - 8, y + 4, names[column], "t", "end")
        of = report.columns[column]
        parts.append(line(left, y, width - 8, y, "gr") + element("a", hint(of.name) + text, href=f"#{of.anchor}"))
    parts += [_lane(rule, left + (k + 0.5) * _LANE, place) for k, rule in enumerate(rules)]
    says = f"{len(columns)} columns tied to each other by {len(rules)} rules."
    return picture(width, height, "".join(parts), says, "map", group=True)


def tied(report: Report) -> set[int]:
    """Columns that a rule ties to another."""
    return {column for rule in report.rules if len(_used(rule)) > 1 for column in _used(rule)}


def _used(rule: Rule) -> list[int]:
    return list(dict.fromkeys(term.column for term in rule.terms if term.coefficient))


def _ordered(rules: Sequence[Rule]) -> tuple[list[int], list[Rule]]:
    """Columns such that those of a rule are near each other, and rules from the top down: what hangs together first."""
    columns: list[int] = []
    order: list[Rule] = []
    left = list(rules)
    while left:
        known = set(columns)
        best = max(left, key=lambda rule: (len(known & set(_used(rule))), -len(_used(rule)), -rule.number))
        columns += [column for column in _used(best) if column not in known]
        order.append(best)
        left.remove(best)
    return columns, order


def _lane(rule: Rule, x: float, place: dict[int, float]) -> str:
    used = [term for term in rule.terms if term.coefficient and term.column in place]
    ys = [place[term.column] for term in used]
    drawn = line(x, min(ys), x, max(ys), "tie")
    seen: set[int] = set()
    for term in used:
        if term.column not in seen:
            seen.add(term.column)
            kind = "dot" if term.coefficient > 0.0 else "ring"
            drawn += element("circle", cx=x, cy=place[term.column], r=4.5, class_=kind)
    head = label(x, _TOP - 10, rule.number, "t", "middle")
    return element("a", hint(rule.text) + head + drawn, href=f"#rule-{rule.number}")
