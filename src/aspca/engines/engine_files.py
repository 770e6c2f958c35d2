"""The files that an engine is to read itself: Parquet, whose columns state their types."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import fields

from aspca.engines.errors import SourceError
from aspca.engines.parquet_folder import PARQUET_MAGIC
from aspca.engines.request import ReadOptions, expand
from aspca.harmless import for_terminal

# What does not depend on how text is written, or is no matter of files.
_ANY_FORMAT = ("missing", "format", "query", "engine", "spark_master", "learned")


def parquet_paths(paths: Sequence[str], options: ReadOptions, engine: str) -> list[str]:
    """The Parquet files and folders that paths and globs name; addresses (``s3://...``) are left to the engine.

    Raises
    ------
    SourceError
        One of them is no Parquet file, or is to be read in a way that only text is.
    """
    asked = [
        field.name
        for field in fields(options)
        if field.name not in _ANY_FORMAT and getattr(options, field.name) is not None
    ]
    if asked or options.format not in (None, "parquet"):
        what = f"--{asked[0].replace('_', '-')}" if asked else f"--format {options.format}"
        raise SourceError(
            f"{what} has no meaning for --engine {engine}, which reads Parquet only; leave one of them out."
        )
    found = []
    for path in paths:
        if "://" in path or os.path.isdir(path):
            found.append(path)
            continue
        for given in expand([path]):
            if given.path is None or given.is_stream or not _is_parquet(str(given.path)):
                raise SourceError(
                    f"{given.label}: --engine {engine} reads Parquet only; write it as Parquet, or leave --engine out."
                )
            found.append(str(given.path))
    if not found:
        raise SourceError(f"{', '.join(map(for_terminal, paths))}: there is nothing to read; name a Parquet file.")
    return [path if "://" in path else os.path.abspath(path) for path in found]


def _is_parquet(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(len(PARQUET_MAGIC)) == PARQUET_MAGIC
