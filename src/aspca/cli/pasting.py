"""The command that was typed, as it would have worked: to be pasted into a shell."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from aspca.masking import mask_secrets

if TYPE_CHECKING:
    from aspca.tables.errors import Instead

# All other words of a remedy that begin with dashes take a value.
_FLAGS = {"--header", "--no-header", "--ignore-text", "--allow-missing", "--no-allow-missing"}


def correct_command(arguments: Sequence[str], remedy: Sequence[str], instead: Sequence[Instead] = ()) -> str:
    """The command line of these arguments with what is wrong replaced, and the words of a remedy added."""
    # What follows a double dash is no option.
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options = list(arguments[:end])
    for one in instead:
        options = _replace_option(options, one)
    # Terminals are logged and shared: passwords are to be typed again.
    words = ("aspca", *options, *_add_remedy(remedy), *arguments[end:])
    return " ".join(_quote(mask_secrets(word)) for word in words)


def _replace_option(words: Sequence[str], change: Instead) -> list[str]:
    """The words without an option's value, or with another one."""
    if not change.given:
        return [word for word in words if word != change.option]
    kept, position = [], 0
    while position < len(words):
        option, joined, value = words[position].partition("=")
        typed = words[position : position + (1 if joined else 2)]
        if option != change.option or (not joined and len(typed) == 1):
            kept.append(words[position])
            position += 1
            continue
        value = typed[-1] if not joined else value
        if value == change.given or value.startswith(f"{change.given}="):
            if change.value is not None:
                kept += _option(change.option, change.value + value.removeprefix(change.given))
        else:
            kept += typed
        position += len(typed)
    return kept


def _add_remedy(remedy: Sequence[str]) -> list[str]:
    """Each option and its value once, columns to leave out in one list."""
    words = iter(remedy)
    pairs = dict.fromkeys((option, None if option in _FLAGS else next(words, None)) for option in words)
    ignored = [value for option, value in pairs if option == "--ignore" and value is not None]
    # A comma parts names, unless one holds a comma itself.
    if ignored and not any("," in name or name != name.strip() for name in ignored):
        ignored = [",".join(ignored)]
    added: list[tuple[str, str | None]] = [("--ignore", name) for name in ignored]
    added += [(option, value) for option, value in pairs if option != "--ignore"]
    return [word for option, value in added for word in ([option] if value is None else _option(option, value))]


def _option(option: str, value: str) -> list[str]:
    return [f"{option}={value}"] if value.startswith("-") else [option, value]


def _quote(word: str) -> str:
    """As a shell takes it; what cannot be printed is spelled out, so that nothing in it acts on a terminal."""
    if word.isprintable():
        return shlex.quote(word)
    spelled = (
        sign if sign.isprintable() and sign not in "'\\" else "".join(f"\\x{byte:02x}" for byte in os.fsencode(sign))
        for sign in word
    )
    return f"$'{''.join(spelled)}'"
