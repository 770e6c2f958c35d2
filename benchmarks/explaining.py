"""What an explanation costs beside a score: python benchmarks/explaining.py [--json]

100,000 x 41 rows: `score_samples` against `explain` with its contributions, shares and repairs, the fastest of seven
runs each, one after the other in one process; then how both grow from 25,000 to 400,000 rows, and text and groups.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import numpy as np

from aspca import ASPCA

P, D = 41, 20


def table(n: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, P))
    X[:, :D] = X[:, D : 2 * D] + 0.1 * rng.normal(size=(n, D))
    return X


def fastest(call: Callable[[], object], runs: int = 7) -> float:
    seconds = []
    for _ in range(runs):
        begin = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begin)
    return min(seconds)


def explained(model: ASPCA, X: np.ndarray) -> None:
    explanation = model.explain(X)
    _ = explanation.scores, explanation.rule_contributions, explanation.feature_contributions
    _ = explanation.shares, explanation.repaired


def measure(score: str, n: int) -> dict[str, object]:
    X = table(n)
    model = ASPCA(n_components=D, scaling="standard", score=score, alpha=0.01).fit(X[:20_000])
    scoring = fastest(lambda: model.score_samples(X))
    explaining = fastest(lambda: explained(model, X))
    explanation = model.explain(X)
    return {
        "score": score,
        "rows": n,
        "scoring, ms": round(1e3 * scoring, 1),
        "explaining, x scoring": round(explaining / scoring, 2),
        "groups, x scoring": round(fastest(lambda: model.explain(X).groups(), 3) / scoring, 2),
        "one text, ms": round(1e3 * fastest(lambda: explanation.text(n - 1)), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    cases = [(score, 100_000) for score in ("spe", "standardized", "whitened")]
    cases += [("spe", n) for n in (25_000, 400_000)]
    rows = [measure(score, n) for score, n in cases]
    if given.json:
        print(json.dumps(rows, indent=2))
        return
    print("  ".join(f"{name:>22}" for name in rows[0]))
    for row in rows:
        print("  ".join(f"{value!s:>22}" for value in row.values()))


if __name__ == "__main__":
    main()
