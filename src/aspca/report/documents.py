"""The report as JSON, whose schema is report.schema.json, and as Markdown for a ticket."""

from __future__ import annotations

import json
from dataclasses import asdict

from aspca.escaping import for_json, for_markdown, for_terminal
from aspca.report.summary import Anomaly, Cell, Report

# What is said where a rule asks for a value that cannot be.
NO_VALUE = "no value alone would do"


def write_json(report: Report) -> str:
    """One JSON document of plain values; every number is exact, and nothing in it acts on a terminal."""
    return for_json(json.dumps(asdict(report), indent=1, ensure_ascii=False, allow_nan=False)) + "\n"


def write_markdown(report: Report, row: int | None = None) -> str:
    """Markdown of the whole report, or of one of the anomalies that it shows, by its row."""
    if row is not None:
        one = next(anomaly for anomaly in report.anomalies if anomaly.row == row)
        return "\n".join([*_write_anomaly(report, one), "", _write_origin(report)]) + "\n"
    lines = [f"# {for_markdown(report.title)}", "", *map(for_markdown, report.headline), "", "## Rules", ""]
    lines += ["| | rule | broken by |", "|---:|---|---:|"]
    lines += [f"| {rule.number} | {for_markdown(rule.text)} | {rule.n_broken:,} |" for rule in report.rules]
    if report.changes:
        lines += ["", "## Changes that last", "", *(f"- {for_markdown(change.text)}" for change in report.changes)]
    if report.anomalies:
        lines += ["", "## Errors and unusual rows", "", "| | row | verdict | why |", "|---:|---|---|---|"]
    for one in report.anomalies:
        verdict = one.verdict if one.confidence is None else f"{one.verdict} ({one.confidence})"
        lines.append(f"| {one.rank} | {_name_row(one)} | {verdict} | {for_markdown(one.reason)} |")
    lines += ["", for_markdown(report.left_out)] if report.left_out else []
    for one in report.anomalies[:20]:
        lines += ["", *_write_anomaly(report, one)]
    return "\n".join([*lines, "", _write_origin(report)]) + "\n"


def _name_row(one: Anomaly) -> str:
    return f"{one.row}" if one.name is None else f"{one.row} ({for_markdown(one.name)})"


def _write_anomaly(report: Report, one: Anomaly) -> list[str]:
    lines = [f"### Row {_name_row(one)}", "", for_markdown(one.text)]
    for each in one.breaks:
        rule = report.rules[each.rule]
        lines += ["", f"**Rule {rule.number}**: {for_markdown(rule.text)}"]
        if each.needed:
            lines += ["", "| column | is | would have to be |", "|---|---:|---:|"]
            cells = [(report.columns[one.column].name, one.now, one.needed or NO_VALUE) for one in each.needed]
            lines += [f"| {' | '.join(map(for_markdown, texts))} |" for texts in cells]
    if one.keys:
        lines += ["", f"Beside it: {_write_cells(report, one.keys, ' ')}"]
    if not report.private:
        more = f", and {one.more_cells:,} more" if one.more_cells else ""
        lines += ["", f"The row: {_write_cells(report, one.cells, ' = ')}{more}"]
    return lines


def _write_cells(report: Report, cells: tuple[Cell, ...], between: str) -> str:
    return ", ".join(
        f"{for_markdown(report.columns[cell.column].name)}{between}{for_markdown(cell.text or 'missing')}"
        for cell in cells
    )


def _write_origin(report: Report) -> str:
    inputs = [f"{for_markdown(one.name)} (SHA-256 {one.sha256})" for one in report.reproduce.inputs if one.sha256]
    of = f" of {', '.join(inputs)}" if inputs else ""
    command = for_terminal(report.reproduce.command).replace("`", "'")
    return f"aspca {report.reproduce.version}{of}: `{command}`"
