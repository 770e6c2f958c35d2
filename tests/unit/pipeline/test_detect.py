"""Outputs are what `ASPCA` in Python says, however the table is cut into parts."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import aspca
from aspca import ASPCA, load
from aspca.model.model import Model
from aspca.pipeline.detect import detect_request
from aspca.pipeline.options import make_request
from aspca.pipeline.passes import Silent
from aspca.pipeline.result import Detection
from aspca.tables.memory import MemoryTable
from aspca.tables.table import Batch
from like_table import like

NAMES = ("a", "b", "c", "d")


class InParts(MemoryTable):
    """The same table in small, uneven parts."""

    def batches(self, names: Sequence[str], size: int = 37) -> Iterator[Batch]:
        return super().batches(names, 37)

    def cells(self, names: Sequence[str], size: int = 11) -> Iterator[list[tuple[object, ...]]]:
        return super().cells(names, 11)


def judged(table: MemoryTable, folder: Path | None, **given: object) -> Detection:
    output = None if folder is None else folder / "out"
    options = {"id": "host", "time": "when", "label": "kind", "top": 2, "output": output, **given}
    return detect_request(make_request(table, **options), Silent())


def lines(path: Path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"contamination": 0.01},
        {"limit": "quantile", "level": 0.99},
        {"limit": "quantile"},
        {"score": "spe"},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", [MemoryTable, InParts])
def test_outputs_are_the_estimators(
    table: MemoryTable, values: np.ndarray, tmp_path: Path, given: dict[str, object], kind: type[MemoryTable]
) -> None:
    found, X = judged(like(kind, table), tmp_path, **given), values
    folder = tmp_path / "out"
    # One default: `detect` learns as the estimator does.
    model = ASPCA(**given).fit(X)
    rows = lines(folder / "scores.csv")
    np.testing.assert_allclose([float(row["score"]) for row in rows], -model.score_samples(X), rtol=1e-9)
    flagged = np.flatnonzero(model.predict(X) == -1)
    assert [int(row["row"]) for row in rows if row["anomaly"] == "1"] == flagged.tolist()
    assert found.n_anomalies == flagged.size
    assert [row["host"] for row in rows] == [f"'=web-{i}" for i in range(300)]

    expected = model.explain(X[flagged]).to_frame()
    reasons = lines(folder / "explanations.csv")
    assert [int(row["row"]) for row in reasons] == flagged[expected["row"]].tolist()
    # Rows that keep their rules have a line without one.
    assert [int(row["rule"] or -1) for row in reasons] == [-1 if pd.isna(one) else one for one in expected["rule"]]
    for name in ("score", "outside", "share", "deviation", "multiple", "value", "needed"):
        np.testing.assert_allclose([float(row[name] or "nan") for row in reasons], expected[name], rtol=1e-6, atol=1e-9)

    stored = load(folder / "model.json")
    assert stored.feature_names_in_.tolist() == list(NAMES)
    np.testing.assert_allclose(stored.score_samples(pd.DataFrame(X, columns=NAMES)), model.score_samples(X), rtol=1e-9)


def test_every_row_is_judged_once(table: MemoryTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores, explanations, findings, incidents and the evaluation all read one judgement."""
    rows = []
    judge = Model.judge

    def counting(model: Model, X: np.ndarray) -> object:
        rows.append(len(X))
        return judge(model, X)

    monkeypatch.setattr(Model, "judge", counting)
    found = judged(like(InParts, table), tmp_path, report=False)
    # The header of explanations.csv is that of an explanation of no rows.
    assert sum(rows) == 300
    assert found.n_anomalies > 0
    assert found.incidents
    assert found.evaluation is not None


def test_rows_of_one_incident_may_miss_a_beat() -> None:
    """Two steps apart is one incident, three are two: the usual step is found, not given."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=300)
    b = a + 0.01 * rng.normal(size=300)
    rows = [50, 52, 54, 100, 103, 200]
    b[rows] += np.array([3.0, -4.0, 5.0, -3.0, 6.0, 4.0])
    found = aspca.detect(pd.DataFrame({"t": 10.0 * np.arange(300), "a": a, "b": b}), time="t", level=0.9999)
    spans = [(one.first, one.last) for one in found.incidents]
    assert spans == [(500.0, 540.0), (1000.0, 1000.0), (1030.0, 1030.0), (2000.0, 2000.0)]
