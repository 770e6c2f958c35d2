"""What notebooks show: tables of plain HTML, in which no name acts."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pandas as pd
import pytest

import aspca
from aspca.paper.datasets import load_synthetic

NAME = "<img src=x onerror=alert(1)>\u202e"


class Tags(HTMLParser):
    """The tags that a browser would see, with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, list[Any]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, attributes))


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    data = load_synthetic()
    return pd.DataFrame(data.data, columns=[NAME, *data.feature_names[1:]])


@pytest.mark.parametrize("kind", ["explanation", "detection", "several"])
def test_tables_and_nothing_else(frame: pd.DataFrame, kind: str) -> None:
    if kind == "explanation":
        shown = aspca.ASPCA().fit(frame).explain(frame)
    elif kind == "detection":
        shown = aspca.detect(frame)
    else:
        shown = aspca.detect(frame.assign(site=["<b>", "y"] * 257 + ["y"]), by="site")
    text = shown._repr_html_()
    assert {tag for tag, _ in Tags(text).seen} <= {"div", "p", "table", "thead", "tbody", "tr", "th", "td"}
    assert all(not attributes for _, attributes in Tags(text).seen)
    assert "\u202e" not in text
    assert "&lt;img src=x" in text
    assert re.search(r"Row 508 is an error \((certain|very likely|likely)\): [CD] is -[01]", text)
    assert len(text) < 30_000


def test_an_estimator_shows_its_rules_below_scikit_learns_diagram(frame: pd.DataFrame) -> None:
    model = aspca.ASPCA()
    before = model._repr_html_()
    assert "sk-" in before
    model.fit(frame)
    for text in (model._repr_html_(), model._repr_mimebundle_()["text/html"]):
        assert "sk-" in text
        assert "D = [&lt;img src=x onerror=alert(1)&gt;" in text
        assert re.search(r"<img[^;]", text) is None
