"""Where data that are not part of the project may lie."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

VARIABLE = "ASPCA_DATA"


def find_data(relative: str) -> Path:
    """The file `relative` below the data directory.

    That is the directory named by the environment variable `ASPCA_DATA`; where it is not set,
    `../shared/data` from the project's root, looked for upwards from this file and the current directory.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    """
    for directory in _directories():
        if (directory / relative).is_file():
            return directory / relative
    named = os.environ.get(VARIABLE)
    where = f"{VARIABLE} ({named})" if named else "../shared/data of the project"
    raise FileNotFoundError(
        f"The file {relative} is not in {where}; set the environment variable {VARIABLE} to the directory that has it."
    )


def _directories() -> Iterator[Path]:
    named = os.environ.get(VARIABLE)
    if named:
        yield Path(named)
        return
    for start in (Path(__file__).resolve(), Path.cwd() / "here"):
        for folder in start.parents:
            if (folder / "pyproject.toml").is_file() and (folder / "src" / "aspca").is_dir():
                yield folder.parent / "shared" / "data"
