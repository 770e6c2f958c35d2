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
from aspca.report.gathering import REACH
from aspca.report.glossary import GLOSSARY, NO_VALUE
from aspca.report.listing import entries_of
from aspca.report.pictures.cell_map import cell_map
from aspca.report.pictures.curves import sensitivity_picture, variance_picture
from aspca.report.pictures.distribution import marked_picture, near_picture, rule_picture
from aspca.report.pictures.scores import score_picture
from aspca.report.pictures.ties import tied, ties_picture
from aspca.report.summary import Break, Incident, Near, Report, Rule
from aspca.report.telling_cells import TELLING
from aspca.rules.headings import told_apart

# Of the anomalies so many are listed at once, the others after a click.
_FIRST = 30
# So many times the limit are no measure of anything.
_COUNTLESS = 1e6
# Wide and narrow windows get a picture each: text that is scaled down cannot be read.
_WIDE, _NARROW = (1040.0, 250.0, 6), (330.0, 220.0, 2)


def page_text(report: Report) -> str:
    """One HTML file; the same for the same report."""
    style, script = _asset("page.css"), _asset("page.js")
    page = _environment().get_template("page.html")
    return page.render(
        report=report,
        shown={one.row for one in report.anomalies},
        style=Markup(style),  # noqa: S704  # our own file
        script=Markup(script),  # noqa: S704  # our own file
        policy=_policy(style, script),
        entries=entries_of(report),
        first=_FIRST,
        wide=_drawn(score_picture(report, *_WIDE[:2], "wide", _WIDE[2])),
        narrow=_drawn(score_picture(report, *_NARROW[:2], "narrow", _NARROW[2])),
        cell_map=_drawn(cell_map(report)),
        ties=_drawn(ties_picture(report)),
        variances=_drawn(variance_picture(report)),
        sensitivity=_drawn(sensitivity_picture(report)),
        alone=[column for column in report.columns if column.role == "feature" and column.number not in tied(report)],
        kinds=[(heading, [report.rules[k] for k in numbers]) for heading, numbers in told_apart(report.rules)],
        several=_several(report),
        alone_in_time=sum(one.rows == 1 for one in report.incidents),
        loading_rows=_loading_rows(report),
        glossary=GLOSSARY,
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
        finalize=_printable,
    )
    environment.globals.update(
        distribution=lambda rule: _drawn(rule_picture(rule)),
        marked=_marked,
        nearby=_nearby,
        no_value=NO_VALUE,
        telling=TELLING,
    )
    environment.filters.update(percent=_percent, times=_times)
    return environment


def _several(report: Report) -> list[Incident]:
    """Incidents of several rows, those with the worst row first; whose rows are not shown come last."""
    ranks = {one.row: one.rank for one in report.anomalies}
    several = [one for one in report.incidents if one.rows > 1]
    return sorted(several, key=lambda one: (ranks.get(one.peak, len(ranks) + 1), -one.rows))


def _loading_rows(report: Report) -> list[tuple[str, list[float | None]]]:
    """By feature, what each rule multiplies it by; None for nothing."""
    rows: dict[str, list[float | None]] = {}
    for rule in report.rules:
        for term in rule.terms:
            rows.setdefault(term.feature, [None] * len(report.rules))[rule.number] = term.loading
    return sorted(rows.items(), key=lambda row: next(k for k, value in enumerate(row[1]) if value is not None))


def _asset(name: str) -> str:
    return files("aspca.report").joinpath("templates", name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Nothing may be loaded, and nothing runs but what we wrote: whatever a name in the table says."""
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _printable(value: object) -> object:
    """Whatever is not seen, or changes the direction of what is, spelled out."""
    return for_terminal(value) if type(value) is str and not value.isprintable() else value


def _drawn(svg: str) -> Markup:
    return Markup(svg)  # noqa: S704  # our own SVG, its text escaped


def _marked(rule: Rule, broken: Break) -> Markup:
    return _drawn(marked_picture(rule, broken))


def _nearby(near: Near, row: int) -> Markup:
    return _drawn(near_picture(near, row, REACH))


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.01 or share == 0.0 else "< 1 %"


def _times(value: float) -> str:
    return amount(value) if value < _COUNTLESS else f"> {_COUNTLESS:,.0f}"
