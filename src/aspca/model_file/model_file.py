"""Model files: one JSON text that holds a model, and nothing that could run."""

from __future__ import annotations

import os
import sys

from aspca.masking import looks_like_address, masked
from aspca.model.model import Model
from aspca.model_file.decode import Contents, check_header, contents_of
from aspca.model_file.encode import content_of
from aspca.model_file.errors import ModelFileError
from aspca.model_file.fields import Field
from aspca.model_file.json_text import parse, read_text, refuse_size, sealed
from aspca.writers.replaced_file import replace_file

PathLike = str | os.PathLike[str]


def write_model(
    model: Model, path: PathLike, *, private: bool = False, moments: bool = True, naming: str = "given"
) -> None:
    """Write a model to a file, which is then either whole or as it was before.

    Parameters
    ----------
    path : str or path-like
        By custom ``model.json``.
    private : bool, default=False
        Leave out what belongs to single rows: minima, maxima and the scores of calibration rows. The model scores and
        explains the same; it cannot be fitted further, and p-values need `calibrate`. What the model is made of stays:
        means, scales and limits. With ``scaling="maxabs"`` a scale is a column's largest distance from its mean, which
        gives that one value away; ``"standard"`` does not.
    moments : bool, default=True
        Keep the scatter, p (p + 1) / 2 numbers. Without it the model scores and explains the same, but has no T2 and
        cannot be fitted further.
    naming : {"given", "table", "none"}, default="given"
        Where the features' names come from: from a caller, so that rows without names are taken on trust; from the
        table that was fitted; or from nowhere.

    Raises
    ------
    ModelFileError
        The model holds something that no file may hold, or the file would be too large.
    OSError
        The file cannot be written; an old one of that name is as it was.
    """
    name = os.fspath(path)
    content = content_of(model, naming=naming, private=private, moments=moments, package=_package())
    data = sealed(content)
    refuse_size(len(data), name)
    # What is written can be read: the same checks, before the old file is touched.
    contents_of(
        Field(name, "", {**content, "checksum": ""}, cure="this model cannot be saved as it is, so fit it again")
    )
    replace_file(path, data)


def read_model(path: PathLike) -> Model:
    """The model in a file; see `read_contents`."""
    return read_contents(path).model


def read_contents(path: PathLike) -> Contents:
    """The model in a file, and where its names come from; scikit-learn is not needed.

    Raises
    ------
    ModelFileError
        In one sentence: the file, the field at fault, what is allowed and what to do. Nothing was built.
    OSError
        The file cannot be opened or read.
    """
    name = os.fspath(path)
    if looks_like_address(name) and not os.path.lexists(name):
        raise ModelFileError(f"{masked(name)}: this is an address of a database, but models are files; name one.")
    content = check_header(parse(read_text(path), name), name)
    return contents_of(Field(name, "", content))


def _package() -> str:
    # Importing the root by name would count as importing all that it names, scikit-learn included; it is loaded anyhow.
    return str(sys.modules["aspca"].__version__)
