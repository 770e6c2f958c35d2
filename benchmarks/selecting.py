"""`aspca.select` in plain fits of the same table, one thread.

    OPENBLAS_NUM_THREADS=1 python benchmarks/selecting.py            # 816 x 9 and 569 x 30, with and without stability
    OPENBLAS_NUM_THREADS=1 python benchmarks/selecting.py --runs 5 --json result.json

The tables: 816 rows of 9 columns with heavy tails (Student's t, 4 degrees of freedom), three of them copies and sums of
others; and scikit-learn's breast cancer data. Seconds of the processor: the median of the runs, and the worst, each run
over the median of plain fits (`ASPCA().fit`) beside it. *Halves* is how many of them the stabilities rest on, on
average; *fits* how many there would be if every setting were fitted to the table and to ten halves.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np
from library.labelled import Floats
from library.report import Goal, Report, Row, add_json
from sklearn.datasets import load_breast_cancer

from aspca import ASPCA, select

MOST = 15.0


def heavy_tails() -> Floats:
    rng = np.random.default_rng(0)
    rows = rng.standard_t(4, (816, 9)) * rng.uniform(0.5, 3.0, 9)
    rows[:, 3] = rows[:, 0] + rows[:, 1] + 0.05 * rng.standard_t(4, 816)
    rows[:, 5] = 2.0 * rows[:, 2] + 0.1 * rng.standard_t(4, 816)
    rows[:, 7] = rows[:, 4] - rows[:, 6] + rows[:, 8] + 0.2 * rng.standard_t(4, 816)
    return np.asarray(rows)


def spent(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def costs(X: Floats, runs: int, resamples: int) -> Row:
    ratios, halves, lines = [], 0.0, 0
    for _ in range(runs):
        fit = float(np.median([spent(lambda: ASPCA().fit(X)) for _ in range(3)]))
        start = time.process_time()
        found = select(X, n_resamples=resamples)
        ratios.append((time.process_time() - start) / fit)
        choices = {(one.n_components, one.alpha): one for one in (*found.over_components, *found.over_alphas)}
        halves, lines = float(np.mean([one.n_halves for one in choices.values()])), len(choices)
    goal = Goal(float(np.median(ratios)), most=MOST)
    name = f"{X.shape[0]} x {X.shape[1]}, " + (f"at most {resamples} halves" if resamples else "no stability")
    return {"table": name, "median, fits": goal, "worst": max(ratios), "halves": halves, "fits": lines * 11}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    add_json(parser)
    options = parser.parse_args()
    with Report(options.json) as report, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tables = (heavy_tails(), np.asarray(load_breast_cancer().data))
        # The first fit of a process loads what it needs.
        ASPCA().fit(tables[0])
        rows = [costs(X, options.runs, resamples) for X in tables for resamples in (10, 0)]
        report.table("aspca.select, in plain fits", rows, digits=1)


if __name__ == "__main__":
    main()
