"""What a report is made of, taken from a table while its rows are judged, and from the few that it shows afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from aspca.linalg.arrays import Bools, Ints, round_for_ranking
from aspca.model.model import Model
from aspca.pipeline.judged_rows import JudgedRows, TopRows, join_rows
from aspca.pipeline.outcome import make_findings
from aspca.pipeline.passes import Watcher, read_features
from aspca.preparation.columns import cell_text
from aspca.report.collect import (
    SAMPLED,
    WORST,
    Evidence,
    Neighbourhood,
    RowStatistics,
    ShownRows,
    Span,
    scatter,
)
from aspca.tables.keys import Evaluation, Keys, simplify_cell
from aspca.tables.memory import RowsView
from aspca.tables.table import Table

if TYPE_CHECKING:
    from aspca.findings.incidents import Incident
    from aspca.pipeline.drift import Drift


class ReportData:
    """Sees all rows of a table as they are judged, and looks up those that are shown."""

    most = WORST

    def __init__(self, model: Model, table: Table, keys: Keys, watcher: Watcher) -> None:
        self._model, self._table, self._keys, self._watcher = model, table, keys, watcher
        self._statistics = RowStatistics(model, table.count(), timed=keys.time is not None)
        self._sample = TopRows(WORST + SAMPLED)

    def add(self, judged: JudgedRows) -> None:
        """The next rows."""
        start = self._statistics.seen
        self._statistics.add(judged.judgement)
        self._sample.add(judged.take(judged.flagged), scatter(start + judged.flagged))

    def evidence(
        self,
        worst: JudgedRows,
        beyond: Bools,
        drift: Drift,
        incidents: Sequence[Incident],
        flagged: JudgedRows | None,
        n_partly: int,
        evaluation: Evaluation | None,
    ) -> Evidence:
        """All of it, once every row was added.

        Parameters
        ----------
        worst : JudgedRows
            The anomalies to show first, and which of them are `beyond` changes.
        flagged : JudgedRows or None
            What positions of incidents stand for.
        """
        worst, beyond = worst.take(np.arange(min(WORST, len(worst)))), beyond[:WORST]
        sample = self._sample.rows(self._model)
        others = np.flatnonzero(~np.isin(sample.rows, worst.rows))[:SAMPLED]
        sample = sample.take(others[np.argsort(-round_for_ranking(sample.scores[others]), kind="stable")])
        rows = join_rows([worst, sample]) if len(worst) else worst
        everyone = self._statistics.signatures.total()
        of_sample = np.ones(len(sample), dtype=np.bool_)
        if drift.beyond is not None:
            of_sample = np.isin(self._positions(sample.rows), drift.beyond)
        positions, why = self._positions(rows.rows), rows.explained(self._model)
        around = Neighbourhood(why, drift.course, positions)
        self._look_around(around)
        spans = []
        if flagged is not None:
            for incident in incidents:
                ranks = drift.course.ranks(self._positions(flagged.rows[incident.rows]))
                spans.append(Span(int(ranks.min()), int(ranks.max()), int(flagged.rows[incident.peak])))
        findings = make_findings(rows, why, np.concatenate([beyond, of_sample]))
        # What each column is used for; one that is a category and a feature is a category.
        roles = {plan.name: "feature" for plan in self._model.preparation.columns}
        roles |= {name: "name" if role == "id" else role for name, role in self._keys.roles.items()}
        return Evidence(
            model=self._model,
            columns={column.name: roles.get(column.name, "not used") for column in self._table.columns},
            statistics=self._statistics,
            shown=ShownRows(findings, why, positions, self._cells(positions), len(worst)),
            neighbourhood=around,
            course=drift.course,
            changes=drift.changes,
            incidents=tuple(incidents),
            spans=tuple(spans),
            n_anomalies=everyone,
            n_beyond=everyone if drift.beyond is None else int(drift.beyond.size),
            n_partly=n_partly,
            evaluation="" if evaluation is None else f"{evaluation.text} ({evaluation.meaning}).",
        )

    def _positions(self, rows: Ints) -> Ints:
        """Where rows of these numbers stand in the table."""
        return np.searchsorted(self._table.rows, rows) if isinstance(self._table, RowsView) else rows

    def _cells(self, positions: Ints) -> list[dict[str, str | None]]:
        """The whole rows at these positions, as they stand in the table."""
        names = [column.name for column in self._table.columns]
        found: dict[int, dict[str, str | None]] = {}
        ordered = np.unique(positions).tolist()
        # Of so many cells at once: each time the file is gone through.
        many = max(1, 200_000 // len(names))
        for start in range(0, len(ordered), many):
            part = ordered[start : start + many]
            for position, cells in zip(part, self._table.take(names, part), strict=True):
                found[position] = {
                    name: cell_text(simplify_cell(cell)) for name, cell in zip(names, cells, strict=True)
                }
        return [found[position] for position in positions.tolist()]

    def _look_around(self, around: Neighbourhood) -> None:
        if not around.rules:
            return
        self._watcher.stage("Looking around anomalies", self._table.count())
        for batch in read_features(self._table, self._model.preparation):
            chosen = around.wanted(batch.start, len(batch.values))
            if chosen.size:
                values = batch.values[chosen]
                around.add(batch.start + chosen, values, self._model.judge(values))
            self._watcher.advance(len(batch.values))
