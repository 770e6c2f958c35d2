"""Where the solver's time goes: shares of one solve by stage, for the cases of solver.py.

    python benchmarks/where_time_goes.py [--json FILE]

A profiler adds to every Python call, so shares lean towards the stages with many small ones.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
from collections.abc import Callable

from library.problems import dense_correlation, largest_off_diagonal
from library.report import Report, add_json
from solver import GAP, first, paper_matrix

from aspca import sparse_subspace
from aspca.paper.datasets import load_breast_cancer, load_kdd99

# Stages that do not call each other, by file and function.
STAGES = {
    "active set": ("active_set.py", "active_set"),
    "reweighted starts": ("starts.py", "reweighted"),
    "repair": ("multipliers.py", "repair"),
    "dual bounds": ("problem.py", "dual"),
    "ADMM steps": ("admm.py", "step"),
    "Newton steps": ("interior_point.py", "step"),
    "rotation": ("search.py", "sparse_rotation"),
    "check of the matrix": ("matrix.py", "scale_matrix"),
}


def shares(work: Callable[[], object]) -> dict[str, float]:
    work()
    profiler = cProfile.Profile()
    profiler.runcall(work)
    taken: dict[str, float] = dict.fromkeys(STAGES, 0.0)
    total = 0.0
    for (file, _, function), (_, _, own, cumulative, _) in pstats.Stats(profiler).stats.items():  # type: ignore[attr-defined]
        total += own
        for stage, (where, name) in STAGES.items():
            if file.endswith("/" + where) and function == name:
                # The interior point has a step within a step: the outer one counts.
                taken[stage] = max(taken[stage], cumulative)
    result = {stage: seconds / total for stage, seconds in taken.items()}
    return result | {"the rest": 1.0 - sum(result.values())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_json(parser)
    options = parser.parse_args()
    cancer = paper_matrix(load_breast_cancer().data)
    dense, hard = dense_correlation(300, 0), dense_correlation(300, 0, common=0.4)
    alpha = largest_off_diagonal(dense)
    cases: dict[str, Callable[[], object]] = {
        "Breast-Cancer B at 5": lambda: sparse_subspace(cancer, 10, 5.0, "B", tol=GAP),
        "Breast-Cancer B at 1": lambda: sparse_subspace(cancer, 10, 1.0, "B", tol=GAP),
    }
    try:
        kdd = paper_matrix(load_kdd99().data)
        cases["KDD99 B at 100"] = lambda: sparse_subspace(kdd, 35, 100.0, "B", tol=GAP)
        cases["KDD99 BG at 100"] = lambda: sparse_subspace(kdd, 35, 100.0, "BG", tol=GAP)
    except FileNotFoundError as error:
        print(f"KDD99 left out: {error}")
    cases["dense p 300 B, 0.3"] = lambda: first(dense, 0.3 * alpha)
    cases["hard p 300 F, 0.1"] = lambda: first(-hard, 0.1 * largest_off_diagonal(hard))
    table = {name: shares(work) for name, work in cases.items()}
    with Report(options.json) as report:
        stages = (*STAGES, "the rest")
        rows = [{"stage": stage} | {name: 100 * column[stage] for name, column in table.items()} for stage in stages]
        report.table("Percentage of a solve", rows, digits=0)


if __name__ == "__main__":
    main()
