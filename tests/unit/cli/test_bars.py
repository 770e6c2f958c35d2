"""Progress says how far, how fast and how long still, on one line of 80 columns; none of it where nobody looks."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest
from rich.console import Console

from aspca.cli.bars import Bars
from aspca.cli.terminal import Terminal
from aspca.pipeline.fit_table import fit_table
from aspca.pipeline.judged_rows import judged_rows
from aspca.pipeline.options import settings_of
from aspca.pipeline.passes import Silent
from aspca.preparation import Preparation
from aspca.tables.keys import NO_KEYS
from aspca.tables.memory import MemoryTable, array_table


class Watch:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def line(bars: Bars) -> str:
    console = Console(file=io.StringIO(), width=80, force_terminal=False)
    console.print(bars._progress.get_renderable())
    (shown,) = console.file.getvalue().rstrip("\n").split("\n")
    return shown.rstrip()


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def bars(watch: Watch) -> Bars:
    return Bars(Console(file=io.StringIO(), width=80, force_terminal=False), watch)


@pytest.mark.parametrize("stage", ["Reading", "Setting the limit", "Scoring"])
def test_rows(bars: Bars, watch: Watch, stage: str) -> None:
    bars.stage(stage, 3_000_000)
    for _ in range(4):
        watch.now += 0.5
        bars.advance(300_000)
    assert stage in line(bars)
    assert " 40 %" in line(bars)
    # 1,200,000 rows in 2 s, so 1,800,000 more in 3 s.
    assert line(bars).endswith("600,000 rows/s 0:03 left")


def test_components(bars: Bars, watch: Watch) -> None:
    bars.stage("Finding rules", 52, "components")
    for _ in range(12):
        watch.now += 100
        bars.advance(1)
    assert "12 of 52 components" in line(bars)
    # Forty more of a hundred seconds each.
    assert line(bars).endswith("1:06:40 left")


def test_no_end_is_known(bars: Bars, watch: Watch) -> None:
    bars.stage("Reading")
    watch.now = 61.0
    bars.advance(61_000)
    assert line(bars).endswith("61,000 rows 1,000 rows/s 1:01")


def test_nothing_is_counted(bars: Bars, watch: Watch) -> None:
    bars.stage("Trying numbers of rules and alphas", unit="")
    watch.now = 5.0
    assert line(bars).endswith("0:05")


def test_every_stage_of_a_job_shows_time_left(bars: Bars, watch: Watch) -> None:
    """Reading, each component and scoring, as the jobs tell them."""
    seen: list[str] = []

    class Slow:
        def stage(self, what: str, total: int | None = None, unit: str = "rows") -> None:
            bars.stage(what, total, unit)

        def advance(self, amount: int) -> None:
            # What was done before took a second.
            watch.now += 1.0
            bars.advance(amount)
            seen.append(line(bars))

    class InParts(MemoryTable):
        def batches(self, names, size=65536):  # type: ignore[no-untyped-def]
            return super().batches(names, 100)

    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 500))
    values = np.column_stack([a, b, a + b, a - b, b]) + 0.01 * rng.normal(size=(500, 5))
    table = InParts("memory", array_table("memory", "abcde", values).content)
    model = fit_table(
        table, Preparation.identity("abcde"), settings_of({"n_components": 3, "score": "standardized"}, None), Slow()
    )
    assert len(list(judged_rows(model, table, NO_KEYS, Slow()))) == 5
    for stage, unit in (("Reading", "rows/s"), ("Finding rules", "of 3 components"), ("Scoring", "rows/s")):
        told = [shown for shown in seen if stage in shown]
        assert len(told) >= 3
        assert all(unit in shown and shown.endswith(" left") for shown in told)


def test_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with Terminal(quiet=False).progress() as progress:
        assert isinstance(progress, Silent)
    monkeypatch.setattr(sys, "stderr", Screen())
    with Terminal(quiet=True).progress() as progress:
        assert isinstance(progress, Silent)
    with Terminal(quiet=False).progress() as progress:
        assert isinstance(progress, Bars)
