"""A table judged from end to end: its outputs written part by part, and what to tell about it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aspca.files.model_file import write_model
from aspca.jobs.columns import Roles
from aspca.jobs.errors import JobError
from aspca.jobs.findings import Finding, findings_of
from aspca.jobs.judging import Judged, judged
from aspca.jobs.labels import Evaluation, evaluated, truth_of
from aspca.jobs.progress import Progress
from aspca.jobs.score_file import PartWriter, apart, csv_scores, parquet_scores
from aspca.jobs.table import Table, cells_beside
from aspca.jobs.timeline import Timeline
from aspca.judging.incidents import Incident
from aspca.judging.model import Model
from aspca.linalg.arrays import Bools, Floats
from aspca.outputs.csv_text import CsvWriter


@dataclass(frozen=True, eq=False)
class Detection:
    """What was found in a table.

    Attributes
    ----------
    model : Model
    n_rows, n_anomalies : int
    n_partly : int
        Rows with gaps, that were judged by some of the rules only.
    findings : tuple of Finding
        The anomalies of highest score, worst first.
    evaluation : Evaluation or None
        Where labels were given.
    incidents : tuple of Incident, or None
        Where times were given.
    """

    model: Model
    n_rows: int
    n_anomalies: int
    n_partly: int
    findings: tuple[Finding, ...]
    evaluation: Evaluation | None
    incidents: tuple[Incident, ...] | None


def detect(
    model: Model,
    table: Table,
    roles: Roles,
    folder: Path,
    progress: Progress,
    *,
    most: int = 20,
    patience: float | None = None,
    scores_as: str = "csv",
    private: bool = False,
) -> Detection:
    """Judge all rows of a table, and write scores.csv, explanations.csv, model.json and, with times, incidents.csv.

    Parameters
    ----------
    roles : Roles
        Of the table's columns.
    folder : Path
        Where to write; see `outputs.folder`.
    most : int
        How many findings to return.
    patience : float or None
        Two anomalies at most so far apart in time are one incident; None: twice the usual step between rows.
    scores_as : {"csv", "parquet"}
        With "parquet" the file is scores.parquet.
    private : bool
        As in `write_model`, for model.json.
    """
    worst = _Worst(most)
    timeline = None if roles.time is None else Timeline(table, roles.time)
    # Kept only where labels are to be compared with them: else no memory grows with the rows.
    scores: list[Floats] = []
    flagged: list[Bools] = []
    rows = found = partly = 0
    with (
        _score_file(folder, scores_as, roles.name, model.allows_gaps) as write,
        _reason_file(folder, model, roles.name) as reasons,
        ThreadPoolExecutor(max_workers=2) as writers,
    ):
        written: list[Future[None]] = []
        for part in judged(model, table, roles.name, progress):
            anomalies = part.anomalies
            if anomalies is None:
                raise JobError("The model has no limit yet, so no row is an anomaly; fit it with another --limit.")
            # A part is written while the next one is judged; two parts are in memory, and each file has one writer.
            _wait_for(written)
            written = [writers.submit(write, part), writers.submit(_write_reasons, reasons, model, part)]
            worst.add(part)
            if timeline is not None:
                timeline.add(part)
            if roles.label is not None:
                scores.append(part.scores)
                flagged.append(anomalies)
            rows += len(anomalies)
            found += int(anomalies.sum())
            partly += 0 if part.shares is None else int((part.shares < 1.0).sum())
        _wait_for(written)
    if not rows:
        raise JobError(f"{table.description} has no rows to judge.")
    write_model(model, folder / "model.json", naming="table", private=private)
    evaluation = None
    if roles.label is not None:
        truth, meaning = truth_of(cells_beside(table, roles.label), roles.label)
        evaluation = evaluated(truth, np.concatenate(scores), np.concatenate(flagged), meaning)
    incidents = None
    if timeline is not None:
        incidents = timeline.incidents(model, patience)
        _write_incidents(folder / "incidents.csv", model, incidents, timeline)
    return Detection(model, rows, found, partly, worst.findings(model), evaluation, incidents)


def _wait_for(written: Sequence[Future[None]]) -> None:
    """Raises what was raised while writing."""
    for one in written:
        one.result()


class _Worst:
    """The anomalies of highest score so far, and no others."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: list[tuple[float, int, object, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]] = []
        self._named = False

    def add(self, part: Judged) -> None:
        found = part.found
        # More than are kept cannot matter; the stable order keeps the first of equals.
        found = found[np.argsort(-part.scores[found], kind="stable")[: self._most]]
        self._named = part.names is not None
        for i in found:
            name = None if part.names is None else part.names[i]
            self._kept.append((-float(part.scores[i]), int(part.rows[i]), name, part.values[i].copy()))
        self._kept.sort(key=lambda one: one[:2])
        del self._kept[self._most :]

    def findings(self, model: Model) -> tuple[Finding, ...]:
        if not self._kept:
            return ()
        rows = [row for _, row, _, _ in self._kept]
        names = [name for _, _, name, _ in self._kept] if self._named else None
        return findings_of(model.explain(np.array([values for *_, values in self._kept]), rows), rows, names)


@contextlib.contextmanager
def _score_file(folder: Path, scores: str, name: str | None, gaps: bool) -> Iterator[PartWriter]:
    if scores == "parquet":
        with open(folder / "scores.parquet", "xb") as stream, parquet_scores(stream, name, gaps) as write:
            yield write
    else:
        with (
            open(folder / "scores.csv", "x", encoding="utf-8", newline="") as text,
            csv_scores(text, name, gaps) as write,
        ):
            yield write


@contextlib.contextmanager
def _reason_file(folder: Path, model: Model, name: str | None) -> Iterator[CsvWriter]:
    # An empty explanation knows its columns.
    columns = list(model.explain(np.empty((0, len(model.names))), []).lines())
    names = [] if name is None else apart([name], columns)
    with (
        open(folder / "explanations.csv", "x", encoding="utf-8", newline="") as stream,
        CsvWriter(stream, [columns[0], *names, *columns[1:]]) as writer,
    ):
        yield writer


def _write_reasons(writer: CsvWriter, model: Model, part: Judged) -> None:
    found = part.found
    if found.size == 0:
        return
    first, *columns = model.explain(part.values[found], part.rows[found].tolist()).lines().values()
    names = []
    if part.names is not None:
        called = {row: part.names[i] for row, i in zip(part.rows[found].tolist(), found.tolist(), strict=True)}
        names = [[called[row] for row in first]]
    writer.columns(np.array(first), *names, *columns)


def _write_incidents(path: Path, model: Model, incidents: Sequence[Incident], timeline: Timeline) -> None:
    with open(path, "x", encoding="utf-8", newline="") as stream:
        writer = CsvWriter(stream, ["first", "last", "rows", "peak", "rule", "text", "share", "explanation"])
        tops = [int(np.argmax(one.shares)) for one in incidents]
        writer.columns(
            [_moment(one.first) for one in incidents],
            [_moment(one.last) for one in incidents],
            [int(one.rows.size) for one in incidents],
            [timeline.row(one.peak) for one in incidents],
            tops,
            [str(model.rules[top]) for top in tops],
            [float(one.shares[top]) for one, top in zip(incidents, tops, strict=True)],
            [one.text for one in incidents],
        )


def _moment(time: object) -> object:
    return str(time) if isinstance(time, np.datetime64) else float(time)  # type: ignore[arg-type]  # a number otherwise


def gap_remarks(found: Mapping[str | None, Detection]) -> list[str]:
    """Sentences about values that were missing, for each category or for all."""
    remarks = []
    for category, one in found.items():
        gaps = one.model.gaps
        if gaps is None or not (gaps.missing.any() or one.n_partly):
            continue
        cells: dict[str, int] = {}
        for feature, lacking in zip(one.model.space.features, gaps.missing.tolist(), strict=True):
            cells[feature.column] = lacking
        where = sum(lacking > 0 for lacking in cells.values())
        missing = f"{sum(cells.values()):,} values are missing in {where} column{'s' * (where != 1)} of the rows"
        steps = f"{gaps.iterations} steps" + ("" if gaps.converged else ", not converged")
        left_out = f" {gaps.left_out:,} rows could not be used for that." if gaps.left_out else ""
        whose = "" if category is None else f"{category}: "
        remarks.append(
            f"{whose}{missing} learned from; mean and covariance are the likeliest given the others ({steps})."
            f"{left_out} {one.n_partly:,} rows were judged by some of the rules only."
        )
    return remarks
