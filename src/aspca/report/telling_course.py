"""What happened in the course of the rows, told: scores, changes that last, incidents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from aspca.judging import change_text, incidents
from aspca.judging.change_text import events_of
from aspca.linalg.ranking import round_for_ranking
from aspca.report.evidence import Evidence
from aspca.report.naming import Naming
from aspca.report.round_times import round_times
from aspca.report.short_names import cut
from aspca.report.summary import Change, Course, Incident, Tick

_TICKS = 6
_LONGEST = 700
# Of many incidents, those of most rows.
_INCIDENTS = 200


def course_of(evidence: Evidence, naming: Naming) -> Course:
    """Scores over rows, in time order or as they are listed."""
    course = evidence.course
    ranks = None if course.order is None else course.ranks(np.arange(course.n))
    return Course(
        limit=evidence.limit,
        buckets=tuple(
            replace(one, least=naming.rough(one.least), largest=naming.rough(one.largest))
            for one in evidence.gathering.buckets(ranks)
        ),
        ticks=_ticks(evidence, private=naming.private),
        timed=course.when is not None,
        places=tuple(course.ranks(evidence.shown.positions).tolist()),
    )


def _ticks(evidence: Evidence, *, private: bool) -> tuple[Tick, ...]:
    course = evidence.course
    if course.when is None or private:
        return tuple(Tick(place, f"{course.at(place)[0]:,}") for place in _round(course.n))
    when = course.when if course.order is None else course.when[course.order]
    whole = round_times(when, _TICKS + 1)
    return tuple(
        Tick(place, label)
        for place, label in whole or [(place, evidence.moment(when[place])) for place in _evenly(course.n)]
    )


def _evenly(n: int) -> list[int]:
    return sorted({round(k * (n - 1) / (_TICKS - 1)) for k in range(_TICKS)})


def _round(n: int) -> list[int]:
    """Round numbers of rows."""
    step = next(
        times * 10**power for power in range(20) for times in (1, 2, 5) if n <= times * 10**power * (_TICKS + 1)
    )
    return list(range(0, n, step))


def changes_of(evidence: Evidence, columns: Mapping[str, int], *, private: bool) -> tuple[Change, ...]:
    """What changed for long, by event."""
    return tuple(
        Change(
            event=number,
            rule=change.rule,
            column=None if change.column is None else columns[change.column],
            start=change.start,
            stop=change.stop,
            first=change.first,
            last=change.last,
            off=change.n_off,
            to_end=change.to_end,
            text=cut(_text(change, private), _LONGEST),
        )
        for number, event in enumerate(events_of(evidence.changes))
        for change in event
    )


def _text(change: change_text.Change, private: bool) -> str:
    """Its sentence, without times where these are private."""
    if not private:
        return change.text
    span = f"Since row {change.first}" if change.to_end else f"From row {change.first} to {change.last}"
    return f"{span}: {change.what} is off."


def incidents_of(evidence: Evidence, *, private: bool) -> tuple[Incident, ...]:
    """Anomalies that follow each other, in time order; of very many those of most rows."""
    pairs = list(zip(evidence.incidents, evidence.spans, strict=True))
    if len(pairs) > _INCIDENTS:
        kept = sorted(range(len(pairs)), key=lambda k: -pairs[k][0].rows.size)[:_INCIDENTS]
        pairs = [pairs[k] for k in sorted(kept)]
    return tuple(
        Incident(
            kind=incident.kind,
            first="" if private else evidence.moment(incident.first),
            last="" if private else evidence.moment(incident.last),
            rows=int(incident.rows.size),
            start=span.start,
            stop=span.stop,
            peak=span.peak,
            rule=_cause(incident)[0],
            share=_cause(incident)[1],
            text="" if private else cut(incident.text, _LONGEST),
        )
        for incident, span in pairs
    )


def _cause(incident: incidents.Incident) -> tuple[int | None, float]:
    """The rule that most of its score is due to, or none where most of it lies outside of them, and the share."""
    inside = float(incident.shares.sum())
    if inside < 0.5:
        return None, float(f"{1.0 - inside:.3g}")
    top = int(np.argmax(round_for_ranking(incident.shares)))
    return top, float(f"{incident.shares[top]:.3g}")
