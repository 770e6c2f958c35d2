"""Model files: one JSON text that holds a model, and nothing that could run."""

from __future__ import annotations

import os
import re
import sys
from typing import Any

from aspca.masking import looks_like_address, mask_secrets
from aspca.model.model import Model
from aspca.model_file.bounds import BOUNDS, SIZES
from aspca.model_file.checks import CHECKS
from aspca.model_file.codec import Reader, to_plain
from aspca.model_file.contents import OMITTED, Contents
from aspca.model_file.json_text import ModelFileError, check_sum, read_json, refuse_size, seal
from aspca.writers.replaced_file import replace_file

FORMAT, VERSION = "aspca-model", 7
PathLike = str | os.PathLike[str]


def write_model(
    model: Model, path: PathLike, *, private: bool = False, moments: bool = True, naming: str = "given"
) -> None:
    """Write a model to a file, which is then either whole or as it was before; see `aspca.save`.

    `naming` says where the features' names come from: from a caller ("given"), so that rows without names are taken on
    trust, from the "table" that was fitted, or from nowhere ("none"). Raises ModelFileError for what no file may hold.
    """
    name = os.fspath(path)
    # Importing the root by name would count as importing all that it names, scikit-learn included; it is loaded anyhow.
    package = str(sys.modules["aspca"].__version__)
    content = to_plain(Contents.of(model, naming=naming, package=package, private=private, moments=moments), OMITTED)
    data = seal({"format": FORMAT, "version": VERSION, **content})
    refuse_size(len(data), name)
    # What is written can be read: the same checks, before the old file is touched.
    _read_contents(content, name, "this model cannot be saved as it is, so fit it again")
    replace_file(path, data)


def read_model(path: PathLike) -> Model:
    """The model in a file; see `read_contents`."""
    return read_contents(path).model()


def read_contents(path: PathLike) -> Contents:
    """What a file holds, checked; a ModelFileError says what is wrong with it in one sentence."""
    name = os.fspath(path)
    if looks_like_address(name) and not os.path.lexists(name):
        raise ModelFileError(f"{mask_secrets(name)}: this is an address of a database, but models are files; name one.")
    content = read_json(path)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ModelFileError(
            f'{name}: the field format must be "{FORMAT}", but is not, so this is no model file; give the path of a '
            "file written by aspca.save."
        )
    _check_version(content, name)
    check_sum(content, name)
    rest = {key: value for key, value in content.items() if key not in ("format", "version", "checksum")}
    cure = "the file was altered or made by something else, so take an unaltered copy or save the model again"
    return _read_contents(rest, name, cure)


def _check_version(content: dict[str, Any], name: str) -> None:
    version, package = content.get("version"), content.get("package")
    if type(version) is not int or version < 1:
        raise ModelFileError(
            f"{name}: the field version must be a whole number from 1, but is not, so this is no model file; give the "
            "path of a file written by aspca.save."
        )
    if version < VERSION:
        raise ModelFileError(
            f"{name}: the file was written in format {version} by an earlier development version, but must be of "
            f"format {VERSION}; fit the model again with this version."
        )
    if version > VERSION:
        known = isinstance(package, str) and re.fullmatch(r"[0-9][0-9A-Za-z.+]{0,39}", package)
        raise ModelFileError(
            f"{name}: the field version is {version}, but must be {VERSION} for this aspca; "
            f"install {f'aspca {package}, which wrote it, or a later one' if known else 'a newer aspca'}."
        )


def _read_contents(content: object, name: str, cure: str) -> Contents:
    found: Contents = Reader(name, cure, BOUNDS, CHECKS, OMITTED, SIZES).read_object(Contents, content, "")
    return found
