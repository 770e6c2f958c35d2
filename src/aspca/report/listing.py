"""The anomalies as they are listed: worst first, those of one event under the worst of them.

An event is what one cause did for a while: anomalies of one incident that break the same rule most. Two causes at one
time stay apart, so that neither is hidden under the other.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from aspca.report.headline import span_text
from aspca.report.summary import Anomaly, Incident, Report

# An event has at least so many rows.
_LEAST = 3
_OF_CHANGES = "From here on rows that are nothing but part of a lasting change."


@dataclass(frozen=True)
class Entry:
    """One line of the list."""

    one: Anomaly
    others: tuple[Anomaly, ...]  # more rows of the same event
    says: str  # which ones
    before: str  # what is said before it, where another kind of rows begins; else empty

    @property
    def n_others(self) -> int:
        return len(self.others)


def list_entries(report: Report) -> list[Entry]:
    """The lines of the list."""
    events = _find_events(report)
    heads = {id(rows[0]): (incident, rows) for incident, rows in events}
    under = {id(one) for _, rows in events for one in rows[1:]}
    entries: list[Entry] = []
    announced = {""}
    for one in report.anomalies:
        if id(one) in under:
            continue
        kind = report.weaker if one.is_weak else "" if one.beyond or not report.weaker else _OF_CHANGES
        before = "" if kind in announced else kind
        announced.add(kind)
        incident, rows = heads.get(id(one), (None, [one]))
        says = "" if incident is None else _say_which(report, incident, rows)
        entries.append(Entry(one, tuple(rows[1:]), says, before))
    return entries


def _find_events(report: Report) -> list[tuple[Incident, list[Anomaly]]]:
    """Rows of one event each, worst first."""
    incidents = sorted((one for one in report.incidents if one.kind == "anomalies"), key=lambda one: one.start)
    starts = [one.start for one in incidents]
    found: dict[tuple[int, int], list[Anomaly]] = {}
    for one, place in zip(report.anomalies, report.course.places, strict=True):
        number = bisect_right(starts, place) - 1
        inside = number >= 0 and place <= incidents[number].stop
        if inside and one.beyond and not one.sampled and one.breaks and one.breaks[0].broken:
            found.setdefault((number, one.breaks[0].rule), []).append(one)
    return [(incidents[number], rows) for (number, _), rows in found.items() if len(rows) >= _LEAST]


def _say_which(report: Report, incident: Incident, rows: list[Anomaly]) -> str:
    span = span_text(incident.first, incident.last)
    if report.private:
        numbers = [one.row for one in rows]
        span = f"row {min(numbers)} to {max(numbers)}"
    return f"and {len(rows) - 1:,} more row{'s' * (len(rows) > 2)} of the same event, {span}"
