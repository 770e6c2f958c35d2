"""What the command costs, in time beside DuckDB and in memory.

    python benchmarks/command.py [--rows N ...] [--runs K] [--json FILE]

A file of N x 41 cells (1 million rows, or as many as asked for) is written to a temporary folder. `aspca detect` on it
is measured beside DuckDB, which reads the file with its own detection of types and sums every column, and `aspca score`
of 1,000 rows beside a Python that only imports numpy, duckdb and typer. All are processes of their own, on one core,
their code compiled before, taken in turn; seconds are those that the core was busy with them. Printed are medians of a
few runs, the median and the worst of the ratios of one turn each, and the peak of memory beyond what a process has that
only imports what the command imports.
"""

from __future__ import annotations

import argparse
import os
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
# Goals: times of DuckDB's, times of bare imports, and megabytes.
MOST_TIMES, MOST_TIMES_IMPORTS, MOST_MEMORY = 2.5, 1.6, 500

READ_AND_SUM = """
import sys, duckdb
file = duckdb.connect()
file.execute("SELECT sum(COLUMNS(*)) FROM read_csv(?)", [sys.argv[1]]).fetchall()
"""
# All that `aspca detect` loads, and nothing done with it.
IMPORTS = """
import duckdb, typer, rich.console
import aspca.cli.app, aspca.cli.learn, aspca.cli.pages, aspca.cli.terminal
import aspca.tables.source, aspca.pipeline.detect, aspca.pipeline.fit, aspca.writers.folder
"""
# A process begins with the peak of its parent, so the parent must be a small one.
LAUNCHER = """
import os, sys
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[
    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
_, status, usage = os.wait4(child, 0)
print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""
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
    """Seconds of a core and the peak in megabytes, of one process."""

    seconds: float
    memory: float


def cost_of(folder: Path, *command: str) -> Cost:
    """Run a Python with these arguments, which must succeed; what it compiles is kept in the folder."""
    # As an installed package is: compiled once.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPYCACHEPREFIX": str(folder / "compiled"), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-S", "-c", LAUNCHER, sys.executable, *command],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)[:100]} failed: {done.stderr}")
    seconds, memory = map(float, done.stdout.split())
    return Cost(seconds, memory * (1 if sys.platform == "darwin" else 1024) / 1e6)


def in_turn(folder: Path, runs: int, *commands: tuple[str, ...]) -> list[list[Cost]]:
    """What each of some commands costs, run in turn: a list for each."""
    taken = [[cost_of(folder, *command) for command in commands] for _ in range(runs)]
    return [list(of) for of in zip(*taken, strict=True)]


def seconds_of(costs: list[Cost]) -> float:
    return float(np.median([cost.seconds for cost in costs]))


def times(ours: list[Cost], theirs: list[Cost], most: float) -> Row:
    """The median and the worst of the ratios of one turn."""
    ratios = [mine.seconds / other.seconds for mine, other in zip(ours, theirs, strict=True)]
    return {"times": Goal(float(np.median(ratios)), most=most), "worst": max(ratios), "runs": len(ratios)}


def measure(rows: int, runs: int, folder: Path) -> Row:
    path, out = folder / f"{rows}.csv", folder / "out"
    write_table(path, rows)
    detect = ("-m", "aspca", "detect", str(path), "--output", str(out), "--quiet")
    theirs, ours, empty = in_turn(folder, runs, ("-c", READ_AND_SUM, str(path)), detect, ("-c", IMPORTS))
    size = path.stat().st_size / 1e6
    peaks = [max(cost.memory for cost in costs) for costs in (theirs, ours, empty)]
    path.unlink()
    return {
        "rows": f"{rows:,}",
        "file, MB": round(size),
        "DuckDB, s": seconds_of(theirs),
        "detect, s": seconds_of(ours),
        **times(ours, theirs, MOST_TIMES),
        "DuckDB, MB": round(peaks[0]),
        "detect, MB": round(peaks[1]),
        "beyond imports, MB": Goal(peaks[1] - peaks[2], most=MOST_MEMORY),
    }


def measure_score(runs: int, folder: Path) -> Row:
    path, out = folder / "1000.csv", folder / "small"
    write_table(path, 1000)
    cost_of(folder, "-m", "aspca", "detect", str(path), "--output", str(out), "--quiet")
    score = ("-m", "aspca", "score", str(path), "--model", str(out / "model.json"), "--quiet")
    in_turn(folder, 1, ("-c", START), score)
    theirs, ours = in_turn(folder, max(runs, 5), ("-c", START), score)
    return {
        "rows": "1,000",
        "imports, s": seconds_of(theirs),
        "score, s": seconds_of(ours),
        **times(ours, theirs, MOST_TIMES_IMPORTS),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--runs", type=int, default=5)
    add_json(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        # First the small one: by then all code is compiled.
        score = measure_score(options.runs, Path(folder))
        detect = [measure(rows, options.runs, Path(folder)) for rows in options.rows]
    with Report(options.json) as report:
        digits = {"beyond imports, MB": 0} | dict.fromkeys(("DuckDB, s", "detect, s", "times", "worst"), 2)
        report.table(f"aspca detect, {P} columns", detect, digits=digits)
        report.table("aspca score", [score], digits=2)


if __name__ == "__main__":
    main()
