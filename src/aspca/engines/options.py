"""What a user may say about a file, all of it optional."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from aspca.engines.errors import SourceError
from aspca.harmless import quoted

FORMATS = ("csv", "parquet", "arrow", "jsonl")


@dataclass(frozen=True)
class ReadOptions:
    """How to read a table; None means: found out from the file.

    Parameters
    ----------
    delimiter : one character between the cells of a CSV file; found among comma, semicolon, tab and bar.
    encoding : any text encoding Python knows; found by the byte order mark, otherwise UTF-8.
    decimal : "." or ","; found for each column.
    header : whether the first line holds names. Found: it does if none of its cells is a number, a date or a truth
        value, or if one is text above a column of values, or if they count 0, 1, 2, ... as those of pandas do.
        Columns without a name are called column_1, column_2, ...
    format : "csv", "parquet", "arrow" or "jsonl"; found by the first bytes, then by the suffix.

    Raises
    ------
    SourceError
        A value that is not allowed.
    """

    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    header: bool | None = None
    format: str | None = None

    def __post_init__(self) -> None:
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\n\r\0'):
            raise SourceError(f"The delimiter must be one character such as ',' or ';', not {quoted(self.delimiter)}.")
        if self.decimal not in (None, ".", ","):
            raise SourceError(f"The decimal sign must be '.' or ',', not {quoted(self.decimal)}.")
        if self.format is not None and self.format not in FORMATS:
            raise SourceError(f"The format must be one of {', '.join(FORMATS)}, not {quoted(self.format)}.")
        if self.encoding is not None:
            try:
                "".encode(self.encoding)
                codecs.getincrementaldecoder(self.encoding)
            except (LookupError, ValueError, TypeError):
                known = "use for example 'utf-8', 'utf-16' or 'latin-1'"
                raise SourceError(f"The encoding {quoted(self.encoding)} is not known; {known}.") from None
