"""The score over rows or time, with its limit, the anomalies, changes and incidents."""

from __future__ import annotations

from collections.abc import Callable

from aspca.report.listing import is_weak
from aspca.report.pictures.scale import LogScale, tick_text
from aspca.report.pictures.svg import element, hint, label, line, number, picture
from aspca.report.summary import Bucket, Report

Place = Callable[[float], float]
_LEFT, _RIGHT, _TOP, _BOTTOM = 54.0, 10.0, 16.0, 24.0
# How far below the limit scores are told apart, and how much room there is above the highest.
_BELOW, _HEADROOM = 1e-3, 1.6
# Rows are drawn one by one up to so many.
_SINGLE = 720
_MARKS = 600
# Marks are smaller in pictures that are not so wide.
_LARGE = 600.0
# How wide a sign of a label is, and how far labels are apart.
_SIGN, _APART = 6.4, 10.0


def score_picture(report: Report, width: float, height: float, class_: str, ticks: int) -> str:
    """The picture at one size; two of them are in the page, for wide and for narrow windows."""
    course = report.course
    middle = max((bucket.least for bucket in course.buckets), default=1.0)
    limit = course.limit or middle or 1.0
    highest = max([limit, *(bucket.largest for bucket in course.buckets)])
    lowest = min([limit, *(bucket.least for bucket in course.buckets if bucket.least > 0.0)])
    y = LogScale(max(lowest, limit * _BELOW), highest * _HEADROOM, height - _BOTTOM, _TOP)
    n = max(report.counts.rows, 1)

    def x(place: float) -> float:
        return _LEFT + (width - _LEFT - _RIGHT) * (place + 0.5) / n

    parts = [_stretches(report, x, height), _grid(y, width)]
    parts.append(_rows(course.buckets, x, y, n))
    parts.append(_anomalies(report, x, y, width))
    parts.append(_limit(limit, y, width) if course.limit else "")
    parts.append(_axis(report, x, height, width, ticks))
    found = report.counts.anomalies
    says = f"Scores of {n:,} rows, {found:,} of them anomalies; the highest is {highest:.3g}."
    return picture(width, height, "".join(parts), says, class_)


def _stretches(report: Report, x: Place, height: float) -> str:
    shown = [(change.start, change.stop - 1, change.text, "ch") for change in report.changes]
    shown += [(one.start, one.stop, one.text, "inc") for one in report.incidents if one.kind != "change"]
    drawn = []
    for start, stop, text, kind in shown:
        left, right = x(start - 0.5), x(stop + 0.5)
        wide = max(right - left, 1.5)
        top = _TOP if kind == "ch" else height - _BOTTOM - 5
        tall = height - _BOTTOM - top
        drawn.append(element("rect", hint(text), x=left, y=top, width=wide, height=tall, class_=kind))
    return "".join(drawn)


def _grid(y: LogScale, width: float) -> str:
    return "".join(
        line(_LEFT, y(tick), width - _RIGHT, y(tick), "gr") + label(_LEFT - 6, y(tick) + 4, tick_text(tick), "t", "end")
        for tick in y.ticks(5)
    )


def _rows(buckets: tuple[Bucket, ...], x: Place, y: LogScale, n: int) -> str:
    if n <= _SINGLE:
        size = 2.0 if n > 200 else 3.0
        dots = "".join(
            f"M{number(x(place) - size / 2)} {number(y(bucket.largest))}h{number(size)}"
            for place, bucket in enumerate(buckets)
            if not bucket.anomalies
        )
        return element("path", d=dots, class_="pt", stroke_width=size) if dots else ""
    step = n / max(len(buckets), 1)
    places = [(k + 0.5) * step - 0.5 for k in range(len(buckets))]
    top = "L".join(f"{number(x(p))} {number(y(b.largest))}" for p, b in zip(places, buckets, strict=True))
    low = "L".join(f"{number(x(p))} {number(y(b.least))}" for p, b in reversed(list(zip(places, buckets, strict=True))))
    return element("path", d=f"M{top}L{low}Z", class_="env")


def _limit(limit: float, y: LogScale, width: float) -> str:
    text = label(_LEFT + 4, y(limit) - 5, f"limit {limit:.3g}", "t lim-t over")
    return line(_LEFT, y(limit), width - _RIGHT, y(limit), "lim") + text


def _anomalies(report: Report, x: Place, y: LogScale, width: float) -> str:
    pairs = list(zip(report.anomalies, report.course.places, strict=True))[:_MARKS]
    # The worst on top.
    return "".join(
        element(
            "circle",
            hint(f"row {one.row}: {one.reason}"),
            cx=x(place),
            cy=y(one.score),
            r=(3.5 if width > _LARGE else 2.5) - (1.0 if is_weak(one) else 0.0),
            class_="an-d wk" if is_weak(one) else "an-d" if one.beyond else "an-d of-ch",
            data_row=one.row,
        )
        for one, place in reversed(pairs)
    )


def _axis(report: Report, x: Place, height: float, width: float, most: int) -> str:
    ticks = report.course.ticks
    most = min(most, len(ticks))
    chosen = [ticks[round(k * (len(ticks) - 1) / max(most - 1, 1))] for k in range(most)]
    drawn, used = [], 0.0
    for tick in chosen:
        half, place = _SIGN * len(tick.label) / 2, x(tick.place)
        left = min(max(place - half, _LEFT), width - 2 * half)
        # One that would run into the last is left out.
        if left >= used:
            drawn.append(line(place, height - _BOTTOM, place, height - _BOTTOM + 4, "ax"))
            drawn.append(label(left + half, height - 6, tick.label, "t", "middle"))
            used = left + 2 * half + _APART
    return line(_LEFT, height - _BOTTOM, width - _RIGHT, height - _BOTTOM, "ax") + "".join(drawn)
