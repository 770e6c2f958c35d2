"""What each line about an anomaly begins with: its row or its names, its other key columns, how far out it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len

from aspca.escaping import for_terminal

if TYPE_CHECKING:
    from aspca.pipeline.outcome import Finding

# Characters for key columns: more is left for the reasons.
_ROOM = 24
_BETWEEN = 2


class Heads:
    """The first columns of a table of anomalies, and a table of all key columns where they take too much room there.

    Parameters
    ----------
    findings : sequence of Finding
    wide : bool
        Whether there is room for the row beside its names, and for the score beside both.
    without : str or None
        A column that the page's title tells already.
    measured : bool
        Whether to tell how far out each is.
    """

    def __init__(
        self, findings: Sequence[Finding], wide: bool, without: str | None = None, *, measured: bool = True
    ) -> None:
        self._measured = measured
        self._graded = any(finding.p_value is not None for finding in findings)
        self._findings = findings
        self._all = [name for name in (findings[0].keys if findings else ()) if name != without]
        room = _ROOM
        self._columns: list[str] = []
        for name in self._all:
            room -= _BETWEEN + max(map(cell_len, (for_terminal(name), *(_shown(one, name) for one in findings))))
            if room < 0:
                break
            self._columns.append(name)
        called = bool(self._columns) and all(finding.name is not None for finding in findings)
        self._numbered = wide or not called or not self.complete
        self._scored = measured and (wide or not called)

    @property
    def complete(self) -> bool:
        """Whether every key column stands in the table itself."""
        return self._columns == self._all

    @property
    def titles(self) -> list[tuple[str, str]]:
        """Each with its justification."""
        numbered, scored = ([(title, "right")] if shown else [] for title, shown in self._optional)
        times = [("p" if self._graded else "x limit", "right")] if self._measured else []
        return [*numbered, *((for_terminal(name), "none") for name in self._columns), *scored, *times]

    @property
    def _optional(self) -> tuple[tuple[str, bool], tuple[str, bool]]:
        return ("row", self._numbered), ("score", self._scored)

    def of(self, finding: Finding) -> list[object]:
        """The cells of one of them."""
        keys = [_shown(finding, name) for name in self._columns]
        score = [short(finding.score)] if self._scored else []
        measure = finding.p_value if self._graded else finding.times
        times = ["" if measure is None else f"{measure:.1g}" if self._graded else short(measure)]
        times = times if self._measured else []
        return [*([finding.row] if self._numbered else []), *keys, *score, *times]

    def keys(self) -> tuple[list[tuple[str, str]], list[list[object]]]:
        """Titles and rows of the table of all key columns."""
        rows = [[finding.row, *(_shown(finding, name) for name in self._all)] for finding in self._findings]
        return [("row", "right"), *((for_terminal(name), "left") for name in self._all)], rows


def short(value: float) -> str:
    """A score, or how many times the limit it is."""
    return f"{value:,.0f}" if 1000 <= value < 1e7 else f"{value:.3g}"


def _shown(finding: Finding, name: str) -> str:
    return for_terminal(finding.keys[name] or "")
