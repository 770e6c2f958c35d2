"""The demonstration: the paper's synthetic data, judged with default settings."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from aspca.datasets.synthetic import load_synthetic
from aspca.jobs.detection import Learning, judge_table
from aspca.jobs.progress import Watcher
from aspca.jobs.requests import request_of
from aspca.jobs.result import Outcome
from aspca.jobs.tables import array_table
from aspca.outputs.csv_text import CsvWriter


@dataclass(frozen=True)
class Demonstration:
    """What was found, and how it compares with what was planted.

    Attributes
    ----------
    outcome : Outcome
    planted, explained : int
        Anomalies in the data, and those of them whose worst rule relates just the features whose relation was broken.
    gap : float
        The largest certified distance of a step of the solver from its optimum.
    checked : str
        What the verifier says of the certificate.
    """

    outcome: Outcome
    planted: int
    explained: int
    gap: float
    checked: str


def demonstrated(folder: Path, watcher: Watcher) -> Demonstration:
    """Fit the synthetic data, judge them, and write the outputs, the data among them, into a folder."""
    data = load_synthetic()
    table = array_table("the synthetic data", data.feature_names, data.data, kind=list(data.kinds))
    with open(folder / "data.csv", "x", encoding="utf-8", newline="") as stream:
        CsvWriter(stream, [*data.feature_names, "kind"]).columns(*data.data.T.tolist(), data.kinds)
    with ExitStack() as stack:
        learning = Learning.of(request_of(table, label="kind", top=len(data.kinds)), stack, watcher)
        outcome = judge_table(learning.model(), table, learning, folder)
    model, explained = outcome.model, 0
    for finding in outcome.findings:
        broken = {sign for sign in data.kinds[finding.row] if sign.isalpha()}
        explained += finding.breaks_a_rule and set(model.rules[finding.breaks[0].rule].features) == broken
    return Demonstration(
        outcome=outcome,
        planted=int(data.labels.sum()),
        explained=explained,
        gap=max(step.gap for step in model.subspace.certificates),
        checked="verified" if model.subspace.verify(model.space.covariance) else "NOT VERIFIED",
    )
