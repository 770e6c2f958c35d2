"""A reproduction as JSON: plain values, every number exact."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from aspca.reproduction.comparison import Comparison
from aspca.reproduction.deviations import reason_for
from aspca.reproduction.results import Listing, Part, Reproduction, Table
from aspca.reproduction.summary import counts


def document_of(reproduction: Reproduction) -> dict[str, Any]:
    """All of it but the pictures."""
    return {
        "summary": [
            {
                "data": one.title,
                "published": one.published,
                "agree": one.agree,
                "to_the_last_digit": one.to_the_last_digit,
                "differ": one.differ,
            }
            for one in counts(reproduction)
        ],
        "missing": list(reproduction.missing),
        "sections": [
            {
                "name": section.name,
                "title": section.title,
                "description": section.description,
                "parts": [_part(part) for part in section.parts],
            }
            for section in reproduction.sections
        ],
    }


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, Table):
        comparisons = [_comparison(one) for one in part.comparisons]
        return {"kind": "table", "title": part.title, "comparisons": comparisons, "notes": list(part.notes)}
    if isinstance(part, Listing):
        rows = [dict(zip(part.header, row, strict=True)) for row in part.rows]
        return {"kind": "listing", "title": part.title, "rows": rows, "notes": list(part.notes)}
    return {"kind": "figure", "key": part.key, "source": part.source, "title": part.title, "says": part.says}


def _comparison(one: Comparison) -> dict[str, Any]:
    paper = one.paper if isinstance(one.paper, str | int) else float(one.paper)
    reason = reason_for(one)
    return {
        "key": one.key,
        "source": one.source,
        "row": one.row,
        "column": one.column,
        "paper": paper,
        "printed": str(one.paper) if isinstance(one.paper, Decimal) else None,
        "ours": one.ours,
        "difference": one.difference,
        "tolerance": one.tolerance,
        "agrees": one.agrees,
        "reason": reason or None,
    }
