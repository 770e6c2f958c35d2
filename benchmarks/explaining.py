"""What an explanation costs beside a score, and how both grow with the rows.

    python benchmarks/explaining.py [--rows 100000] [--json FILE]

41 columns, 20 rules: `score_samples` against `explain` with its contributions, shares and repairs, the fastest of seven
runs each, one after the other in one process, for every score; then from a quarter to four times the rows, and one
text and all groups.
"""

from __future__ import annotations

import argparse

import numpy as np
from library.labelled import Floats
from library.report import Report, Row, add_json
from library.timing import fastest

from aspca import ASPCA
from aspca.settings import SCORES

P, D = 41, 20


def rows_of(n: int) -> Floats:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, P))
    X[:, :D] = X[:, D : 2 * D] + 0.1 * rng.normal(size=(n, D))
    return X


def explained(model: ASPCA, X: Floats) -> None:
    explanation = model.explain(X)
    _ = explanation.scores, explanation.rule_contributions, explanation.feature_contributions
    _ = explanation.shares, explanation.repaired


def measure(score: str, n: int) -> Row:
    X = rows_of(n)
    model = ASPCA(n_components=D, scaling="standard", score=score, alpha=0.01).fit(X[:20_000])
    scoring = fastest(lambda: model.score_samples(X))
    explaining = fastest(lambda: explained(model, X))
    explanation = model.explain(X)
    return {
        "score": score,
        "rows": n,
        "scoring, ms": 1e3 * scoring,
        "explaining, x scoring": explaining / scoring,
        "groups, x scoring": fastest(lambda: model.explain(X).groups(), 3) / scoring,
        "one text, ms": 1e3 * fastest(lambda: explanation.text(n - 1)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    add_json(parser)
    options = parser.parse_args()
    cases = [(score, options.rows) for score in SCORES]
    cases += [(SCORES[0], n) for n in (options.rows // 4, 4 * options.rows)]
    with Report(options.json) as report:
        report.table(f"{P} columns, {D} rules", [measure(score, n) for score, n in cases], digits=2)


if __name__ == "__main__":
    main()
