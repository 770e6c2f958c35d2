"""The report as JSON: the same content, plain values; see report.schema.json."""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib.resources import files
from typing import Any

from aspca.harmless import for_json
from aspca.report.summary import Report

SCHEMA = "report.schema.json"


def json_text(report: Report) -> str:
    """One JSON document; every number is exact, and nothing in it acts on a terminal."""
    text = json.dumps(asdict(report), indent=1, ensure_ascii=False, allow_nan=False, default=_plain)
    return for_json(text) + "\n"


def _plain(value: object) -> Any:
    raise TypeError(f"A report holds plain values only, got {type(value).__name__}.")


def published_schema() -> dict[str, Any]:
    """What a report's JSON is, as JSON Schema."""
    found: dict[str, Any] = json.loads(files("aspca.report").joinpath(SCHEMA).read_text(encoding="utf-8"))
    return found
