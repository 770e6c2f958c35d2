"""The schema of a report's JSON, made from the types of the summary: what is published is what is written.

``python -m aspca.report.schema`` prints it; a test compares it with report.schema.json.
"""

from __future__ import annotations

import json
import sys
import types
import typing
from dataclasses import fields, is_dataclass
from typing import Any

from aspca.report.summary import FORMAT, Report

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def schema() -> dict[str, Any]:
    """JSON Schema of what `document.json_text` writes."""
    kinds: dict[str, Any] = {}
    root = _reference(Report, kinds)
    kinds["Report"]["properties"]["format"] = {"const": FORMAT}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A report of aspca",
        **root,
        "$defs": dict(sorted(kinds.items())),
    }


def schema_text() -> str:
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"


def _reference(kind: type[Any], kinds: dict[str, Any]) -> dict[str, Any]:
    if kind.__name__ not in kinds:
        kinds[kind.__name__] = {}
        hints = typing.get_type_hints(kind)
        kinds[kind.__name__] = {
            "description": " ".join((kind.__doc__ or "").partition("\n\n")[0].split()),
            "type": "object",
            "properties": {field.name: _of(hints[field.name], kinds) for field in fields(kind)},
            "required": [field.name for field in fields(kind)],
            "additionalProperties": False,
        }
    return {"$ref": f"#/$defs/{kind.__name__}"}


def _of(hint: Any, kinds: dict[str, Any]) -> dict[str, Any]:
    if is_dataclass(hint) and isinstance(hint, type):
        return _reference(hint, kinds)
    if typing.get_origin(hint) is tuple:
        return {"type": "array", "items": _of(typing.get_args(hint)[0], kinds)}
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        options = [_of(one, kinds) for one in typing.get_args(hint)]
        if all(set(one) == {"type"} for one in options):
            return {"type": [one["type"] for one in options]}
        return {"anyOf": options}
    return {"type": _PLAIN[hint]}


if __name__ == "__main__":
    sys.stdout.write(schema_text())
