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
from aspca.report.headline import COUNTLESS, span_text
from aspca.report.pictures.rows import draw_cell_map, draw_neighbours, draw_scores
from aspca.report.pictures.rules import draw_break, draw_rule, draw_sensitivity, draw_ties, draw_variances
from aspca.report.summarize_rows import SHOWN_SHARE
from aspca.report.summary import Anomaly, Incident, Report
from aspca.rules.headings import told_apart

# So many anomalies are listed at once, the others after a click.
_FIRST = 30


def render_page(report: Report) -> str:
    """One HTML file; the same for the same report."""
    style, script = _read_asset("page.css"), _read_asset("page.js")
    entries = list_entries(report)
    tied = {column for rule in report.rules if len(rule.columns) > 1 for column in rule.columns}
    page = _environment().get_template("page.html")
    return page.render(
        report=report,
        shown={one.row for one in report.anomalies},
        style=Markup(style),  # noqa: S704  # our own file
        script=Markup(script),  # noqa: S704  # our own file
        # Nothing may be loaded, and nothing runs but what we wrote: whatever a name in the table says.
        policy=f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'",
        entries=entries[:_FIRST],
        more_entries=entries[_FIRST:],
        n_more=sum(1 + len(entry.others) for entry in entries[_FIRST:]),
        # Wide and narrow windows get a picture each: text that is scaled down cannot be read.
        wide=draw_scores(report, 1040.0, 250.0, "wide", 6),
        narrow=draw_scores(report, 330.0, 220.0, "narrow", 2),
        cell_map=draw_cell_map(report),
        ties=draw_ties(report),
        variances=draw_variances(report),
        sensitivity=draw_sensitivity(report),
        alone=[column for column in report.columns if column.role == "feature" and column.number not in tied],
        kinds=[(heading, [report.rules[k] for k in numbers]) for heading, numbers in told_apart(report.rules)],
        several=_list_incidents(report),
        alone_in_time=sum(one.rows == 1 for one in report.incidents),
        loading_rows=_list_loadings(report),
    )


@cache
def _environment() -> Environment:
    """Compiles templates, each once."""
    environment = Environment(
        loader=PackageLoader("aspca.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_make_printable,
    )
    environment.globals.update(
        draw_rule=draw_rule,
        draw_break=draw_break,
        draw_neighbours=draw_neighbours,
        no_value=NO_VALUE,
        shown_share=SHOWN_SHARE,
    )
    environment.filters.update(percent=_write_percent, times=_write_times)
    return environment


@dataclass(frozen=True)
class Entry:
    """One line of the list of anomalies."""

    one: Anomaly
    others: tuple[Anomaly, ...]  # more rows of the same event
    says: str  # which ones
    before: str  # what is said before it, where another kind of rows begins; else empty


def list_entries(report: Report) -> list[Entry]:
    """The anomalies as they are listed: worst first, those of one event under the worst of them.

    An event is what one cause did for a while: anomalies of one incident that break the same rule most. Two causes at
    one time stay apart, so that neither is hidden under the other.
    """
    events = _find_events(report)
    heads = {id(rows[0]): (incident, rows) for incident, rows in events}
    under = {id(one) for _, rows in events for one in rows[1:]}
    entries: list[Entry] = []
    announced = {""}
    of_changes = "From here on rows that are nothing but part of a lasting change."
    for one in report.anomalies:
        if id(one) in under:
            continue
        kind = report.weaker if one.is_weak else "" if one.beyond or not report.weaker else of_changes
        before = "" if kind in announced else kind
        announced.add(kind)
        incident, rows = heads.get(id(one), (None, [one]))
        says = "" if incident is None else _say_which(report, incident, rows)
        entries.append(Entry(one, tuple(rows[1:]), says, before))
    return entries


def _find_events(report: Report) -> list[tuple[Incident, list[Anomaly]]]:
    """Rows of one event each, at least three, worst first."""
    incidents = sorted((one for one in report.incidents if one.kind == "anomalies"), key=lambda one: one.start)
    starts = [one.start for one in incidents]
    found: dict[tuple[int, int], list[Anomaly]] = {}
    for one, place in zip(report.anomalies, report.course.places, strict=True):
        number = bisect_right(starts, place) - 1
        inside = number >= 0 and place <= incidents[number].stop
        if inside and one.beyond and not one.sampled and one.breaks and one.breaks[0].broken:
            found.setdefault((number, one.breaks[0].rule), []).append(one)
    return [(incidents[number], rows) for (number, _), rows in found.items() if len(rows) >= 3]


def _say_which(report: Report, incident: Incident, rows: list[Anomaly]) -> str:
    span = span_text(incident.first, incident.last)
    if report.private:
        numbers = [one.row for one in rows]
        span = f"row {min(numbers)} to {max(numbers)}"
    return f"and {len(rows) - 1:,} more row{'s' * (len(rows) > 2)} of the same event, {span}"


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


def _read_asset(name: str) -> str:
    return files("aspca.report").joinpath("templates", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _make_printable(value: object) -> object:
    """Whatever is not seen, or changes the direction of what is, spelled out."""
    return for_terminal(value) if type(value) is str and not value.isprintable() else value


def _write_percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.01 or share == 0.0 else "< 1 %"


def _write_times(value: float) -> str:
    return amount(value) if value < COUNTLESS else f"> {COUNTLESS:,.0f}"
