"""Why numbers differ: one sentence for each that does, whose cause was tested (`benchmarks/paper_causes.py`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from aspca.reproduction.comparison import Comparison


@cache
def reasons() -> Mapping[str, str]:
    """Sentences by the key of a comparison, or by how keys begin, a slash at the end."""
    text = (files("aspca.reproduction") / "deviations.json").read_text(encoding="utf-8")
    found: dict[str, str] = json.loads(text)
    return found


def reason_for(comparison: Comparison) -> str:
    """The sentence for a number, or an empty text where none is known."""
    known = reasons()
    if comparison.key in known:
        return known[comparison.key]
    fitting = [key for key in known if key.endswith("/") and comparison.key.startswith(key)]
    return known[max(fitting, key=len)] if fitting else ""
