"""How rows lie around a rule: a histogram in multiples of its limit, drawn once and marked for each row that breaks it.

Heights are logarithmic, so that a few rows beyond the limit are seen beside thousands within it.
"""

from __future__ import annotations

import math

from aspca.judging.row_text import amount
from aspca.report.pictures.svg import MINUS, TIMES, element, label, line, number, picture
from aspca.report.summary import Break, Histogram, Near, Rule

WIDTH, HEIGHT = 300.0, 88.0
_BASE, _TOP, _EDGE = 70.0, 14.0, 14.0
_NEAR = 44.0
# Labels of so many signs stand in each other's way; then they begin so far inside of their limit.
_SHORT, _AWAY = 7, 18.0


def _x(multiple: float, reach: float) -> float:
    inside = min(max(multiple, -reach), reach)
    return _EDGE + (WIDTH - 2 * _EDGE) * (inside + reach) / (2 * reach)


def rule_picture(rule: Rule) -> str:
    """The histogram with its limits; what other pictures refer to is called ``d`` and the rule's number."""
    found = rule.histogram
    if found is None:
        return ""
    n = sum(found.counts) + found.below + found.above
    outside = rule.low + rule.high
    says = f"Distribution of {n:,} rows around {rule.short}; {outside:,} are beyond its limit."
    return picture(WIDTH, HEIGHT, element("g", _drawn(rule, found), id=f"d{rule.number}"), says, "dist")


def _drawn(rule: Rule, found: Histogram) -> str:
    bins = len(found.counts)
    tallest = math.log1p(max([1, *found.counts, found.below, found.above]))
    step = (found.high - found.low) / bins

    def bars(inside: bool) -> str:
        drawn = ""
        for k, count in enumerate(found.counts):
            middle = found.low + (k + 0.5) * step
            if count and (abs(middle) < 1.0) == inside:
                left, right = _x(middle - step / 2, found.high), _x(middle + step / 2, found.high)
                drawn += _bar(left, right - left, count, tallest)
        if not inside:
            drawn += _bar(2, _EDGE - 4, found.below, tallest) + _bar(WIDTH - _EDGE + 2, _EDGE - 4, found.above, tallest)
        return drawn

    within, beyond = bars(True), bars(False)
    parts = [element("path", d=within, class_="in") if within else ""]
    parts.append(element("path", d=beyond, class_="out") if beyond else "")
    parts.append(line(2, _BASE, WIDTH - 2, _BASE, "ax"))
    for side in (-1.0, 1.0):
        parts.append(line(_x(side, found.high), _TOP, _x(side, found.high), _BASE, "lim"))
        sign = MINUS if side < 0 else "+"
        # Long ones lead outwards.
        anchor = "middle" if len(rule.limit) < _SHORT else "end" if side < 0 else "start"
        away = 0.0 if anchor == "middle" else -side * _AWAY
        if rule.limit:
            parts.append(label(_x(side, found.high) + away, HEIGHT - 4, f"{sign}{rule.limit}", "t", anchor))
    parts.append(line(_x(0.0, found.high), _BASE, _x(0.0, found.high), _BASE + 4, "ax"))
    parts.append(label(_x(0.0, found.high), HEIGHT - 4, "0", "t", "middle"))
    return "".join(parts)


def _bar(left: float, wide: float, count: int, tallest: float) -> str:
    if not count:
        return ""
    tall = max(1.0, (_BASE - _TOP) * math.log1p(count) / tallest)
    return f"M{number(left)} {number(_BASE)}v-{number(tall)}h{number(wide)}v{number(tall)}z"


def marked_picture(rule: Rule, broken: Break) -> str:
    """The rule's own distribution, and where one row stands in it."""
    if rule.histogram is None or broken.multiple is None:
        return ""
    reach = rule.histogram.high
    far = abs(broken.multiple) > reach
    # What is beyond the picture stands with what else is there.
    place = _x(broken.multiple, reach) if not far else 7.0 if broken.multiple < 0 else WIDTH - 7.0
    words = f"{amount(abs(broken.multiple))} {TIMES} the rule's limit"
    words = f"← {words}" if far and broken.multiple < 0 else f"{words} →" if far else words
    anchor = "start" if place < 75 else "end" if place > WIDTH - 75 else "middle"
    mark = line(place, _TOP, place, _BASE, "mk") + label(place, 10, words, "t mk-t", anchor)
    says = f"This row is {amount(abs(broken.multiple))} times the rule's limit away from {rule.short}."
    return picture(WIDTH, HEIGHT, element("use", href=f"#d{rule.number}") + mark, says, "dist")


def near_picture(near: Near, row: int, reach: float) -> str:
    """How far the rows around an anomaly are off, in multiples of the limit."""
    low = -reach if near.rule is not None else 0.0

    def y(multiple: float) -> float:
        inside = min(max(multiple, low), reach)
        return 3 + (_NEAR - 6) * (reach - inside) / (reach - low)

    n = len(near.rows)
    step = (WIDTH - 8) / max(n - 1, 1)
    points = [(4 + k * step, one.multiple, one.row) for k, one in enumerate(near.rows)]
    top, bottom = y(1.0), y(-1.0 if near.rule is not None else 0.0)
    parts = [element("rect", x=0, y=top, width=WIDTH, height=bottom - top, class_="ok")]
    path = "".join(
        f"{'M' if k == 0 or points[k - 1][1] is None else 'L'}{number(px)} {number(y(value))}"
        for k, (px, value, _) in enumerate(points)
        if value is not None
    )
    parts.append(element("path", d=path, class_="cv") if path else "")
    for px, value, number_of in points:
        if number_of == row and value is not None:
            parts.append(element("circle", cx=px, cy=y(value), r=3.5, class_="an-d"))
    says = f"How far the {n} rows around row {row} are off; the band is within the limit."
    return picture(WIDTH, _NEAR, "".join(parts), says, "near")
