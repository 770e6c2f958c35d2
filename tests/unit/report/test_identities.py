"""Reports of tables with identities: each is a rule of its own kind, wrong cells are told, private pages quote none."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest

from aspca.pipeline.result import Detection
from aspca.report.documents import write_json
from aspca.report.summary import Report

from .conftest import report_of
from .schema import make_schema

sys.path.insert(0, str(Path(__file__).parents[1] / "model_file"))
from identity_tables import EQUATIONS, NAMES, exact, spoiled

RELATED = [name for name in NAMES if name not in ("free", "noisy")]


@pytest.fixture(scope="module", params=[False, True], ids=["whole", "gaps"])
def rows(request: pytest.FixtureRequest) -> pd.DataFrame:
    """Ten wrong rows, then right ones."""
    right = exact()
    made = pd.concat([spoiled(right, RELATED)[:10], right[40:]], ignore_index=True)
    return made.mask(np.random.default_rng(1).random(made.shape) < 0.02) if request.param else made


@pytest.fixture(scope="module")
def made(rows: pd.DataFrame) -> tuple[Detection, Report]:
    return report_of(rows, robust="off")


def test_the_report_counts_what_the_identities_say(made: tuple[Detection, Report], rows: pd.DataFrame) -> None:
    report = made[1]
    content = json.loads(write_json(report))
    jsonschema.validate(content, make_schema())
    told = [rule for rule in report.rules if rule.kind == "identity"]
    assert {rule.text.rpartition(" (")[0] for rule in told} == set(EQUATIONS)
    assert all(rule.exact and rule.chance_probability == 0.0 for rule in told)
    names = dict(zip(NAMES, rows.to_numpy().T, strict=True))
    right = {
        "sq": names["x"] ** 2,
        "lw": np.log(np.where(names["w"] <= 0.0, 1e-9, names["w"])),
        "total": names[NAMES[0]] + names["b"],
        "pct": 100.0 * names[NAMES[0]] / names["b"],
    }
    for rule in told:
        name = rule.text.partition(" ")[0]
        # Half a step of the percentages, of the sums' third decimal, and the noise of floats.
        allowed = {"pct": 0.0501}.get(name, 1e-6)
        off = np.abs(names[name] - right[name])
        violated = np.flatnonzero(np.nan_to_num(off, nan=0.0) > allowed)
        assert set(rule.rows) == set(violated.tolist()), rule.text
        n_known = (~np.isnan(off)).sum()
        share = 100.0 - float(f"{100.0 * violated.size / n_known:.2g}")
        assert rule.chance == f"Counted: {share:.12g} % of the rows satisfy it."
    reasons = {int(one.row): one.reason for one in report.anomalies}
    for row, column in enumerate(RELATED[:3]):
        whole = rows.loc[row, [NAMES[0], "b", "total", "pct"]].notna().all()
        if whole:
            shown = "[a]]\\n]" if row == 0 else column
            assert f"{shown} should be {exact().loc[row, column]:.3f}" in reasons[row]


def test_a_private_page_quotes_no_cell_and_no_repair(made: tuple[Detection, Report], rows: pd.DataFrame) -> None:
    cells = [repr(value) for value in rows[:10].to_numpy().ravel().tolist() if np.isfinite(value)]
    # Short ones are as well the number of something.
    cells = [cell for cell in cells if len(cell) > 6]
    assert len(cells) > 30
    for private in (False, True):
        page = made[0].report(private=private)
        assert "lw = log(w)" in page
        assert (" should be " in page) != private
        assert any(cell in page for cell in cells) != private
