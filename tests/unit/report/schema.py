"""The JSON Schema of the report, made from the types of the summary; run, it prints what report.schema.json holds."""

from __future__ import annotations

import json
import sys
import types
import typing
from dataclasses import fields, is_dataclass
from typing import Any

from aspca.report.summary import FORMAT, Report


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


if __name__ == "__main__":
    sys.stdout.write(json.dumps(make_schema(), indent=1, ensure_ascii=False) + "\n")
