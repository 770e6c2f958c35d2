"""Rules that the user gave: what they show where many rows are wrong, or where they are too loose to be found.

    python benchmarks/given_rules.py

`total = a + b` among six columns, 600 rows, five draws each; wrong rows have 5 added to their total. Printed are the
shares of wrong rows that are flagged, of the others that are, and the spread of the rule (0.3 was drawn); then the same
for rules whose noise hides them, each wrong row being off by four times that noise.
"""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd

import aspca

SEEDS = range(5)


def table(noise: float, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    a, b, c, d, e = rng.normal([10.0, 5.0, 0.0, 0.0, 0.0], [2.0, 3.0, 1.0, 4.0, 1.0], size=(600, 5)).T
    return pd.DataFrame({"total": a + b + noise * rng.normal(size=600), "a": a, "b": b, "c": c, "d": d, "e": e})


def flagged(rows: pd.DataFrame, rules: list[str] | None, wrong: np.ndarray) -> tuple[float, float, float]:
    """Shares of wrong rows and of others that are flagged, and the spread of the first rule."""
    model = aspca.detect(rows, rules=rules).outcomes[None].model
    found = model.judge(rows.to_numpy()).anomalies
    spread = model.rules[0].spread * model.rules[0].equation.unit if model.rules else float("nan")
    others = float(found[~wrong].mean()) if (~wrong).any() else float("nan")
    return float(found[wrong].mean()), others, spread


def line(noise: float, share: float, off: float) -> str:
    cells = []
    for rules in (["total = a + b"], None):
        drawn = []
        for seed in SEEDS:
            rows = table(noise, seed)
            wrong = np.zeros(600, dtype=bool)
            wrong[np.random.default_rng(100 + seed).permutation(600)[: int(share * 600)]] = True
            rows.loc[wrong, "total"] += off
            drawn.append(flagged(rows, rules, wrong))
        hit, others, spread = np.mean(drawn, axis=0)
        cells.append(f"{hit:.2f} | {others:.3f}" + (f" | {spread:.2g}" if rules else ""))
    return f"| {share:g} | {noise:g} | {' | '.join(cells)} |"


def main() -> None:
    warnings.simplefilter("ignore")
    print("| wrong | noise | given: seen | others | spread | without: seen | others |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    for share in (0.01, 0.1, 0.2, 0.3, 0.4, 0.48):
        print(line(0.3, share, 5.0), flush=True)
    for noise in (2.0, 4.0):
        print(line(noise, 0.01, 4.0 * noise), flush=True)


if __name__ == "__main__":
    main()
