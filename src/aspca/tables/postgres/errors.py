"""What a server of PostgreSQL, or the way to it, has to complain of, as one sentence without secrets."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar

from aspca.address_space import LEAST_WITH_ARROW, refuse_small_address_space
from aspca.duckdb_session import await_call, cancelling
from aspca.escaping import for_terminal
from aspca.masking import find_secrets, mask_secrets
from aspca.tables.errors import SourceError
from aspca.writers.replaced_file import OutputError

_CONNECTING = (
    (r"password authentication failed|no password supplied|authentication failed", "the server refuses the user or the "
     "password; correct the address, PGPASSWORD or ~/.pgpass"),
    (r"database .* does not exist", "there is no database of this name on the server; correct the address"),
    (r"role .* does not exist", "there is no user of this name on the server; correct the address"),
    (r"permission denied for database", "this user may not connect to the database; ask its owner for CONNECT"),
    (r"no pg_hba\.conf entry", "the server does not let this user in from here; ask for an entry in its pg_hba.conf"),
    (r"too many (clients|connections)|remaining connection slots", "the server has no connection left; try "
     "again later"),
    (r"starting up|shutting down|recovery mode", "the server is starting or stopping; try again in a moment"),
    (r"translate host name|Name or service not known", "there is no machine of this name; correct the address (signs "
     "such as @ : / in a password are written as %40 %3A %2F)"),
    (r"timeout expired|timed out", "the server does not answer in time; correct the address, or see that it runs"),
    (r"Connection refused|No such file|could not connect|No route|unreachable|Is the server running", "no server "
     "answers there; correct the address, or see that it runs"),
    (r"SSL|certificate|TLS", "no secure connection can be made; see sslmode and sslrootcert in the address"),
    (r"invalid (integer|port|URI|connection)|missing .* in|unexpected character|unterminated|percent-encoded",
     "this is no address of PostgreSQL; write postgresql://user:password@host:port/database, signs such as @ : / in a "
     "password as %40 %3A %2F"),
)  # fmt: skip
_LOST = re.compile(
    r"terminating connection|closed the connection|connection.*(lost|reset|not open|closed)|SSL SYSCALL|"
    r"no connection to",
    re.IGNORECASE,
)
_BY_STATE = {
    "42P01": "there is no such table, or this user cannot see it; correct the name",
    "3F000": "there is no such schema; correct the name",
    "42703": "there is no such column; correct the name",
    "42883": "there is no such function or operator; correct the query",
    "42702": "a column's name is ambiguous; say in the query of which table it is",
    "42501": "permission is denied; ask the table's owner for it",
    "57014": "the server stopped the statement, by its statement_timeout or on demand; raise statement_timeout for "
    "this user, or ask for fewer rows",
    "22012": "the query divides by zero; correct it",
    "22003": "a number is beyond those of double precision, about 1e308; correct it, or leave its column out",
    "25006": "the statement would change the database; give one SELECT, which only reads",
    "42P07": "there is a table of this name already; give another name, or ask to replace it",
    "2BP01": "other things of the database depend on the table, so that it cannot be replaced; give another name",
    "42809": "what has this name is no table; give another name",
    "42P06": "there is a schema of this name already; give another name",
    "53100": "the server's disk is full; nothing of it was written",
    "53200": "the server is out of memory; ask for fewer rows or columns",
    "53300": "the server has no connection left; try again later",
    "40001": "the server had to give up the transaction because of others; try again",
    "55P03": "another program has locked the table and does not give it up within lock_timeout; try again once it is "
    "done, or allow more time in the address, as by ?options=-c%20lock_timeout%3D5min",
    "40P01": "the server ended a deadlock with another program; try again",
    "55000": "the table cannot be read as it is; see the server's own message",
    "0A000": "the server cannot do this; give one SELECT",
}  # fmt: skip
# In the middle of a COPY the driver hands on the server's words, but not its state.
_BY_WORDS = (
    (r"division by zero", "22012"),
    (r"lock timeout", "55P03"),
    (r"canceling statement", "57014"),
    (r"schema .* does not exist", "3F000"),
    (r"permission denied", "42501"),
    (r"out of range", "22003"),
    (r"already exists", "42P07"),
    (r"No space left", "53100"),
    (r"out of memory", "53200"),
)
_MESSAGE = re.compile(r"(?:ERROR|FATAL|PANIC): +(.+)")
_LOST_STATES = ("57P01", "57P02", "57P03", "57P05", "25P03", "08000", "08003", "08006")
LOST = "the connection to the server was lost, so that not all rows were read; start again when the server is back"
LONGEST = 200

Result = TypeVar("Result")


def lock_timeout(seconds: int) -> str:
    """The statement that lets this transaction wait for a lock so long, unless the user's own settings say more."""
    return f"SELECT set_config('lock_timeout', '{seconds}s', true) WHERE current_setting('lock_timeout') = '0'"


def load_adbc(label: str) -> ModuleType:
    """The driver; SourceError where it is not installed."""
    refuse_small_address_space(LEAST_WITH_ARROW)
    try:
        import_module("pyarrow")
        return import_module("adbc_driver_postgresql.dbapi")
    except ModuleNotFoundError:
        raise SourceError(
            f"{label}: PostgreSQL needs packages that are not installed; run: pip install 'aspca[postgres]'."
        ) from None


def connect(address: str, label: str) -> Any:
    """A connection of the driver; SourceError where there is no driver, or none can be made."""
    adbc = load_adbc(label)
    return run_explained(lambda: adbc.connect(address), lambda error: explain_connecting_error(label, error))


def shown(address: str) -> str:
    """An address as sentences show it."""
    return for_terminal(mask_secrets(address))


def explain_connecting_error(label: str, error: Exception) -> SourceError:
    """The sentence for a connection that cannot be made; of libpq's own words nothing, for they repeat addresses."""
    text = str(error)
    why = next((words for pattern, words in _CONNECTING if re.search(pattern, text, re.IGNORECASE)), None)
    return SourceError(f"{label}: {why or 'no connection can be made; check the address and the server'}.")


def explain_server_error(label: str, error: Exception, address: str, lost: str = LOST) -> SourceError:
    """The sentence for a statement that failed, or for a connection that broke."""
    state = getattr(error, "sqlstate", None) or _state_by_words(str(error))
    if state in _LOST_STATES or (not state and _LOST.search(str(error))):
        return SourceError(f"{label}: {lost}.")
    said = _first_words(error, address)
    known = _BY_STATE.get(state or "")
    if state == "42601":
        known = "this is not one SELECT that the server understands; correct the query"
    words = f"{known} ({said})" if known and said else known or f"the server says: {said or type(error).__name__}"
    return SourceError(f"{label}: {words}.")


def _state_by_words(text: str) -> str | None:
    return next((state for pattern, state in _BY_WORDS if re.search(pattern, text)), None)


def _first_words(error: Exception, address: str) -> str:
    """The server's own first line, if there is one without secrets."""
    details = dict(getattr(error, "details", None) or ())
    raw = details.get(b"PG_DIAG_MESSAGE_PRIMARY", b"")
    message = raw.decode(errors="replace") if isinstance(raw, bytes) else str(raw)
    found = _MESSAGE.search(str(error))
    text = for_terminal(message or (found[1] if found else "")).strip().rstrip(".")
    return "" if any(secret in text for secret in list_secrets(address)) else text[:LONGEST]


def list_secrets(address: str) -> set[str]:
    """What an address hides, and the password of the environment."""
    password = os.environ.get("PGPASSWORD", "")
    return find_secrets(address) | ({password} if password else set())


def run_explained(
    work: Callable[[], Result],
    explain: Callable[[Exception], BaseException],
    cancel: Callable[[], None] | None = None,
) -> Result:
    """What `work` gives; what it raises is explained, and not kept as a cause: drivers repeat addresses.

    A signal ends it by `cancel`: the driver's own way knows SIGINT only, and makes an error of the server of it.
    """
    try:
        if threading.current_thread() is threading.main_thread():
            return await_call(work, cancel)
        with cancelling(cancel):
            return work()
    except (SourceError, OutputError) as error:
        problem: BaseException = error
    except Exception as error:
        problem = explain(error)
    # Outside of the handlers, so that nothing hangs on to it, not even this frame.
    try:
        raise problem
    finally:
        del problem
