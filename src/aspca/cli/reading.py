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


def opened(paths: Sequence[str], options: ReadOptions) -> Source:
    """The table in some files; a context manager."""
    from aspca.engines.source import open_source

    return open_source(paths, options)
