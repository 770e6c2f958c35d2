"""The page: a template rendered from a report, with its style and script inside, and nothing from anywhere else."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from aspca.harmless import for_terminal
from aspca.judging.row_text import amount
from aspca.report.documents import NO_VALUE
from aspca.report.headline import COUNTLESS
from aspca.report.listing import list_entries
from aspca.report.pictures.rows import draw_cell_map, draw_neighbours, draw_scores
from aspca.report.pictures.rules import draw_break, draw_rule, draw_sensitivity, draw_ties, draw_variances
from aspca.report.summarize_rows import SHOWN_SHARE
from aspca.report.summary import Incident, Report
from aspca.rules.headings import told_apart


def render_page(report: Report) -> str:
    """One HTML file; the same for the same report."""
    style, script = _read_asset("page.css"), _read_asset("page.js")
    tied = {column for rule in report.rules if len(rule.columns) > 1 for column in rule.columns}
    return (
        _environment()
        .get_template("page.html")
        .render(
            report=report,
            shown={one.row for one in report.anomalies},
            style=Markup(style),  # noqa: S704  # our own file
            script=Markup(script),  # noqa: S704  # our own file
            # Nothing may be loaded, and nothing runs but what we wrote: whatever a name in the table says.
            policy=f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
            "base-uri 'none'; form-action 'none'",
            entries=list_entries(report),
            # So many anomalies are listed at once, the others after a click.
            first=30,
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
