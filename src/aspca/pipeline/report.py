"""Reports of what was found, and where results come from: the command that gives them again, and what was read.

Names of files stand without their folders, so that the same input gives the same report anywhere.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from aspca.masking import mask_secrets
from aspca.pipeline.judge import judge_table
from aspca.pipeline.models import model_from
from aspca.pipeline.notes import describe_outcomes
from aspca.pipeline.options import Output, Request, files_named, is_named
from aspca.pipeline.outcome import Outcome
from aspca.pipeline.passes import Watcher
from aspca.pipeline.result_folder import category_folder
from aspca.pipeline.sources import open_for
from aspca.preparation import CATEGORIES
from aspca.report.collect import Provenance
from aspca.report.summarize import summarize
from aspca.report.summary import Report
from aspca.settings import DEFAULTS
from aspca.tables.column_checks import find_keys
from aspca.tables.errors import JobError, RequestError
from aspca.tables.paths import is_address, is_postgres
from aspca.tables.request import STANDARD_INPUT, ReadOptions
from aspca.tables.roles import Columns

NAME = "report.html"
# What a report may be, by what a file's name ends in.
FORMATS = {".html": "html", ".htm": "html", ".json": "json", ".md": "markdown"}
MISSING = "Reports need jinja2, which is not installed: pip install 'aspca[report]'"


# ---- where results come from


def provenance_of(request: Request, title: str) -> Provenance:
    """Of what `aspca detect` does."""
    sources = {"judged": request.source, "learned from": request.train, "calibrated with": request.calibrate}
    inputs = [one for use, source in sources.items() if source is not None for one in inputs_of(source, use)]
    elsewhere = request.train is not None
    return Provenance(_base_name(title), version(), _command_of(request), tuple(inputs), learned_elsewhere=elsewhere)


def version() -> str:
    # Importing the root by name would count as importing all that it names; it is loaded anyhow.
    return str(sys.modules["aspca"].__version__)


def inputs_of(source: Any, purpose: str) -> list[tuple[str, str, str | None]]:
    """The files that were read, with their purpose and checksums; of a table in memory that it was one."""
    if not isinstance(source, list):
        return [("a table in memory", purpose, None)]
    databases = [(mask_secrets(path), purpose, None) for path in source if is_postgres(path)]
    return [*databases, *((_name_input(path, source), purpose, _checksum(path)) for path in files_named(source))]


def _base_name(path: str) -> str:
    """A name of a file without its folder, an address without what is secret in it; whatever else as it is."""
    return mask_secrets(path) if is_address(path) else os.path.basename(path.rstrip(os.sep)) or path


def _name_input(path: str, source: Sequence[str]) -> str:
    if path == STANDARD_INPUT:
        return "standard input"
    folder = next((one for one in source if os.path.isdir(one) and path.startswith(os.path.join(one, ""))), None)
    # What folders inside the one that was named are called is part of the table.
    return _base_name(path) if folder is None else os.path.join(_base_name(folder), os.path.relpath(path, folder))


def _checksum(path: str) -> str | None:
    if path == STANDARD_INPUT or not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _command_of(request: Request) -> str:
    """`aspca detect` with all options that are not the defaults."""
    words = ["aspca", "detect", *_name_files(request.source)]
    for option, source in (("--train", request.train), ("--calibrate", request.calibrate)):
        words += [word for name in _name_files(source) for word in (option, name)] if source is not None else []
    words += _write_options(request.columns, Columns()) + _write_options(request.reading, ReadOptions())
    for name, default in DEFAULTS.items():
        value = getattr(request.settings, name, default)
        if name == "rules":
            words += [word for rule in value or () for word in ("--rule", rule)]
        elif value != default:
            words += [_flag(name), str(value)]
    if request.output.patience is not None:
        words += ["--patience", str(request.output.patience)]
    words += ["--private"] if request.output.private else []
    return " ".join(shlex.quote(mask_secrets(word)) for word in words)


def _name_files(source: Any) -> list[str]:
    if not is_named(source):
        return ["table.csv"]
    return [path if path == STANDARD_INPUT else _base_name(path) for path in source]


def _write_options(given: Columns | ReadOptions, defaults: Columns | ReadOptions) -> list[str]:
    words: list[str] = []
    for name in (option.name for option in fields(given)):
        value = getattr(given, name)
        if value == getattr(defaults, name):
            continue
        if isinstance(value, bool):
            words.append(_flag(name if value else f"no_{name}"))
        else:
            several: Sequence[Any] = value if isinstance(value, tuple) else (value,)
            # What categories are without a word.
            words += [word for one in several for word in (_flag(name), str(one).removesuffix("=one-hot"))]
    return words


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


# ---- reports


def can_write() -> bool:
    """Whether pages can be made: the extra is installed."""
    return find_spec("jinja2") is not None


def refuse_missing(kind: str) -> None:
    """Raise JobError if a report of this kind cannot be made, for want of the extra."""
    if kind == "html" and not can_write():
        raise JobError(f"{MISSING}.")


def format_of(path: str | os.PathLike[str] | None, asked: str | None = None) -> str:
    """The format asked for, or else the one that a file's name ends in; HTML where nothing says so."""
    return asked or FORMATS.get(Path(path or "").suffix.lower(), "html")


def text_of(report: Report, kind: str, row: int | None = None) -> str:
    """A report as text: ``html``, ``json`` or ``markdown``, of one row where it is given.

    JobError: the extra is not installed, there is no such format, or no such row among the anomalies shown.
    """
    if kind == "html":
        refuse_missing(kind)
        from aspca.report.page import render_page

        return render_page(report)
    from aspca.report.documents import write_json, write_markdown

    if kind == "json":
        return write_json(report)
    if kind != "markdown":
        raise JobError(f"A report is written as html, json or markdown, not as {kind!r}.")
    if row is not None and all(one.row != row for one in report.anomalies):
        raise RequestError(
            f"--row: row {row} is not among the {len(report.anomalies):,} anomalies of the report; aspca explain "
            "tells of any row."
        )
    return write_markdown(report, row)


def write_reports(
    folder: Path, outcomes: Mapping[str | None, Outcome], whence: Provenance, remarks: Sequence[str], *, private: bool
) -> list[str]:
    """report.html for each model: in the folder, or in that of each category. What is to be said if it cannot be."""
    if not can_write():
        return [f"No {NAME} was written. {MISSING}."]
    for number, (category, outcome) in enumerate(outcomes.items()):
        if outcome.evidence is not None:
            place = folder if category is None else folder / category_folder(number)
            report = summarize(outcome.evidence, replace(whence, category=category), remarks, private=private)
            (place / NAME).write_text(text_of(report, "html"), encoding="utf-8", newline="\n")
    return []


def report_by_model(
    model: str,
    files: list[str],
    columns: Columns,
    reading: ReadOptions,
    watcher: Watcher,
    *,
    certificates: bool = False,
    private: bool = False,
) -> Report:
    """What a stored model, a file or standard input ("-"), finds in a table.

    With `certificates` the components are solved for and checked; where it is `private` no value of a row is shown.
    """
    stored = model_from(model, files)
    with open_for(stored, files, reading, watcher) as table:
        categories = [plan.name for plan in stored.preparation.columns if plan.kind in CATEGORIES]
        keys = find_keys(table, columns.id, columns.time, columns.label, categories)
        outcome = judge_table(stored, table, keys, watcher, Output(top=0))
        if certificates:
            # Solved once, and then part of the model.
            watcher.stage("Solving", unit="")
            stored.components.subspace()
        remarks = (*table.remarks, *describe_outcomes({None: outcome}, "the table learned from"))
        flags = [word for word, asked in (("--certificates", certificates), ("--private", private)) if asked]
        words = [*map(_base_name, (model, *files)), *_write_options(columns, Columns()), *flags]
        inputs = [*inputs_of(files, "judged"), *([] if model == "-" else inputs_of([model], "the model"))]
        command = f"aspca report {shlex.join(words)}"
        whence = Provenance(_base_name(table.description), version(), command, tuple(inputs), learned_elsewhere=True)
    if outcome.evidence is None:
        raise ValueError("A report needs what was gathered for it.")
    return summarize(outcome.evidence, whence, remarks, private=private)
