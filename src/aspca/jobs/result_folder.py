"""The files of a folder that a job writes: scores, explanations, changes, incidents, categories."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import numpy as np

from aspca.identities.wording import number_text
from aspca.jobs.judged_rows import JudgedRows, verdict_fields, verdict_part
from aspca.jobs.keys import Keys
from aspca.judging.model import Model
from aspca.linalg.ranking import round_for_ranking
from aspca.outputs.csv_text import CsvWriter
from aspca.outputs.row_file import parquet_file
from aspca.outputs.text_rows import csv_rows

if TYPE_CHECKING:
    from aspca.judging.change_text import Change
    from aspca.judging.incidents import Incident

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
    fields = verdict_fields(model, keys, reasons=False)
    with contextlib.ExitStack() as stack:
        if scores == "parquet":
            stream = stack.enter_context(open(folder / "scores.parquet", "xb"))
            write = stack.enter_context(parquet_file(stream, fields))
        else:
            text = stack.enter_context(_new_text(folder / "scores.csv"))
            write = stack.enter_context(csv_rows(text, fields))
        yield [
            lambda judged: write(verdict_part(model, judged)),
            stack.enter_context(_explanations(folder / "explanations.csv", model, keys)),
        ]


def _new_text(path: Path) -> TextIO:
    return open(path, "x", encoding="utf-8", newline="")


@contextlib.contextmanager
def _explanations(path: Path, model: Model, keys: Keys) -> Iterator[RowWriter]:
    """A function that writes why the anomalies among some rows are some."""
    # An empty explanation knows its columns.
    columns = list(model.explain(np.empty((0, len(model.names))), []).lines())
    with _new_text(path) as stream, CsvWriter(stream, [columns[0], *keys.header(columns), *columns[1:]]) as writer:

        def write(judged: JudgedRows) -> None:
            flagged = judged.take(judged.flagged)
            if not len(flagged):
                return
            made = flagged.explained(model).lines()
            made |= {name: _written(list(made[name])) for name in ("value", "needed")}
            rows, *cells = made.values()
            position_of = {row: position for position, row in enumerate(flagged.rows.tolist())}
            beside = flagged.take(np.array([position_of[row] for row in rows])).key_columns()
            writer.columns(np.array(rows), *beside, *cells)

        yield write


def write_incidents(path: Path, model: Model, incidents: Sequence[Incident], flagged: JudgedRows | None) -> None:
    """incidents.csv; `flagged` are what positions of incidents stand for. No rule is named where most lies outside.

    The row `peak` is the worst of an incident, and the key columns that follow are its own.
    """
    from aspca.judging.change_text import moment_text

    before, after = ["first", "last", "kind", "rows", "peak"], ["rule", "text", "share", "explanation"]
    peaks = (
        None if flagged is None else flagged.take(np.array([incident.peak for incident in incidents], dtype=np.intp))
    )
    titles = [] if peaks is None else peaks.keys.header([*before, *after])
    with _new_text(path) as stream:
        writer = CsvWriter(stream, [*before, *titles, *after])
        causes = [main_cause(incident, model) for incident in incidents]
        writer.columns(
            [moment_text(incident.first) for incident in incidents],
            [moment_text(incident.last) for incident in incidents],
            [incident.kind for incident in incidents],
            [int(incident.rows.size) for incident in incidents],
            [] if peaks is None else peaks.rows,
            *([] if peaks is None else peaks.key_columns()),
            [rule for rule, _, _ in causes],
            [text for _, text, _ in causes],
            [share for _, _, share in causes],
            [incident.text for incident in incidents],
        )


def write_changes(path: Path, changes: Sequence[Change], *, timed: bool) -> None:
    """changes.csv: a line for each rule or column that changed; what changed at once has one number.

    Rows `first` to `last` in time order, `since` and `until` their times if there are any; `rows` of which `off` are
    beyond the rule's limit.
    """
    from aspca.judging.change_text import events_of, moment_text

    header = ["change", "first", "last", "since", "until", "to_end", "rows", "off", "rule", "column", "text"]
    header += ["size", "at_first", "at_last", "spreads", "explanation"]
    told = [(number, change) for number, event in enumerate(events_of(changes)) for change in event]
    with _new_text(path) as stream, CsvWriter(stream, header) as writer:
        writer.columns(
            [number for number, _ in told],
            *([getattr(change, end) for _, change in told] for end in ("first", "last")),
            *(
                [moment_text(getattr(change, end)) if timed else None for _, change in told]
                for end in ("since", "until")
            ),
            [change.to_end for _, change in told],
            [change.n_rows for _, change in told],
            [change.n_off for _, change in told],
            [change.rule for _, change in told],
            [change.column for _, change in told],
            [change.what for _, change in told],
            *([getattr(change, each) for _, change in told] for each in ("size", "at_first", "at_last", "spreads")),
            [change.text for _, change in told],
        )


def write_excluded(path: Path, model: Model) -> None:
    """excluded.csv: the first cells that relations were not learned from, with what the others of their row let
    expect."""
    excluded = model.excluded
    if excluded is None or not excluded.shown.rows.size:
        return
    shown = excluded.shown
    with _new_text(path) as stream, CsvWriter(stream, ["row", "column", "value", "expected"]) as writer:
        writer.columns(
            shown.rows.tolist(),
            [model.names[column] for column in shown.columns.tolist()],
            _written(shown.values.tolist()),
            _written([float(f"{value:.6g}") for value in shown.expected.tolist()]),
        )


def main_cause(incident: Incident, model: Model) -> tuple[int | None, str, float]:
    """What makes up most of an incident's score: a rule's number, its text, its share; or what lies outside them."""
    inside = float(incident.shares.sum())
    if inside < 0.5:
        return None, "outside the rules", 1.0 - inside
    top = int(np.argmax(round_for_ranking(incident.shares)))
    return top, str(model.rules[top]), float(incident.shares[top])


def _written(values: Sequence[object]) -> list[object]:
    """Cells as the file that was read has them: no point after a whole number, empty where missing."""
    return [
        (None if math.isnan(value) else number_text(value)) if isinstance(value, float) else value for value in values
    ]


def write_categories(path: Path, lines: Sequence[tuple[str, str, int, int, float]]) -> None:
    """categories.csv: which folder holds which category, its rows, anomalies and limit.

    Scores over their category's limit can be ranked together.
    """
    with (
        _new_text(path) as stream,
        CsvWriter(stream, ["category", "folder", "rows", "anomalies", "limit"]) as writer,
    ):
        writer.columns(*(list(column) for column in zip(*lines, strict=True)))
