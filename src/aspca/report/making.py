"""From evidence to a report: everything that it says, as plain values."""

from __future__ import annotations

from collections.abc import Sequence

from aspca.judging.explanation import Explanation
from aspca.report.evidence import Evidence, Whence
from aspca.report.headline import expected_of, headline_of, weaker_of
from aspca.report.naming import Naming
from aspca.report.short_names import cut, with_short_names
from aspca.report.summary import FORMAT, Anomaly, Counts, Input, Report, Reproduce
from aspca.report.telling_course import changes_of, course_of, incidents_of
from aspca.report.telling_kinds import groups_of
from aspca.report.telling_model import certificates_of, choices_of, excluded_of
from aspca.report.telling_rows import anomalies_of
from aspca.report.telling_rules import columns_of, rules_of

_LONGEST = 700


def report_of(evidence: Evidence, whence: Whence, remarks: Sequence[str] = (), *, private: bool = False) -> Report:
    """What a report says.

    Parameters
    ----------
    remarks : sequence of str
        Sentences about what was decided without being asked.
    private : bool
        Show no value of a row: no cells, names or times.
    """
    naming, shown = Naming(evidence.columns, private), evidence.shown
    model = with_short_names(evidence.model, naming.called)
    why = Explanation(model, shown.values, shown.judgement, shown.rows.tolist())
    groups, homes = groups_of(evidence, why)
    rules = rules_of(evidence, why, naming)
    anomalies = tuple(anomalies_of(evidence, why, naming, homes))
    changes = changes_of(evidence, naming.number, private=private)
    incidents = incidents_of(evidence, private=private)
    title = cut(whence.title)
    return Report(
        format=FORMAT,
        title=title,
        category=None if whence.category is None else cut(whence.category),
        private=private,
        headline=headline_of(evidence, title, rules, anomalies, groups, changes, incidents, private=private),
        expected=expected_of(evidence),
        weaker=weaker_of(evidence, anomalies),
        left_out=_left_out(evidence, anomalies),
        counts=_counts(evidence, anomalies),
        # A remark may quote a cell.
        remarks=() if private else tuple(cut(remark, _LONGEST) for remark in remarks),
        # What labels say is what stands in the table.
        evaluation=evidence.evaluation.partition(" (")[0] if private else evidence.evaluation,
        columns=columns_of(evidence, why, naming, rules),
        rules=rules,
        anomalies=anomalies,
        groups=groups,
        course=course_of(evidence, naming),
        changes=changes,
        incidents=incidents,
        excluded=excluded_of(model, naming, elsewhere=whence.learned_elsewhere),
        choices=choices_of(evidence),
        certificates=certificates_of(model),
        reproduce=Reproduce(whence.version, whence.command, tuple(Input(*one) for one in whence.inputs)),
    )


def _counts(evidence: Evidence, anomalies: Sequence[Anomaly]) -> Counts:
    return Counts(
        rows=evidence.gathering.seen,
        learned=evidence.model.space.n_rows,
        columns=len(evidence.columns),
        features=len(evidence.model.names),
        rules=len(evidence.model.rules),
        anomalies=evidence.n_anomalies,
        beyond=evidence.n_beyond,
        partly=evidence.n_partly,
        far=evidence.gathering.far,
        shown=len(anomalies),
        sampled=sum(anomaly.sampled for anomaly in anomalies),
    )


def _left_out(evidence: Evidence, anomalies: Sequence[Anomaly]) -> str:
    rest = evidence.n_anomalies - len(anomalies)
    if rest <= 0:
        return ""
    sampled = sum(anomaly.sampled for anomaly in anomalies)
    return (
        f"Shown are the worst {len(anomalies) - sampled:,} anomalies and {sampled:,} of the others, taken evenly; "
        f"{rest:,} more are in explanations.csv, which aspca detect writes."
    )
