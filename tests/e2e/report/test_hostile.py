"""A hundred hostile names and cells, from a CSV file through a fit to the page and to exported CSV: nothing acts."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hostile import HOSTILE
from opened_page import Opened

from aspca.cli.main import main
from aspca.escaping import for_terminal

pytestmark = pytest.mark.promise

NUMBER = re.compile(r"[+-]?[0-9.]+([eE][+-]?[0-9]+)?")
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Outputs of a table whose columns have these names, and whose anomalies have these cells."""
    names = list({" ".join(name.split()): name for name in HOSTILE}.values())
    rng = np.random.default_rng(0)
    values = rng.normal(size=(300, len(names)))
    # Neighbours are tied in pairs, so that rules name them all.
    values[:, 1::2] = values[:, 0 : len(names) - 1 : 2] + 0.01 * rng.normal(size=values[:, 1::2].shape)
    judged = values[: len(HOSTILE)].copy()
    # Every cell of the corpus stands beside an anomaly.
    for row in range(len(HOSTILE)):
        judged[row, 2 * (row % (len(names) // 2))] += 2.0
    place = tmp_path_factory.mktemp("hostile")
    # Most rows are like those learned from.
    others = [str(k) for k in range(300)]
    tables = ("train.csv", values, others), ("table.csv", np.vstack([judged, values]), [*HOSTILE, *others])
    for name, rows, called in tables:
        with open(place / name, "w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream, quoting=csv.QUOTE_ALL)
            writer.writerow(["called", *names])
            writer.writerows(
                [word, *(f"{x:.6f}" for x in row)] for word, row in zip(called, rows.tolist(), strict=True)
            )
    files = [str(place / "table.csv"), "--train", str(place / "train.csv")]
    assert main(["detect", *files, "--id", "called", "-q", "--json", "-o", str(place / "out")]) == 0
    return place / "out"


@pytest.mark.parametrize("width", [1280, 360])
def test_nothing_acts_in_the_page(folder: Path, open_page: Callable[..., Opened], width: int) -> None:
    opened = open_page(folder / "report.html", width=width)
    page = opened.go()
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    opened.check_quiet()
    assert page.evaluate("window.__acted === undefined")
    # What stands there is ours: no element, attribute or section came out of a name, and none got lost.
    assert page.locator("script").count() == page.locator("style").count() == 1
    assert page.locator("img, iframe, object, embed, base, textarea, template, form:not(.find)").count() == 0
    assert page.evaluate(
        "[...document.querySelectorAll('*')].every((e) => ![...e.attributes].some((a) => /^on/.test(a.name)))"
    )
    assert page.evaluate("[...document.querySelectorAll('a')].every((a) => a.getAttribute('href').startsWith('#'))")
    assert (
        page.locator("main > section").count()
        == page.locator("nav a").count()
        == len({link.get_attribute("href") for link in page.locator("nav a").all()})
    )
    assert opened.overflow == 0
    shown = page.locator("#list").inner_text()
    # Lines of a file end in one way.
    for cell in (cell.replace("\r", "\n") for cell in HOSTILE if len(cell) <= 80):
        assert for_terminal(cell).strip() in shown


def test_every_anchor_is_safe_and_unique(folder: Path) -> None:
    text = (folder / "report.html").read_text(encoding="utf-8")
    anchors = re.findall(r' id="([^"]*)"', text)
    assert len(anchors) == len(set(anchors))
    assert all(re.fullmatch(r"[a-z0-9-]+", anchor) for anchor in anchors)
    assert set(re.findall(r'href="#([^"]*)"', text)) <= set(anchors)
    assert len(text) < 4_000_000


def test_formulas_are_defused_in_csv(folder: Path) -> None:
    for path in folder.glob("*.csv"):
        with open(path, newline="", encoding="utf-8") as stream:
            for line in csv.reader(stream):
                for cell in line:
                    visible = cell.lstrip("\u200b\ufeff ")
                    assert not visible.startswith(FORMULA) or NUMBER.fullmatch(cell), (path.name, cell[:60])


def test_as_markdown_and_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [str(folder / "model.json"), str(folder.parent / "table.csv"), "--id", "called", "-q"]
    assert main(["report", *words, "--format", "markdown"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"(?<!\\)<", text) is None
    assert all(line.isprintable() for line in text.split("\n"))
    assert main(["report", *words, "--json"]) == 0
    assert all(line.isprintable() for line in capsys.readouterr().out.split("\n"))
