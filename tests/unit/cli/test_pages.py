"""Anomalies on a page: the column most to blame first, what it would have to be, each rule on one line."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from aspca import ASPCA
from aspca.cli.pages import show_findings, show_incidents
from aspca.jobs.findings import Finding, findings_of

NAMES = ["cpu user [%]", "idle", "sent", "received"]


@pytest.fixture(scope="module")
def model() -> ASPCA:
    """idle = 100 - cpu, sent = received."""
    rng = np.random.default_rng(2)
    cpu, sent = rng.uniform(10, 60, size=(2, 400))
    rows = np.column_stack([cpu, 100 - cpu, sent, sent]) + 0.1 * rng.normal(size=(400, 4))
    return ASPCA().fit(pd.DataFrame(rows, columns=NAMES))


@pytest.fixture(scope="module")
def findings(model: ASPCA) -> tuple[Finding, ...]:
    rows = np.array([[30.0, 90.0, 20.0, 20.0], [50.0, 50.0, 30.0, 0.0]])
    return findings_of(model.model_.explain(rows, [7, 8]), [7, 8], None)


def shown(width: int, findings: tuple[Finding, ...], total: int = 2, more: str = "") -> str:
    console = Console(file=io.StringIO(), width=width, markup=False, highlight=False)
    show_findings(console, findings, total, 5.0, more)
    return console.file.getvalue()


def test_the_column_to_blame_comes_first(findings: tuple[Finding, ...], model: ASPCA) -> None:
    for finding, blamed, value in zip(findings, ("idle", "received"), (90.0, 0.0), strict=True):
        needed = finding.breaks[0].needed
        assert next(iter(needed)) == blamed
        assert needed[blamed][0] == value
    # In the order of the exact split of the score.
    why = model.explain(pd.DataFrame([[30.0, 90.0, 20.0, 20.0]], columns=NAMES))
    order = [NAMES[j] for j in np.argsort(-why.feature_contributions[0], kind="stable")]
    told = list(findings[0].breaks[0].needed)
    assert told == [name for name in order if name in told]


def test_eighty_columns_say_what_the_one_would_have_to_be(findings: tuple[Finding, ...]) -> None:
    page = shown(80, findings)
    assert max(map(len, page.splitlines())) <= 80
    assert "idle 70" in page
    assert "(not 90)" in page
    assert "received 30" in page
    assert " or " not in page


def test_a_wide_page_says_more(findings: tuple[Finding, ...]) -> None:
    page = shown(140, findings)
    assert max(map(len, page.splitlines())) <= 140
    assert all(title in page for title in ("off by", "share", "would hold with"))
    assert "(not 90) or cpu user [%] 10" in page
    for finding in findings:
        assert finding.breaks[0].text in page


def test_no_more_digits_than_the_value_has(findings: tuple[Finding, ...]) -> None:
    from aspca.cli.pages import _as_exact

    assert _as_exact(-0.0001392, 1.119) == 0.0
    assert str(_as_exact(-0.0001392, 1.119)) == "0.0"
    assert _as_exact(69.87654, 90.0) == 69.88
    assert _as_exact(123456.0, 3.0) == 123500.0
    assert _as_exact(0.0, 0.0) == 0.0
    assert _as_exact("2026-01-01", 1.0) == "2026-01-01"
    assert _as_exact(None, 1.0) is None


def test_nothing_asked_for_and_nothing_found(findings: tuple[Finding, ...]) -> None:
    assert shown(80, (), total=0) == "No anomalies (no score above 5)\n"
    page = shown(80, (), total=2, more=" in out/explanations.csv")
    assert page == "2 anomalies (score above 5)\n  ... and 2 more in out/explanations.csv.\n"
    console = Console(file=io.StringIO(), width=80)
    show_incidents(console, (), (), 0)
    assert console.file.getvalue() == "0 incidents\n"
