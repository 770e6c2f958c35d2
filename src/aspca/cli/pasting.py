"""The command that was typed, as it would have worked: to be pasted into a shell."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from aspca.masking import masked

if TYPE_CHECKING:
    from aspca.pipeline.errors import Instead

# All other words of a remedy that begin with dashes take a value.
_FLAGS = {"--header", "--no-header", "--ignore-text", "--allow-missing", "--no-allow-missing"}


def correct_command(arguments: Sequence[str], remedy: Sequence[str], instead: Sequence[Instead] = ()) -> str:
    """The command line of these arguments with what is wrong replaced, and the words of a remedy added."""
    typed = list(arguments)
    # What follows a double dash is no option.
    end = typed.index("--") if "--" in typed else len(typed)
    options, rest = typed[:end], typed[end:]
    for one in instead:
        options = _replace_option(options, one)
    # Terminals are logged and shared: passwords are to be typed again.
    words = ("aspca", *options, *_add_remedy(remedy), *rest)
    return " ".join(_word(masked(word)) for word in words)


def _replace_option(words: Sequence[str], change: Instead) -> list[str]:
    """The words without an option's value, or with another one."""
    if not change.given:
        return [word for word in words if word != change.option]
    kept, position = [], 0
    while position < len(words):
        word = words[position]
        joined = word.startswith(f"{change.option}=")
        parted = word == change.option and position + 1 < len(words)
        value = word.partition("=")[2] if joined else words[position + 1] if parted else ""
        position += 2 if parted else 1
        if (joined or parted) and (value == change.given or value.startswith(f"{change.given}=")):
            if change.value is not None:
                kept += _option(change.option, change.value + value.removeprefix(change.given))
        else:
            kept += [word, value] if parted else [word]
    return kept


def _add_remedy(remedy: Sequence[str]) -> list[str]:
    """Each option and its value once, columns to leave out in one list."""
    words, found = iter(remedy), list[tuple[str, str | None]]()
    for option in words:
        found.append((option, None if option in _FLAGS else next(words, None)))
    pairs = list(dict.fromkeys(found))
    ignored = [value for option, value in pairs if option == "--ignore" and value is not None]
    # A comma parts names, unless one holds a comma itself.
    plain = not any("," in name or name != name.strip() for name in ignored)
    added = [
        word for name in ([",".join(ignored)] if plain and ignored else ignored) for word in _option("--ignore", name)
    ]
    for option, value in pairs:
        if option != "--ignore":
            added += [option] if value is None else _option(option, value)
    return added


def _option(option: str, value: str) -> list[str]:
    return [f"{option}={value}"] if value.startswith("-") else [option, value]


def _word(word: str) -> str:
    """As a shell takes it; what cannot be printed is spelled out, so that nothing in it acts on a terminal."""
    if word.isprintable():
        return shlex.quote(word)
    spelled = (
        sign if sign.isprintable() and sign not in "'\\" else "".join(f"\\x{byte:02x}" for byte in os.fsencode(sign))
        for sign in word
    )
    return f"$'{''.join(spelled)}'"
