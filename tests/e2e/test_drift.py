"""A file in which a rule changed, judged by the command: one change, the errors inside it, a page that reads well."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import aspca
from aspca.cli.main import main

N, START = 5000, 4600
ERRORS = (1000, 4700, 4800)


def frame(seed: int, *, changed: bool) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    inflow, rain, temp = rng.gamma(3, 10, N), rng.gamma(2, 20, N), rng.normal(20, 2, N)
    rows = pd.DataFrame(
        {
            "at": pd.date_range("2026-03-01", periods=N, freq="min"),
            "inflow": inflow,
            "rain": rain,
            "total": inflow + rain + rng.normal(0, 0.5, N),
            "temp": temp,
            "probe %": 1.8 * temp + 32 + rng.normal(0, 0.3, N),
        }
    )
    if changed:
        rows.loc[START:, "total"] += 6.0
        rows.loc[[1000, 4700], "total"] += 15.0
        rows.loc[4800, "probe %"] -= 9.0
    return rows


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    frame(0, changed=False).to_csv("before.csv", index=False)
    frame(1, changed=True).to_csv("after.csv", index=False)
    return tmp_path


@pytest.mark.parametrize("width", ["80", "120"])
def test_what_a_person_reads(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: str
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    assert main(["detect", "after.csv", "--train", "before.csv", "--top", "3"]) == 0
    out, err = capsys.readouterr()
    assert max(map(len, out.splitlines())) <= int(width)
    words = " ".join(out.split())
    assert " rows of 1 change, " in words
    assert "Since row 4600 (2026-03-04 04:40:00): total = inflow + rain" in words
    assert "as if inflow or rain were 6 lower or total were 6 higher." in words
    # The three errors are what is told beyond it, and not one row of the change.
    told = words.split("Beyond the change, the worst 3")[1].split(" ... and ")[0]
    assert sorted(row for row in range(N) if f" {row} " in told and row >= 1000) == list(ERRORS)
    assert err.count("lets expect") == 1
    assert "--train NEWER_FILE" in err
    assert (here / "after.csv.aspca" / "changes.csv").exists()


def test_command_python_and_a_data_frame_say_the_same(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["detect", "after.csv", "--train", "before.csv", "--json", "--quiet"]) == 0
    document = json.loads(capsys.readouterr().out)
    for found in (
        aspca.detect("after.csv", train="before.csv", output="python"),
        aspca.detect(pd.read_csv("after.csv", parse_dates=["at"]), train=pd.read_csv("before.csv", parse_dates=["at"])),
    ):
        (change,), (one,) = found.changes, document["changes"]
        assert (one["text"], one["first"], one["size"], one["n_rows"]) == (
            change.text,
            change.first,
            change.size,
            change.n_rows,
        )
        assert document["n_beyond"] == found.outcomes[None].n_beyond
        assert [finding["row"] for finding in document["anomalies"]] == [finding.row for finding in found.findings]
        assert found.incidents is not None
        assert sum(incident.rows.size for incident in found.incidents) == document["n_anomalies"]
    for name in ("changes.csv", "incidents.csv", "scores.csv"):
        assert (here / "python" / name).read_bytes() == (here / "after.csv.aspca" / name).read_bytes()
    # The folder is known for ours, and replaced.
    assert main(["detect", "before.csv", "--output", "python", "--quiet"]) == 0
    assert not (here / "python" / "changes.csv").exists()
