"""How choices were made, as curves: variances of all directions, and rows flagged at other limits."""

from __future__ import annotations

from aspca.report.pictures.scale import LogScale, tick_text
from aspca.report.pictures.svg import element, label, line, number, picture
from aspca.report.summary import Report

_WIDTH, _HEIGHT = 320.0, 190.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 44.0, 10.0, 14.0, 34.0
_LEAST = 1e-8
# What half a label takes.
_ROOM = 24.0


def variance_picture(report: Report) -> str:
    """The variance of each direction, least first, and up to where it counts as little."""
    choices = report.choices
    if not choices.variances:
        return ""
    values = [max(value, _LEAST) for value in choices.variances]
    y = LogScale(min([*values, choices.little]) / 1.5, max([*values, choices.little]) * 1.5, _HEIGHT - _BOTTOM, _TOP)
    step = (_WIDTH - _LEFT - _RIGHT) / len(values)
    parts = _axes(y)
    below, above = "", ""
    for k, value in enumerate(values):
        place = f"M{number(_LEFT + (k + 0.5) * step - 2)} {number(y(value))}h4"
        if value <= choices.little:
            below += place
        else:
            above += place
    parts += element("path", d=below, class_="dot-in") if below else ""
    parts += element("path", d=above, class_="dot-off") if above else ""
    parts += line(_LEFT, y(choices.little), _WIDTH - _RIGHT, y(choices.little), "lim")
    parts += label(_LEFT + 4, y(choices.little) - 5, "little variance below", "t lim-t over")
    parts += label((_LEFT + _WIDTH) / 2, _HEIGHT - 6, "directions, least variance first", "t", "middle")
    says = f"Variances of {len(values)} directions; {choices.directions} are below {choices.little}."
    return picture(_WIDTH, _HEIGHT, parts, says, "curve")


def sensitivity_picture(report: Report) -> str:
    """How many rows would be flagged at other limits."""
    curve = [one for one in report.choices.sensitivity if one.limit > 0.0]
    limit = report.course.limit
    if len(curve) < 2 or not limit:
        return ""
    x = LogScale(curve[0].limit, curve[-1].limit, _LEFT, _WIDTH - _RIGHT)
    y = LogScale(0.8, max(2.0, 1.3 * max(one.rows for one in curve)), _HEIGHT - _BOTTOM, _TOP)
    points = "L".join(f"{number(x(one.limit))} {number(y(max(one.rows, 0.8)))}" for one in curve)
    parts = _axes(y)
    parts += element("path", d=f"M{points}", class_="cv")
    parts += element("path", d=f"M{number(x(limit))} {number(_TOP)}V{number(_HEIGHT - _BOTTOM)}", class_="lim")
    parts += label(x(limit) + 5, _TOP + 9, f"limit {limit:.3g}: {report.counts.anomalies:,} rows", "t lim-t")
    for tick in (tick for tick in x.ticks(4) if x(tick) < _WIDTH - _ROOM):
        parts += label(x(tick), _HEIGHT - _BOTTOM + 14, tick_text(tick), "t", "middle")
    parts += label((_LEFT + _WIDTH) / 2, _HEIGHT - 4, "limit of the score", "t", "middle")
    return picture(_WIDTH, _HEIGHT, parts, "Rows flagged over the limit of the score.", "curve")


def _axes(y: LogScale) -> str:
    drawn = line(_LEFT, _HEIGHT - _BOTTOM, _WIDTH - _RIGHT, _HEIGHT - _BOTTOM, "ax")
    for tick in y.ticks(5):
        drawn += line(_LEFT, y(tick), _WIDTH - _RIGHT, y(tick), "gr")
        drawn += label(_LEFT - 5, y(tick) + 4, tick_text(tick), "t", "end")
    return drawn
