"""The page: a template rendered from a report, with its style and script inside, and nothing from anywhere else."""

from __future__ import annotations

import base64
import hashlib
from bisect import bisect_right
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from aspca.escaping import for_terminal
from aspca.findings.words import amount
from aspca.report.documents import NO_VALUE
from aspca.report.pictures.rows import draw_cell_map, draw_neighbours, draw_scores
from aspca.report.pictures.rules import draw_break, draw_rule, draw_sensitivity, draw_ties, draw_variances
from aspca.report.summarize import COUNTLESS, write_span
from aspca.report.summarize_rows import SHOWN_SHARE
from aspca.report.summary import Anomaly, Incident, Report
from aspca.rules.wording import group_by_kind


def render_page(report: Report) -> str:
    """One HTML file; the same for the same report."""
    style, script = _read_asset("page.css"), _read_asset("page.js")
    # So many anomalies are listed at once, the others after a click.
    entries, first = list_entries(report), 30
    tied = {column for rule in report.rules if len(rule.columns) > 1 for column in rule.columns}
    # Nothing may be loaded, and nothing runs but what we wrote: whatever a name in the table says.
    sources = f"script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:"
    page = _compile().get_template("page.html")
    return page.render(
        report=report,
        shown={one.row for one in report.anomalies},
        style=Markup(style),  # noqa: S704  # our own file
        script=Markup(script),  # noqa: S704  # our own file
        policy=f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'",
        entries=entries[:first],
        more_entries=entries[first:],
        n_more=sum(1 + len(entry.others) for entry in entries[first:]),
        # Wide and narrow windows get a picture each: text that is scaled down cannot be read.
        wide=draw_scores(report, 1040.0, 250.0, "wide", 6),
        narrow=draw_scores(report, 330.0, 220.0, "narrow", 2),
        cell_map=draw_cell_map(report),
        ties=draw_ties(report),
        variances=draw_variances(report),
        sensitivity=draw_sensitivity(report),
        alone=[column for column in report.columns if column.role == "feature" and column.number not in tied],
        kinds=[
            (heading, [report.rules[k] for k in numbers])
            for heading, numbers in group_by_kind([rule.kind for rule in report.rules])
        ],
        several=_list_incidents(report),
        alone_in_time=sum(one.rows == 1 for one in report.incidents),
        loading_rows=_list_loadings(report),
    )


@cache
def _compile() -> Environment:
    environment = Environment(
        loader=PackageLoader("aspca.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Whatever is not seen, or changes the direction of what is, is spelled out.
        finalize=lambda value: for_terminal(value) if type(value) is str and not value.isprintable() else value,
    )
    environment.globals |= {"draw_rule": draw_rule, "draw_break": draw_break, "draw_neighbours": draw_neighbours}
    environment.globals |= {"no_value": NO_VALUE, "shown_share": SHOWN_SHARE}
    environment.filters["percent"] = lambda part: f"{100 * part:.0f} %" if part >= 0.01 or part == 0.0 else "< 1 %"
    environment.filters["times"] = lambda many: amount(many) if many < COUNTLESS else f"> {COUNTLESS:,.0f}"
    return environment


def _read_asset(name: str) -> str:
    return files("aspca.report").joinpath("templates", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@dataclass(frozen=True)
class Entry:
    """One line of the list of anomalies."""

    one: Anomaly
    others: tuple[Anomaly, ...]  # more rows of the same event
    says: str  # which ones
    before: str  # what is said before it, where another kind of rows begins; else empty


def list_entries(report: Report) -> list[Entry]:
    """The anomalies as they are listed: worst first, those of one event under the worst of them.

    An event is what one cause did for a while: at least three anomalies of one incident that break the same rule most.
    Two causes at one time stay apart, so that neither is hidden under the other.
    """
    incidents = sorted((one for one in report.incidents if one.kind == "anomalies"), key=lambda one: one.start)
    starts = [one.start for one in incidents]
    found: dict[tuple[int, int], list[Anomaly]] = {}
    for one, place in zip(report.anomalies, report.course.places, strict=True):
        number = bisect_right(starts, place) - 1
        inside = number >= 0 and place <= incidents[number].stop
        if inside and one.beyond and not one.sampled and one.breaks and one.breaks[0].broken:
            found.setdefault((number, one.breaks[0].rule), []).append(one)
    events = {rows[0].row: (incidents[number], rows) for (number, _), rows in found.items() if len(rows) >= 3}
    under = {one.row for _, rows in events.values() for one in rows[1:]}
    entries: list[Entry] = []
    announced = {""}
    of_changes = "From here on rows that are nothing but part of a lasting change."
    for one in (one for one in report.anomalies if one.row not in under):
        kind = report.weaker if one.is_weak else "" if one.beyond or not report.weaker else of_changes
        before = "" if kind in announced else kind
        announced.add(kind)
        others: tuple[Anomaly, ...] = ()
        says = ""
        if one.row in events:
            incident, rows = events[one.row]
            others, numbers = tuple(rows[1:]), [each.row for each in rows]
            span = write_span(incident.first, incident.last)
            if report.private:
                span = f"row {min(numbers)} to {max(numbers)}"
            says = f"and {len(others):,} more row{'s' * (len(others) > 1)} of the same event, {span}"
        entries.append(Entry(one, others, says, before))
    return entries


def _list_incidents(report: Report) -> list[Incident]:
    """Incidents of several rows, those with the worst row first; whose rows are not shown come last."""
    ranks = {one.row: one.rank for one in report.anomalies}
    several = [one for one in report.incidents if one.rows > 1]
    return sorted(several, key=lambda one: (ranks.get(one.peak, len(ranks) + 1), -one.rows))


def _list_loadings(report: Report) -> list[tuple[str, list[float | None]]]:
    """By feature, what each rule multiplies it by; None for nothing."""
    rows: dict[str, list[float | None]] = {}
    for rule in report.rules:
        for term in rule.terms:
            rows.setdefault(term.feature, [None] * len(report.rules))[rule.number] = term.loading
    # Features of the first rule come first, as they were met.
    return list(rows.items())
