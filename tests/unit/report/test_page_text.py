"""The page as text: every link leads somewhere, whatever is in the report."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

import aspca


def table(n: int = 600) -> pd.DataFrame:
    """Sums in time, with gross cells, an incident, and a change that lasts."""
    rng = np.random.default_rng(5)
    a, b = rng.gamma(2.0, 5.0, size=(2, n))
    total = a + b + 0.05 * rng.normal(size=n)
    total[100] = 1e6
    total[200:204] += 30.0
    total[450:] += 5.0
    when = pd.date_range("2024-01-01", periods=n, freq="h")
    return pd.DataFrame({"a": a, "b": b, "total": total, "at": when, "site": ["x", "y"] * (n // 2)})


@pytest.mark.parametrize(
    "options", [{"time": "at"}, {"time": "at", "categorical": "site"}, {"by": "site"}, {"preset": "paper"}], ids=str
)
@pytest.mark.parametrize("private", [False, True])
def test_every_link_leads_somewhere(options: dict[str, Any], private: bool) -> None:
    rows = table() if "preset" not in options else table()[["a", "b", "total"]]
    found = aspca.detect(rows, **{"ignore_text": True, **options})
    for category in found.outcomes:
        text = found.report(category=category, private=private)
        anchors = re.findall(r' id="([^"]*)"', text)
        assert len(anchors) == len(set(anchors))
        assert set(re.findall(r'href="#([^"]*)"', text)) <= set(anchors)
        # Nothing was left to be filled in, and nothing is no value.
        written = re.sub(r"<script>.*</script>", "", text, flags=re.DOTALL)
        assert not re.search(r"\{\{|\}\}|\{%|\bNone\b(?! of| are|:)|\bnan\b|\binf\b", written)


def test_what_happened_in_time_is_told() -> None:
    found = aspca.detect(table().drop(columns="site"), train=table().drop(columns="site")[:90], time="at")
    text = found.report()
    assert "rows of a lasting change. Since row 450 (2024-01-19 18:00:00): total = a + b" in text
    assert 'id="changes"' in text
    assert 'id="incidents"' in text
    assert text.count('class="ch"') == 2 * len(found.changes)
