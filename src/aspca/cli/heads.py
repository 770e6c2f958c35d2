"""What each line about an anomaly begins with: its row or its names, its other key columns, how far out it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from aspca.harmless import for_terminal
from aspca.preparation.columns import cell_text

if TYPE_CHECKING:
    from aspca.jobs.findings import Finding

# Characters for all key columns together, on a narrow page and on a wide one; and the least for one of them.
_ROOM, _ROOM_WIDE, _LEAST = 31, 52, 5


class Heads:
    """The first columns of a table of anomalies.

    Parameters
    ----------
    findings : sequence of Finding
    wide : bool
        Whether there is room for the row beside its names, and for the score beside both.
    without : str or None
        A column that the page's title tells already.
    """

    def __init__(self, findings: Sequence[Finding], wide: bool, without: str | None = None) -> None:
        named = all(finding.name is not None for finding in findings)
        self._numbered, self._scored = wide or not named, wide or not named
        self._columns = [name for name in (findings[0].keys if findings else ()) if name != without]
        cells = [[_shown(finding.keys[name]) for finding in findings] for name in self._columns]
        titled = zip(self._columns, cells, strict=True)
        longest = [max(map(cell_len, (for_terminal(name), *column))) for name, column in titled]
        self._widths = _shrunk(longest, _ROOM_WIDE if wide else _ROOM)

    @property
    def titles(self) -> list[tuple[str, str]]:
        """Each with its justification."""
        keys = [(_cut(name, width).plain, "none") for name, width in zip(self._columns, self._widths, strict=True)]
        score = [("score", "right")] if self._scored else []
        return [*([("row", "right")] if self._numbered else []), *keys, *score, ("x limit", "right")]

    def of(self, finding: Finding) -> list[object]:
        """The cells of one of them."""
        keys = [
            _cut(_shown(finding.keys[name]), width) for name, width in zip(self._columns, self._widths, strict=True)
        ]
        score = [short(finding.score)] if self._scored else []
        times = "" if finding.times is None else short(finding.times)
        return [*([finding.row] if self._numbered else []), *keys, *score, times]


def short(value: float) -> str:
    """A score, or how many times the limit it is."""
    return f"{value:,.0f}" if 1000 <= value < 1e7 else f"{value:.3g}"


def _shown(cell: object) -> str:
    return for_terminal(cell_text(cell) or "")


def _cut(words: str, width: int) -> Text:
    text = Text(for_terminal(words))
    text.truncate(width, overflow="ellipsis")
    return text


def _shrunk(widths: list[int], room: int) -> list[int]:
    """Widths that fit into the room, the largest made smaller, none below a least."""
    made = list(widths)
    while sum(made) > room and max(made) > _LEAST:
        made[made.index(max(made))] -= 1
    return made
