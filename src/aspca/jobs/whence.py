"""Where results come from: the command that gives them again, the version, and what was read, with checksums.

Names of files stand without their folders, so that the same input gives the same report anywhere.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from aspca.engines.addresses import is_address, is_postgres
from aspca.engines.request import STANDARD_INPUT, ReadOptions
from aspca.jobs.requests import Columns, Request, files_named
from aspca.masking import masked
from aspca.report.evidence import Provenance as Whence
from aspca.settings import DEFAULTS

_IN_MEMORY = "table.csv"


def whence_of(request: Request, title: str) -> Whence:
    """Of what `aspca detect` does."""
    inputs = [(request.source, "judged"), (request.train, "learned from"), (request.calibrate, "calibrated with")]
    return Whence(
        title=base_name(title),
        version=version(),
        command=command_of(request),
        inputs=tuple(one for source, purpose in inputs if source is not None for one in inputs_of(source, purpose)),
        learned_elsewhere=request.train is not None,
    )


def version() -> str:
    # Importing the root by name would count as importing all that it names; it is loaded anyhow.
    return str(sys.modules["aspca"].__version__)


def base_name(path: str) -> str:
    """A name of a file without its folder, an address without what is secret in it; whatever else as it is."""
    if is_address(path):
        return masked(path)
    return os.path.basename(path.rstrip(os.sep)) or path


def inputs_of(source: Any, purpose: str) -> list[tuple[str, str, str | None]]:
    """The files that were read; of a table in memory that it was one."""
    if not isinstance(source, list):
        return [("a table in memory", purpose, None)]
    databases = [(masked(path), purpose, None) for path in source if is_postgres(path)]
    return [*databases, *((_name(path, source), purpose, _checksum(path)) for path in files_named(source))]


def _name(path: str, source: Sequence[str]) -> str:
    if path == STANDARD_INPUT:
        return "standard input"
    folder = next((one for one in source if os.path.isdir(one) and path.startswith(os.path.join(one, ""))), None)
    # What folders inside the one that was named are called is part of the table.
    return base_name(path) if folder is None else os.path.join(base_name(folder), os.path.relpath(path, folder))


def _checksum(path: str) -> str | None:
    if path == STANDARD_INPUT or not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# ---- the command


def command_of(request: Request) -> str:
    """`aspca detect` with all options that are not the defaults."""
    words = ["aspca", "detect", *_files(request.source)]
    for option, source in (("--train", request.train), ("--calibrate", request.calibrate)):
        words += [word for name in _files(source) for word in (option, name)] if source is not None else []
    words += _options(request.columns, Columns())
    words += _options(request.reading, ReadOptions())
    for name, default in DEFAULTS.items():
        value = getattr(request.settings, name, default)
        if name == "rules":
            words += [word for rule in value or () for word in ("--rule", rule)]
        elif value != default:
            words += [_flag(name), str(value)]
    if request.output.patience is not None:
        words += ["--patience", str(request.output.patience)]
    words += ["--private"] if request.output.private else []
    return " ".join(shlex.quote(masked(word)) for word in words)


def _files(source: Any) -> list[str]:
    return [path if path == STANDARD_INPUT else base_name(path) for path in source] if _named(source) else [_IN_MEMORY]


def _named(source: Any) -> bool:
    return isinstance(source, list) and all(isinstance(path, str) for path in source)


def _options(given: Columns | ReadOptions, defaults: Columns | ReadOptions) -> list[str]:
    words: list[str] = []
    for field in fields(given):
        name, value = field.name, getattr(given, field.name)
        if value == getattr(defaults, name):
            continue
        if isinstance(value, bool):
            words.append(_flag(name) if value else _flag(f"no_{name}"))
        else:
            several: Sequence[Any] = value if isinstance(value, tuple) else (value,)
            # What categories are without a word.
            words += [word for one in several for word in (_flag(name), str(one).removesuffix("=one-hot"))]
    return words


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
