"""The one error of tables that cannot be read, and how files and cells are shown in its sentence."""

from __future__ import annotations


class SourceError(ValueError):
    """A table that cannot be read, in one sentence: the file, the column or row, what is wrong and what to do."""


def shown(text: object, longest: int = 40) -> str:
    """A cell or a name for a sentence: quoted, on one line, control characters escaped, cut where long."""
    whole = str(text)
    return ascii_line(repr(whole if len(whole) <= longest else whole[: longest - 3] + "..."))


def ascii_line(text: str) -> str:
    """`text` on one line: whatever a terminal would act on is escaped, letters of all languages stay."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)


def enumerated(items: list[str], most: int = 5) -> str:
    """`a, b and c`, or `a, b and 7 more`."""
    if len(items) > most:
        items = [*items[: most - 1], f"{len(items) - most + 1} more"]
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1]
