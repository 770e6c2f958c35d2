"""All rows of a table judged by one model: what is found, and written where a folder is given."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from aspca.files.model_file import write_model
from aspca.jobs.column_kinds import is_clock
from aspca.jobs.drift import Shifts, Timeline, drift_of
from aspca.jobs.errors import JobError
from aspca.jobs.judged_rows import JudgedRows, Worst, joined, judged_rows
from aspca.jobs.keys import Evaluation, Keys, evaluated, truth_of
from aspca.jobs.options import Output
from aspca.jobs.outcome import Outcome, findings_of
from aspca.jobs.passes import Watcher
from aspca.jobs.result_folder import folder_files, write_changes, write_excluded, write_incidents
from aspca.jobs.row_notes import Copies, Runs, clock_remarks, stuck_remarks
from aspca.jobs.tables import TableSource, row_numbers
from aspca.judging.changes import Crossings
from aspca.judging.model import Model
from aspca.linalg.arrays import Bools, Floats

if TYPE_CHECKING:
    from aspca.jobs.report_data import Witness


@dataclass(frozen=True, eq=False)
class Judging:
    """How rows are judged, whatever the model: the columns beside them, what is told and written, and who watches."""

    keys: Keys
    output: Output
    watcher: Watcher


def judge_table(
    model: Model, table: TableSource, how: Judging, folder: Path | None, category: str | None = None
) -> Outcome:
    """Judge all rows of a table; write scores, explanations, model.json, changes if any, and, with times, incidents."""
    keys, output = how.keys, how.output
    crossings, shifts, runs, copies = Crossings(model), Shifts(model), Runs(model.names), Copies()
    timeline = None if keys.time is None else Timeline(table, keys.time)
    witness = _witness(model, table, how) if output.report else None
    worst, unread = (Worst(max(output.top, 0 if witness is None else witness.most)) for _ in range(2))
    # Kept only where labels are to be compared with them: else no memory grows with the rows.
    kept: list[tuple[Floats, Bools]] = []
    n_rows = n_anomalies = n_errors = n_partly = n_unread = 0
    with folder_files(folder, model, keys, output.scores) as writers, ThreadPoolExecutor(2) as pool:
        written: list[Future[None]] = []
        for judged in judged_rows(model, table, keys, how.watcher):
            if judged.anomalies is None:
                raise JobError("The model has no limit yet, so no row is an anomaly; fit it with another --limit.")
            # Rows are written while the next ones are judged; each file has one writer.
            _wait_for(written)
            written = [pool.submit(write, judged) for write in writers]
            bad = judged.judgement.has_bad_cells
            rest = np.flatnonzero(np.asarray(judged.anomalies) & ~bad)
            worst.add(judged.take(rest), judged.scores[rest])
            # In the order of the table.
            unread.add(judged.take(np.flatnonzero(bad)), np.zeros(int(bad.sum())))
            crossings.add(judged.judgement, judged.values)
            shifts.add(judged.values)
            runs.add(judged.values)
            copies.add(judged.values, judged.rows, ~bad)
            if witness is not None:
                witness.add(judged)
            if timeline is not None:
                timeline.add(judged)
            if keys.label is not None:
                kept.append((judged.scores, judged.anomalies))
            n_rows += len(judged)
            n_anomalies += judged.flagged.size
            n_errors += _count_errors(model, judged)
            n_unread += int(bad.sum())
            n_partly += int((judged.judgement.share_of_rules < 1.0).sum()) if model.allows_gaps else 0
        _wait_for(written)
    if not n_rows:
        raise JobError(f"{table.description} has no rows to judge.")
    when, numbers = None if timeline is None else timeline.when, row_numbers(table, np.arange(n_rows))
    drift = drift_of(model, table, keys, crossings, when, worst.most, how.watcher)
    if folder is not None and drift.changes:
        write_changes(folder / "changes.csv", drift.changes, timed=timeline is not None)
    incidents, flagged = None, None
    if timeline is not None:
        incidents, flagged = timeline.incidents(model, output.patience, drift.course, drift.changes, drift.beyond)
        if folder is not None:
            write_incidents(folder / "incidents.csv", model, incidents, flagged)
    if folder is not None:
        write_model(model, folder / "model.json", naming="table", private=output.private)
        write_excluded(folder / "excluded.csv", model)
    shown, beyond = drift.told_first(worst.rows(model), worst.most)
    first = unread.rows(model)
    if len(first):
        shown, beyond = joined([first, shown]), np.concatenate([np.ones(len(first), dtype=np.bool_), beyond])
    evaluation = None if keys.label is None else _evaluation(table, keys.label, kept)
    evidence = None
    if witness is not None:
        evidence = witness.evidence(shown, beyond, drift, incidents or (), flagged, n_partly, evaluation)
    told = np.r_[: min(output.top, len(first)), len(first) : min(len(first) + output.top, len(shown))]
    shown, beyond = shown.take(told), beyond[told]
    return Outcome(
        model=model,
        n_rows=n_rows,
        n_anomalies=n_anomalies,
        n_errors=n_errors,
        n_partly=n_partly,
        n_unread=n_unread,
        n_beyond=n_anomalies if drift.beyond is None else int(drift.beyond.size),
        changes=drift.changes,
        findings=findings_of(model, shown, beyond, category),
        explanation=shown.explained(model, named=True),
        evaluation=evaluation,
        incidents=incidents,
        shifts=shifts.in_deviations,
        remarks=(
            *([] if keys.time is None or when is None else clock_remarks(keys.time, when, numbers)),
            *stuck_remarks(runs, numbers, timed=keys.time is not None or is_clock(keys.ids[0] if keys.ids else None)),
            *copies.describe(),
        ),
        keys=keys,
        evidence=evidence,
    )


def _count_errors(model: Model, judged: JudgedRows) -> int:
    judgement = judged.judgement
    if judgement.errors is not None:
        return int(judgement.errors.sum())
    violating = np.asarray(judgement.broken)[:, : model.n_identities].any(axis=1)
    return int((violating | judgement.has_bad_cells).sum())


def _witness(model: Model, table: TableSource, how: Judging) -> Witness:
    # Not needed where no report is asked for.
    from aspca.jobs.report_data import Witness

    return Witness(model, table, how.keys, how.watcher)


def _wait_for(written: Sequence[Future[None]]) -> None:
    """Raises what was raised while writing."""
    for future in written:
        future.result()


def _evaluation(table: TableSource, label: str, kept: Sequence[tuple[Floats, Bools]]) -> Evaluation:
    truth, meaning = truth_of(table, label)
    scores, anomalies = (np.concatenate(arrays) for arrays in zip(*kept, strict=True))
    return evaluated(truth, scores, anomalies, meaning)
