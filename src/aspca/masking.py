"""Passwords in addresses of databases, and what is shown instead: also of one that is misspelt or in a wrong place."""

from __future__ import annotations

import re
from itertools import pairwise
from urllib.parse import unquote, unquote_plus

MASK = "***"
# How an address of PostgreSQL begins, and how others do; one letter before a colon is a drive of Windows.
_POSTGRES = re.compile(r"postgres[a-z]*\s*:", re.IGNORECASE)
_LIKE = re.compile(r"\s*(?:postgres[a-z]*\s*:|[a-z][a-z0-9+.-]+:/)", re.IGNORECASE)
# One that can be told apart: user, password (up to the last @, since people do not escape what they should), hosts and
# ports, database, parameters.
_HOST = r"(?:\[[0-9a-f:.%]*\]|[^][:/@?#,\s]*)(?::\d*)?"
_WELL_FORMED = re.compile(
    rf"(postgres(?:ql)?://)(?:([^:/@?#\s]*)(:.*)?@)?({_HOST}(?:,{_HOST})*(?:/[^:@?#]*)?)(?:\?(.*))?",
    re.IGNORECASE | re.DOTALL,
)
# Parameters of libpq that hold no secret.
_SHOWN = {
    "application_name", "client_encoding", "connect_timeout", "dbname", "host", "hostaddr", "options", "port",
    "service", "sslmode", "sslrootcert", "target_session_attrs", "user",
}  # fmt: skip
# Of any other scheme, and where a name, a colon and something with an @ is all there is.
_USER = re.compile(r"([a-z][a-z0-9+.-]*:/+)([^:/@?]*):.*@", re.IGNORECASE | re.DOTALL)
_BARE = re.compile(r"([\w.+-]+):(?![/\\])\S*@")
_PARAMETER = re.compile(r"([?&;]|\s)([^?&;=\s]+)=('(?:[^'\\]|\\.)*'|.*?)(?=[?&;]|\s+[^?&;=\s]+=|$)", re.DOTALL)
_SEVERAL = re.compile(r"=.*\s[^?&;=\s]+=", re.DOTALL)
_PASSWORD = re.compile(r"pass(?:$|w|phrase|code)|pwd|^pw$")
_SECRET = re.compile(
    rf"{_PASSWORD.pattern}|secret|token|credential|signature|apikey|api_key|access_?key|private|^sig$|^key$"
)


def looks_like_address(text: str) -> bool:
    """Whether a text begins as an address of a database does, well written or not, so that it is no path of a file."""
    return _LIKE.match(text) is not None


def mask_secrets(text: str) -> str:
    """The same address, or any other text, with *** for passwords and whatever else seems to be secret.

    Of an address of PostgreSQL that cannot be told apart nothing is shown but its beginning: the password may be
    anywhere.
    """
    begin = _POSTGRES.search(text)
    if begin is not None:
        found = _WELL_FORMED.fullmatch(text, begin.start())
        return text[: begin.start()] + (f"{begin[0]}{MASK}" if found is None else _without_password(found))
    shown = _BARE.sub(rf"\1:{MASK}@", _USER.sub(rf"\1\2:{MASK}@", text), count=1)
    # What programs hand to each other, host=... password=..., is several of them; one alone may be an option's value.
    before = " " if _SEVERAL.search(shown) else ""
    return _PARAMETER.sub(_without_secret, f"{before}{shown}").removeprefix(before)


def _without_password(found: re.Match[str]) -> str:
    scheme, user, password, place, query = found.groups()
    who = "" if user is None else f"{user}{'' if password is None else f':{MASK}'}@"
    if query is None:
        return f"{scheme}{who}{place}"
    parts = [part.partition("=") for part in query.split("&")]
    told = [f"{name}={value if name in _SHOWN else MASK}" if equals else MASK for name, equals, value in parts]
    return f"{scheme}{who}{place}?{'&'.join(told)}"


def _without_secret(match: re.Match[str]) -> str:
    # Words of other texts, such as a query, stand between blanks as well: there a password only is one.
    secret = (_PASSWORD if match[1].isspace() else _SECRET).search(unquote_plus(match[2]).lower())
    return f"{match[1]}{match[2]}={MASK}" if secret else match[0]


def find_secrets(text: str) -> set[str]:
    """What `mask_secrets` leaves out, as it stands there and as it is meant."""
    found, start = set[str](), 0
    # What stands where the mask does: from the end of the part before it to the beginning of the part after it.
    for before, after in pairwise(mask_secrets(text).split(MASK)):
        start = text.find(before, start) + len(before)
        # Only the beginning: the next mask may come at once.
        end = text.find(after, start) if after else len(text)
        found |= {text[start:end], unquote(text[start:end]), text[start:end].strip("'")}
    return {secret for secret in found if secret}
