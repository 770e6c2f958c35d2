"""A stored model, a table, and the report of what the one finds in the other."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field

from aspca.engines.request import ReadOptions
from aspca.jobs.column_advice import refuse_absent
from aspca.jobs.judged_table import Judging, judge_table
from aspca.jobs.keys import Keys, ids_in
from aspca.jobs.progress import Watcher
from aspca.jobs.remarks import remarks_on
from aspca.jobs.requests import Output
from aspca.jobs.sources import open_for
from aspca.jobs.stored import model_from, refuse_gaps_in, refuse_unfit
from aspca.jobs.tables import TableSource
from aspca.jobs.whence import base_name, inputs_of, version
from aspca.preparation import CATEGORIES
from aspca.report.evidence import Provenance as Whence
from aspca.report.summarize import summarize as report_of
from aspca.report.summary import Report


@dataclass(frozen=True)
class Asked:
    """What a report is to be of.

    Attributes
    ----------
    model : str
        A model file; "-" is standard input.
    files : tuple of str
        What is judged.
    id : tuple of str
    time, label : str or None
        Columns that name and time rows, and say which are anomalies.
    reading : ReadOptions
    certificates : bool
        Whether to solve for the components, and check them.
    private : bool
        Whether to show no value of a row.
    """

    model: str
    files: tuple[str, ...]
    id: tuple[str, ...] = ()
    time: str | None = None
    label: str | None = None
    reading: ReadOptions = field(default_factory=ReadOptions)
    certificates: bool = False
    private: bool = False


def report_by_model(asked: Asked, watcher: Watcher) -> Report:
    """What a stored model finds in a table.

    Raises
    ------
    JobError, SourceError, ModelFileError
        One sentence: the model cannot be read, the table does not fit it, or a column is not there.
    """
    model = model_from(asked.model)
    watcher.stage("Opening", unit="")
    with open_for(model, list(asked.files), asked.reading, "") as table:
        refuse_unfit(table, model)
        refuse_gaps_in(table, model)
        categories = tuple(plan.name for plan in model.preparation.columns if plan.kind in CATEGORIES)
        keys = _keys(table, asked, categories)
        outcome = judge_table(model, table, Judging(keys, Output(top=0), watcher), None)
        if asked.certificates:
            # Solved once, and then part of the model.
            watcher.stage("Solving", unit="")
            model.components.subspace()
        remarks = (*table.remarks, *remarks_on({None: outcome}, "the table learned from"))
        whence = Whence(
            base_name(table.description), version(), _command(asked), _inputs(asked), learned_elsewhere=True
        )
    if outcome.evidence is None:
        raise ValueError("A report needs what was gathered for it.")
    return report_of(outcome.evidence, whence, remarks, private=asked.private)


def _keys(table: TableSource, asked: Asked, categories: Sequence[str]) -> Keys:
    for option, column in (("--time", asked.time), ("--label", asked.label)):
        if column is not None:
            refuse_absent(table, column, option)
    return Keys(ids_in(table, asked.id), asked.time, tuple(categories), asked.label)


def _command(asked: Asked) -> str:
    words = ["aspca", "report", base_name(asked.model), *map(base_name, asked.files)]
    words += [word for name in asked.id for word in ("--id", name)]
    words += [] if asked.time is None else ["--time", asked.time]
    words += [] if asked.label is None else ["--label", asked.label]
    words += ["--certificates"] if asked.certificates else []
    words += ["--private"] if asked.private else []
    return " ".join(map(shlex.quote, words))


def _inputs(asked: Asked) -> tuple[tuple[str, str, str | None], ...]:
    model = [] if asked.model == "-" else inputs_of([asked.model], "the model")
    return (*inputs_of(list(asked.files), "judged"), *model)
