"""Rules told apart by what they say: exact relations between columns, those with noise, ranges of single columns,
columns that never change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class _Told(Protocol):
    @property
    def kind(self) -> str: ...


NO_RELATION = "No relation holds between these columns: rows are judged by how far out they are."
_HEADINGS = {
    "identity": ("{:,} exact relation", "{:,} exact relations"),
    "relation": ("{:,} rule that normal rows obey", "{:,} rules that normal rows obey"),
    "range": ("{:,} column that keeps to a range", "{:,} columns that keep to a range"),
    "constant": ("{:,} column that never changes", "{:,} columns that never change"),
}


def told_apart(rules: Sequence[_Told]) -> list[tuple[str, list[int]]]:
    """A heading for each kind of rule there is, with the numbers of its rules; relations first, or the lack of them."""
    groups: list[tuple[str, list[int]]] = []
    for kind, (one, many) in _HEADINGS.items():
        numbers = [number for number, rule in enumerate(rules) if rule.kind == kind]
        if numbers:
            groups.append(((one if len(numbers) == 1 else many).format(len(numbers)), numbers))
        elif kind == "relation" and not groups:
            groups.append((NO_RELATION, numbers))
    return groups
