"""What the paper prints, with where: `published.json` is the only place where its numbers are typed in.

Numbers are decimals, so that 0.9520 keeps the digits it is printed with.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any

Number = Decimal | int


@cache
def _everything() -> Any:
    text = (files("aspca.reproduction") / "published.json").read_text(encoding="utf-8")
    return json.loads(text, parse_float=Decimal)


def published(table: str, *path: str) -> Any:
    """What is printed at a place, such as ``published("sparsity", "kdd99", "PCA", "L1")``."""
    found = _everything()[table]
    for name in path:
        found = found[name]
    return found


def rows_of(table: str, *path: str) -> Mapping[str, Any]:
    """The same without the line that says where it is printed."""
    return {name: row for name, row in published(table, *path).items() if name != "source"}


def source_of(table: str, *path: str) -> str:
    """Where it is printed: ``Table 3``."""
    return str(published(table, *path)["source"])


def digits_of(number: Number) -> int:
    """Decimals that it is printed with."""
    exponent = Decimal(number).as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0
