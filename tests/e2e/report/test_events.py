"""Rows of one event, which stand under the worst of them: linked to, searched for, and read without JavaScript."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from opened_page import Opened

import aspca

Open = Callable[..., Opened]


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(3)
    n = 800
    a, b = rng.normal(50, 5, size=(2, n))
    rows = pd.DataFrame({"a": a, "b": b, "total": a + b + rng.normal(0, 0.1, n), "apart": rng.normal(size=n)})
    rows.loc[100, "total"] += 50.0
    rows.loc[600:619, "total"] += 3.0
    path = tmp_path_factory.mktemp("events") / "report.html"
    aspca.detect(rows.assign(at=pd.date_range("2026-01-01", periods=n, freq="h")), time="at").report(path)
    return path


def test_a_link_opens_the_event_that_its_row_is_in(page_file: Path, open_page: Open) -> None:
    page = open_page(page_file).go()
    inside = page.locator("details.ev details.an")
    assert inside.count() == 19
    assert not inside.first.is_visible()
    anchor = inside.nth(7).get_attribute("id")
    page = open_page(page_file).go(f"#{anchor}")
    assert page.locator(f"#{anchor} .brk").first.is_visible()


def test_search_finds_rows_of_an_event(page_file: Path, open_page: Open) -> None:
    opened = open_page(page_file)
    page = opened.go()
    many = page.locator("details.an").count()
    row = page.locator("details.ev details.an").nth(7).get_attribute("id").removeprefix("row-")
    page.fill("#q", f"row {row}")
    assert page.locator("details.an:visible").count() == 1
    assert page.locator(f"#row-{row}").is_visible()
    # Columns that are at fault, and not all that stand in a row.
    page.fill("#q", "apart")
    assert page.locator("#found").inner_text() != f"{many} of {many} anomalies"
    assert not page.locator("details.ev").is_visible()
    assert not page.locator(".from-here").is_visible()
    page.keyboard.press("Escape")
    assert page.locator(".from-here").is_visible()
    assert page.locator("details.ev > summary").is_visible()
    opened.check_quiet()


def test_without_javascript(page_file: Path, open_page: Open) -> None:
    page = open_page(page_file, script=False).go()
    page.locator("details.ev > summary").click()
    inside = page.locator("details.ev details.an").nth(3)
    inside.locator("summary").click()
    assert inside.locator(".brk").first.is_visible()


def test_on_a_phone_no_number_and_no_time_is_broken_or_cut(page_file: Path, open_page: Open) -> None:
    opened = open_page(page_file, width=360)
    page = opened.go()
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    assert opened.overflow == 0
    # One line each: less than two lines high.
    tall = "(all) => all.filter((one) => one.getBoundingClientRect().height > 40).map((one) => one.textContent)"
    assert page.locator("details.an .box td").count() > 100
    assert page.eval_on_selector_all("details.an tr:not(:has(.none)) > td:not([colspan])", tall) == []
    cut = "(all) => all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.textContent)"
    assert page.locator(".ky").count() > 20
    assert page.eval_on_selector_all(".ky", cut) == []
    # Groups and incidents are read without moving them aside.
    for region in ("Groups", "Incidents"):
        aside = "(one) => one.scrollWidth - one.clientWidth"
        assert page.eval_on_selector(f"[aria-label={region}]", aside) <= 0


def test_accessible_on_a_phone(page_file: Path, open_page: Open) -> None:
    """What is moved aside there can be moved by keyboard, too."""
    axe = pytest.importorskip("axe_playwright_python.base")
    page = open_page(page_file, width=360).go()
    page.evaluate("[...document.querySelectorAll('details.an')].slice(6).forEach((one) => one.remove())")
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    page.evaluate(axe.AXE_FILE_PATH.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")["violations"]
    assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
