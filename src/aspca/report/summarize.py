"""From evidence to a report: everything that it says, as plain values."""

from __future__ import annotations

from collections.abc import Sequence

from aspca.findings.explanation import Explanation
from aspca.report.evidence import Evidence, Provenance
from aspca.report.headline import write_sentences
from aspca.report.names import SENTENCE, Naming, cut, rename_columns
from aspca.report.summarize_events import summarize_changes, summarize_course, summarize_groups, summarize_incidents
from aspca.report.summarize_model import (
    summarize_certificates,
    summarize_choices,
    summarize_columns,
    summarize_excluded,
    summarize_rules,
)
from aspca.report.summarize_rows import summarize_anomalies
from aspca.report.summary import FORMAT, Counts, Input, Report, Reproduce


def summarize(
    evidence: Evidence, provenance: Provenance, remarks: Sequence[str] = (), *, private: bool = False
) -> Report:
    """What a report says.

    Parameters
    ----------
    remarks : sequence of str
        Sentences about what was decided without being asked.
    private : bool
        Show no value of a row: no cells, names or times.
    """
    naming, shown, model = Naming(evidence.columns, private), evidence.shown, evidence.model
    model = rename_columns(model, naming.called)
    why = Explanation(model, shown.values, shown.judgement, shown.rows.tolist())
    groups, homes = summarize_groups(evidence, why)
    rules = summarize_rules(evidence, why, naming)
    anomalies = summarize_anomalies(evidence, why, naming, homes)
    report = Report(
        format=FORMAT,
        title=cut(provenance.title),
        category=None if provenance.category is None else cut(provenance.category),
        private=private,
        headline=(),
        expected="",
        weaker="",
        left_out="",
        counts=Counts(
            rows=evidence.gathering.seen,
            learned=model.space.n_rows,
            columns=len(evidence.columns),
            features=len(model.names),
            rules=len(model.rules),
            anomalies=evidence.n_anomalies,
            beyond=evidence.n_beyond,
            partly=evidence.n_partly,
            far=evidence.gathering.far,
            shown=len(anomalies),
            sampled=sum(anomaly.sampled for anomaly in anomalies),
        ),
        # A remark may quote a cell.
        remarks=() if private else tuple(cut(remark, SENTENCE) for remark in remarks),
        # What labels say is what stands in the table.
        evaluation=evidence.evaluation.partition(" (")[0] if private else evidence.evaluation,
        columns=summarize_columns(evidence, why, naming, rules),
        rules=rules,
        anomalies=anomalies,
        groups=groups,
        course=summarize_course(evidence, naming),
        changes=summarize_changes(evidence, naming),
        incidents=summarize_incidents(evidence, private=private),
        excluded=summarize_excluded(model, naming, elsewhere=provenance.learned_elsewhere),
        choices=summarize_choices(evidence),
        certificates=summarize_certificates(model),
        reproduce=Reproduce(provenance.version, provenance.command, tuple(Input(*one) for one in provenance.inputs)),
    )
    return write_sentences(evidence, report)
