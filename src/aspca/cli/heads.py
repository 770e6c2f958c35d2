"""What each line about an anomaly begins with: its row or its names, its other key columns, how far out it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

from aspca.escaping import for_terminal

if TYPE_CHECKING:
    from aspca.findings.finding import Finding

# Titles of columns, each with its justification, and rows of cells.
Titles = Sequence[tuple[str, str]]
Rows = Sequence[Sequence[object]]
_Column = tuple[tuple[str, str], Sequence[object]]


class Heads(NamedTuple):
    """The first columns of a table of anomalies, and a table of all key columns where they took too much room there."""

    titles: Titles
    rows: Rows
    keys: tuple[Titles, Rows] | None


def make_heads(findings: Sequence[Finding], wide: bool, without: str | None, *, measured: bool = True) -> Heads:
    """The heads of some findings; `wide`: there is room for the row beside its names, and for the score beside both.

    `without` is a column that the page's title tells already; `measured`: whether to tell how far out each is.
    """
    keys = [name for name in (findings[0].keys if findings else ()) if name != without]
    cells = {name: [for_terminal(finding.keys[name] or "") for finding in findings] for name in keys}
    columns: list[_Column] = []
    # More room is left for the reasons.
    room = 24
    for name in keys:
        room -= 2 + max(map(cell_len, (for_terminal(name), *cells[name])))
        if room < 0:
            break
        columns.append(((for_terminal(name), "none"), cells[name]))
    complete = len(columns) == len(keys)
    called = bool(columns) and all(finding.name is not None for finding in findings)
    numbers: _Column = ("row", "right"), [finding.row for finding in findings]
    if measured and (wide or not called):
        columns.append((("score", "right"), [short(finding.score) for finding in findings]))
    if measured and any(finding.p_value is not None for finding in findings):
        values = [finding.p_value for finding in findings]
        columns.append((("p", "right"), ["" if one is None else f"{one:.1g}" for one in values]))
    elif measured:
        times = [finding.times for finding in findings]
        columns.append((("x limit", "right"), ["" if one is None else short(one) for one in times]))
    if wide or not called or not complete:
        columns.insert(0, numbers)
    every = [numbers, *(((for_terminal(name), "left"), cells[name]) for name in keys)]
    return Heads(*_table(columns), None if complete else _table(every))


def _table(columns: Sequence[_Column]) -> tuple[Titles, Rows]:
    return [title for title, _ in columns], list(zip(*(cells for _, cells in columns), strict=True))


def short(value: float) -> str:
    """A score, or how many times the limit it is."""
    return f"{value:,.0f}" if 1000 <= value < 1e7 else f"{value:.3g}"
