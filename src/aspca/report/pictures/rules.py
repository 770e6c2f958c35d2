"""Pictures of rules: how rows lie around one, which columns each ties together, and how choices were made."""

from __future__ import annotations

import math

from aspca.findings.words import amount
from aspca.report.pictures import svg
from aspca.report.summary import Break, Histogram, Report, Rule

# A histogram: its size, where its bars stand and end, and the room at its sides for rows beyond it.
_WIDTH, _HEIGHT, _BASE, _TOP, _EDGE = 300.0, 88.0, 70.0, 14.0, 14.0
# A curve: its size, and where its axes begin and end.
_CURVE_WIDTH, _CURVE_HEIGHT, _LEFT, _RIGHT, _ABOVE, _BELOW = 320.0, 190.0, 44.0, 310.0, 14.0, 156.0
# The middle of what is written below it.
_CENTRE = (_LEFT + _CURVE_WIDTH) / 2


# ---- how rows lie around a rule, in multiples of its limit


def draw_rule(rule: Rule) -> str:
    """The histogram with its limits, which other pictures refer to as ``d`` and the rule's number.

    Heights are logarithmic, so that a few rows beyond the limit are seen beside thousands within it.
    """
    found = rule.histogram
    if found is None:
        return ""
    drawn = _draw_bars(found) + svg.line(2, _BASE, _WIDTH - 2, _BASE, "ax")
    for side, sign, outwards in ((-1.0, svg.MINUS, "end"), (1.0, "+", None)):
        x = _place(side, found.high)
        drawn += svg.line(x, _TOP, x, _BASE, "lim")
        # Long labels would stand in each other's way, so they lead outwards from a little inside of their limit.
        anchor, away = ("middle", 0.0) if len(rule.limit) < 7 else (outwards, -side * 18.0)
        if rule.limit:
            drawn += svg.label(x + away, _HEIGHT - 4, f"{sign}{rule.limit}", "t", anchor)
    middle = _place(0.0, found.high)
    drawn += svg.line(middle, _BASE, middle, _BASE + 4, "ax") + svg.label(middle, _HEIGHT - 4, "0", "t", "middle")
    n = sum(found.counts) + found.below + found.above
    says = f"Distribution of {n:,} rows around {rule.short}; {rule.n_broken:,} are beyond its limit."
    return svg.picture(_WIDTH, _HEIGHT, svg.element("g", drawn, id=f"d{rule.number}"), says, "dist")


def _place(multiple: float, reach: float) -> float:
    inside = min(max(multiple, -reach), reach)
    return _EDGE + (_WIDTH - 2 * _EDGE) * (inside + reach) / (2 * reach)


def _draw_bars(found: Histogram) -> str:
    """Those within the limits, and those beyond."""
    tallest = math.log1p(max([1, *found.counts, found.below, found.above]))
    step = (found.high - found.low) / len(found.counts)

    def bar(left: float, wide: float, count: int) -> str:
        if not count:
            return ""
        tall = max(1.0, (_BASE - _TOP) * math.log1p(count) / tallest)
        return f"M{svg.number(left)} {svg.number(_BASE)}v-{svg.number(tall)}h{svg.number(wide)}v{svg.number(tall)}z"

    within = beyond = ""
    for k, count in enumerate(found.counts):
        middle = found.low + (k + 0.5) * step
        left, right = _place(middle - step / 2, found.high), _place(middle + step / 2, found.high)
        if abs(middle) < 1.0:
            within += bar(left, right - left, count)
        else:
            beyond += bar(left, right - left, count)
    beyond += bar(2, _EDGE - 4, found.below) + bar(_WIDTH - _EDGE + 2, _EDGE - 4, found.above)
    return svg.path(within, "in") + svg.path(beyond, "out")


def draw_break(rule: Rule, broken: Break) -> str:
    """The rule's own distribution, and where one row stands in it."""
    if rule.histogram is None or broken.multiple is None:
        return ""
    reach, size = rule.histogram.high, amount(abs(broken.multiple))
    place, words = _place(broken.multiple, reach), f"{size} {svg.TIMES} the rule's limit"
    # What is beyond the picture stands with what else is there.
    if broken.multiple < -reach:
        place, words = 7.0, f"← {words}"
    elif broken.multiple > reach:
        place, words = _WIDTH - 7.0, f"{words} →"
    anchor = None if place < 75 else "end" if place > _WIDTH - 75 else "middle"
    mark = svg.line(place, _TOP, place, _BASE, "mk") + svg.label(place, 10, words, "t mk-t", anchor)
    says = f"This row is {size} times the rule's limit away from {rule.short}."
    return svg.picture(_WIDTH, _HEIGHT, svg.element("use", href=f"#d{rule.number}") + mark, says, "dist")


# ---- which columns are tied to which


def draw_ties(report: Report) -> str:
    """A line for each column, a lane for each rule, and a dot where the rule names it; nothing crosses a name.

    Filled dots stand on the left side of a rule's sentence, rings on the right. Empty where no rule relates columns.
    """
    left_over = [rule for rule in report.rules if len(rule.columns) > 1][:60]
    if not left_over:
        return ""
    # Columns of a rule are near each other, and rules stand from the top down: what hangs together first.
    columns: dict[int, None] = {}
    rules: list[Rule] = []
    while left_over:
        best = max(left_over, key=lambda rule: (len(columns.keys() & rule.columns), -len(rule.columns), -rule.number))
        columns |= dict.fromkeys(best.columns)
        rules.append(best)
        left_over.remove(best)
    names = {column: svg.clip(report.columns[column].name, 28) for column in columns}
    left = 14.0 + 6.6 * max(map(len, names.values()))
    # The lane of a rule is 22 wide, and the line of a column 20 high.
    width, height = left + len(rules) * 22.0 + 12, 32.0 + len(columns) * 20.0
    place = {column: 24.0 + (k + 0.5) * 20.0 for k, column in enumerate(columns)}
    drawn = ""
    for column, y in place.items():
        of = report.columns[column]
        name = svg.hint(of.name) + svg.label(left - 8, y + 4, names[column], "t", "end")
        drawn += svg.line(left, y, width - 8, y, "gr") + svg.element("a", name, href=f"#{of.anchor}")
    drawn += "".join(_draw_lane(rule, left + (k + 0.5) * 22.0, place) for k, rule in enumerate(rules))
    says = f"{len(columns)} columns tied to each other by {len(rules)} rules."
    return svg.picture(width, height, drawn, says, "map", "group")


def _draw_lane(rule: Rule, x: float, place: dict[int, float]) -> str:
    # Of several features of a column the first.
    sides = {term.column: term.coefficient for term in reversed(rule.terms) if term.coefficient}
    ys = [place[column] for column in rule.columns]
    drawn = svg.label(x, 14.0, rule.number, "t", "middle") + svg.line(x, min(ys), x, max(ys), "tie")
    for column, y in zip(rule.columns, ys, strict=True):
        drawn += svg.element("circle", cx=x, cy=y, r=4.5, class_="dot" if sides[column] > 0.0 else "ring")
    return svg.element("a", svg.hint(rule.text) + drawn, href=f"#rule-{rule.number}")


# ---- how choices were made


def draw_variances(report: Report) -> str:
    """The variance of each direction, least first, and up to where it counts as little."""
    little = report.choices.little
    if not report.choices.variances:
        return ""
    # Below this all are as good as zero.
    values = [max(value, 1e-8) for value in report.choices.variances]
    y = svg.LogScale(min([*values, little]) / 1.5, max([*values, little]) * 1.5, _BELOW, _ABOVE)
    step, marks = (_RIGHT - _LEFT) / len(values), {"dot-in": "", "dot-off": ""}
    for k, value in enumerate(values):
        class_ = "dot-in" if value <= little else "dot-off"
        marks[class_] += f"M{svg.number(_LEFT + (k + 0.5) * step - 2)} {svg.number(y(value))}h4"
    drawn = _draw_axes(y) + "".join(svg.path(d, class_) for class_, d in marks.items())
    drawn += svg.line(_LEFT, y(little), _RIGHT, y(little), "lim")
    drawn += svg.label(_LEFT + 4, y(little) - 5, "little variance below", "t lim-t over")
    drawn += svg.label(_CENTRE, _CURVE_HEIGHT - 6, "directions, least variance first", "t", "middle")
    says = f"Variances of {len(values)} directions; {report.choices.directions} are below {little}."
    return svg.picture(_CURVE_WIDTH, _CURVE_HEIGHT, drawn, says, "curve")


def draw_sensitivity(report: Report) -> str:
    """How many rows would be flagged at other limits."""
    curve = [one for one in report.choices.sensitivity if one.limit > 0.0]
    limit = report.course.limit
    if len(curve) < 2 or not limit:
        return ""
    x = svg.LogScale(curve[0].limit, curve[-1].limit, _LEFT, _RIGHT)
    y = svg.LogScale(0.8, max(2.0, 1.3 * max(one.rows for one in curve)), _BELOW, _ABOVE)
    points = "L".join(f"{svg.number(x(one.limit))} {svg.number(y(max(one.rows, 0.8)))}" for one in curve)
    drawn = _draw_axes(y) + svg.path(f"M{points}", "cv")
    drawn += svg.path(f"M{svg.number(x(limit))} {svg.number(_ABOVE)}V{svg.number(_BELOW)}", "lim")
    drawn += svg.label(x(limit) + 5, _ABOVE + 9, f"limit {limit:.3g}: {report.counts.anomalies:,} rows", "t lim-t")
    # Half a label needs room at the right.
    for tick in (tick for tick in x.ticks(4) if x(tick) < _CURVE_WIDTH - 24.0):
        drawn += svg.label(x(tick), _BELOW + 14, svg.write_tick(tick), "t", "middle")
    drawn += svg.label(_CENTRE, _CURVE_HEIGHT - 4, "limit of the score", "t", "middle")
    return svg.picture(_CURVE_WIDTH, _CURVE_HEIGHT, drawn, "Rows flagged over the limit of the score.", "curve")


def _draw_axes(y: svg.LogScale) -> str:
    return svg.line(_LEFT, _BELOW, _RIGHT, _BELOW, "ax") + svg.draw_grid(y, _LEFT, _RIGHT, 5.0)
