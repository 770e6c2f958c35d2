"""The demonstration: the paper's synthetic data, judged with default settings."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from aspca.jobs.detection import Learning
from aspca.jobs.judged_table import judge_table
from aspca.jobs.progress import Watcher
from aspca.jobs.reports import write_reports
from aspca.jobs.requests import request_of
from aspca.jobs.result import Outcome
from aspca.jobs.tables import array_table
from aspca.jobs.whence import inputs_of, version
from aspca.outputs.csv_text import CsvWriter
from aspca.paper.datasets import load_synthetic
from aspca.report.evidence import Provenance as Whence


@dataclass(frozen=True)
class Demonstration:
    """What was found, and how it compares with what was planted.

    Attributes
    ----------
    outcome : Outcome
    planted, explained : int
        Anomalies in the data, and those of them that are errors by the rule that was broken, or by the column.
    gap : float
        The largest certified distance of a step of the solver from its optimum.
    checked : str
        What the verifier says of the certificate.
    unwritten : tuple of str
        What is to be said of a report that could not be written.
    """

    outcome: Outcome
    planted: int
    explained: int
    gap: float
    checked: str
    unwritten: tuple[str, ...]


def demonstrated(folder: Path, watcher: Watcher) -> Demonstration:
    """Fit the synthetic data, judge them, and write the outputs, the data among them, into a folder."""
    data = load_synthetic()
    table = array_table("the synthetic data", data.feature_names, data.data, kind=list(data.kinds))
    written = folder / "data.csv"
    with open(written, "x", encoding="utf-8", newline="") as stream:
        CsvWriter(stream, [*data.feature_names, "kind"]).columns(*data.data.T.tolist(), data.kinds)
    with ExitStack() as stack:
        learning = Learning.of(request_of(table, label="kind", top=len(data.kinds)), stack, watcher)
        outcome = judge_table(learning.model(), table, learning.judging, folder)
    model, explained = outcome.model, 0
    # Solved before the report is made, which then holds the certificates.
    subspace = model.subspace
    whence = Whence("the synthetic data", version(), "aspca demo", tuple(inputs_of([str(written)], "judged")))
    unwritten = write_reports(folder, {None: outcome}, whence, (), private=False)
    for finding in outcome.findings:
        broken = {sign for sign in data.kinds[finding.row] if sign.isalpha()}
        told = set(model.rules[finding.breaks[0].rule].features) if finding.breaks_a_rule else set(finding.repair)
        explained += finding.verdict == "error" and told == broken
    return Demonstration(
        outcome=outcome,
        planted=int(data.labels.sum()),
        explained=explained,
        gap=max(step.gap for step in subspace.certificates),
        checked="verified" if subspace.verify(model.space.covariance) else "NOT VERIFIED",
        unwritten=tuple(unwritten),
    )
