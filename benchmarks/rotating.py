"""The rotation of PCA's own subspace (variant G), in eigendecompositions of the same matrix, one thread.

    python benchmarks/rotating.py [--repeat 5] [--json result.json]

A dense correlation matrix of 300 features, of which 250 directions are kept; both in turns, seconds of the processor:
the ratio of medians, and the worst turn.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import time
from collections.abc import Callable

import numpy as np
from library.problems import dense_correlation
from library.report import Goal, Report, Row, add_json

from aspca import sparse_subspace

FEATURES, KEPT, MOST = 300, 250, 25.0


def spent(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def in_eigendecompositions(repeat: int, seed: int) -> Row:
    A = dense_correlation(FEATURES, seed)
    sparse_subspace(A, KEPT, 0.0, "G")
    ours, units = [], []
    for _ in range(repeat):
        units.append(float(np.median([spent(lambda: np.linalg.eigh(A)) for _ in range(5)])))
        ours.append(spent(lambda: sparse_subspace(A, KEPT, 0.0, "G")))
    return {
        "work": f"p {FEATURES}, d {KEPT} G, seed {seed}",
        "in eigh": Goal(float(np.median(ours) / np.median(units)), most=MOST),
        "worst turn": float((np.array(ours) / units).max()),
        "s": float(np.median(ours)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    add_json(parser)
    options = parser.parse_args()
    with Report(options.json) as report:
        rows = [in_eigendecompositions(options.repeat, seed) for seed in range(3)]
        report.table("The rotation of PCA's own subspace", rows, digits=2)


if __name__ == "__main__":
    main()
