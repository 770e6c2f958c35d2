"""The demonstration: the paper's synthetic data, judged with default settings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from aspca.datasets.synthetic import load_synthetic
from aspca.jobs.columns import Roles
from aspca.jobs.detection import Detection, detect
from aspca.jobs.fitting import fit_table
from aspca.jobs.progress import Progress
from aspca.jobs.settings import settings_of
from aspca.jobs.table import ArrayTable
from aspca.outputs.csv_text import CsvWriter


@dataclass(frozen=True)
class Demonstration:
    """What was found, and how it compares with what was planted.

    Attributes
    ----------
    detection : Detection
    planted, explained : int
        Anomalies in the data, and those of them whose worst rule relates the features whose relation was broken.
    gap : float
        The largest certified distance of a step of the solver from its optimum.
    checked : str
        What the verifier says of the certificate.
    """

    detection: Detection
    planted: int
    explained: int
    gap: float
    checked: str


def demonstrated(folder: Path, progress: Progress) -> Demonstration:
    """Fit the synthetic data, judge them, and write the outputs, the data among them, into a folder."""
    data = load_synthetic()
    table = ArrayTable("the synthetic data", tuple(data.feature_names), data.data, {"kind": list(data.kinds)})
    with open(folder / "data.csv", "x", encoding="utf-8", newline="") as stream:
        CsvWriter(stream, [*data.feature_names, "kind"]).columns(*data.data.T.tolist(), data.kinds)
    model = fit_table(table, table.names, settings_of({}), progress)
    found = detect(model, table, Roles(table.names, label="kind"), folder, progress, most=len(data.kinds))
    explained = 0
    for finding in found.findings:
        features = model.rules[finding.breaks[0].rule].features
        kind = data.kinds[finding.row]
        explained += kind != "normal" and {sign for sign in kind if sign.isalpha()} <= set(features)
    verified = bool(model.subspace.verify(model.space.covariance))
    return Demonstration(
        detection=found,
        planted=int(data.labels.sum()),
        explained=explained,
        gap=max(step.gap for step in model.subspace.certificates),
        checked="verified" if verified else "NOT VERIFIED",
    )
