"""Ticks of times stand at whole ones, where the rows of these times are."""

from __future__ import annotations

import numpy as np
import pytest

from aspca.report.round_times import round_times


@pytest.mark.parametrize("step", ["1s", "7s", "60s", "900s", "3600s", "5400s", "86400s"])
@pytest.mark.parametrize("n", [30, 97, 2400])
def test_a_label_is_the_time_of_its_row(step: str, n: int) -> None:
    every = np.timedelta64(int(step[:-1]), "s")
    when = np.datetime64("2026-03-01T07:10:00") + np.arange(n) * every
    ticks = round_times(when, 7)
    assert 2 <= len(ticks) <= 8
    for place, text in ticks:
        # The first row that is not before it.
        mark = np.datetime64(text.replace(" ", "T"))
        assert when[place] >= mark
        assert place == 0 or when[place - 1] < mark
    marks = np.array([np.datetime64(text.replace(" ", "T"), "s") for _, text in ticks])
    assert len(set(np.diff(marks).tolist())) == 1


def test_none_where_times_are_uneven_or_no_dates() -> None:
    uneven = np.datetime64("2026-03-01", "s") + np.r_[np.arange(500), 10_000_000 + np.arange(3)].astype("m8[s]")
    assert round_times(uneven, 7) == []
    assert round_times(np.arange(100), 7) == []
    assert round_times(np.full(100, np.datetime64("2026-03-01", "s")), 7) == []
