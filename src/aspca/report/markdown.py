"""The report as Markdown, for a ticket: all of it in short, or one anomaly."""

from __future__ import annotations

from aspca.harmless import for_markdown, for_terminal
from aspca.report.glossary import NO_VALUE
from aspca.report.summary import Anomaly, Report

# Anomalies that are told in full, where no row is named.
_IN_FULL = 20


def markdown_text(report: Report, row: int | None = None) -> str:
    """Markdown of the whole report, or of one of the anomalies that it shows.

    Raises
    ------
    ValueError
        The row is not among them.
    """
    if row is not None:
        one = next((anomaly for anomaly in report.anomalies if anomaly.row == row), None)
        if one is None:
            raise ValueError(
                f"--row: row {row} is not among the {len(report.anomalies):,} anomalies of the report; aspca explain "
                "tells of any row."
            )
        return "\n".join([*_anomaly(report, one), "", _origin(report)]) + "\n"
    lines = [
        f"# {for_markdown(report.title)}",
        "",
        *(for_markdown(sentence) for sentence in report.headline),
        "",
        "## Rules",
        "",
    ]
    lines += ["| | rule | broken by |", "|---:|---|---:|"]
    lines += [f"| {rule.number} | {for_markdown(rule.text)} | {rule.low + rule.high:,} |" for rule in report.rules]
    if report.changes:
        lines += ["", "## Changes that last", "", *(f"- {for_markdown(change.text)}" for change in report.changes)]
    if report.anomalies:
        lines += ["", "## Errors and unusual rows", "", "| | row | verdict | why |", "|---:|---|---|---|"]
        lines += [_line(one) for one in report.anomalies]
    lines += ["", for_markdown(report.left_out)] if report.left_out else []
    for one in report.anomalies[:_IN_FULL]:
        lines += ["", *_anomaly(report, one)]
    return "\n".join([*lines, "", _origin(report)]) + "\n"


def _line(one: Anomaly) -> str:
    verdict = one.verdict if one.confidence is None else f"{one.verdict} ({one.confidence})"
    return f"| {one.rank} | {_called(one)} | {verdict} | {for_markdown(one.reason)} |"


def _called(one: Anomaly) -> str:
    return f"{one.row}" if one.name is None else f"{one.row} ({for_markdown(one.name)})"


def _anomaly(report: Report, one: Anomaly) -> list[str]:
    lines = [f"### Row {_called(one)}", "", for_markdown(one.text)]
    for each in one.breaks:
        rule = report.rules[each.rule]
        lines += ["", f"**Rule {rule.number}**: {for_markdown(rule.text)}"]
        if each.needed:
            lines += ["", "| column | is | would have to be |", "|---|---:|---:|"]
            told = [(report.columns[one.column].name, one.now, one.needed or NO_VALUE) for one in each.needed]
            lines += [f"| {' | '.join(map(for_markdown, texts))} |" for texts in told]
    if one.keys:
        keys = [
            f"{for_markdown(report.columns[cell.column].name)} {for_markdown(cell.text or 'missing')}"
            for cell in one.keys
        ]
        lines += ["", f"Beside it: {', '.join(keys)}"]
    return lines + _cells(report, one)


def _cells(report: Report, one: Anomaly) -> list[str]:
    if report.private:
        return []
    cells = [
        f"{for_markdown(report.columns[cell.column].name)} = {for_markdown(cell.text or 'missing')}"
        for cell in one.cells
    ]
    more = f", and {one.more_cells:,} more" if one.more_cells else ""
    return ["", f"The row: {', '.join(cells)}{more}"]


def _origin(report: Report) -> str:
    inputs = [f"{for_markdown(one.name)} (SHA-256 {one.sha256})" for one in report.reproduce.inputs if one.sha256]
    of = f" of {', '.join(inputs)}" if inputs else ""
    command = for_terminal(report.reproduce.command).replace("`", "'")
    return f"aspca {report.reproduce.version}{of}: `{command}`"
