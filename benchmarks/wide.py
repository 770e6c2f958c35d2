"""What wide tables take: seconds and memory of a fit of up to 2,000 columns, beside a formula; and what blocks save.

    python benchmarks/wide.py [words] [--rows 6000] [--columns 500 1000 2000] [--robust] [--json result.json]

Every fit is a process of its own, on one thread. Memory is the peak of the process above what it held before the fit,
rows included, as the system counts it (Linux). The formula, for p columns and k rows that limits are taken from (at
most 20,000, no more than 2^22 values of them, but 2,000 rows in any case):

    30 MB + MATRICES x 8 p^2 + TABLES x 8 k p

It bounds a fit whatever the table. `least squares` says how many matrices a fit of each family takes: the slope in p^2
of what is left after TABLES x 8 k p. `--robust` measures fits that set gross values aside as well. `blocks`: the solver
on a correlation matrix of 2,000 features in 100 independent blocks of 20, beside one dense block of 400.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
from library.problems import block_rows, dense_correlation, largest_off_diagonal
from library.report import Goal, Report, Row, add_json
from library.timing import timed

from aspca import sparse_subspace
from aspca.linalg.arrays import Floats
from aspca.sparse_pca.groups import split_features

# The formula of tests/unit/test_wide_memory.py.
SMALL, MATRICES, TABLES = 30e6, 22, 8
FAMILIES = ("factor", "planted", "flags", "blocks")

CHILD = """
import json, sys, time, warnings
from pathlib import Path
import numpy as np
sys.path.insert(0, sys.argv[1])
from library.problems import block_rows, factor_rows, flag_rows, planted_rows
from aspca import ASPCA

def blocks(n, p, seed):
    return block_rows(p // 20, 20, n, seed)

def held(what):
    return 1024 * int(Path("/proc/self/status").read_text().split(what + ":")[1].split()[0])

warnings.simplefilter("ignore")
family, n, p, robust = sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
makers = {"factor": factor_rows, "planted": planted_rows, "flags": flag_rows, "blocks": blocks}
X = makers[family](n, p, 0)
ASPCA(robust=robust).fit(X[:200, :5])
# The peak so far is that of making the rows.
Path("/proc/self/clear_refs").write_text("5")
before, start = held("VmRSS"), time.process_time()
model = ASPCA(robust=robust).fit(X)
taken = time.process_time() - start
print(json.dumps([taken, held("VmHWM") - before, held("VmRSS") - before, len(model.rules_)]))
"""


def rows_judged(n: int, p: int) -> int:
    """How many rows limits are taken from."""
    return min(n, max(min(20_000, 2**22 // p), 2_000))


def bound(n: int, p: int) -> float:
    return SMALL + MATRICES * 8 * p**2 + TABLES * 8 * rows_judged(n, p) * p


def measured(family: str, n: int, p: int, robust: str) -> tuple[float, float, float, int]:
    """Seconds, peak and what is held after, in bytes, and rules."""
    here = str(Path(__file__).parent)
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", CHILD, here, family, str(n), str(p), robust], capture_output=True, text=True, check=True
    )
    seconds, peak, held, rules = json.loads(done.stdout)
    return seconds, peak, held, rules


def fits(family: str, n: int, columns: list[int], robust: str) -> tuple[list[Row], Row]:
    lines: list[Row] = []
    left: list[float] = []
    for p in columns:
        seconds, peak, held, rules = measured(family, n, p, robust)
        left.append(peak - TABLES * 8 * rows_judged(n, p) * p)
        whole = peak / 1e6
        lines.append(
            {
                "table": f"{n:,} x {p:,} {family}" + (", gross values set aside" if robust == "on" else ""),
                "rules": rules,
                "s": seconds,
                "peak, MB": Goal(whole, most=bound(n, p) / 1e6) if robust != "on" else whole,
                "matrices of 8 p^2": peak / (8 * p**2),
                "held after, MB": held / 1e6,
            }
        )
        print(f"{lines[-1]['table']}: {seconds:.1f} s, {whole:.0f} MB", file=sys.stderr)
    slope = float(np.polyfit([8 * p**2 for p in columns], left, 1)[0]) if len(columns) > 1 else float("nan")
    return lines, {"family": family, "matrices by least squares": slope}


def solved(name: str, A: Floats, alpha: float) -> Row:
    """Five components of a correlation matrix."""
    groups = split_features(A, alpha)
    sparse_subspace(A[:20, :20], 1, alpha, "B")
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    found, seconds = timed(lambda: sparse_subspace(A, 5, alpha, "B", tol=1e-4))
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return {
        "matrix": name,
        "blocks": len(groups),
        "features of the largest": max(map(len, groups)),
        "s": seconds,
        "peak, MB": peak / 1e6,
        "matrices of 8 p^2": peak / A.nbytes,
        "solved": sum(step.rank_one for step in found.certificates),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help=f"some of {', '.join(FAMILIES)}, solver; all by default")
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--columns", type=int, nargs="+", default=[500, 1000, 2000])
    parser.add_argument("--robust", action="store_true", help="with gross values set aside, too")
    add_json(parser)
    options = parser.parse_args()
    with Report(options.json) as report:
        lines, slopes = [], []
        for family in FAMILIES:
            if not options.words or family in options.words:
                found, slope = fits(family, options.rows, options.columns, "auto")
                lines += found
                slopes.append(slope)
                if options.robust:
                    lines += fits(family, options.rows, options.columns, "on")[0]
        if lines:
            report.table("A default fit", lines, digits=2)
            report.table("How many matrices", slopes, digits=1)
        if not options.words or "solver" in options.words:
            # Of fewer rows the correlations between blocks exceed the penalty, and nothing splits.
            rows = block_rows(100, 20, 6000, 0)
            dense = dense_correlation(400, 0)
            report.table(
                "Five components of one matrix",
                [
                    solved("2,000 features in 100 blocks", np.asarray(np.corrcoef(rows.T)), 0.1),
                    solved("400 features, dense", dense, 0.1 * largest_off_diagonal(dense)),
                ],
                digits=2,
            )


if __name__ == "__main__":
    main()
