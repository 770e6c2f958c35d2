"""Tables larger than memory: what fitting and judging cost, in memory and beside DuckDB, which only reads and sums.

    python benchmarks/large.py [--millions N ...] [--only JOB ...] [--folder DIR] [--json FILE]

N million rows of 40 columns (1 and 10) are written as Parquet to a temporary folder, always the same ones. On each
file, one after the other and each in a process of its own:

    scan     DuckDB reads all columns and sums them, by two threads
    fit      plain: moments, autocorrelation, rules and limits, without robustness; per pass over the file
    robust   the same with what is gross set aside; per pass that this takes more
    judge    `aspca.score_source` by the rules of `fit`, to Parquet: scores, verdicts, broken rules, proposed values

Seconds are those of a clock, cores how many were busy meanwhile: both mean little where others use the machine. Memory
is the peak of resident memory beyond what the process has once all is imported; it should be the same for all sizes,
within a tenth.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

P = 40
PART = 131_072
NAMES = [f"sensor_{k}" for k in range(P)]
JOBS = ("scan", "fit", "robust", "judge")
# Goals: times of DuckDB's scan, megabytes, and how many times the memory of a smaller file a larger one may take.
MOST_TIMES = {"fit": 2.0, "robust": 2.0, "judge": 3.0}
MOST_MEMORY, MOST_GROWTH = 1000.0, 1.1


def part(start: int, n: int) -> np.ndarray:
    """Rows `start`, ... of the table (n, 40): readings, sums of readings, totals; one row in a hundred breaks a sum."""
    rng = np.random.default_rng([40, start])
    readings = rng.normal(size=(n, 20)) @ np.triu(np.ones((20, 20)) * 0.3) + np.arange(20)
    sums = readings[:, :16] + readings[:, 4:] * 0.5 + 0.02 * rng.normal(size=(n, 16))
    totals = np.column_stack([readings[:, 5 * k : 5 * k + 5].sum(axis=1) for k in range(4)])
    totals += 0.01 * rng.normal(size=(n, 4))
    broken = np.flatnonzero(rng.random(n) < 0.01)
    sums[broken, rng.integers(16, size=broken.size)] += rng.choice([-1.0, 1.0], broken.size) * 2.0
    return np.column_stack([readings, sums, totals])


def write_table(path: Path, rows: int) -> None:
    """The first `rows` rows as Parquet, with a name for each row."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([("id", pa.int64()), *((name, pa.float64()) for name in NAMES)])
    with pq.ParquetWriter(path, schema, compression="snappy", use_dictionary=False) as writer:
        for start in range(0, rows, PART):
            values = part(start, min(PART, rows - start))
            columns = [np.arange(start, start + len(values)), *(np.ascontiguousarray(column) for column in values.T)]
            writer.write_table(pa.table(columns, schema=schema))


# ---- in processes of their own


def scan(path: str, folder: Path) -> dict[str, Any]:
    import duckdb

    with measured() as found:
        connection = duckdb.connect(config={"threads": 2})
        sums = ", ".join(f"sum({name})" for name in NAMES)
        connection.execute(f"SELECT {sums} FROM read_parquet(?)", [path]).fetchall()  # noqa: S608
    return found


def fit(path: str, folder: Path, robust: str = "off") -> dict[str, Any]:
    import scipy.linalg  # noqa: F401

    from aspca.model_file.model_file import write_model
    from aspca.pipeline.fit import fit_table
    from aspca.pipeline.options import settings_of
    from aspca.pipeline.passes import Silent
    from aspca.pipeline.sources import open_table
    from aspca.preparation import Preparation
    from aspca.tables.request import ReadOptions

    with measured() as found, open_table([path], ReadOptions(), "") as table:
        counted = Counted(table)
        model = fit_table(counted, Preparation.identity(tuple(NAMES)), settings_of({"robust": robust}), Silent())
        found["passes"] = counted.passes
    if robust == "off":
        write_model(model, folder / "model.json", naming="table")
    return found


def robust(path: str, folder: Path) -> dict[str, Any]:
    return fit(path, folder, "on")


def judge(path: str, folder: Path) -> dict[str, Any]:
    import duckdb  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    import aspca
    import aspca.findings.short_reasons
    import aspca.linalg.threads

    with measured() as found:
        scored = aspca.score_source(folder / "model.json", path, folder / "scores.parquet")
    return {**found, "rows": scored.n_rows, "flagged": scored.n_anomalies}


class Counted:
    """A table, and how often its rows were read."""

    def __init__(self, table: Any) -> None:
        self._table, self.passes = table, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    def batches(self, names: Sequence[str], *size: int) -> Iterator[Any]:
        self.passes += 1
        return self._table.batches(names, *size)


def resident(what: str) -> float:
    """Megabytes: "VmRSS" now, "VmHWM" at most so far."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{what}:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise SystemExit("This system does not tell how much memory a process has.")


@contextlib.contextmanager
def measured() -> Iterator[dict[str, Any]]:
    """Seconds of the clock and of the cores, and megabytes beyond those at the beginning."""
    with contextlib.suppress(OSError):
        # The peak so far is forgotten: imports have one too.
        Path("/proc/self/clear_refs").write_text("5")
    before, begun, busy = resident("VmRSS"), time.perf_counter(), time.process_time()
    found: dict[str, Any] = {}
    yield found
    found["seconds"], found["busy"] = time.perf_counter() - begun, time.process_time() - busy
    found["memory"] = resident("VmHWM") - before


# ---- one after the other


def run(job: str, path: Path, folder: Path) -> dict[str, Any]:
    command = [sys.executable, __file__, "--job", job, "--path", str(path), "--folder", str(folder)]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)  # noqa: S603
    if done.returncode:
        raise SystemExit(f"{job} failed: {done.stderr}")
    return dict(json.loads(done.stdout))


def lines_of(millions: float, jobs: Sequence[str], folder: Path, smaller: dict[str, float]) -> list[dict[str, Any]]:
    """What each job costs on one file; `smaller` holds the memory of each on the first."""
    from library.report import Goal

    rows = round(millions * 1e6)
    path = folder / f"{rows}.parquet"
    if not path.exists():
        write_table(path, rows)
    # The first one brings the file into the system's memory.
    run("scan", path, folder)
    costs = {
        job: run(job, path, folder) for job in JOBS if job in (*jobs, "scan") or (job == "fit" and "judge" in jobs)
    }
    lines = []
    for job, cost in costs.items():
        passes = cost.get("passes", 1)
        each = cost["seconds"] / passes
        if job == "robust":
            plain = costs.get("fit", {"seconds": 0.0, "passes": 0})
            passes -= plain["passes"]
            each = (cost["seconds"] - plain["seconds"]) / max(passes, 1)
        grown = cost["memory"] / smaller.setdefault(job, cost["memory"])
        times = each / costs["scan"]["seconds"]
        ours = job != "scan"
        lines.append(
            {
                "rows": f"{rows:,}",
                "": job,
                "s": cost["seconds"],
                "cores": cost["busy"] / cost["seconds"],
                "passes": passes,
                "s per pass": each,
                "of a scan": Goal(times, most=MOST_TIMES[job]) if ours else times,
                "million rows/s": millions / each,
                "memory, MB": Goal(cost["memory"], most=MOST_MEMORY) if ours else cost["memory"],
                "of the first": Goal(grown, most=MOST_GROWTH) if ours else grown,
            }
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--millions", type=float, nargs="+", default=[1, 10])
    parser.add_argument("--only", nargs="+", choices=JOBS, default=list(JOBS))
    parser.add_argument("--folder", type=Path, help="where files are written, and kept")
    parser.add_argument("--job", choices=JOBS, help=argparse.SUPPRESS)
    parser.add_argument("--path", help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    options = parser.parse_args()
    if options.job is not None:
        jobs: dict[str, Callable[[str, Path], dict[str, Any]]] = {
            "scan": scan,
            "fit": fit,
            "robust": robust,
            "judge": judge,
        }
        print(json.dumps(jobs[options.job](options.path, options.folder)))
        return
    from library.report import Report

    with tempfile.TemporaryDirectory() as made:
        smaller: dict[str, float] = {}
        folder = options.folder or Path(made)
        lines = [line for n in options.millions for line in lines_of(n, options.only, folder, smaller)]
    with Report(options.json) as report:
        report.table(
            f"{P} columns of Parquet",
            lines,
            digits={"memory, MB": 0, "passes": 0}
            | dict.fromkeys(("s", "s per pass", "of a scan", "cores", "million rows/s", "of the first"), 2),
        )


if __name__ == "__main__":
    main()
