"""A folder of Parquet files, one for each part, written by the workers where the rows are: the whole of it or nothing.

A worker that dies leaves a file of a hidden name, one that runs twice replaces its file by the same; the folder gets
its name when every part is there.
"""

from __future__ import annotations

import io
import os
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from aspca.engines.parts import Mapped, Outcome, catch_sentence, merge_outcomes
from aspca.engines.serialization import serialize
from aspca.outputs.errors import OutputError
from aspca.outputs.folder import replaced_folder

_HIDDEN = ".part-"


class WriteFailure(ValueError):
    """A file that a worker cannot write: `number` is the system's, such as that of a full disk."""

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(reason)
        self.number, self.reason = number, reason


@dataclass(frozen=True)
class Write:
    """Writes what is made of the rows of a part into a file of its own; the result is how many rows those are."""

    mapped: Mapped
    folder: str

    def __call__(self, number: int, batches: Iterable[Any]) -> bytes:
        outcome = Outcome({number: 0})
        catch_sentence(outcome, partial(self._run, outcome, number, batches))
        return serialize(outcome)

    def _run(self, outcome: Outcome, number: int, batches: Iterable[Any]) -> None:
        parquet = import_module("pyarrow.parquet")
        hidden = os.path.join(self.folder, f"{_HIDDEN}{number:06d}.{secrets.token_hex(8)}")
        written = 0
        try:
            with io.BufferedWriter(_PartFile(hidden, "xb")) as file:
                with parquet.ParquetWriter(file, self.mapped.schema) as writer:
                    for batch in self.mapped(number, batches):
                        written += batch.num_rows
                        writer.write_batch(batch)
                file.flush()
            if written:
                os.replace(hidden, Path(self.folder, _name(number)))
        finally:
            Path(hidden).unlink(missing_ok=True)
        if written:
            outcome.add({number: written}, _both)

    def merged(self, outcomes: Sequence[bytes]) -> bytes:
        """What came of parts that follow each other."""
        return merge_outcomes(_both, outcomes)


class _PartFile(io.FileIO):
    """A full disk is no fault of the engine's, which is not to try again: it comes back to whoever asked."""

    def __init__(self, path: str, mode: str) -> None:
        try:
            super().__init__(path, mode)
        except OSError as error:
            raise WriteFailure(error.errno or 0, error.strerror or "") from error

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            raise WriteFailure(error.errno or 0, error.strerror or "") from error


def write_folder(folder: str | os.PathLike[str], write: Callable[[str], dict[int, int]]) -> int:
    """Let workers write into a hidden folder, which then takes the place of `folder`; returns how many rows there are.

    Parameters
    ----------
    write : callable
        Runs a `Write` into the folder that it is given, and returns the rows of each part.

    Raises
    ------
    OutputError
        Something else stands there, or the workers do not write where this process looks.
    OSError
        It cannot be written.
    """
    with replaced_folder(folder) as staged:
        try:
            rows = write(str(staged))
        except WriteFailure as error:
            raise OSError(error.number, error.reason, os.fspath(folder)) from error
        for left in staged.glob(f"{_HIDDEN}*"):
            # Of a worker that is no more.
            left.unlink()
        if not all((staged / _name(number)).is_file() for number in rows):
            raise OutputError(
                f"{os.fspath(folder)!r} is not the same folder for this process and for the workers; name one that "
                "all of them share."
            )
    return sum(rows.values())


def _name(number: int) -> str:
    return f"part-{number:06d}.parquet"


def _both(one: dict[int, int], other: dict[int, int]) -> dict[int, int]:
    return one | other
