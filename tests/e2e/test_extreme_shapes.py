"""More columns than rows, and hardly any rows: a result with what it cannot be trusted for, or one sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import aspca
from aspca.cli.main import main

# More columns than the 200 up to which long rules are searched for in so few rows.
ROWS, COLUMNS, BROKEN = 80, 220, 7


def wide(kind: str) -> pd.DataFrame:
    """Unrelated columns; with sums among them, one of which is broken; with gaps too; copies of rows and columns."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(ROWS, COLUMNS))
    if kind in ("sums", "gaps"):
        rows[:, 2:60:3] = rows[:, 0:58:3] + rows[:, 1:59:3]
        rows[BROKEN, 2] += 5.0
    if kind == "gaps":
        rows[rng.random(rows.shape) < 0.01] = np.nan
        rows[BROKEN, :60] = np.where(np.isnan(rows[BROKEN, :60]), 0.0, rows[BROKEN, :60])
    if kind == "copies":
        rows[:, COLUMNS // 2 :] = rows[:, : COLUMNS // 2]
        rows[ROWS // 2 :] = rows[: ROWS // 2]
    return pd.DataFrame(rows, columns=[f"c{place}" for place in range(COLUMNS)])


@pytest.mark.parametrize("kind", ["unrelated", "sums", "gaps", "copies"])
def test_more_columns_than_rows(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wide(kind).to_csv(tmp_path / "wide.csv", index=False)
    assert main(["detect", str(tmp_path / "wide.csv")]) == 0
    told = capsys.readouterr()
    assert f"{ROWS} rows are few for {COLUMNS} columns" in told.err
    assert f"Of {COLUMNS} columns, as many as rows or more ({ROWS}), only rules of at most 9 columns" in told.err
    model = aspca.load(tmp_path / "wide.csv.aspca" / "model.json")
    rules = {tuple(sorted(rule.features)) for rule in model.rules_}
    scores = -model.score_samples(wide(kind))
    assert np.isfinite(scores).all()
    if kind == "unrelated":
        assert not rules
    elif kind == "copies":
        assert rules == {tuple(sorted((f"c{place}", f"c{place + COLUMNS // 2}"))) for place in range(COLUMNS // 2)}
    else:
        found = sum(tuple(sorted(f"c{place + k}" for k in range(3))) in rules for place in range(0, 58, 3))
        assert found >= (19 if kind == "sums" else 15)


@pytest.mark.parametrize("n_rows", [1, 2, 3, 5, 10])
def test_hardly_any_rows(n_rows: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = np.random.default_rng(n_rows).normal(size=(2, n_rows))
    same = np.full(n_rows, 5.0)
    for number, columns in enumerate(({"a": a, "b": b, "c": a + b, "d": same}, {"d": same, "e": same}, {"a": a})):
        path = tmp_path / f"{number}.csv"
        pd.DataFrame(columns).to_csv(path, index=False)
        for command in (["detect", str(path)], ["fit", str(path), "--model", str(tmp_path / "model.json")]):
            code = main(command)
            told = capsys.readouterr()
            if n_rows == 1:
                few = f"aspca: {path} has 1 row, but at least 2 are needed to learn rules from; add rows.\n"
                assert (code, told.err) == (1, few)
            else:
                assert code == 0, told.err
                said = f"{n_rows} rows judged, " if command[0] == "detect" else f"Learned from {n_rows} rows; "
                assert said in told.err
