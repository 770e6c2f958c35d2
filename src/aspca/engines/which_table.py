"""Which of several tables or sheets of one file is meant: the one named, or the only one there is.

A view is read only where it is named: it runs a SELECT of whoever made the file.
"""

from __future__ import annotations

from collections.abc import Sequence

from aspca.engines.errors import SourceError
from aspca.harmless import quoted

# So many are named in a sentence: all of them, in any file that a person made.
MOST_NAMED = 20


def which_table(
    names: Sequence[str],
    wanted: str | None,
    label: str,
    what: str,
    whole: str = "the file",
    views: Sequence[str] = (),
) -> str:
    """The name that is meant; `what` they are is "table" or "sheet", `whole` what holds them, and `views` as well.

    Raises
    ------
    SourceError
        There is none, none of that name, or several and no name is given.
    """
    if wanted is None and not names and views:
        raise SourceError(
            f"{label}: {whole} holds views only, {_enumerated(views)}, each a query of whoever made it; name one by "
            "--table to have it run."
        )
    if wanted is not None:
        names = [*names, *views]
    if not names:
        raise SourceError(f"{label}: {whole} holds no {what} with anything in it; it must hold one.")
    if wanted is None and len(names) == 1:
        return names[0]
    if wanted in names:
        return str(wanted)
    there = _enumerated(names)
    if wanted is None:
        trouble = f"{whole} holds {len(names)} {what}s, {there}; name one by --table"
    else:
        trouble = (
            f"there is no {what} {quoted(wanted)}, but {there}; name {'it' if len(names) == 1 else 'one'} by --table"
        )
    raise SourceError(f"{label}: {trouble}.", remedy=("--table", names[0]))


def _enumerated(names: Sequence[str]) -> str:
    listed = [quoted(name) for name in names[:MOST_NAMED]]
    listed += [f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []
    return ", ".join(listed[:-1]) + f" and {listed[-1]}" if len(listed) > 1 else listed[0]
