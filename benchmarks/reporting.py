"""What a report costs, how large it is, and how soon it can be used.

    python benchmarks/reporting.py [--runs K] [--json FILE]

KDD99 (102,451 rows, 41 columns) is written as CSV; `aspca fit`, `aspca score` and `aspca report` on it are processes of
their own, in turn, and seconds are those that a core was busy with them. The report is to take at most the time of
the fit plus five times that of scoring: printed is k in fit + k x scoring, the median and the worst of some turns; the
size of the page, and the seconds until a browser that opens it shows, after a click, the rule that an anomaly breaks.
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from library.report import Goal, Report, Row, add_json

from aspca.paper.datasets import load_kdd99

# Goals: times scoring beyond the fit, megabytes, and seconds.
MOST_TIMES, MOST_SIZE, MOST_SECONDS = 5.0, 4.0, 2.0
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]


def write_table(path: Path) -> None:
    """KDD99 as a file, the label beside."""
    data = load_kdd99()
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow([*data.feature_names, "attack"])
        for row, kind in zip(data.data.tolist(), data.kinds, strict=True):
            writer.writerow([*(f"{value:.10g}" for value in row), kind])


def seconds(folder: Path, *words: str) -> float:
    """Seconds that a core was busy with a command."""
    command = [sys.executable, "-m", "aspca", *words, "--quiet"]
    child = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)  # noqa: S603  # our own command
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"aspca {' '.join(words)} failed.")
    return usage.ru_utime + usage.ru_stime


def until_used(page: Path, runs: int) -> list[float]:
    """Seconds from opening a page until the rule of its worst anomaly is seen; empty without a browser."""
    browser = shutil.which("chromium")
    if browser is None:
        return []
    from playwright.sync_api import sync_playwright

    found = []
    with sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=browser, args=FLAGS)
        for _ in range(runs):
            opened = chromium.new_page()
            start = time.perf_counter()
            opened.goto(page.as_uri(), wait_until="commit")
            first = opened.locator("details.an").first
            first.locator("summary").click()
            first.locator(".brk h4 a").first.wait_for(state="visible")
            found.append(time.perf_counter() - start)
            opened.close()
        chromium.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="What a report costs.")
    parser.add_argument("--runs", type=int, default=3)
    add_json(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_table(folder / "kdd.csv")
        turns = []
        for _ in range(options.runs):
            fit = seconds(folder, "fit", "kdd.csv", "--label", "attack", "--model", "model.json")
            score = seconds(folder, "score", "kdd.csv", "--model", "model.json", "-o", "scores.csv")
            made = seconds(folder, "report", "model.json", "kdd.csv", "--label", "attack", "-o", "report.html")
            turns.append((fit, score, made))
        times = [(made - fit) / score for fit, score, made in turns]
        size = (folder / "report.html").stat().st_size / 1e6
        used = until_used(folder / "report.html", options.runs)
    fit, score, made = (float(one) for one in np.median(turns, axis=0))
    with Report(options.json) as report:
        row: Row = {
            "": "KDD99",
            "fit, s": fit,
            "scoring, s": score,
            "report, s": made,
            "k": Goal(float(np.median(times)), most=MOST_TIMES),
            "k, worst": max(times),
            "size, MB": Goal(size, most=MOST_SIZE),
            "until used, s": Goal(min(used, default=float("nan")), most=MOST_SECONDS),
            "until used, worst": max(used, default=float("nan")),
        }
        report.table("aspca report: seconds of a core, k in fit + k x scoring", [row], digits=2)


if __name__ == "__main__":
    main()
