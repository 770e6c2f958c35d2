"""What an explanation costs beside a score, and how both grow with the rows.

    python benchmarks/explaining.py [--rows 1000000] [--runs 5] [--json FILE]

40 columns, 20 rules: `explain` of so many rows against `score_samples` of the same, in one process and in turn. Printed
are the median and the worst of the ratios of one turn each, of `explain` as it is called and with all that can be asked
of it for every row (contributions of rules and features, shares, repairs); and the most memory that was taken for it,
in units of what it returns. Then the same of a tenth of the rows for every score, with one text and all groups.
"""

from __future__ import annotations

import argparse
import tracemalloc
from collections.abc import Callable
from dataclasses import fields

import numpy as np
from library.labelled import Floats
from library.report import Goal, Report, Row, add_json
from library.timing import fastest, timed

from aspca import ASPCA
from aspca.settings import SCORES

P, D = 40, 20
# Goals: times of scoring, and times the memory of what is returned.
MOST_TIMES, MOST_MEMORY = 3.0, 1.2


def rows_of(n: int) -> Floats:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, P))
    X[:, :D] = X[:, D : 2 * D] + 0.1 * rng.normal(size=(n, D))
    return X


def explained(model: ASPCA, X: Floats) -> list[Floats]:
    """All arrays of an explanation."""
    found = model.explain(X)
    judgement = [getattr(found.judgement, field.name) for field in fields(found.judgement)]
    return [*judgement, found.feature_contributions, found.shares, found.repaired]


def ratios(work: Callable[[], object], reference: Callable[[], object], runs: int) -> list[float]:
    """Of one turn each."""
    return [timed(work)[1] / timed(reference)[1] for _ in range(runs)]


def peak(model: ASPCA, X: Floats) -> float:
    """The most memory taken, over that of what is returned."""
    tracemalloc.start()
    found = explained(model, X)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / sum(array.nbytes for array in found)


def fitted(score: str, X: Floats) -> ASPCA:
    return ASPCA(n_components=D, scaling="standard", score=score, alpha=0.01).fit(X[:20_000])


def measure(score: str, n: int, runs: int) -> Row:
    X = rows_of(n)
    model = fitted(score, X)
    called = ratios(lambda: model.explain(X), lambda: model.score_samples(X), runs)
    asked = ratios(lambda: explained(model, X), lambda: model.score_samples(X), runs)
    return {
        "score": score,
        "rows": n,
        "explain, x scoring": Goal(float(np.median(called)), most=MOST_TIMES),
        "worst": max(called),
        "and all arrays, x scoring": Goal(float(np.median(asked)), most=MOST_TIMES),
        "worst of these": max(asked),
        "peak, x returned": Goal(peak(model, X), most=MOST_MEMORY),
    }


def measure_words(score: str, n: int) -> Row:
    X = rows_of(n)
    model = fitted(score, X)
    scoring = fastest(lambda: model.score_samples(X))
    explanation = model.explain(X)
    return {
        "score": score,
        "rows": n,
        "scoring, ms": 1e3 * scoring,
        "groups, x scoring": fastest(lambda: model.explain(X).groups(), 3) / scoring,
        "one text, ms": 1e3 * fastest(lambda: explanation.text(n - 1)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    add_json(parser)
    options = parser.parse_args()
    cases = [(SCORES[0], options.rows), *((score, options.rows // 10) for score in SCORES)]
    with Report(options.json) as report:
        report.table(f"{P} columns, {D} rules", [measure(*case, options.runs) for case in cases], digits=2)
        report.table("In words", [measure_words(*case) for case in cases[1:]], digits=2)


if __name__ == "__main__":
    main()
