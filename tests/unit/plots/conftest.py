"""Figures without a screen, closed after each test, and one small model with hostile names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

mpl.use("Agg")

import matplotlib.pyplot as plt

from aspca import ASPCA

LONG = "a" * 80
HOSTILE = (
    r"$\frac{a$ and $",
    "_hidden $x^2$ \n newline",
    f"{LONG}1{LONG}",
    f"{LONG}2{LONG}",
    r"back\slash \$ {",
    "plain",
)


@dataclass(frozen=True)
class Fitted:
    model: ASPCA
    frame: pd.DataFrame
    labels: Any


def fitted(names: tuple[str, ...], **settings: Any) -> Fitted:
    """A = B and D = A + C and a nearly constant F, with two rows that break a rule each."""
    rng = np.random.default_rng(0)
    a, c, e = rng.normal(size=(3, 300))
    small = 0.1 * rng.normal(size=(3, 300))
    rows = np.column_stack([a, a + small[0], c, a + c + small[1], e, 1e5 + small[2]])
    rows[5, 1] += 4.0
    rows[77, 5] += 5.0
    frame = pd.DataFrame(rows, columns=list(names))
    return Fitted(ASPCA(n_components=3, **settings).fit(frame), frame, np.isin(np.arange(300), (5, 77)))


@pytest.fixture(scope="session")
def plain() -> Fitted:
    return fitted(tuple("ABCDEF"))


@pytest.fixture(scope="session")
def hostile() -> Fitted:
    return fitted(HOSTILE)


@pytest.fixture(scope="session")
def many() -> Fitted:
    """35 rules with long names, as on KDD99."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(400, 8)) @ rng.normal(size=(8, 41)) + 0.3 * rng.normal(size=(400, 41))
    names = [f"dst_host_some_rather_long_name_of_rate_{j}_per_second" for j in range(41)]
    frame = pd.DataFrame(rows, columns=names)
    # Without a penalty the rules are dense, so as long as they can be, and found at once.
    model = ASPCA(n_components=35, alpha=0.0, variant="B", contamination=0.05).fit(frame)
    return Fitted(model, frame, None)


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


def check_ticks(axes: Any) -> None:
    """No tick labels overlap, once all is drawn."""
    for axis in (axes.xaxis, axes.yaxis):
        shown = [label for label in axis.get_ticklabels(which="both") if label.get_visible() and label.get_text()]
        boxes = [(label.get_text(), label.get_window_extent()) for label in shown] if axes.axison else []
        assert not [(one, two) for (one, a), (two, b) in combinations(boxes, 2) if a.overlaps(b)]


def check_legible(figure: Any) -> None:
    """No tick labels overlap, and no text reaches beyond the figure."""
    figure.canvas.draw()
    for axes in figure.axes:
        check_ticks(axes)
    unseen = {id(text) for axes in figure.axes for text in _unseen(axes)}
    for text in figure.findobj(Text):
        if id(text) not in unseen and text.get_visible() and text.get_text():
            box = text.get_window_extent()
            assert box.x0 >= -1, text
            assert box.y0 >= -1, text
            assert box.x1 <= figure.bbox.width + 1, text
            assert box.y1 <= figure.bbox.height + 1, text


def _unseen(axes: Any) -> Iterator[Text]:
    """Labels that matplotlib keeps but does not draw: of hidden axes, and of ticks beyond the limits."""
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        for tick in (*axis.majorTicks, *axis.minorTicks):
            if not axes.axison or not low <= tick.get_loc() <= high:
                yield from (tick.label1, tick.label2)


def read_ticks(axes: Any, which: str) -> list[str]:
    return [label.get_text() for label in (axes.get_xticklabels() if which == "x" else axes.get_yticklabels())]


def read_texts(figure: Any) -> list[str]:
    return [text.get_text() for text in figure.findobj(Text)]
