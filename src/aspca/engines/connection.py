"""DuckDB, kept on a short leash: little memory, few threads, no network, nothing of Python's in its reach."""

from __future__ import annotations

import os
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING

from aspca.engines.errors import SourceError, ascii_line

if TYPE_CHECKING:
    import duckdb

# Enough for 5,000 columns of text in flight; a narrow table takes a tenth of it.
MEMORY_LIMIT = "1GB"
# As many as help to read text; each holds rows of its own.
MOST_THREADS = 4


def connect(scratch: Path, memory: str = MEMORY_LIMIT) -> duckdb.DuckDBPyConnection:
    """A database in memory, in `memory` at most, that spills into the folder `scratch`.

    Raises
    ------
    SourceError
        DuckDB is not installed.
    """
    try:
        import duckdb
    except ImportError:
        raise SourceError(
            "Reading files needs DuckDB, which is not installed; run: pip install 'aspca[cli]'."
        ) from None
    return duckdb.connect(
        ":memory:",
        config={
            "threads": min(MOST_THREADS, os.cpu_count() or 1),
            "memory_limit": memory,
            "temp_directory": str(scratch),
            "preserve_insertion_order": True,
            # Files are read from end to end: to keep parts of them would only take memory.
            "enable_external_file_cache": False,
            # No download of code because a file asks for it, and no Python variable read as a table.
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "python_enable_replacements": False,
        },
    )


def plain_path(path: str | Path) -> str:
    """A path that DuckDB takes for exactly this local file: no glob, no address of another machine."""
    return escape(os.path.abspath(path))


def first_line(error: Exception) -> str:
    """What DuckDB says, without its advice: the first line, which alone can stand in a sentence."""
    line = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return ascii_line(line[:160]).rstrip(".")
