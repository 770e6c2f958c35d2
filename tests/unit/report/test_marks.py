"""What is marked in a row is what its reasons speak of, and at the side that the values beside it say."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

from aspca.escaping import name_text
from aspca.report.pictures.rows import draw_cell_map
from aspca.report.pictures.svg import MINUS
from aspca.report.summary import Anomaly, Report

from .conftest import report_of


def plant(seed: int, n: int = 900) -> pd.DataFrame:
    """Columns in several rules at once, so that what is wrong in one is blamed on others too."""
    rng = np.random.default_rng(seed)
    feed = 120.0 + rng.normal(0, 6, n)
    steam = 0.42 * feed + rng.normal(0, 0.6, n)
    top = 0.35 * feed + rng.normal(0, 0.8, n)
    table = pd.DataFrame(
        {
            "feed": feed,
            "steam": steam,
            "top": top,
            "bottom": feed - top + rng.normal(0, 0.25, n),
            "power": 3.2 * steam + 11 + rng.normal(0, 1.2, n),
            "pressure": 2.1 + 0.004 * top + rng.normal(0, 0.02, n),
            "apart": rng.normal(0, 1, n),
        }
    ).round(2)
    for row in rng.choice(n, 40, replace=False):
        column = table.columns[rng.integers(table.shape[1])]
        table.loc[row, column] += rng.normal(0, 4) * float(table[column].std())
    return table


def cancer() -> pd.DataFrame:
    data = load_breast_cancer()
    return pd.DataFrame(data.data, columns=data.feature_names)


def told_values(one: Anomaly) -> list[tuple[int, float, float]]:
    """Columns with what they are, and a value that is shown beside that: needed, or usual."""
    shown = [each for each in one.breaks if each.share >= 0.05 or each is one.breaks[0]]
    told = [(need.column, need.now, need.needed) for each in shown for need in each.needed if need.needed is not None]
    told += [
        (each.column, each.now, each.usual.removeprefix("about ").partition(" ")[0])
        for each in one.unusual
        if each.usual
    ]
    return [(column, float(now.rstrip("…")), float(other.rstrip("…"))) for column, now, other in told]


TABLES = {**{f"plant {seed}": lambda seed=seed: plant(seed) for seed in range(4)}, "cancer": cancer}


@pytest.fixture(scope="module", params=TABLES)
def told(request: pytest.FixtureRequest) -> Report:
    return report_of(TABLES[request.param]())[1]


def test_no_side_contradicts_a_value_that_is_shown(told: Report) -> None:
    compared = 0
    for one in told.anomalies:
        sides = {cell.column: cell.side for cell in one.cells}
        for column, now, other in told_values(one):
            if sides[column]:
                assert (sides[column] == "high") == (now > other), (one.row, told.columns[column].name)
                compared += 1
        # And what nothing is told of is at no side.
        assert {column for column, side in sides.items() if side} <= {column for column, _, _ in told_values(one)}
    assert compared >= len(told.anomalies)


def test_what_is_marked_is_told(told: Report) -> None:
    for one in told.anomalies:
        marked = [cell.column for cell in one.cells if cell.marked]
        of_rules = {need.column for each in one.breaks for need in each.needed}
        assert marked
        assert set(marked) <= of_rules | {each.column for each in one.unusual}
        if sum(each.share for each in one.breaks) >= 0.9:
            assert set(marked) <= of_rules
        if one.breaks:
            assert one.breaks[0].needed[0].column in marked


def test_the_reason_names_the_cell_and_what_would_fit(told: Report) -> None:
    named = 0
    for one in told.anomalies:
        if one.breaks and one.breaks[0].broken and one.breaks[0].needed[0].needed is not None:
            first = one.breaks[0].needed[0]
            name = name_text(told.columns[first.column].name)
            assert one.reason.startswith(f"{name} is {first.now}, {first.needed} would fit (")
            named += 1
    assert named
    if told.anomalies[0].breaks and told.anomalies[0].breaks[0].broken:
        assert told.anomalies[0].reason.split(" (and ")[0] in told.headline[2]


def test_no_value_where_it_is_private() -> None:
    _, told = report_of(plant(0), private=True)
    assert not any("would fit" in text for text in [*told.headline, *(one.reason for one in told.anomalies)])


def test_the_cell_map_signs_what_is_at_a_side(told: Report) -> None:
    drawn = draw_cell_map(told)
    cells = [cell for one in told.anomalies[:60] for cell in one.cells if cell.marked]
    assert drawn.count(">+</text>") == sum(cell.side == "high" for cell in cells)
    assert drawn.count(f">{MINUS}</text>") == sum(cell.side == "low" for cell in cells)
    rows = list(map(int, re.findall(r'href="#row-(\d+)"', drawn)))
    # The worst row first, and of each group.
    ranks = {one.row: one.rank for one in told.anomalies}
    groups = {one.row: one.group for one in told.anomalies}
    assert rows[0] == told.anomalies[0].row
    for group in set(groups.values()):
        of_group = [ranks[row] for row in rows if groups[row] == group]
        assert of_group == sorted(of_group)
