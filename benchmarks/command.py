"""What the command costs, in time beside DuckDB and in memory.

    python benchmarks/command.py [--rows N ...] [--runs K] [--json FILE]

A file of N x 41 cells (1 and 3 million rows) is written to a temporary folder. `aspca detect` on it is measured beside
DuckDB, which reads the file with its own detection of types and sums every column, and `aspca score` of 1,000 rows
beside a Python that only imports numpy, duckdb and typer. All are processes of their own, taken in turn; printed are
the fastest of a few runs, their ratio, and the peak of memory beyond what a process has that only imports what the
command imports.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
from library.report import Goal, Report, Row, add_json

P = 41
PART = 100_000
# Goals: times of DuckDB's, and megabytes.
MOST_TIMES, MOST_MEMORY = 4.0, 500

READ_AND_SUM = """
import sys, duckdb
file = duckdb.connect()
file.execute("SELECT sum(COLUMNS(*)) FROM read_csv(?)", [sys.argv[1]]).fetchall()
"""
# All that `aspca detect` loads, and nothing done with it.
IMPORTS = """
import duckdb, typer, rich.console
import aspca.cli.app, aspca.cli.detect, aspca.cli.pages, aspca.cli.talk
import aspca.engines.source, aspca.jobs.detection, aspca.jobs.fitting, aspca.outputs.folder
"""
# A process begins with the peak of its parent, so the parent must be a small one.
LAUNCHER = """
import os, sys, time
begin = time.perf_counter()
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[
    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
_, status, usage = os.wait4(child, 0)
print(time.perf_counter() - begin, usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""
SECONDS = ("DuckDB, s", "detect, s", "times")
START = "import numpy, duckdb, typer"


def part(start: int, n: int) -> np.ndarray:
    """Rows `start`, ... of the table (n, 41): readings, sums of readings, counts, switches, constants."""
    rng = np.random.default_rng([41, start])
    readings = rng.normal(size=(n, 16)) @ np.triu(np.ones((16, 16)) * 0.3) + np.arange(16)
    sums = readings[:, :12] + readings[:, 4:] * 0.5 + 0.02 * rng.normal(size=(n, 12))
    counts = np.floor(rng.gamma(2.0, 50.0, size=(n, 6)))
    totals = np.column_stack([counts[:, :3].sum(axis=1), counts[:, 3:].sum(axis=1), counts.sum(axis=1)])
    switches = (rng.random((n, 2)) < [0.2, 0.5]).astype(float)
    constants = np.tile([0.0, 101.325], (n, 1))
    # One row in a hundred breaks one of the sums.
    broken = np.flatnonzero(rng.random(n) < 0.01)
    sums[broken, rng.integers(12, size=broken.size)] += rng.choice([-1.0, 1.0], broken.size) * 2.0
    rounded = np.round(readings, 3), np.round(sums, 4)
    return np.column_stack([*rounded, counts, totals, switches, constants])


def write_table(path: Path, rows: int) -> None:
    """The first `rows` rows as CSV, every number in its fewest digits."""
    database = duckdb.connect()
    with path.open("wb") as out:
        for start in range(0, rows, PART):
            values = part(start, min(PART, rows - start))
            database.register("part", {f"sensor_{k}": np.ascontiguousarray(values[:, k]) for k in range(P)})
            piece = path.with_suffix(".part")
            database.execute(f"COPY part TO '{piece}' (FORMAT csv, HEADER {start == 0})")
            out.write(piece.read_bytes())
            piece.unlink()


@dataclass(frozen=True)
class Cost:
    """Seconds and the peak in megabytes, of one process."""

    seconds: float
    memory: float


def cost_of(*command: str) -> Cost:
    """Run a Python with these arguments, which must succeed."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-S", "-c", LAUNCHER, sys.executable, *command], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)[:100]} failed: {done.stderr}")
    seconds, memory = map(float, done.stdout.split())
    return Cost(seconds, memory * (1 if sys.platform == "darwin" else 1024) / 1e6)


def fastest(runs: int, *commands: tuple[str, ...]) -> list[Cost]:
    """The lowest time and the highest peak of each of some commands, run in turn."""
    taken = [[cost_of(*command) for command in commands] for _ in range(runs)]
    return [Cost(min(one.seconds for one in of), max(one.memory for one in of)) for of in zip(*taken, strict=True)]


def measure(rows: int, runs: int, folder: Path) -> Row:
    path, out = folder / f"{rows}.csv", folder / "out"
    write_table(path, rows)
    detect = ("-m", "aspca", "detect", str(path), "--output", str(out), "--quiet")
    theirs, ours, empty = fastest(runs, ("-c", READ_AND_SUM, str(path)), detect, ("-c", IMPORTS))
    size = path.stat().st_size / 1e6
    path.unlink()
    return {
        "rows": f"{rows:,}",
        "file, MB": round(size),
        "DuckDB, s": theirs.seconds,
        "detect, s": ours.seconds,
        "times": Goal(ours.seconds / theirs.seconds, most=MOST_TIMES),
        "DuckDB, MB": round(theirs.memory),
        "detect, MB": round(ours.memory),
        "beyond imports, MB": Goal(ours.memory - empty.memory, most=MOST_MEMORY),
    }


def measure_score(runs: int, folder: Path) -> Row:
    path, out = folder / "1000.csv", folder / "small"
    write_table(path, 1000)
    cost_of("-m", "aspca", "detect", str(path), "--output", str(out), "--quiet")
    score = ("-m", "aspca", "score", str(path), "--model", str(out / "model.json"), "--quiet")
    theirs, ours = fastest(max(runs, 5), ("-c", START), score)
    return {
        "rows": "1,000",
        "imports, s": theirs.seconds,
        "score, s": ours.seconds,
        "times": ours.seconds / theirs.seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 3_000_000])
    parser.add_argument("--runs", type=int, default=3)
    add_json(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        detect = [measure(rows, options.runs, Path(folder)) for rows in options.rows]
        score = measure_score(options.runs, Path(folder))
    with Report(options.json) as report:
        report.table(f"aspca detect, {P} columns", detect, digits={"beyond imports, MB": 0} | dict.fromkeys(SECONDS, 2))
        report.table("aspca score", [score])


if __name__ == "__main__":
    main()
