"""Models through pipes: as text, or read from text, with the same checks as model files."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from aspca.files.errors import ModelFileError
from aspca.files.model_file import read_model, write_model
from aspca.jobs.errors import RequestError
from aspca.judging.model import Model

_STDIN = "standard input"


# Said where a model is to hold no value of a row.
GIVEN_AWAY = (
    "--private: with --scaling maxabs the model holds each column's largest distance from its mean, which it needs to "
    "score; --scaling standard holds none."
)


def model_text(model: Model, *, private: bool = False) -> str:
    """What `write_model` writes."""
    with tempfile.TemporaryDirectory(prefix="aspca-") as folder:
        path = Path(folder) / "model.json"
        write_model(model, path, naming="table", private=private)
        return path.read_text(encoding="utf-8")


def refuse_both(path: str, files: Sequence[str]) -> None:
    """Raise RequestError if both the model and the rows are to come from standard input."""
    if path == "-" and "-" in files:
        raise RequestError(
            "Only one of the model and the rows can come from standard input; name a file for the other."
        )


def model_from(path: str) -> Model:
    """The model in a file, or on standard input where the path is ``-``; see `read_model` for what is raised."""
    if path != "-":
        return read_model(path)
    with tempfile.TemporaryDirectory(prefix="aspca-") as folder:
        copy = Path(folder) / "model.json"
        copy.write_bytes(sys.stdin.buffer.read())
        try:
            return read_model(copy)
        except ModelFileError as error:
            raise ModelFileError(str(error).replace(str(copy), _STDIN)) from None
