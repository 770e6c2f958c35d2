"""JSON as model files use it: strict to read, canonical to write, with a checksum over the content."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections import Counter
from typing import Any

# Read as a whole before anything is known about it. The worst a text of this size can hold, millions of empty lists,
# takes about 20 times as much memory while it is read.
LARGEST_FILE = 2**27
_CURE = "take an unaltered copy of the file or save the model again"


class ModelFileError(ValueError):
    """A model file that cannot be used, in one sentence: the file, the field, what is allowed and what to do."""


def to_canonical(value: object) -> str:
    """The one text of a JSON value: keys sorted, ASCII only, floats in the fewest digits that are exact."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def compute_checksum(content: dict[str, Any]) -> str:
    """SHA-256 of the canonical text of everything but the checksum itself, in hexadecimal."""
    rest = {key: value for key, value in content.items() if key != "checksum"}
    return hashlib.sha256(to_canonical(rest).encode("ascii")).hexdigest()


def seal(content: dict[str, Any]) -> bytes:
    """The file of a content: its checksum added, one line per field."""
    whole = {**content, "checksum": compute_checksum(content)}
    lines = ",\n".join(f"{to_canonical(key)}:{to_canonical(value)}" for key, value in sorted(whole.items()))
    return f"{{\n{lines}\n}}\n".encode("ascii")


def refuse_size(size: int, name: str) -> None:
    """Raise if a file would be too large to be read."""
    if size > LARGEST_FILE:
        raise ModelFileError(
            f"{name}: it has more than {LARGEST_FILE >> 20} MiB, the most that a model file may have; save the model "
            "with moments=False, which leaves out the largest part."
        )


def read_json(path: str | os.PathLike[str]) -> object:
    """The value of a regular file of JSON in UTF-8, which must follow the standard to the letter."""
    name = os.fspath(path)

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
            raise ModelFileError(f"{name}: the key {show(twice)} occurs twice, but may occur once only; {_CURE}.")
        return found

    def constant(token: str) -> float:
        raise ModelFileError(
            f"{name}: it holds the word {token} as a number, but numbers must be finite (a limit without end is the "
            f'text "Infinity"); {_CURE}.'
        )

    # Before it is opened: opening a pipe waits for someone to write to it.
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ModelFileError(f"{name}: it is no regular file, but a model file must be one; copy it to one first.")
    with open(path, "rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        refuse_size(size, name)
        # No more than it had just now, should it grow.
        data = stream.read(size)
    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=unique, parse_constant=constant)
    except ModelFileError:
        raise
    except UnicodeDecodeError as error:
        problem = f"byte {error.start} is not UTF-8 text, but a model file is JSON in UTF-8"
    except json.JSONDecodeError as error:
        problem = (
            f"it is no JSON from line {error.lineno}, column {error.colno} on, but a model file is one JSON object"
        )
    except (ValueError, RecursionError, MemoryError):
        # An integer of thousands of digits, lists within lists within lists.
        problem = "it holds a number or a nesting beyond reason, but a model file has few levels and numbers of float64"
    raise ModelFileError(f"{name}: {problem}; {_CURE}.")


def check_sum(content: dict[str, Any], name: str) -> None:
    """Raise unless the checksum is that of the content."""
    try:
        right = content.get("checksum") == compute_checksum(content)
    except (ValueError, RecursionError):
        # 1e999 is read as infinity, which has no canonical text.
        right = False
    if not right:
        raise ModelFileError(
            f"{name}: the field checksum must be the SHA-256 of the content, but is not, so the file was altered or "
            f"damaged after it was saved; {_CURE}."
        )


def show(value: object) -> str:
    """A value of the file inside a sentence: short, on one line, and never as long as the file."""
    if isinstance(value, dict):
        return f"an object of {len(value)} fields"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int) and abs(value) >= 10**20:
        return "a huge integer"
    if isinstance(value, str):
        return ascii(value if len(value) <= 40 else value[:40] + "...")
    return ascii(value)
