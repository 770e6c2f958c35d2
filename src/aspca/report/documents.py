"""The report as JSON, with its schema, and as Markdown for a ticket.

The schema is made from the types of the summary, so what is published is what is written:
``python -m aspca.report.documents`` prints it; a test compares it with report.schema.json.
"""

from __future__ import annotations

import json
import sys
import types
import typing
from dataclasses import asdict, fields, is_dataclass
from typing import Any

from aspca.escaping import for_json, for_markdown, for_terminal
from aspca.report.summary import FORMAT, Anomaly, Cell, Report

# What is said where a rule asks for a value that cannot be.
NO_VALUE = "no value alone would do"
# In Markdown so many anomalies are explained in full, where no row is named.
_IN_FULL = 20


def write_json(report: Report) -> str:
    """One JSON document of plain values; every number is exact, and nothing in it acts on a terminal."""
    return for_json(json.dumps(asdict(report), indent=1, ensure_ascii=False, allow_nan=False)) + "\n"


# ---- schema


def make_schema() -> dict[str, Any]:
    """JSON Schema of what `write_json` writes."""
    kinds: dict[str, Any] = {}
    root = _describe(Report, kinds)
    kinds["Report"]["properties"]["format"] = {"const": FORMAT}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A report of aspca",
        **root,
        "$defs": dict(sorted(kinds.items())),
    }


def _describe(hint: Any, kinds: dict[str, Any]) -> dict[str, Any]:
    """The schema of a type; dataclasses are added to `kinds` by name."""
    if is_dataclass(hint) and isinstance(hint, type):
        name = hint.__name__
        if name not in kinds:
            kinds[name] = {}
            hints = typing.get_type_hints(hint)
            kinds[name] = {
                "description": " ".join((hint.__doc__ or "").partition("\n\n")[0].split()),
                "type": "object",
                "properties": {field.name: _describe(hints[field.name], kinds) for field in fields(hint)},
                "required": [field.name for field in fields(hint)],
                "additionalProperties": False,
            }
        return {"$ref": f"#/$defs/{name}"}
    if typing.get_origin(hint) is tuple:
        return {"type": "array", "items": _describe(typing.get_args(hint)[0], kinds)}
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        options = [_describe(one, kinds) for one in typing.get_args(hint)]
        if all(set(one) == {"type"} for one in options):
            return {"type": [one["type"] for one in options]}
        return {"anyOf": options}
    plain = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
    return {"type": plain[hint]}


# ---- Markdown


def write_markdown(report: Report, row: int | None = None) -> str:
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
    for one in report.anomalies[:_IN_FULL]:
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


if __name__ == "__main__":
    sys.stdout.write(json.dumps(make_schema(), indent=1, ensure_ascii=False) + "\n")
