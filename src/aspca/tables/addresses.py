"""Addresses of databases; how they are shown, without what is secret in them, is for `aspca.masking`.

``postgresql://user:***@host/db``, ``duckdb:///file`` and ``sqlite:///file``; as elsewhere, what follows three slashes
is a path from here, and a fourth begins one from the root: ``sqlite:////var/lib/plant.db``.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from aspca.escaping import for_terminal
from aspca.masking import mask_secrets
from aspca.tables.errors import SourceError

POSTGRES = ("postgresql", "postgres")
# By the format that a file of this scheme must have.
FILES = ("duckdb", "sqlite")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")


def is_address(text: object) -> bool:
    """Whether this is an address, such as ``postgresql://host/db``, and no path of a file."""
    return isinstance(text, str) and _SCHEME.match(text) is not None


def scheme_of(address: str) -> str:
    """The word before ``://``, in small letters; empty where there is none."""
    found = _SCHEME.match(address)
    return "" if found is None else found[1].lower()


def is_postgres(text: object) -> bool:
    """Whether this is an address of PostgreSQL."""
    return isinstance(text, str) and scheme_of(text) in POSTGRES


def parse_file_address(address: str) -> tuple[str, str]:
    """The path and the format of the file at an address of a DuckDB or SQLite file."""
    scheme, shown = scheme_of(address), for_terminal(mask_secrets(address))
    if scheme not in FILES:
        raise SourceError(
            f"{shown}: addresses of this kind are not read; they begin with postgresql://, duckdb:/// or sqlite:///, "
            "and files are named by their paths, so copy the table into a file first."
        )
    rest = address.partition("://")[2]
    if "?" in rest or not rest.startswith("/") or len(rest) < 2:
        raise SourceError(
            f"{shown}: this address must name a file and nothing else, as in {scheme}:///plant.db, or from the root "
            f"{scheme}:////var/lib/plant.db."
        )
    return unquote(rest[1:]), scheme
