"""Rows with gaps: gross cells become gaps, and rules are those of the same rows without errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import aspca
from aspca import ASPCA, Preprocessor
from aspca.moments.rows import Rows
from aspca.robust import robust_gaps


def table(n: int = 900, seed: int = 0) -> np.ndarray:
    """Five columns in cents, the last the exact total of the first three; a cell in fifty is missing."""
    rng = np.random.default_rng(seed)
    parts = np.round(rng.gamma(2.0, [[100.0, 10.0, 5.0, 3.0]], size=(n, 4)), 2)
    rows = np.column_stack([parts, np.round(parts[:, :3].sum(axis=1), 2)])
    rows[rng.random(rows.shape) < 0.02] = np.nan
    return rows


def spoiled() -> tuple[np.ndarray, list[tuple[int, int]]]:
    rows = table()
    whole = np.flatnonzero(~np.isnan(rows).any(axis=1))[:8]
    gapped = np.flatnonzero(np.isnan(rows[:, 3]) & ~np.isnan(rows[:, [0, 1, 2, 4]]).any(axis=1))[:3]
    cells = [(int(row), 4) for row in whole] + [(int(row), 0) for row in gapped]
    for row, column in cells:
        rows[row, column] *= 10.0
    return rows, cells


def test_gross_cells_are_found_in_rows_with_and_without_gaps() -> None:
    rows, cells = spoiled()
    kept, found = robust_gaps(Rows.here(lambda: [rows]), 5)
    assert kept is not None
    assert sorted(zip(found.aside.shown.rows, found.aside.shown.columns, strict=True)) == sorted(cells)
    assert sorted(found.aside.rows.tolist()) == sorted(row for row, _ in cells)
    assert kept.n_missing.tolist() == (np.isnan(rows).sum(axis=0) + found.aside.cells).tolist()


def test_parts_do_not_matter() -> None:
    rows, _ = spoiled()
    one, many = (robust_gaps(Rows.here(lambda step=step: np.array_split(rows, step)), 5)[1] for step in (1, 13))
    assert one.aside.rows.tolist() == many.aside.rows.tolist()
    assert one.aside.cells.tolist() == many.aside.cells.tolist()


def test_nothing_gross_changes_nothing() -> None:
    kept, found = robust_gaps(Rows.here(lambda: [table()]), 5)
    assert kept is None
    assert found.aside.nothing
    assert found.aside.passes > 0


def test_too_few_whole_rows_are_told_apart() -> None:
    rows = table()
    rows[np.arange(len(rows)), np.arange(len(rows)) % 5] = np.nan
    kept, found = robust_gaps(Rows.here(lambda: [rows]), 5)
    assert kept is None
    assert found.aside.passes == 0


def test_the_rule_is_exact_again_and_errors_are_flagged() -> None:
    rows, cells = spoiled()
    model = ASPCA(robust="on", preprocessor=Preprocessor(missing="allow")).fit(rows)
    assert str(model.rules_[0]) == "x4 = x0 + x1 + x2 (exactly, 98.7 % of the rows)"
    assert (model.predict(rows[[row for row, _ in cells]]) == -1).all()
    # They are repaired, each where it was spoiled, and nothing else is gross.
    repairs = model.explain(rows).repairs
    assert {row: repair.cells for row, repair in repairs.items()} == {row: (column,) for row, column in cells}
    for row, column in cells:
        assert repairs[row].values == (pytest.approx(rows[row, column] / 10.0, abs=0.005),)
    assert model.model_.aside.nothing
    # What is missing is told without what was set aside.
    assert model.model_.gaps.missing.tolist() == np.isnan(rows).sum(axis=0).tolist()


def test_the_command_learns_without_what_is_gross(tmp_path: Path) -> None:
    """What identities do not repair is set aside."""
    rows, cells = spoiled()
    double = np.round(2.0 * rows[:, 3] + 0.1 * np.random.default_rng(1).normal(size=len(rows)), 2)
    rows = np.column_stack([rows, double])
    rows[[400, 401], 5] += 1000.0
    path = tmp_path / "orders.csv"
    lines = [",".join("" if np.isnan(cell) else f"{cell:.2f}" for cell in row) for row in rows]
    path.write_text("a,b,c,d,total,double\n" + "\n".join(lines) + "\n")
    found = aspca.detect(path, allow_missing=True, top=100)
    assert any("learned without 2 gross values" in one for one in found.remarks), found.remarks
    assert str(found.rules[0]) == "total = a + b + c (exactly, 98.7 % of the rows)"
    assert {400, 401, *(row for row, _ in cells)} <= {one.row for one in found.outcomes[None].findings}
