"""Which of several tables or sheets of one file is meant: the one named, or the only one there is."""

from __future__ import annotations

from collections.abc import Sequence

from aspca.engines.errors import SourceError
from aspca.harmless import quoted

# So many are named in a sentence: all of them, in any file that a person made.
MOST_NAMED = 20


def which_table(names: Sequence[str], wanted: str | None, label: str, what: str, whole: str = "the file") -> str:
    """The name that is meant; `what` they are is "table" or "sheet", `whole` what holds them.

    Raises
    ------
    SourceError
        There is none, none of that name, or several and no name is given.
    """
    if not names:
        raise SourceError(f"{label}: {whole} holds no {what} with anything in it; it must hold one.")
    if wanted is None and len(names) == 1:
        return names[0]
    if wanted in names:
        return str(wanted)
    listed = [quoted(name) for name in names[:MOST_NAMED]]
    listed += [f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []
    there = ", ".join(listed[:-1]) + f" and {listed[-1]}" if len(listed) > 1 else listed[0]
    if wanted is None:
        trouble = f"{whole} holds {len(names)} {what}s, {there}; name one by --table"
    else:
        trouble = (
            f"there is no {what} {quoted(wanted)}, but {there}; name {'it' if len(names) == 1 else 'one'} by --table"
        )
    raise SourceError(f"{label}: {trouble}.", remedy=("--table", names[0]))
