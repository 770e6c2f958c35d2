"""Pictures of rows: scores in order or in time, the cells at fault, and the rows around an anomaly."""

from __future__ import annotations

from collections.abc import Callable

from aspca.report.collect import REACH
from aspca.report.pictures import svg
from aspca.report.summary import Bucket, Cell, Near, Report

Place = Callable[[float], float]
# The picture of scores: where its axes begin, and how far from the other sides they end.
_LEFT, _RIGHT, _TOP, _BOTTOM = 54.0, 10.0, 16.0, 24.0
# The cell map: how wide and high a cell is.
_CELL, _HEIGHT = 28.0, 18.0


# ---- scores


def draw_scores(report: Report, width: float, height: float, class_: str, ticks: int) -> str:
    """The score over rows or time, with its limit, the anomalies, changes and incidents, at one size."""
    course, n = report.course, max(report.counts.rows, 1)
    limit = course.limit or max((bucket.least for bucket in course.buckets), default=1.0) or 1.0
    highest = max([limit, *(bucket.largest for bucket in course.buckets)])
    lowest = min([limit, *(bucket.least for bucket in course.buckets if bucket.least > 0.0)])
    # Scores below a thousandth of the limit are all alike; above the highest there is some room.
    y = svg.LogScale(max(lowest, limit * 1e-3), highest * 1.6, height - _BOTTOM, _TOP)

    def x(place: float) -> float:
        return _LEFT + (width - _LEFT - _RIGHT) * (place + 0.5) / n

    drawn = _draw_stretches(report, x, height) + svg.draw_grid(y, _LEFT, width - _RIGHT, 6.0)
    drawn += _draw_buckets(course.buckets, x, y, n) + _draw_anomalies(report, x, y, 3.5 if width > 600.0 else 2.5)
    if course.limit:
        drawn += svg.line(_LEFT, y(limit), width - _RIGHT, y(limit), "lim")
        drawn += svg.label(_LEFT + 4, y(limit) - 5, f"limit {limit:.3g}", "t lim-t over")
    drawn += _draw_axis(report, x, height, width, ticks)
    says = f"Scores of {n:,} rows, {report.counts.anomalies:,} of them anomalies; the highest is {highest:.3g}."
    return svg.picture(width, height, drawn, says, class_)


def _draw_stretches(report: Report, x: Place, height: float) -> str:
    """Changes as shaded areas, incidents as ticks at the bottom."""
    shown = [(change.start, change.stop - 1, change.text, "ch", _TOP) for change in report.changes]
    low = height - _BOTTOM - 5
    shown += [(one.start, one.stop, one.text, "inc", low) for one in report.incidents if one.kind != "change"]
    drawn = ""
    for start, stop, text, class_, top in shown:
        left, tall = x(start - 0.5), height - _BOTTOM - top
        wide = max(x(stop + 0.5) - left, 1.5)
        drawn += svg.element("rect", svg.hint(text), x=left, y=top, width=wide, height=tall, class_=class_)
    return drawn


def _draw_buckets(buckets: tuple[Bucket, ...], x: Place, y: svg.LogScale, n: int) -> str:
    # Rows in as many buckets are drawn one by one.
    if n <= 720:
        size = 2.0 if n > 200 else 3.0
        dots = "".join(
            f"M{svg.number(x(place) - size / 2)} {svg.number(y(bucket.largest))}h{svg.number(size)}"
            for place, bucket in enumerate(buckets)
            if not bucket.anomalies
        )
        return svg.path(dots, "pt", stroke_width=size)
    step = n / max(len(buckets), 1)
    places = [svg.number(x((k + 0.5) * step - 0.5)) for k in range(len(buckets))]
    top = [f"{place} {svg.number(y(bucket.largest))}" for place, bucket in zip(places, buckets, strict=True)]
    low = [f"{place} {svg.number(y(bucket.least))}" for place, bucket in zip(places, buckets, strict=True)]
    return svg.path(f"M{'L'.join(top + low[::-1])}Z", "env")


def _draw_anomalies(report: Report, x: Place, y: svg.LogScale, radius: float) -> str:
    pairs = list(zip(report.anomalies, report.course.places, strict=True))[:600]
    # The worst on top.
    return "".join(
        svg.element(
            "circle",
            svg.hint(f"row {one.row}: {one.reason}"),
            cx=x(place),
            cy=y(one.score),
            r=radius - (1.0 if one.is_weak else 0.0),
            class_="an-d wk" if one.is_weak else "an-d" if one.beyond else "an-d of-ch",
            data_row=one.row,
        )
        for one, place in reversed(pairs)
    )


def _draw_axis(report: Report, x: Place, height: float, width: float, most: int) -> str:
    ticks, bottom = report.course.ticks, height - _BOTTOM
    most = min(most, len(ticks))
    drawn, used = svg.line(_LEFT, bottom, width - _RIGHT, bottom, "ax"), 0.0
    for tick in (ticks[round(k * (len(ticks) - 1) / max(most - 1, 1))] for k in range(most)):
        # A sign is about 6.4 pixels wide.
        half, place = 6.4 * len(tick.label) / 2, x(tick.place)
        left = min(max(place - half, _LEFT), width - 2 * half)
        # One that would run into the last is left out.
        if left >= used:
            drawn += svg.line(place, bottom, place, bottom + 4, "ax")
            drawn += svg.label(left + half, height - 6, tick.label, "t", "middle")
            used = left + 2 * half + 10.0
    return drawn


# ---- cells at fault


def draw_cell_map(report: Report) -> str:
    """The worst rows by the columns, coloured by blame and side, or nothing where no cell is to blame.

    Rows of a group stand together, the worst group and the worst row first: one sensor, one shift or one supplier is a
    block. Of many columns these are the ones most to blame.
    """
    rows = [one for one in report.anomalies if not one.sampled][:60]
    blame: dict[int, float] = {}
    for cell in (cell for one in rows for cell in one.cells if cell.marked):
        blame[cell.column] = blame.get(cell.column, 0.0) + cell.blame
    columns = sorted(sorted(blame, key=lambda column: (-blame[column], column))[:48])
    if not columns:
        return ""
    worst = {one.group: one.rank for one in reversed(rows)}
    rows = sorted(rows, key=lambda one: (worst[one.group], one.rank))
    names = {one.row: f"{one.row} {svg.clip(one.name, 16)}" if one.name else str(one.row) for one in rows}
    longest = max(len(svg.clip(report.columns[column].name, 22)) for column in columns)
    left = 8.0 + 6.4 * max(map(len, names.values()))
    # Of a name that is written at an angle, how far a sign leads up and to the right.
    top = 12.0 + 6.0 * longest
    width = left + len(columns) * _CELL + 3.6 * longest + 10
    place = {column: left + k * _CELL for k, column in enumerate(columns)}
    drawn = "".join(_draw_heading(report, column, x, top) for column, x in place.items())
    y, group = top + 4, rows[0].group
    for one in rows:
        if one.group != group:
            y, group = y + 5, one.group
        drawn += svg.element("rect", x=left, y=y + 0.5, width=len(columns) * _CELL, height=_HEIGHT - 1, class_="m-bg")
        drawn += svg.element("a", svg.label(left - 6, y + 13, names[one.row], "t", "end"), href=f"#row-{one.row}")
        marked = [cell for cell in one.cells if cell.marked and cell.column in place]
        drawn += "".join(_draw_cell(report, cell, place[cell.column], y) for cell in marked)
        y += _HEIGHT
    says = f"The worst {len(rows)} rows by {len(columns)} columns; cells at fault are coloured by side and blame."
    return svg.picture(width, y + 6, drawn, says, "map", "group")


def _draw_heading(report: Report, column: int, x: float, top: float) -> str:
    x, y, of = x + _CELL / 2 + 3, top - 2, report.columns[column]
    text = svg.label(x, y, svg.clip(of.name, 22), "t", transform=f"rotate(-58 {x:.1f} {y:.1f})")
    return svg.element("a", svg.hint(of.name) + text, href=f"#{of.anchor}")


def _draw_cell(report: Report, cell: Cell, x: float, y: float) -> str:
    sides = {"high": ("hi", "+", "too high"), "low": ("lo", svg.MINUS, "too low")}
    class_, sign, words = sides.get(cell.side, ("no", "", "at fault"))
    value = "missing" if cell.text is None else cell.text
    box = svg.element(
        "rect",
        svg.hint(f"{report.columns[cell.column].name} {value}: {words}, {100 * cell.blame:.0f} % of the score"),
        x=x + 0.5,
        y=y + 0.5,
        width=_CELL - 1,
        height=_HEIGHT - 1,
        class_=class_,
        fill_opacity=f"{0.25 + 0.75 * min(1.0, cell.blame):.2f}",
    )
    # On strong colours white is read better than dark.
    shade = "sg" if cell.blame > 0.5 else "sg pale"
    return box + (svg.label(x + _CELL / 2, y + 13, sign, shade, "middle") if sign else "")


# ---- neighbours


def draw_neighbours(near: Near, row: int) -> str:
    """How far the rows around an anomaly are off, in multiples of the limit."""
    width, height, low = 300.0, 44.0, -REACH if near.rule is not None else 0.0

    def y(multiple: float) -> float:
        return 3 + (height - 6) * (REACH - min(max(multiple, low), REACH)) / (REACH - low)

    n = len(near.rows)
    step, top = (width - 8) / max(n - 1, 1), y(1.0)
    band = svg.element("rect", x=0, y=top, width=width, height=y(max(low, -1.0)) - top, class_="ok")
    curve, mark, known = "", "", False
    for k, one in enumerate(near.rows):
        if one.multiple is not None:
            curve += f"{'L' if known else 'M'}{svg.number(4 + k * step)} {svg.number(y(one.multiple))}"
            if one.row == row:
                mark = svg.element("circle", cx=4 + k * step, cy=y(one.multiple), r=3.5, class_="an-d")
        known = one.multiple is not None
    says = f"How far the {n} rows around row {row} are off; the band is within the limit."
    return svg.picture(width, height, band + svg.path(curve, "cv") + mark, says, "near")
