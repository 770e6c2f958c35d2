"""A table from the arguments that name it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aspca.engines.source import ReadOptions, Source


def options_of(delimiter: str | None, encoding: str | None, decimal: str | None, header: bool | None) -> ReadOptions:
    """How to read; `\\t` is a tab, which a shell makes hard to type."""
    from aspca.engines.errors import SourceError
    from aspca.engines.source import ReadOptions
    from aspca.jobs.errors import RequestError

    try:
        return ReadOptions(
            delimiter="\t" if delimiter == "\\t" else delimiter, encoding=encoding, decimal=decimal, header=header
        )
    except SourceError as error:
        raise RequestError(str(error)) from None


def kinds_of(
    categorical: Sequence[str] | None,
    log: Sequence[str] | None,
    transform: Sequence[str] | None,
    date: Sequence[str] | None,
    number: Sequence[str] | None,
) -> dict[str, str]:
    """What is to become of columns, by name."""
    from aspca.jobs.errors import RequestError
    from aspca.preparation import CATEGORIES
    from aspca.preparation.transforms import TRANSFORMS

    plain = (("log", log), ("date", date), ("number", number))
    given = [(name, kind) for kind, names in plain for name in names or ()]
    for text in categorical or ():
        name, _, kind = text.rpartition("=")
        given.append((name, kind) if kind in CATEGORIES and name else (text, "one-hot"))
    for text in transform or ():
        name, _, kind = text.rpartition("=")
        if kind not in TRANSFORMS or not name:
            raise RequestError(
                f"--transform takes a column and one of {', '.join(TRANSFORMS)}, as in amount=log, got {text!r}."
            )
        given.append((name, kind))
    kinds: dict[str, str] = {}
    for name, kind in given:
        if kinds.setdefault(name, kind) != kind:
            raise RequestError(f"Column {name!r} cannot be both {kinds[name]} and {kind}; give one of them.")
    return kinds


def opened(paths: Sequence[str], options: ReadOptions) -> Source:
    """The table in some files; a context manager."""
    from aspca.engines.source import open_source

    return open_source(paths, options)
