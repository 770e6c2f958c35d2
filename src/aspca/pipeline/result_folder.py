"""The files of a folder that a job writes: scores, explanations, changes, incidents, categories."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
import numpy.typing as npt

from aspca.findings.changes import Change, events_of, moment_text
from aspca.findings.explanation import Explanation
from aspca.findings.groups import main_rule
from aspca.findings.incidents import Incident
from aspca.identities.identity import write_number
from aspca.model.model import Model
from aspca.pipeline.judged_rows import JudgedRows
from aspca.pipeline.score import score_columns, score_fields
from aspca.tables.keys import Keys
from aspca.writers.text_rows import CsvWriter, csv_rows

if TYPE_CHECKING:
    from aspca.pipeline.outcome import Outcome

RowWriter = Callable[[JudgedRows], None]


def category_folder(number: int) -> str:
    """The folder of a category: categories are other people's text, and no names of files."""
    return f"category-{number:03d}"


# ---- the folder of `detect`


@contextlib.contextmanager
def folder_files(folder: Path | None, model: Model, keys: Keys, scores: str) -> Iterator[list[RowWriter]]:
    """Functions that write rows to scores.csv (or scores.parquet) and explanations.csv; none where no folder is."""
    if folder is None:
        yield []
        return
    # Why rows are anomalies is told at length beside them.
    fields = score_fields(model, keys, reasons=False)
    with contextlib.ExitStack() as stack:
        if scores == "parquet":
            from aspca.writers.arrow_rows import parquet_rows

            stream = stack.enter_context(open(folder / "scores.parquet", "xb"))
            write = stack.enter_context(parquet_rows(stream, fields))
        else:
            text = stack.enter_context(_new_text(folder / "scores.csv"))
            write = stack.enter_context(csv_rows(text, fields))
        yield [
            lambda judged: write(score_columns(model, judged.rows, judged.key_columns(), judged.judgement)),
            stack.enter_context(_explanations(folder / "explanations.csv", model, keys)),
        ]


def _new_text(path: Path) -> TextIO:
    return open(path, "x", encoding="utf-8", newline="")


@contextlib.contextmanager
def _explanations(path: Path, model: Model, keys: Keys) -> Iterator[RowWriter]:
    """A function that writes why the anomalies among some rows are some."""
    # An empty explanation knows its columns.
    columns = list(Explanation.of(model, np.empty((0, len(model.names))), []).lines())
    with _new_text(path) as stream, CsvWriter(stream, [columns[0], *keys.header(columns), *columns[1:]]) as writer:

        def write(judged: JudgedRows) -> None:
            flagged = judged.take(judged.flagged)
            if not len(flagged):
                return
            made = flagged.explained(model).lines()
            made |= {name: _as_written(list(made[name])) for name in ("value", "needed")}
            rows, *cells = made.values()
            position_of = {row: position for position, row in enumerate(flagged.rows.tolist())}
            beside = flagged.take(np.array([position_of[row] for row in rows])).key_columns()
            writer.columns(np.array(rows), *beside, *cells)

        yield write


def _write_csv(path: Path, columns: Mapping[str, Sequence[object] | npt.NDArray[Any]]) -> None:
    """A file of columns by their titles."""
    with _new_text(path) as stream, CsvWriter(stream, list(columns)) as writer:
        writer.columns(*columns.values())


def write_incidents(path: Path, model: Model, incidents: Sequence[Incident], flagged: JudgedRows | None) -> None:
    """incidents.csv; `flagged` are what positions of incidents stand for. No rule is named where most lies outside.

    The row `peak` is the worst of an incident, and the key columns that follow are its own.
    """
    causes = [main_cause(incident, model) for incident in incidents]
    before: dict[str, Any] = {
        "first": [moment_text(incident.first) for incident in incidents],
        "last": [moment_text(incident.last) for incident in incidents],
        "kind": [incident.kind for incident in incidents],
        "rows": [int(incident.rows.size) for incident in incidents],
        "peak": [],
    }
    after: dict[str, Any] = {
        "rule": [rule for rule, _, _ in causes],
        "text": [text for _, text, _ in causes],
        "share": [share for _, _, share in causes],
        "explanation": [incident.text for incident in incidents],
    }
    keys: dict[str, Any] = {}
    if flagged is not None:
        peaks = flagged.take(np.array([incident.peak for incident in incidents], dtype=np.intp))
        before["peak"] = peaks.rows
        keys = dict(zip(peaks.keys.header([*before, *after]), peaks.key_columns(), strict=True))
    _write_csv(path, {**before, **keys, **after})


def main_cause(incident: Incident, model: Model) -> tuple[int | None, str, float]:
    """What makes up most of an incident's score: a rule's number, its text, its share; or what lies outside them."""
    rule, share = main_rule(incident.shares)
    return rule, "outside the rules" if rule is None else str(model.rules[rule]), share


def write_changes(path: Path, changes: Sequence[Change], *, timed: bool) -> None:
    """changes.csv: a line for each rule or column that changed; what changed at once has one number.

    Rows `first` to `last` in time order, `since` and `until` their times if there are any; `rows` of which `off` are
    beyond the rule's limit.
    """
    events = events_of(changes)
    told = [change for event in events for change in event]
    attributes = {"to_end": "to_end", "rows": "n_rows", "off": "n_off", "rule": "rule", "column": "column"}
    attributes |= {"text": "what", "size": "size", "at_first": "at_first", "at_last": "at_last", "spreads": "spreads"}
    _write_csv(
        path,
        {
            "change": [number for number, event in enumerate(events) for _ in event],
            "first": [change.first for change in told],
            "last": [change.last for change in told],
            "since": [moment_text(change.since) if timed else None for change in told],
            "until": [moment_text(change.until) if timed else None for change in told],
            **{title: [getattr(change, name) for change in told] for title, name in attributes.items()},
            "explanation": [change.text for change in told],
        },
    )


def write_excluded(path: Path, model: Model) -> None:
    """excluded.csv: the first cells that relations were not learned from, with what the others of their row let
    expect."""
    if model.excluded is None or not model.excluded.shown.rows.size:
        return
    shown = model.excluded.shown
    columns: dict[str, Any] = {
        "row": shown.rows.tolist(),
        "column": [model.names[column] for column in shown.columns.tolist()],
        "value": _as_written(shown.values.tolist()),
        "expected": _as_written([float(f"{value:.6g}") for value in shown.expected.tolist()]),
    }
    _write_csv(path, columns)


def write_categories(path: Path, outcomes: Mapping[str, Outcome]) -> None:
    """categories.csv: which folder holds which category, its rows, anomalies and limit.

    Scores over their category's limit can be ranked together.
    """
    columns: dict[str, Any] = {
        "category": list(outcomes),
        "folder": [category_folder(number) for number in range(len(outcomes))],
        "rows": [outcome.n_rows for outcome in outcomes.values()],
        "anomalies": [outcome.n_anomalies for outcome in outcomes.values()],
        "limit": [outcome.limit for outcome in outcomes.values()],
    }
    _write_csv(path, columns)


def _as_written(values: Sequence[object]) -> list[object]:
    """Cells as the file that was read has them: no point after a whole number, empty where missing."""
    return [
        (None if math.isnan(value) else write_number(value)) if isinstance(value, float) else value for value in values
    ]
