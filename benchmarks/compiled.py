"""What a compiled kernel would give the component solver: its kernels in numba, swapped in one by one and all at once.

    python benchmarks/compiled.py [--turns 5] [--json FILE]

Times are CPU seconds, medians of turns in which the solver's own kernels and the compiled ones alternate. Every run of
compiled ones is checked: supports, signs and order of the sequence, what each step's certificate says, and `verify`.
Needs numba (the extra `bench`); the package itself never imports it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection
from importlib.metadata import distribution

import numpy as np
from library.report import Report, Row, add_json
from solver import GAP, paper_matrix

from aspca import sparse_subspace
from aspca.linalg.arrays import Floats
from aspca.paper.datasets import load_breast_cancer
from aspca.paper.kdd99 import load_kdd99
from aspca.sparse_pca.subspace import SparseSubspace

Case = tuple[Floats, int, float]


def cases() -> dict[str, Case]:
    cancer = paper_matrix(load_breast_cancer().data)
    found = {"Breast-Cancer B at 5": (cancer, 10, 5.0), "Breast-Cancer B at 1": (cancer, 10, 1.0)}
    try:
        found["KDD99 B at 100"] = paper_matrix(load_kdd99().data), 35, 100.0
    except FileNotFoundError as error:
        print(f"KDD99 left out: {error}")
    return found


def solve(case: Case) -> SparseSubspace:
    A, d, lam = case
    return sparse_subspace(A, d, lam, "B", tol=GAP)


def cpu_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def check(A: Floats, own: SparseSubspace, other: SparseSubspace) -> tuple[float, float]:
    """That both say the same; the largest difference of a loading, and of a gap."""
    assert np.array_equal(np.sign(own.sequence), np.sign(other.sequence)), "another support, sign or order"
    pairs = list(zip(own.certificates, other.certificates, strict=True))
    assert all(
        (a.rank_one, a.tie, a.iterations, a.status) == (b.rank_one, b.tie, b.iterations, b.status) for a, b in pairs
    )
    assert other.verify(A).ok
    return float(np.abs(own.sequence - other.sequence).max()), max(abs(a.gap - b.gap) for a, b in pairs)


def beside(report: Report, turns: int) -> None:
    from library.compiled.swap import KERNELS, swapped

    sets: dict[str, Collection[str]] = {"own kernels": ()}
    sets |= {name: (name,) for name in KERNELS} | {"all compiled": tuple(KERNELS)}
    table: dict[str, dict[str, float]] = {}
    apart: list[Row] = []
    for name, case in cases().items():
        own = solve(case)
        differences = []
        for kernels in sets.values():
            with swapped(kernels):
                differences.append(check(case[0], own, solve(case)))
        taken: dict[str, list[float]] = {label: [] for label in sets}
        for _ in range(turns):
            for label, kernels in sets.items():
                with swapped(kernels):
                    taken[label].append(cpu_seconds(lambda case=case: solve(case)))
        table[name] = {label: float(np.median(seconds)) for label, seconds in taken.items()}
        loadings, gaps = (max(one) for one in zip(*differences, strict=True))
        apart.append({"work": name, "loadings differ by": f"{loadings:.1e}", "gaps differ by": f"{gaps:.1e}"})
    rows: list[Row] = []
    for label in sets:
        row: dict[str, str] = {"kernels": label}
        for name, seconds in table.items():
            ratio = seconds["own kernels"] / seconds[label]
            row[name] = f"{1e3 * seconds[label]:.0f} ms, {ratio:.2f} x"
        rows.append(row)
    report.table(f"CPU time, medians of {turns} interleaved turns; times as fast as own kernels", rows)
    report.table("Same supports, signs, order, ties, steps and statuses; verified", apart)


def first_call() -> None:
    """CPU seconds until all kernels have run once, printed for the process that asked."""
    found = cases()
    for case in found.values():
        solve(case)
    own = cpu_seconds(lambda: [solve(case) for case in found.values()])

    def compiled() -> None:
        from library.compiled.swap import KERNELS, swapped

        with swapped(tuple(KERNELS)):
            for case in found.values():
                solve(case)

    print(f"first {cpu_seconds(compiled)} {own}")


def compile_times(report: Report) -> None:
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as cache:
        for kind in ("cold", "from numba's cache"):
            done = subprocess.run(  # noqa: S603 (this file, with the interpreter that runs it)
                [sys.executable, __file__, "--first-call"],
                env={**os.environ, "NUMBA_CACHE_DIR": cache},
                capture_output=True,
                text=True,
                check=True,
            )
            words = next(line for line in done.stdout.splitlines() if line.startswith("first ")).split()
            rows.append({"": kind, "compiled, first call": float(words[1]), "own kernels": float(words[2])})
    report.table("CPU seconds for all of this work once, import of numba and compilation included", rows, digits=1)


def sizes(report: Report) -> None:
    rows: list[Row] = []
    for name in ("numba", "llvmlite", "numpy", "scipy", "scikit-learn"):
        package = distribution(name)
        total = sum(file.locate().stat().st_size for file in package.files or () if file.locate().is_file())
        rows.append({"package": name, "version": package.version, "MB installed": total / 1e6})
    report.table("Size", rows, digits=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--first-call", action="store_true", help=argparse.SUPPRESS)
    add_json(parser)
    options = parser.parse_args()
    if options.first_call:
        first_call()
        return
    with Report(options.json) as report:
        beside(report, options.turns)
        compile_times(report)
        sizes(report)


if __name__ == "__main__":
    main()
