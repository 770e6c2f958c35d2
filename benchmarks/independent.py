"""Where no rule is tight: independent columns, heavy tails, common factors. Is a shifted value seen, and named?

    python benchmarks/independent.py                          # p 10 and 40, shifts of 2, 3 and 5 deviations
    python benchmarks/independent.py --p 40 --shift 5 --seeds 5 --json result.json

Data of `library.shapes`: one feature of an anomaly is shifted by so many of its deviations. AUC of ours beside the
Mahalanobis distance of the whole covariance (the goal is that less 0.01) and an isolation forest; *found*, the
share above the 99 % quantile of normal test rows; *top 1*, over all anomalies, how often the shifted feature has the
largest contribution, beside contributions by reconstruction. *Rules* and *outside* are their number, and the share of
the anomalies' score that lies outside of them. Means over seeds.
"""

from __future__ import annotations

import argparse

import numpy as np
from library.arguments import add_ours, words
from library.measures import detected, top_one
from library.report import Cell, Goal, Report, Row, add_json
from library.rivals import Rival, forest, ours, whole_covariance
from library.shapes import SHAPES, shapes
from sklearn.metrics import roc_auc_score

MARGIN = 0.01
OURS, WHOLE, FOREST = "ours", "Mahalanobis", "forest"


def line(kind: str, p: int, shift: float, seeds: int, methods: dict[str, Rival]) -> Row:
    auc: dict[str, list[float]] = {name: [] for name in methods}
    found: dict[str, list[float]] = {name: [] for name in methods}
    top: dict[str, list[float]] = {name: [] for name in methods}
    rules, outside = [], []
    for seed in range(seeds):
        data = shapes(kind, p, shift, seed)
        moved = data.anomalous
        for name, fit in methods.items():
            fitted = fit(data.train)
            scores = fitted.score(data.test)
            auc[name].append(roc_auc_score(data.labels, scores))
            found[name].append(detected(scores, moved).sum() / moved.sum())
            if name != FOREST:
                top[name].append(top_one(fitted.contributions(data.test[moved]), data.changed[moved]))
            if name == OURS and fitted.model is not None:
                why = fitted.model.explain(data.test[moved])
                rules.append(len(fitted.model.rules_))
                outside.append(float((why.outside / why.scores).mean()))
    means = {name: float(np.mean(values)) for name, values in auc.items()}
    cells: dict[str, Cell] = {"data": f"{kind}, p = {p}, {shift:g} sigma"}
    cells["AUC ours"] = Goal(means[OURS], least=means[WHOLE] - MARGIN)
    cells |= {f"AUC {name}": value for name, value in means.items() if name != OURS}
    cells |= {f"found {name}": float(np.mean(found[name])) for name in methods if name != FOREST}
    cells |= {f"top 1 {name}": float(np.mean(top[name])) for name in methods if name != FOREST}
    return {**cells, "rules": float(np.mean(rules)), "outside": float(np.mean(outside))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--p", type=int, nargs="+", default=[10, 40])
    parser.add_argument("--shift", type=float, nargs="+", default=[2.0, 3.0, 5.0])
    parser.add_argument("--seeds", type=int, default=3)
    add_ours(parser)
    add_json(parser)
    options = parser.parse_args()
    methods = {OURS: ours(), WHOLE: whole_covariance, FOREST: forest}
    methods |= {words(given): ours(**given) for given in options.ours}
    with Report(options.json) as report:
        lines = [
            line(kind, p, shift, options.seeds, methods)
            for kind in SHAPES
            for p in options.p
            for shift in options.shift
        ]
        report.say(f"2,000 training rows, {options.seeds} seeds; goal: Mahalanobis less {MARGIN:g}.")
        report.table("No tight rule", lines, digits={"rules": 1, "outside": 2})


if __name__ == "__main__":
    main()
