"""Stored models: through pipes as text, with the same checks as model files, and their rules as a list to hand on."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from aspca.files.errors import ModelFileError
from aspca.files.model_file import read_model, write_model
from aspca.harmless import for_markdown
from aspca.jobs.errors import RequestError
from aspca.jobs.preparing import columns_needed, refuse_gaps, refuse_other_columns
from aspca.jobs.tables import TableSource
from aspca.judging.model import Model
from aspca.outputs.scratch import Scratch

_STDIN = "standard input"


def model_text(model: Model, *, private: bool = False) -> str:
    """What `write_model` writes."""
    with Scratch() as folder:
        path = folder / "model.json"
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
    if sys.stdin is None or sys.stdin.closed:
        raise RequestError("Standard input is closed; send a model to it, or name a file.")
    with Scratch() as folder:
        copy = folder / "model.json"
        copy.write_bytes(sys.stdin.buffer.read())
        try:
            return read_model(copy)
        except ModelFileError as error:
            raise ModelFileError(str(error).replace(str(copy), _STDIN)) from None


def refuse_unfit(table: TableSource, model: Model) -> None:
    """Raise RequestError unless a table has what a model needs."""
    refuse_other_columns(table, columns_needed(model.preparation), "the rules of the model")


def refuse_gaps_in(table: TableSource, model: Model) -> None:
    """Raise JobError if values are known to be missing that the model cannot do without."""
    if not model.allows_gaps:
        refuse_gaps(table, list(columns_needed(model.preparation)), cure="learn the model with --allow-missing")


def refuse_misfit(table: TableSource, model: Model) -> None:
    """Raise JobError unless a table has what a model needs to judge all its rows; more columns, or another order of
    them, do no harm."""
    refuse_unfit(table, model)
    refuse_gaps_in(table, model)


def markdown_of(model: Model) -> str:
    """A table of the rules."""
    lines = [
        f"Rules of {len(model.names)} features, learned from {model.space.n_rows} rows.",
        "",
        "| | rule | kind | spread | limit |",
        "|---:|---|---|---:|---:|",
    ]
    for number, rule in enumerate(model.rules):
        limit = "" if rule.limit is None else f"{rule.limit:.4g}"
        lines.append(f"| {number} | {for_markdown(str(rule))} | {rule.kind} | {rule.spread:.4g} | {limit} |")
    lines += [line for remark in model.reading for line in ("", for_markdown(remark))]
    return "\n".join(lines) + "\n"
