"""The page, the document and the pictures: everything stands there, nothing acts, and twice is the same."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import sys
from decimal import Decimal
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest

from aspca.paper.figures import make_sheet
from aspca.paper.published import (
    Figure,
    Listing,
    Reproduction,
    Section,
    Table,
    Tolerance,
    compare_numbers,
    compare_words,
)
from aspca.paper.write import draw_picture, make_document, render_page

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

HOSTILE = '<script>alert("x")</script>&amp;\'"'


def _canvas() -> Canvas:
    figure, axes = make_sheet(2.0, 1.5)
    axes[0, 0].plot([1, 2, 4])
    axes[0, 0].set_title("A line")
    return figure


FIGURE = Figure("figure-0", "Figure 0", HOSTILE, HOSTILE, _canvas)


@pytest.fixture(scope="module")
def reproduction() -> Reproduction:
    grid = Table(
        "A grid",
        tuple(
            one
            for row, value in (("first", 1.26), ("second", 3.5))
            for one in compare_numbers(
                ("sparsity", "synthetic", row),
                dict.fromkeys("xy", Decimal("1.25")),
                dict.fromkeys("xy", value),
                Tolerance(0.1),
            )
        ),
        (HOSTILE,),
    )
    words = Table("Words", (compare_words(("words", "data", HOSTILE, "said"), HOSTILE, HOSTILE, HOSTILE, holds=False),))
    listing = Listing(HOSTILE, ("rule", "value"), ((HOSTILE, 0.5), ("none", None)), (HOSTILE,))
    section = Section("data", "Some data", HOSTILE, (grid, FIGURE, words, listing))
    return Reproduction((section,), (HOSTILE,))


@pytest.fixture(scope="module")
def page(reproduction: Reproduction) -> str:
    return render_page(reproduction, {FIGURE.key: {"png": b"p" * 10, "svg": b"s" * 20}})


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))


def test_nothing_on_the_page_acts(page: str) -> None:
    tags = Tags()
    tags.feed(page)
    assert not {tag for tag, _ in tags.seen} & {"script", "iframe", "object", "embed", "link", "form", "base"}
    for _, attributes in tags.seen:
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
        for name in ("src", "href"):
            assert (attributes.get(name) or "#").startswith(("#", "data:image/"))
    assert page.count("<script") == 0
    assert page.count("&lt;script&gt;") >= 8


def test_its_own_rule_lets_only_its_own_style_through(page: str) -> None:
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    allowed = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"default-src 'none'; img-src data:; style-src 'sha256-{allowed}'" in page
    assert "prefers-color-scheme: dark" in style


def test_every_number_and_the_smaller_picture_stand_on_the_page(page: str) -> None:
    for text in ("1.25", "1.26", "3.50 !", "+2.25", "No cause is known."):
        assert text in page
    assert "data:image/png;base64," + base64.b64encode(b"p" * 10).decode() in page


def test_the_document_holds_every_comparison(reproduction: Reproduction) -> None:
    document = json.loads(json.dumps(make_document(reproduction), allow_nan=False))
    assert document["summary"] == [
        {"data": "Some data", "published": 5, "agree": 2, "to_the_last_digit": 0, "differ": 3}
    ]
    assert document["missing"] == [HOSTILE]
    grid, figure, words, listing = document["sections"][0]["parts"]
    assert [one["agrees"] for one in grid["comparisons"]] == [True, True, False, False]
    assert grid["comparisons"][2]["difference"] == 2.25
    assert figure["key"] == "figure-0"
    assert words["comparisons"][0]["difference"] is None
    assert listing["rows"][1] == {"rule": "none", "value": None}


def test_counts_and_deviations(reproduction: Reproduction) -> None:
    (section,) = reproduction.sections
    assert section.counts == {"published": 5, "agree": 2, "to_the_last_digit": 0, "differ": 3}
    ((reason, several),) = reproduction.deviations.items()
    assert reason == ""
    assert len(several) == 3
    assert not any(one.agrees for one in several)


def test_a_picture_is_the_same_every_time() -> None:
    first, second = draw_picture(FIGURE), draw_picture(FIGURE)
    assert first == second
    assert first["png"].startswith(b"\x89PNG")
    assert b"<dc:date>" not in first["svg"]


def test_only_what_draws_needs_matplotlib_and_jinja() -> None:
    code = "import sys, aspca.paper.run, aspca.paper.write; print({'matplotlib', 'jinja2'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
