"""How long a default fit takes, its readable rules included, in fits of scikit-learn's isolation forest.

    python benchmarks/fitting.py [words] [--repeat 5] [--json result.json]

Every table beside a forest of 100 trees on the same rows, in turns, one thread; ratios of medians, and the worst turn.
`rules`: the readable rules of 100, 200 and 400 columns over all else of the same fit. `growth`: how cost grows with
rows, columns and rules, as an exponent measured by least squares on logarithms, beside the law expected.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from library.problems import factor_rows, flag_rows, noise_rows, planted_rows
from library.report import Goal, Report, Row, add_json
from library.timing import timed
from sklearn.ensemble import IsolationForest

import aspca.model.fit
from aspca import ASPCA, Moments, sparse_subspace
from aspca.linalg.arrays import Floats

Rows = Callable[[], Floats]
TABLES: dict[str, tuple[Rows, float]] = {
    "1,000 x 40 noise": (partial(noise_rows, 1000, 40, 0), 5),
    "1,000 x 40 factor": (partial(factor_rows, 1000, 40, 0), 5),
    "1,000 x 40 planted": (partial(planted_rows, 1000, 40, 0), 5),
    "60 x 40 noise": (partial(noise_rows, 60, 40, 0), 5),
    "60 x 40 factor": (partial(factor_rows, 60, 40, 0), 5),
    "100,000 x 40 factor": (partial(factor_rows, 100_000, 40, 0), 5),
    "100,000 x 40 planted": (partial(planted_rows, 100_000, 40, 0), 5),
    "20,000 x 100 factor": (partial(factor_rows, 20_000, 100, 0), 5),
    "20,000 x 100 planted": (partial(planted_rows, 20_000, 100, 0), 5),
    "5,000 x 300 factor": (partial(factor_rows, 5000, 300, 0), 5),
    "5,000 x 300 planted": (partial(planted_rows, 5000, 300, 0), 5),
    "5,000 x 300 noise": (partial(noise_rows, 5000, 300, 0), 5),
    "1,400 x 1,555 factor": (partial(factor_rows, 1400, 1555, 0), 10),
    "1,400 x 1,555 planted": (partial(planted_rows, 1400, 1555, 0), 10),
    "1,400 x 1,555 flags": (partial(flag_rows, 1400, 1555, 0), 10),
}


def beside_forest(name: str, rows: Rows, most: float, repeat: int) -> Row:
    X = rows()
    ASPCA().fit(X[:100, :5])
    ours, theirs = [], []
    for _ in range(repeat if X.shape[1] < 1000 else min(repeat, 2)):
        theirs.append(timed(lambda: IsolationForest(random_state=0, n_jobs=1).fit(X))[1])
        model, taken = timed(lambda: ASPCA().fit(X))
        ours.append(taken)
    turns = np.array(ours) / theirs
    return {
        "table": name,
        "fits of a forest": Goal(float(np.median(ours) / np.median(theirs)), most=most),
        "worst turn": float(turns.max()),
        "s": float(np.median(ours)),
        "rules": len(model.rules_),
    }


def beside_the_rest(name: str, X: Floats, repeat: int) -> Row:
    """Readable rules over all else of a fit."""
    search = aspca.model.fit.find_rules
    spent = []

    def clocked(*arguments: object) -> object:
        found, taken = timed(lambda: search(*arguments))  # type: ignore[arg-type]
        spent.append(taken)
        return found

    shares, longest = [], 0
    try:
        aspca.model.fit.find_rules = clocked  # type: ignore[assignment]
        for _ in range(min(repeat, 3)):
            spent.clear()
            model, whole = timed(lambda: ASPCA().fit(X))
            shares.append(sum(spent) / (whole - sum(spent)))
            longest = max((len(rule.features) for rule in model.rules_), default=0)
    finally:
        aspca.model.fit.find_rules = search
    dense = sum(not rule.sparsest for rule in model.rules_)
    return {
        "table": name,
        "rules over the rest of the fit": Goal(float(np.median(shares)), most=3),
        "worst": max(shares),
        "s for the rules": float(np.median(spent)),
        "rules": len(model.rules_),
        "features of the longest": longest,
        "dense ones": dense,
    }


def slope(sizes: list[int], seconds: list[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def growth() -> Iterator[Row]:
    """Exponents over three decades where they fit."""

    def line(what: str, law: str, sizes: list[int], work: Callable[[int], object]) -> Row:
        seconds = [min(timed(lambda size=size: work(size))[1] for _ in range(3)) for size in sizes]
        return {
            "work": what,
            "sizes": f"{sizes[0]:,} to {sizes[-1]:,}",
            "exponent": slope(sizes, seconds),
            "of the upper half": slope(sizes[len(sizes) // 2 :], seconds[len(sizes) // 2 :]),
            "law expected": law,
            "s": " ".join(f"{taken:.3g}" for taken in seconds),
        }

    X = planted_rows(1_000_000, 20, 0)
    many = [1000, 10_000, 100_000, 1_000_000]
    yield line("moments with n, p = 20", "1", many, lambda n: Moments.from_array(X[:n]))
    yield line("fit with n, p = 20", "0, then 1", many, lambda n: ASPCA().fit(X[:n]))
    model = ASPCA().fit(X[:10_000])
    yield line("score_samples with n, p = 20", "1", many, lambda n: model.score_samples(X[:n]))
    columns = [10, 32, 100, 316, 1000]
    tables = {p: planted_rows(4000, p, 0) for p in columns}
    yield line("fit with p, n = 4,000, planted", "2 to 3", columns, lambda p: ASPCA().fit(tables[p]))
    yield line("moments with p, n = 4,000", "2", columns, lambda p: Moments.from_array(tables[p]))
    C = np.cov(planted_rows(2000, 60, 0).T)
    yield line(
        "components with d, p = 60", "1 to 2", [1, 3, 10, 30], lambda d: sparse_subspace(C, d, 0.05, "B", tol=1e-4)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "words", nargs="*", help="tables whose name contains one of these, rules, growth; all by default"
    )
    parser.add_argument("--repeat", type=int, default=5)
    add_json(parser)
    options = parser.parse_args()
    warnings.simplefilter("ignore")

    def wanted(name: str) -> bool:
        return not options.words or any(word in name for word in options.words)

    with Report(options.json) as report:
        lines = []
        for name, (rows, most) in TABLES.items():
            if wanted(name):
                lines.append(beside_forest(name, rows, most, options.repeat))
                print(f"{name}: {lines[-1]['fits of a forest']}", file=sys.stderr)
        if lines:
            report.table("A default fit, in fits of an isolation forest", lines, digits=2)
        if wanted("rules"):
            report.table(
                "Readable rules over all else of the same fit",
                [
                    beside_the_rest(f"5,000 x {p} {kind}", rows(5000, p, 0), options.repeat)
                    for p in (100, 200, 400)
                    for kind, rows in (("planted", planted_rows), ("factor", factor_rows))
                ],
                digits=2,
            )
        if wanted("growth"):
            report.table("Growth", list(growth()), digits=2)


if __name__ == "__main__":
    main()
