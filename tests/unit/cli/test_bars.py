"""Progress says how far, how fast and how long still, on one line of 80 columns; none of it where nobody looks."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest
from rich.console import Console

from aspca.cli.bars import Bars
from aspca.cli.terminal import Terminal
from aspca.pipeline.fit import fit_table
from aspca.pipeline.judged_rows import judged_rows
from aspca.pipeline.options import settings_of
from aspca.pipeline.passes import Silent
from aspca.preparation import Preparation
from aspca.tables.keys import NO_KEYS
from aspca.tables.memory import MemoryTable, make_array_table


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


@pytest.mark.parametrize(
    ("stage", "steps", "step", "seconds", "shown"),
    [
        # 1,200,000 rows in 2 s, so 1,800,000 more in 3 s.
        (("Reading", 3_000_000), 4, 300_000, 0.5, " 40 % 600,000 rows/s 0:03 left"),
        # Forty more of a hundred seconds each.
        (("Finding rules", 52, "components"), 12, 1, 100.0, "12 of 52 components 1:06:40 left"),
        # No end is known.
        (("Reading",), 1, 61_000, 61.0, "61,000 rows 1,000 rows/s 1:01"),
        # Nothing is counted.
        (("Trying numbers of rules and alphas", None, ""), 1, 0, 5.0, "0:05"),
    ],
    ids=str,
)
def test_how_far_how_fast_and_how_long(
    bars: Bars, watch: Watch, stage: tuple[str, int, str], steps: int, step: int, seconds: float, shown: str
) -> None:
    bars.stage(*stage)
    for _ in range(steps):
        watch.now += seconds
        bars.advance(step)
    assert stage[0] in line(bars)
    assert " ".join(line(bars).split()).endswith(shown.strip())


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
    table = InParts("memory", make_array_table("memory", "abcde", values).content)
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

    for stream, quiet, kind in (
        (io.StringIO(), False, Silent),
        (Screen(), True, Silent),
        (Screen(), False, Bars),
    ):
        monkeypatch.setattr(sys, "stderr", stream)
        with Terminal(quiet).progress() as progress:
            assert isinstance(progress, kind)
