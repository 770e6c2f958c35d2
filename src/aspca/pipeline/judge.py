"""All rows of a table judged by one model: what is found, and written where a folder is given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path

import numpy as np

from aspca.findings.changes import Crossings
from aspca.linalg.arrays import Bools, Floats
from aspca.model.model import Model
from aspca.model_file.model_file import write_model
from aspca.pipeline.drift import Shifts, Timeline, measure_drift
from aspca.pipeline.judged_rows import JudgedRows, TopRows, join_rows, judged_rows
from aspca.pipeline.options import Output
from aspca.pipeline.outcome import Outcome, make_findings
from aspca.pipeline.passes import Watcher
from aspca.pipeline.result_folder import folder_files, write_changes, write_excluded, write_incidents
from aspca.pipeline.row_notes import Copies, Runs, describe_runs, describe_times
from aspca.tables.column_advice import is_clock
from aspca.tables.errors import JobError
from aspca.tables.keys import Keys, evaluate, read_labels
from aspca.tables.memory import number_rows
from aspca.tables.table import Table


def judge_table(
    model: Model,
    table: Table,
    keys: Keys,
    watcher: Watcher,
    output: Output,
    folder: Path | None = None,
    category: str | None = None,
) -> Outcome:
    """Judge all rows of a table; write scores, explanations, model.json, changes if any, and, with times, incidents."""
    found = _Found(model, table, keys, watcher, output)
    with folder_files(folder, model, keys, output.scores) as writers, ThreadPoolExecutor(2) as pool:
        written: Iterable[None] = ()
        for judged in judged_rows(model, table, keys, watcher):
            if judged.anomalies is None:
                raise JobError("The model has no limit yet, so no row is an anomaly; fit it with another --limit.")
            # Rows are written while the next ones are judged; each file has one writer, whose errors are raised here.
            list(written)
            written = pool.map(lambda write, rows: write(rows), writers, repeat(judged))
            found.add(judged, judged.anomalies)
        list(written)
    if not found.counts["rows"]:
        raise JobError(f"{table.description} has no rows to judge.")
    return found.outcome(folder, category)


class _Found:
    """What is found in the rows of a table, which are added part by part."""

    def __init__(self, model: Model, table: Table, keys: Keys, watcher: Watcher, output: Output) -> None:
        self._model, self._table, self._keys, self._watcher, self._output = model, table, keys, watcher, output
        self._crossings, self._shifts = Crossings(model), Shifts(model)
        self._runs, self._copies = Runs(model.names), Copies()
        self._timeline = None if keys.time is None else Timeline(table, keys.time)
        self._report = None
        if output.report:
            # Not needed where no report is asked for.
            from aspca.pipeline.report_data import ReportData

            self._report = ReportData(model, table, keys, watcher)
        most = max(output.top, 0 if self._report is None else self._report.most)
        self._worst, self._unread = TopRows(most), TopRows(most)
        # Kept only where labels are to be compared with them: else no memory grows with the rows.
        self._kept: list[tuple[Floats, Bools]] = []
        self.counts: Counter[str] = Counter()

    def add(self, judged: JudgedRows, anomalies: Bools) -> None:
        """The next rows, and which of them are anomalies (n,)."""
        judgement, bad = judged.judgement, judged.judgement.has_bad_cells
        rest = np.flatnonzero(anomalies & ~bad)
        self._worst.add(judged.take(rest), judged.scores[rest])
        # In the order of the table.
        self._unread.add(judged.take(np.flatnonzero(bad)), np.zeros(int(bad.sum())))
        self._crossings.add(judgement, judged.values)
        self._shifts.add(judged.values)
        self._runs.add(judged.values)
        self._copies.add(judged.values, judged.rows, ~bad)
        for each in (self._report, self._timeline):
            if each is not None:
                each.add(judged)
        if self._keys.label is not None:
            self._kept.append((judged.scores, anomalies))
        errors = judgement.errors
        if errors is None:
            errors = np.asarray(judgement.broken)[:, : self._model.n_identities].any(axis=1) | bad
        self.counts["rows"] += len(judged)
        self.counts["anomalies"] += judged.flagged.size
        self.counts["errors"] += int(errors.sum())
        self.counts["unread"] += int(bad.sum())
        self.counts["partly"] += int((judgement.share_of_rules < 1.0).sum()) if self._model.allows_gaps else 0

    def outcome(self, folder: Path | None, category: str | None) -> Outcome:
        """All of it, once every row was added; what is known only now is written into the folder."""
        model, keys, top = self._model, self._keys, self._output.top
        when = None if self._timeline is None else self._timeline.when
        drift = measure_drift(model, self._table, keys, self._crossings, when, self._worst.most, self._watcher)
        incidents, flagged = None, None
        if self._timeline is not None:
            incidents, flagged = self._timeline.incidents(model, self._output.patience, drift)
        if folder is not None:
            if drift.changes:
                write_changes(folder / "changes.csv", drift.changes, timed=incidents is not None)
            if incidents is not None:
                write_incidents(folder / "incidents.csv", model, incidents, flagged)
            write_model(model, folder / "model.json", naming="table", private=self._output.private)
            write_excluded(folder / "excluded.csv", model)
        shown, beyond = drift.rank_first(self._worst.rows(model), self._worst.most)
        first = self._unread.rows(model)
        if len(first):
            shown, beyond = join_rows([first, shown]), np.concatenate([np.ones(len(first), dtype=np.bool_), beyond])
        evaluation, evidence = None, None
        if keys.label is not None:
            truth, meaning = read_labels(self._table, keys.label)
            scores, anomalies = (np.concatenate(arrays) for arrays in zip(*self._kept, strict=True))
            evaluation = evaluate(truth, scores, anomalies, meaning)
        if self._report is not None:
            n_partly = self.counts["partly"]
            evidence = self._report.evidence(shown, beyond, drift, incidents or (), flagged, n_partly, evaluation)
        told = np.r_[: min(top, len(first)), len(first) : min(len(first) + top, len(shown))]
        shown, beyond = shown.take(told), beyond[told]
        n_anomalies, why = self.counts["anomalies"], shown.explained(model, named=True)
        return Outcome(
            model=model,
            n_rows=self.counts["rows"],
            n_anomalies=n_anomalies,
            n_errors=self.counts["errors"],
            n_partly=self.counts["partly"],
            n_unread=self.counts["unread"],
            n_beyond=n_anomalies if drift.beyond is None else int(drift.beyond.size),
            changes=drift.changes,
            findings=make_findings(shown, why, beyond, category),
            explanation=why,
            evaluation=evaluation,
            incidents=incidents,
            shifts=self._shifts.in_deviations,
            remarks=self._describe_rows(),
            keys=keys,
            evidence=evidence,
        )

    def _describe_rows(self) -> tuple[str, ...]:
        """What was noticed about the rows."""
        keys, numbers = self._keys, number_rows(self._table, np.arange(self.counts["rows"]))
        times = []
        if keys.time is not None and self._timeline is not None:
            times = describe_times(keys.time, self._timeline.when, numbers)
        timed = keys.time is not None or is_clock(keys.ids[0] if keys.ids else None)
        return (*times, *describe_runs(self._runs, numbers, timed=timed), *self._copies.describe())
