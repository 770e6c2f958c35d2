"""What anomalies have in common, in a summary: groups of one signature, scores in order, lasting changes, incidents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from aspca.findings.changes import Change as FoundChange
from aspca.findings.changes import events_of
from aspca.findings.explanation import Explanation
from aspca.findings.groups import main_rule, merge_signatures, parse_signature
from aspca.report.collect import Evidence
from aspca.report.names import SENTENCE, Naming, cut, round_to, shorten_rule
from aspca.report.summary import Change, Course, Group, Incident, Tick
from aspca.rules.rule import AnyRule

# Labels of an axis of rows, at most.
_TICKS = 6
_HOUR, _DAY = 3600, 86400
# Steps that people count times in, in seconds.
_STEPS = (
    *(1, 5, 15, 60, 300, 900, 1800),
    *(times * _HOUR for times in (1, 2, 3, 6, 12)),
    *(times * _DAY for times in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)),
)


def summarize_groups(evidence: Evidence, why: Explanation) -> tuple[tuple[Group, ...], dict[str, int]]:
    """The groups, largest first, the one that breaks no rule last, and to which each signature shown belongs."""
    found = evidence.statistics.signatures
    # Merging compares each signature with each: of very many those of a few rows are left out.
    counts = {name: found[name] for name in sorted(found, key=lambda name: (-found[name], name))[:1000]}
    homes = merge_signatures(counts, max(1, sum(counts.values()) // 50))
    sizes: Counter[str] = Counter()
    for signature, home in homes.items():
        sizes[home] += counts[signature]
    order = sorted(sorted(sizes, key=lambda home: (-sizes[home], home))[:40], key=lambda home: not home)
    members: dict[str | None, list[int]] = {}
    for row, signature in zip(evidence.shown.rows.tolist(), why.signatures, strict=True):
        members.setdefault(homes.get(signature), []).append(row)
    groups = tuple(
        Group(
            number=number,
            signature=home,
            text=cut(_describe_group(evidence, why.rules, home), 600),
            count=sizes[home],
            rows=tuple(members.get(home, [])[:50]),
        )
        for number, home in enumerate(order)
    )
    numbers = {group.signature: group.number for group in groups}
    return groups, {signature: numbers[home] for signature, home in homes.items() if home in numbers}


def _describe_group(evidence: Evidence, rules: Sequence[AnyRule], signature: str) -> str:
    """What its rows have in common."""
    if not signature:
        score, by_rules = evidence.statistics.apart.tolist()
        if score > 0.0 and 1.0 - by_rules / score >= 0.5:
            return "They keep every rule, but stand out."
        return "No single rule is broken, but small deviations add up."
    entries, most = list(parse_signature(signature).items()), 4
    clauses = [f"{shorten_rule(rules[rule])}, {_name_side(rules[rule], side)}" for rule, side in entries[:most]]
    more = f"; and {len(entries) - most} more rules" if len(entries) > most else ""
    return f"{'; '.join(clauses)}{more}"


def _name_side(rule: AnyRule, side: str) -> str:
    up = (side == "H") == rule.left_side_up
    if rule.kind in ("identity", "relation"):
        return "left side too large" if up else "left side too small"
    return "too high" if up else "too low"


def summarize_course(evidence: Evidence, naming: Naming) -> Course:
    """Scores over rows, in time order or as they are listed."""
    course = evidence.course
    ranks = None if course.order is None else course.ranks(np.arange(course.n))
    return Course(
        limit=evidence.limit,
        buckets=tuple(
            replace(one, least=naming.rough(one.least), largest=naming.rough(one.largest))
            for one in evidence.statistics.buckets(ranks)
        ),
        ticks=tuple(Tick(place, label) for place, label in _find_ticks(evidence, private=naming.private)),
        timed=course.when is not None,
        places=tuple(course.ranks(evidence.shown.positions).tolist()),
    )


def _find_ticks(evidence: Evidence, *, private: bool) -> list[tuple[int, str]]:
    course, n = evidence.course, evidence.course.n
    if course.when is None or private:
        round_numbers = (times * 10**power for power in range(20) for times in (1, 2, 5))
        step = next(number for number in round_numbers if n <= number * (_TICKS + 1))
        return [(place, f"{course.at(place)[0]:,}") for place in range(0, n, step)]
    when = course.when if course.order is None else course.when[course.order]
    evenly = sorted({round(k * (n - 1) / (_TICKS - 1)) for k in range(_TICKS)})
    return find_round_times(when, _TICKS + 1) or [(place, evidence.moment(when[place])) for place in evenly]


def find_round_times(when: npt.NDArray[np.generic], most: int) -> list[tuple[int, str]]:
    """Places of rows (n,) at whole days, hours or minutes, ascending, with their labels; none where times are too
    uneven for that."""
    if when.dtype.kind != "M" or len(when) < most or np.isnat(when).any():
        return []
    seconds = when.astype("datetime64[s]").astype(np.int64)
    first, last = int(seconds[0]), int(seconds[-1])
    step = next((step for step in _STEPS if (last - first) // step < most), None)
    if step is None or last - first < 2 * step:
        return []
    # Several days are counted from the first, so that none stands for a round number that no calendar has.
    base = -(-first // _DAY) * _DAY if step > _DAY else 0
    marks = np.arange(base + -(-(first - base) // step) * step, last + 1, step)
    places = np.searchsorted(seconds, marks)
    # A gap has no row at its times.
    near = seconds[places] - marks <= step // 10
    places, marks = places[near], marks[near]
    # Labels nearer than this share of the usual distance would stand in each other's way.
    if places.size < 2 or int(np.diff(places).min()) < 0.6 * len(when) / most:
        return []
    signs = 10 if step % _DAY == 0 else 16 if step % 60 == 0 else None
    labels = [str(time).replace("T", " ")[:signs] for time in marks.astype("datetime64[s]")]
    return list(zip(places.tolist(), labels, strict=True))


def summarize_changes(evidence: Evidence, naming: Naming) -> tuple[Change, ...]:
    """What changed for long, by event; without times where these are private."""
    changes = [(number, change) for number, event in enumerate(events_of(evidence.changes)) for change in event]
    return tuple(
        Change(
            event=number,
            rule=change.rule,
            column=None if change.column is None else naming.number[change.column],
            start=change.start,
            stop=change.stop,
            first=change.first,
            last=change.last,
            off=change.n_off,
            to_end=change.to_end,
            text=cut(_describe_privately(change) if naming.private else change.text, SENTENCE),
        )
        for number, change in changes
    )


def _describe_privately(change: FoundChange) -> str:
    span = f"Since row {change.first}" if change.to_end else f"From row {change.first} to {change.last}"
    return f"{span}: {change.what} is off."


def summarize_incidents(evidence: Evidence, *, private: bool) -> tuple[Incident, ...]:
    """Anomalies that follow each other, in time order; of very many those of most rows."""
    pairs = list(zip(evidence.incidents, evidence.spans, strict=True))
    largest = sorted(range(len(pairs)), key=lambda k: -pairs[k][0].rows.size)[:200]
    return tuple(
        Incident(
            kind=incident.kind,
            first="" if private else evidence.moment(incident.first),
            last="" if private else evidence.moment(incident.last),
            rows=int(incident.rows.size),
            start=span.start,
            stop=span.stop,
            peak=span.peak,
            rule=rule,
            share=round_to(share, 3),
            text="" if private else cut(incident.text, SENTENCE),
        )
        for incident, span in (pairs[k] for k in sorted(largest))
        for rule, share in (main_rule(incident.shares),)
    )
