"""A table of another class with the content of one that is there."""

from __future__ import annotations

from dataclasses import fields
from typing import TypeVar

from aspca.tables.memory import MemoryTable

T = TypeVar("T", bound=MemoryTable)


def like(kind: type[T], table: MemoryTable) -> T:
    """The same table, of this class."""
    return kind(**{field.name: getattr(table, field.name) for field in fields(table)})
