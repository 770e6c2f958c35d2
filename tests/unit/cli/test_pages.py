"""Anomalies on a page: the column most to blame first, what it would have to be, each rule on one line."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import aspca
from aspca.cli.pages import show_detection, show_findings, show_incidents, show_reason, show_rules
from aspca.pipeline.explain_rows import explain_rows
from aspca.pipeline.outcome import Outcome
from aspca.pipeline.passes import Silent
from aspca.pipeline.result import Detection
from aspca.pipeline.sources import frame_table
from aspca.tables.keys import NO_KEYS

NAMES = ["cpu user [%]", "idle", "sent", "received", "load", "heat"]


def rows(seed: int, n: int = 400) -> pd.DataFrame:
    """idle = 100 - cpu, sent = received; load and heat are free."""
    rng = np.random.default_rng(seed)
    cpu, sent = rng.uniform(10, 60, size=(2, n))
    noise = 0.1 * rng.normal(size=(n, 4))
    return pd.DataFrame(
        np.column_stack([np.column_stack([cpu, 100 - cpu, sent, sent]) + noise, rng.normal(50, 10, size=(n, 2))]),
        columns=NAMES,
    )


@pytest.fixture(scope="module")
def odd() -> pd.DataFrame:
    """Two rows break a rule each, one keeps both, but is far out; the last is normal."""
    return pd.DataFrame(
        [
            [30.0, 90.0, 20.0, 20.0, 50.0, 50.0],
            [50.0, 50.0, 30.0, 0.0, 50.0, 50.0],
            [40.0, 60.0, 30.0, 30.0, 120.0, 50.0],
            [40.0, 60.0, 30.0, 30.0, 50.0, 50.0],
        ],
        columns=NAMES,
        index=[7, 8, 9, 10],
    )


@pytest.fixture(scope="module")
def detection(odd: pd.DataFrame) -> Detection:
    # Two rules are asked for: the free columns are none.
    return aspca.detect(odd, train=rows(2), n_components=2)


@pytest.fixture(scope="module")
def outcome(detection: Detection) -> Outcome:
    return detection.outcomes[None]


def console_of(width: int) -> Console:
    return Console(file=io.StringIO(), width=width, markup=False, highlight=False)


def shown(width: int, outcome: Outcome, more: str = "") -> str:
    console = console_of(width)
    show_findings(console, outcome, more)
    return console.file.getvalue()


def test_the_column_to_blame_comes_first_and_a_row_that_keeps_its_rules_stands_out(outcome: Outcome) -> None:
    findings = {finding.row: finding for finding in outcome.findings}
    assert set(findings) == {0, 1, 2}
    for row, blamed, value in ((0, "idle", 90.0), (1, "received", 0.0)):
        assert next(iter(findings[row].breaks[0].needed.items()))[0] == blamed
        assert findings[row].breaks[0].needed[blamed][0] == value
    keeping = findings[2]
    assert not keeping.breaks
    assert (keeping.verdict, keeping.confidence) == ("unusual", None)
    assert keeping.text.startswith(f"Row 9 is unusual: p = {keeping.p_value:.2g}, one row in ")
    assert "It keeps its rules, but stands out: load is 120 (usually 50.7 ± 9.7)" in keeping.text
    page = shown(80, outcome)
    assert "\nUnusual rows\n  1 keeps its rules, but stands out\n" in page
    assert "load is 120 (usually 50.7 ± 9.7)" in page


def test_the_headline_says_what_was_found(outcome: Outcome, odd: pd.DataFrame) -> None:
    assert shown(80, outcome).startswith("2 errors and 1 unusual row\nErrors, the surest first\n")
    # Scores of the paper have no p-values, and a threshold only.
    other = {"train": rows(2), "n_components": 2, "score": "standardized"}
    total = aspca.detect(odd, **other).outcomes[None]
    headline = f"2 anomalies (score above {total.model.threshold:.3g})"
    assert total.headline == headline
    assert shown(80, total).startswith(f"{headline}\n")


def test_errors_come_first_with_how_sure_they_are_and_what_would_be_right(outcome: Outcome) -> None:
    assert [finding.verdict for finding in outcome.findings] == ["error", "error", "unusual"]
    page, wide = shown(80, outcome), shown(140, outcome)
    assert max(map(len, page.splitlines())) <= 80
    assert max(map(len, wide.splitlines())) <= 140
    errors, unusual = page.index("Errors, the surest first"), page.index("Unusual rows")
    assert errors < page.index("idle 70") < unusual < page.index("load is 120")
    assert errors < page.index("received 30") < unusual
    for finding in outcome.findings[:2]:
        assert finding.confidence in ("certain", "very likely", "likely")
        assert f"is an error ({finding.confidence}): " in finding.text
        assert finding.p_value < outcome.findings[2].p_value
        assert finding.confidence in page[errors:unusual]
        # What a noisy relation asks for is not known to the digit.
        assert finding.approximate
        # What the error is off by is told beside it.
        assert all(broken.text.rpartition(" (")[0] in wide for broken in finding.breaks)
    assert page.count("about ") == 2
    assert "(not 90)" in page
    assert " or " not in page
    assert all(title in wide for title in ("error", "should be", "why", "score", "what stands out", "(not 90)"))


def test_a_wide_page_of_scores_without_p_values_says_more(odd: pd.DataFrame) -> None:
    found = aspca.detect(odd, train=rows(2), n_components=2, score="standardized").outcomes[None]
    page = shown(140, found)
    assert max(map(len, page.splitlines())) <= 140
    assert all(title in page for title in ("x limit", "off by", "share", "would hold with"))
    assert "cpu user [%] 10 (not 30) or idle 70 (not 90)" in page
    assert all(broken.text in page for finding in found.findings for broken in finding.breaks)


def test_rows_are_called_by_their_names(detection: Detection) -> None:
    """The index of a data frame names its rows."""
    assert [finding.name for finding in detection.findings] == [str(7 + finding.row) for finding in detection.findings]
    console = console_of(80)
    show_detection(console, detection, 20)
    page = console.file.getvalue()
    assert "  index  error " in page
    assert "  index       p  what stands out" in page
    assert "400 rows learned from, 6 features\n2 rules that normal rows obey\n" in page
    for rule in detection.rules:
        assert str(rule) in page


def test_of_many_rules_the_first_and_those_that_are_broken(outcome: Outcome) -> None:
    console = console_of(80)
    show_rules(console, outcome.rules * 20, chosen={0, 1, 37}, more=": aspca rules m.json")
    lines = console.file.getvalue().splitlines()
    assert lines[0] == "40 rules that normal rows obey"
    assert [line.split()[0] for line in lines[1:4]] == ["0", "1", "37"]
    assert lines[4] == "  ... and 37 more: aspca rules m.json."


def test_the_parts_of_a_row_add_up(outcome: Outcome, odd: pd.DataFrame) -> None:
    reasons = explain_rows(outcome.model, frame_table(odd, "odd"), [2, 0], NO_KEYS, Silent())
    for reason in reasons:
        inside = sum(rule.contribution for rule in reason.rules)
        assert inside + reason.residual == pytest.approx(reason.score, rel=1e-9)
        assert sum(reason.contributions.values()) == pytest.approx(reason.score, rel=1e-9)
    console = console_of(80)
    show_reason(console, reasons[0])
    page = console.file.getvalue()
    assert "what lies outside the rules" in page
    assert max(map(len, page.splitlines())) <= 80


def test_nothing_asked_for_and_nothing_found(odd: pd.DataFrame) -> None:
    nothing = aspca.detect(odd[3:], train=rows(2), n_components=2).outcomes[None]
    assert shown(80, nothing) == "No errors and no unusual rows\n"
    plain = aspca.detect(odd[3:], train=rows(2), n_components=2, score="standardized").outcomes[None]
    assert shown(80, plain).startswith("No anomalies (no score above ")
    none_shown = aspca.detect(odd, train=rows(2), n_components=2, top=0).outcomes[None]
    page = shown(80, none_shown, " in out/explanations.csv").splitlines()
    assert page[0] == "2 errors and 1 unusual row"
    assert page[1:] == ["  ... and 3 more in out/explanations.csv."]
    console = console_of(80)
    show_incidents(console, (), nothing.model, 0)
    assert console.file.getvalue() == "0 incidents\n"
