"""Changes in a table, part by part: the same as in memory, and told honestly everywhere."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from aspca.findings.changes import events_of, moment_text
from aspca.findings.explanation import Explanation
from aspca.pipeline.detect import detect_request
from aspca.pipeline.options import make_request
from aspca.pipeline.passes import Silent
from aspca.pipeline.result import Detection
from aspca.tables.memory import MemoryTable, make_array_table
from aspca.tables.table import Batch

N, START = 4000, 3600
ERRORS = (50, 3700, 3900)
NAMES = ("a", "b", "total", "load")


def clean(seed: int) -> np.ndarray:
    """total = a + b."""
    rng = np.random.default_rng(seed)
    a, b, load = rng.normal(size=(3, N)) * [[3.0], [4.0], [1.0]]
    return np.column_stack([a, b, a + b + 0.1 * rng.normal(size=N), load])


def drawn() -> np.ndarray:
    """From row 3600 on the total is 1 more; rows 50, 3700 and 3900 are off by 8 more."""
    values = clean(3)
    values[START:, 2] += 1.0
    values[list(ERRORS), 2] += 8.0
    return values


class InParts(MemoryTable):
    """The same table in small, uneven parts."""

    def batches(self, names: Sequence[str], size: int = 37) -> Iterator[Batch]:
        return super().batches(names, 337)

    def cells(self, names: Sequence[str], size: int = 11) -> Iterator[list[tuple[object, ...]]]:
        return super().cells(names, 111)


def table_of(values: np.ndarray, order: np.ndarray | None = None, *, parts: bool = False) -> MemoryTable:
    order = np.arange(len(values)) if order is None else order
    everything = np.column_stack([values, 60.0 * np.arange(len(values))])[order]
    names = [f"row {i}" for i in order]
    kinds = [("=x", "y")[i % 2] for i in order]
    table = make_array_table("memory", (*NAMES, "when"), everything, name=names, kind=kinds)
    return InParts(table.description, table.content) if parts else table


def judged(table: MemoryTable, folder: Path | None = None, **given: object) -> Detection:
    options = {"id": "name", "ignore": ["kind"], "top": 3, "output": None if folder is None else folder / "out"}
    options["train"] = table_of(clean(2))
    return detect_request(make_request(table, **{**options, **given}), Silent())


def lines(path: Path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    return drawn()


@pytest.mark.parametrize("given", [{"ignore": ["kind", "when"]}, {"time": "when"}], ids=["listed", "timed"])
def test_in_parts_as_in_memory(values: np.ndarray, tmp_path: Path, given: dict[str, object]) -> None:
    found = judged(table_of(values, parts=True), tmp_path, **given)
    outcome = found.outcomes[None]
    rows = values
    why = Explanation.of(outcome.model, rows, range(N))
    when = 60.0 * np.arange(N) if "time" in given else None
    assert [change.text for change in found.changes] == [change.text for change in why.changes(when)]
    (change,) = found.changes
    assert abs(change.first - START) <= 5
    assert change.to_end
    assert change.since == (60.0 * change.first if "time" in given else change.first)
    beyond = np.flatnonzero(why.beyond(when))
    assert outcome.n_anomalies == why.anomalies.sum() > 300
    assert outcome.n_beyond == beyond.size
    assert set(ERRORS) <= set(beyond)
    # The errors come first, though rows of the change score more than other anomalies.
    assert [finding.row for finding in found.findings] == sorted(
        ERRORS, key=lambda row: [finding.row for finding in found.findings].index(row)
    )
    assert all(finding.beyond for finding in found.findings)
    # The headline's counts add up.
    of_change = outcome.n_anomalies - outcome.n_beyond
    verdicts = f"{outcome.n_errors:,} errors and {outcome.n_anomalies - outcome.n_errors:,} unusual rows"
    assert outcome.headline == f"{verdicts}: {of_change:,} rows of 1 change, {outcome.n_beyond:,} beyond"
    for words in (outcome.headline, change.text, "Beyond the change, the worst 3", found.findings[0].text):
        assert words in found.text
    # Files: what changed, and each row's score as ever.
    (line,) = lines(tmp_path / "out" / "changes.csv")
    assert (line["change"], line["rule"], line["to_end"]) == ("0", str(change.rule), "1")
    assert (int(line["first"]), int(line["last"]), int(line["rows"])) == (change.first, N - 1, change.n_rows)
    assert line["since"] == (moment_text(change.since) if "time" in given else "")
    assert float(line["size"]) == change.size
    assert line["explanation"] == change.text
    scores = lines(tmp_path / "out" / "scores.csv")
    assert [float(row["score"]) for row in scores] == why.scores.tolist()
    assert sum(row["anomaly"] == "1" for row in scores) == outcome.n_anomalies
    explained = {int(row["row"]) for row in lines(tmp_path / "out" / "explanations.csv")}
    assert explained == set(np.flatnonzero(why.anomalies).tolist())
    if "time" in given:
        written = lines(tmp_path / "out" / "incidents.csv")
        assert [row["kind"] for row in written].count("change") == 1
        assert sum(int(row["rows"]) for row in written) == outcome.n_anomalies
        assert [row["explanation"] for row in written] == [incident.text for incident in found.incidents or ()]
        assert sum(int(row["rows"]) for row in written if row["kind"] == "change") == of_change
    else:
        assert not (tmp_path / "out" / "incidents.csv").exists()


def test_disordered_times_as_sorted_ones(values: np.ndarray) -> None:
    order = np.random.default_rng(4).permutation(N)
    straight = judged(table_of(values), time="when", top=20)
    mixed = judged(table_of(values, order, parts=True), time="when", top=20)
    assert [finding.name for finding in mixed.findings] == [finding.name for finding in straight.findings]
    (change,), (other,) = mixed.changes, straight.changes
    for name in ("start", "stop", "since", "until", "n_off", "size"):
        assert getattr(change, name) == getattr(other, name)
    assert order[change.first] == other.first
    assert mixed.outcomes[None].n_beyond == straight.outcomes[None].n_beyond
    # Positions differ, times do not.
    assert mixed.incidents is not None
    assert straight.incidents is not None
    assert [(one.kind, one.first, one.last, one.rows.size) for one in mixed.incidents] == [
        (one.kind, one.first, one.last, one.rows.size) for one in straight.incidents
    ]


def test_findings_are_filled_up_with_rows_of_changes(values: np.ndarray) -> None:
    found = judged(table_of(values), ignore=["kind", "when"], top=N)
    outcome = found.outcomes[None]
    assert len(found.findings) == outcome.n_anomalies
    assert [finding.beyond for finding in found.findings] == [k < outcome.n_beyond for k in range(outcome.n_anomalies)]
    assert len({finding.row for finding in found.findings}) == outcome.n_anomalies
    within = [finding.score for finding in found.findings if not finding.beyond]
    assert within == sorted(within, reverse=True)
    assert found.to_frame()["row"].drop_duplicates().tolist() == [finding.row for finding in found.findings]
    none = judged(table_of(values), ignore=["kind", "when"], top=0)
    assert none.findings == ()
    assert none.outcomes[None].n_beyond == outcome.n_beyond


def test_nothing_changed(values: np.ndarray, tmp_path: Path) -> None:
    found = judged(table_of(values[:START]), tmp_path, time="when")
    outcome = found.outcomes[None]
    assert found.changes == ()
    assert outcome.n_beyond == outcome.n_anomalies
    assert "change" not in outcome.headline
    assert not (tmp_path / "out" / "changes.csv").exists()
    assert {row["kind"] for row in lines(tmp_path / "out" / "incidents.csv")} == {"anomalies"}


def test_by_category_each_has_its_own(values: np.ndarray, tmp_path: Path) -> None:
    """Rows are called by their numbers in the file."""
    found = judged(table_of(values), tmp_path, by="kind", ignore=["when"])
    for number, outcome in enumerate(found.outcomes.values()):
        (change,) = outcome.changes
        assert abs(change.first - START) <= 10
        assert change.first % 2 == number
        assert change.last == N - 2 + number
        (line,) = lines(tmp_path / "out" / f"category-00{number}" / "changes.csv")
        assert int(line["first"]) == change.first
    with pytest.raises(ValueError, match="one list of changes for each category"):
        _ = found.changes
    assert not any(finding.beyond for finding in found.findings if finding.row not in ERRORS and finding.times > 20)


def test_several_events_in_the_headline(values: np.ndarray) -> None:
    more = values.copy()
    more[1000:1200, 2] -= 2.0
    found = judged(table_of(more), ignore=["kind", "when"])
    assert len(events_of(found.changes)) == 2
    assert " rows of 2 changes, " in found.outcomes[None].headline
    assert "Beyond the changes, the worst 3" in found.text
