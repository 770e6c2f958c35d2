"""The cell map: the worst rows by the columns, coloured by blame and side, so that a pattern is seen at once.

Rows of a kind stand together, the worst kind and the worst row first: one sensor, one shift or one supplier is a block.
"""

from __future__ import annotations

from aspca.report.pictures.svg import MINUS, clipped, element, hint, label, picture
from aspca.report.summary import Anomaly, Cell, Report

_ROWS, _COLUMNS = 60, 48
# From here on white is read better on it than dark.
_STRONG = 0.5
_CELL, _HEIGHT = 28.0, 18.0
_NAME, _LABEL = 22, 16
# Of a name that is written at an angle, how far a sign leads to the right and up.
_ALONG, _UP = 3.6, 6.0
_WORDS = {"high": "too high", "low": "too low", "": "at fault"}


def cell_map(report: Report) -> str:
    """The picture, or nothing where no cell is to blame."""
    rows = [one for one in report.anomalies if not one.sampled][:_ROWS]
    columns = _columns(rows, report)
    if not rows or not columns:
        return ""
    worst: dict[int | None, int] = {}
    for one in rows:
        worst.setdefault(one.group, one.rank)
    rows = sorted(rows, key=lambda one: (worst[one.group], one.rank))
    names = [clipped(report.columns[column].name, _NAME) for column in columns]
    left = 8.0 + 6.4 * max(len(_row_label(one)) for one in rows)
    top = 12.0 + _UP * max(map(len, names))
    width = left + len(columns) * _CELL + _ALONG * max(map(len, names)) + 10
    place = {column: left + k * _CELL for k, column in enumerate(columns)}
    parts = [_heading(report, column, place[column], top, name) for column, name in zip(columns, names, strict=True)]
    y, group = top + 4, rows[0].group
    for one in rows:
        if one.group != group:
            y, group = y + 5, one.group
        parts.append(_row(report, one, place, left, y, len(columns)))
        y += _HEIGHT
    says = f"The worst {len(rows)} rows by {len(columns)} columns; cells at fault are coloured by side and blame."
    return picture(width, y + 6, "".join(parts), says, "map", group=True)


def _columns(rows: list[Anomaly], report: Report) -> list[int]:
    """Columns with a cell that is drawn, in the order of the table; of many those most to blame."""
    blame: dict[int, float] = {}
    for one in rows:
        for cell in one.cells:
            if cell.marked:
                blame[cell.column] = blame.get(cell.column, 0.0) + cell.blame
    return sorted(sorted(blame, key=lambda column: (-blame[column], column))[:_COLUMNS])


def _row_label(one: Anomaly) -> str:
    return f"{one.row} {clipped(one.name, _LABEL)}" if one.name else str(one.row)


def _heading(report: Report, column: int, x: float, top: float, name: str) -> str:
    x, y = x + _CELL / 2 + 3, top - 2
    text = label(x, y, name, "t", transform=f"rotate(-58 {x:.1f} {y:.1f})")
    column_of = report.columns[column]
    return element("a", hint(column_of.name) + text, href=f"#{column_of.anchor}")


def _row(report: Report, one: Anomaly, place: dict[int, float], left: float, y: float, many: int) -> str:
    drawn = element("rect", x=left, y=y + 0.5, width=many * _CELL, height=_HEIGHT - 1, class_="m-bg")
    link = label(left - 6, y + 13, _row_label(one), "t", "end")
    drawn += element("a", link, href=f"#row-{one.row}")
    for cell in one.cells:
        if cell.marked and cell.column in place:
            drawn += _cell(report, cell, place[cell.column], y)
    return drawn


def _cell(report: Report, cell: Cell, x: float, y: float) -> str:
    kind = {"high": "hi", "low": "lo"}.get(cell.side, "no")
    value = "missing" if cell.text is None else cell.text
    told = f"{report.columns[cell.column].name} {value}: {_WORDS[cell.side]}, {100 * cell.blame:.0f} % of the score"
    box = element(
        "rect",
        hint(told),
        x=x + 0.5,
        y=y + 0.5,
        width=_CELL - 1,
        height=_HEIGHT - 1,
        class_=kind,
        fill_opacity=f"{0.25 + 0.75 * min(1.0, cell.blame):.2f}",
    )
    sign = {"high": "+", "low": MINUS}.get(cell.side, "")
    if not sign:
        return box
    return box + label(x + _CELL / 2, y + 13, sign, "sg" if cell.blame > _STRONG else "sg pale", "middle")
