"""Outputs are what `ASPCA` in Python says, however the table is cut into parts."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from aspca import ASPCA, load
from aspca.engines.source import Batch
from aspca.jobs.columns import roles_of
from aspca.jobs.detection import Detection, detect
from aspca.jobs.fitting import fit_table
from aspca.jobs.progress import Silent
from aspca.jobs.settings import settings_of
from aspca.jobs.table import ArrayTable

NAMES = ("a", "b", "c", "d")


class InParts(ArrayTable):
    """The same table in small, uneven parts."""

    def batches(self, names: Sequence[str], size: int = 37) -> Iterator[Batch]:
        return super().batches(names, 37)

    def cells(self, names: Sequence[str], size: int = 11) -> Iterator[list[tuple[object, ...]]]:
        return super().cells(names, 11)


def judged(table: ArrayTable, folder: Path, **given: object) -> Detection:
    roles = roles_of(table, name="host", time="when", label="kind")
    model = fit_table(table, roles.features, settings_of(given), Silent())
    return detect(model, table, roles, folder, Silent(), most=2)


def lines(path: Path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize("given", [{}, {"contamination": 0.01}, {"limit": "quantile", "level": 0.99}], ids=str)
@pytest.mark.parametrize("kind", [ArrayTable, InParts])
def test_outputs_are_the_estimators(
    table: ArrayTable, tmp_path: Path, given: dict[str, object], kind: type[ArrayTable]
) -> None:
    found = judged(kind(**vars(table)), tmp_path, **given)
    X = table.values[:, :4]
    model = ASPCA(**given).fit(X)
    rows = lines(tmp_path / "scores.csv")
    np.testing.assert_allclose([float(row["score"]) for row in rows], -model.score_samples(X), rtol=1e-9)
    flagged = np.flatnonzero(model.predict(X) == -1)
    assert [int(row["row"]) for row in rows if row["anomaly"] == "1"] == flagged.tolist()
    assert found.n_anomalies == flagged.size
    assert [row["host"] for row in rows] == [f"'=web-{i}" for i in range(300)]

    expected = model.explain(X[flagged]).to_frame()
    reasons = lines(tmp_path / "explanations.csv")
    assert [int(row["row"]) for row in reasons] == flagged[expected["row"]].tolist()
    assert [int(row["rule"]) for row in reasons] == expected["rule"].tolist()
    for name in ("score", "share", "deviation", "multiple", "value", "needed"):
        np.testing.assert_allclose([float(row[name]) for row in reasons], expected[name], rtol=1e-6, atol=1e-9)

    stored = load(tmp_path / "model.json")
    assert stored.feature_names_in_.tolist() == list(NAMES)
    np.testing.assert_allclose(stored.score_samples(pd.DataFrame(X, columns=NAMES)), model.score_samples(X), rtol=1e-9)


def test_the_worst_come_first_and_break_what_was_broken(table: ArrayTable, tmp_path: Path) -> None:
    found = judged(table, tmp_path)
    scores = np.array([float(row["score"]) for row in lines(tmp_path / "scores.csv")])
    assert [finding.row for finding in found.findings] == np.argsort(-scores, kind="stable")[:2].tolist()
    for finding in found.findings:
        assert finding.name == f"=web-{finding.row}"
        assert finding.score == pytest.approx(scores[finding.row])
        features = {100: "b", 101: "b", 200: "c"}[finding.row]
        broken = finding.breaks[0]
        assert features in broken.needed
        value, wanted = broken.needed[features]
        assert value == table.values[finding.row, NAMES.index(features)]
        # The repair undoes what was done to the row, to within the noise.
        assert abs(value - wanted) == pytest.approx(1.0 if features == "b" else 0.5, abs=0.05)


def test_evaluation_and_incidents(table: ArrayTable, tmp_path: Path) -> None:
    found = judged(table, tmp_path, limit=float(np.sort(_scores(table))[-4] * 1.0001))
    assert found.evaluation is not None
    assert (found.evaluation.hits, found.evaluation.misses, found.evaluation.false_alarms) == (3, 0, 0)
    assert found.evaluation.auc == 1.0
    assert found.incidents is not None
    # Neighbours in time are one incident.
    assert [(one.first, one.last) for one in found.incidents] == [(6000.0, 6060.0), (12000.0, 12000.0)]
    rows = lines(tmp_path / "incidents.csv")
    assert [(row["first"], row["last"], row["rows"]) for row in rows] == [
        ("6000.0", "6060.0", "2"),
        ("12000.0", "12000.0", "1"),
    ]
    assert rows[1]["peak"] == "200"


def _scores(table: ArrayTable) -> np.ndarray:
    return -ASPCA().fit(table.values[:, :4]).score_samples(table.values[:, :4])
