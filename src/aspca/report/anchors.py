"""What parts of a report are called in links: the same for the same table, and safe in an address whatever the name."""

from __future__ import annotations

import re
from collections.abc import Sequence

_OTHERS = re.compile(r"[^a-z0-9]+")
_LONGEST = 40


def column_anchors(names: Sequence[str]) -> tuple[str, ...]:
    """One for each column, as in ``column-cpu-load``: letters and digits of its name, told apart by numbers."""
    taken: set[str] = set()
    anchors = []
    for number, name in enumerate(names):
        plain = _OTHERS.sub("-", name.lower()[: 4 * _LONGEST]).strip("-")[:_LONGEST].strip("-")
        anchor = f"column-{plain}" if plain else f"column-{number}"
        if anchor in taken:
            anchor = f"{anchor}-{number}"
        while anchor in taken:
            anchor += "-"
        taken.add(anchor)
        anchors.append(anchor)
    return tuple(anchors)
