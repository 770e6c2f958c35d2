"""The demonstration's report in a real browser, as whoever is sent it uses it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from opened_page import Opened

from aspca.cli.main import main

pytestmark = pytest.mark.promise

Open = Callable[..., Opened]


@pytest.fixture(scope="module")
def told(demo: Path) -> Any:
    """What the report says, as data."""
    folder, out = demo.parent, demo.parent.parent / "report.json"
    words = [str(folder / "model.json"), str(folder / "data.csv"), "--label", "kind", "--json", "-o", str(out), "-q"]
    assert main(["report", *words]) == 0
    return json.loads(out.read_text(encoding="utf-8"))


def test_two_clicks_to_the_broken_rule_of_any_anomaly(demo: Path, open_page: Open, told: Any) -> None:
    opened = open_page(demo)
    page = opened.go()
    assert page.locator("details.an").count() == len(told["anomalies"]) == 27
    for anomaly in told["anomalies"]:
        item = page.locator(f"#row-{anomaly['row']}")
        item.locator("summary").click()
        for broken in anomaly["breaks"]:
            rule = told["rules"][broken["rule"]]
            if broken["share"] < 0.05 and broken != anomaly["breaks"][0]:
                # Told in short.
                assert item.get_by_text(rule["short"], exact=True).first.is_visible()
                continue
            assert item.get_by_text(rule["text"], exact=True).first.is_visible()
    item = page.locator("#row-508")
    item.locator("h4 a", has_text="Rule 0").click()
    assert page.url.endswith("#rule-0")
    assert "D = A + C" in page.locator("#rule-0 h4").inner_text()
    opened.check_quiet()


def test_a_row_shows_its_cells_as_the_file_has_them(demo: Path, open_page: Open) -> None:
    page = open_page(demo).go("#row-508")
    header, *lines = (demo.parent / "data.csv").read_text(encoding="utf-8").splitlines()
    cells = dict(zip(header.split(","), lines[508].split(","), strict=True))
    shown = page.locator("#row-508 dl div")
    assert shown.count() == len(cells)
    for k, (name, cell) in enumerate(cells.items()):
        assert shown.nth(k).locator("dt").inner_text() == name
        assert shown.nth(k).locator("dd").inner_text().startswith(cell)
    # The cell that was made wrong is the one that is marked.
    assert "D" in page.locator("#row-508 .at dt").all_inner_texts()


def test_search_and_filter(demo: Path, open_page: Open, told: Any) -> None:
    page = open_page(demo).go()
    page.fill("#q", "f is ")
    seen = [row for row in told["anomalies"] if page.locator(f"#row-{row['row']}").is_visible()]
    assert {row["row"] for row in seen} == {row["row"] for row in told["anomalies"] if "F is " in row["reason"]}
    assert {510, 511, 512, 513, 514} <= {row["row"] for row in seen}
    assert page.locator("#found").inner_text() == f"{len(seen)} of 27 anomalies"
    page.fill("#q", "row  508")
    assert [page.locator("details.an:visible").get_attribute("id")] == ["row-508"]
    page.keyboard.press("Escape")
    assert page.locator("details.an:visible").count() == 27
    page.select_option("#by-rule", "1")
    breaking = [row for row in told["anomalies"] if any(one["rule"] == 1 and one["broken"] for one in row["breaks"])]
    assert page.locator("details.an:visible").count() == len(breaking)
    # A link leads to a row that the search had hidden.
    page.evaluate("location.hash = 'row-508'")
    page.wait_for_function("document.getElementById('row-508').open")
    assert page.locator("#row-508").is_visible()


@pytest.mark.parametrize("anchor", ["row-508", "rule-1", "column-d", "group-0", "choices"])
def test_a_link_leads_there(demo: Path, open_page: Open, anchor: str) -> None:
    page = open_page(demo).go(f"#{anchor}")
    box = page.locator(f"#{anchor}").bounding_box()
    assert 0 <= box["y"] < 800
    if anchor.startswith("row"):
        assert page.locator(f"#{anchor} .brk").first.is_visible()


def test_columns_rules_and_rows_lead_to_each_other(demo: Path, open_page: Open) -> None:
    page = open_page(demo).go("#column-d")
    page.locator("#column-d a", has_text="0").first.click()
    assert page.url.endswith("#rule-0")
    page.locator("#rule-0 a", has_text="508").click()
    assert page.url.endswith("#row-508")
    # The page opens the row once it hears of the new address.
    page.locator("#row-508 .brk").first.wait_for(state="visible")
    page.locator("#row-508 table a", has_text="D").first.click()
    assert page.url.endswith("#column-d")


def test_by_keyboard_alone(demo: Path, open_page: Open) -> None:
    page = open_page(demo).go()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "q"
    page.keyboard.type("508")
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.parentElement.id") == "row-508":
            break
    page.keyboard.press("Enter")
    # The page opens the row once it hears of the new address.
    page.locator("#row-508 .brk").first.wait_for(state="visible")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_function("document.activeElement.id === 'rule-0'")
    assert page.url.endswith("#rule-0")
    # What has the focus is seen.
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"


@pytest.mark.parametrize("dark", [False, True])
def test_on_a_phone(demo: Path, open_page: Open, dark: bool) -> None:
    opened = open_page(demo, width=360, dark=dark)
    page = opened.go("#row-508")
    assert opened.overflow == 0
    page.evaluate(OPEN)
    assert opened.overflow == 0
    assert page.locator(".narrow").is_visible()
    assert not page.locator(".wide").is_visible()
    light = sum(map(int, page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g)")[:3])) > 384
    assert light is not dark
    opened.check_quiet()


def test_printed(demo: Path, open_page: Open) -> None:
    page = open_page(demo).go()
    assert not page.locator("#row-508 .brk").first.is_visible()
    page.emulate_media(media="print")
    # On paper nothing can be opened: the worst rows are, and what searches is gone.
    assert page.locator("#row-508 .brk").first.bounding_box()["height"] > 50
    assert not page.locator("nav").is_visible()
    assert not page.locator(".find").is_visible()
    paper = page.pdf(format="A4")
    assert paper.startswith(b"%PDF")
    assert paper.count(b"/Type /Page\n") > 3 or len(paper) > 50_000


def test_without_javascript(demo: Path, open_page: Open, told: Any) -> None:
    page = open_page(demo, script=False).go()
    assert not page.locator(".find").is_visible()
    assert page.locator("details.an").count() == len(told["anomalies"])
    assert page.locator("header svg.wide").is_visible()
    page.locator("#row-508 summary").click()
    assert page.locator("#row-508 .brk svg").first.is_visible()
    page.locator("#row-508 h4 a").first.click()
    assert page.url.endswith("#rule-0")
    assert page.locator("#rule-0 svg").is_visible()


# A few rows are like all others, and axe looks at each element.
SOME = "[...document.querySelectorAll('details.an:nth-of-type(n + 4)')].forEach((one) => one.remove())"
OPEN = "document.querySelectorAll('details').forEach((one) => { one.open = true })"


@pytest.mark.parametrize("dark", [False, True])
def test_accessible(demo: Path, open_page: Open, dark: bool) -> None:
    """axe-core, from its registry package, finds nothing serious, with everything open."""
    axe = pytest.importorskip("axe_playwright_python.base")
    page = open_page(demo, dark=dark).go()
    page.evaluate(SOME)
    page.evaluate(OPEN)
    check_accessible(page, axe)


@pytest.mark.long
def test_all_of_it_is_accessible(demo: Path, open_page: Open) -> None:
    axe = pytest.importorskip("axe_playwright_python.base")
    page = open_page(demo).go()
    check_accessible(page, axe)
    page.evaluate(OPEN)
    check_accessible(page, axe)


def check_accessible(page: Any, axe: Any) -> None:
    page.evaluate(axe.AXE_FILE_PATH.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")
    serious = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
    assert [(one["id"], [node["html"] for node in one["nodes"][:3]]) for one in serious] == []


def test_nothing_but_our_own_script_runs(demo: Path) -> None:
    text = demo.read_text(encoding="utf-8")
    policy = text.partition('Content-Security-Policy" content="')[2].partition('"')[0]
    assert policy.startswith("default-src &#39;none&#39;; script-src &#39;sha256-")
    assert "unsafe" not in policy
    assert text.count("<script") == 1
    assert " style=" not in text
    assert "http://" not in text
    assert "https://" not in text
