"""Why numbers differ: a sentence for each that does, whose cause was tested.

The sentences stand in `deviations.json`; what was tried, in `benchmarks/paper_causes.py` and the tests of the paper.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from aspca.reproduction.comparison import Comparison


@cache
def reasons() -> Mapping[str, str]:
    """Sentences by the key of a comparison, or by how keys begin, a star at the end."""
    text = (files("aspca.reproduction") / "deviations.json").read_text(encoding="utf-8")
    return {key: entry["reason"] for entry in json.loads(text) for key in entry["numbers"]}


def reason_for(comparison: Comparison) -> str:
    """Why it is not as printed; empty where it is, or where nothing is known."""
    known = reasons()
    if comparison.as_printed:
        return ""
    fitting = [key for key in known if _fits(key, comparison.key)]
    return known[max(fitting, key=len)] if fitting else ""


def _fits(pattern: str, key: str) -> bool:
    return key.startswith(pattern[:-1]) if pattern.endswith("*") else key == pattern
