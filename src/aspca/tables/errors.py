"""The one error of tables that cannot be read, and how files and cells are shown in its sentence."""

from __future__ import annotations


class SourceError(ValueError):
    """A table that cannot be read, in one sentence: the file, the column or row, what is wrong and what to do.

    Attributes
    ----------
    remedy : words of a command line that settle the matter, such as ("--decimal", ","); empty where there are none.
    """

    def __init__(self, message: str, remedy: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.remedy = remedy

    def __reduce__(self) -> tuple[type[SourceError], tuple[str, tuple[str, ...]]]:
        return type(self), (str(self), self.remedy)


def enumerated(items: list[str], most: int = 5) -> str:
    """`a, b and c`, or `a, b and 7 more`."""
    if len(items) > most:
        items = [*items[: most - 1], f"{len(items) - most + 1} more"]
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1]
