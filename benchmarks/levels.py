"""Rules rotated within levels of tightness, beside rules rotated all together and not at all, in one run.

    python benchmarks/levels.py                            # planted rules, some minutes
    python benchmarks/levels.py --part real                # Breast-Cancer and KDD99
    python benchmarks/levels.py --p 10 --seeds 6

Planted rules as in `planted.py`. Where features share most of their variance, directions that no rule was planted for
are abnormal too, far looser than the rules. All lines of a table have one subspace, so the same scores.

Columns, over the anomalies above the 99 % quantile of normal scores (real data: above the threshold); the *first* rule
is the one with the largest part of the score
    rules       share of the planted rules among the directions
    clean       the first rule has features of broken rules only
    moved       the first rule has the feature that was moved
    size        features of the first rule
    share       its part of the score
    breaks      it is broken by its own limit
    all break   so are all rules that make up 90 % of the score, none is only strained
    top 1       the feature with the largest part of the score is in a rule that broke
    for 90 %    features needed for 90 % of the score
    non-zeros   per direction
Entries of a direction below 5 % of its largest are dropped, in units of the features' standard deviations.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from interpretation import DETECTED, DROPPED, features_needed, matched
from planted import Floats, planted

from aspca import ASPCA, Moments
from aspca.datasets.breast_cancer import load_breast_cancer
from aspca.datasets.kdd99 import load_kdd99

LINES: dict[str, dict[str, Any]] = {
    "levels": {},
    "all": {"rotation": "all"},
    "not rotated (B)": {"variant": "B"},
}
# Noise; share of variance that features have in common; decades over which noise differs between features.
DATA = ((0.01, 0.3, 0.0), (0.01, 0.3, 1.0), (0.01, 0.9, 0.0), (0.01, 0.95, 0.7), (0.05, 0.8, 0.5))
# KDD99 has thousands of anomalies: the first of them.
MOST_EXPLAINED = 2000


def figures(model: ASPCA, deviations: Floats, rows: Floats) -> tuple[dict[str, float], Floats, Any]:
    """What needs no truth about the rows (n, p); each row's first rule over standardised features (n, p), cut; why."""
    directions = model.components_.T * (deviations / model.scale_)[:, None]
    sizes = np.abs(directions)
    directions = np.where(sizes >= DROPPED * sizes.max(axis=0), directions, 0.0)
    why = model.explain(rows)
    first = why.rule_contributions.argmax(axis=1)
    order = np.argsort(-why.shares, axis=1, kind="stable")
    falling = np.take_along_axis(why.shares, order, axis=1)
    most = np.cumsum(falling, axis=1) - falling < 0.9
    broken = np.take_along_axis(why.broken, order, axis=1)
    return (
        {
            "size": float((directions != 0).sum(axis=0)[first].mean()),
            "share": float(why.shares.max(axis=1).mean()),
            "breaks": float(broken[:, 0].mean()),
            "all break": float((broken | ~most).all(axis=1).mean()),
            "for 90 %": float(features_needed(why.feature_contributions).mean()),
            "non-zeros": float((directions != 0).sum(axis=0).mean()),
            "d": float(directions.shape[1]),
        },
        directions[:, first].T,
        why,
    )


def on_planted(p: int, noise: float, common: float, uneven: float, seed: int, parameters: dict[str, Any]) -> Any:
    data = planted(p, noise, seed, common=common, uneven=uneven)
    model = ASPCA(**parameters).fit_moments(Moments.from_array(data.train))
    scores = -model.score_samples(data.test)
    normal = data.labels == 0
    detected = ~normal & (scores > np.quantile(scores[normal], DETECTED))
    found, first, why = figures(model, data.train.std(axis=0), data.test[detected])
    of_broken = data.broken[detected].astype(np.int64) @ np.abs(data.rules) > 0
    every = np.arange(len(first))
    directions = model.components_.T * (data.train.std(axis=0) / model.scale_)[:, None]
    return {
        "rules": matched(data.directions, directions)[0],
        "clean": float((of_broken | (first == 0)).all(axis=1).mean()),
        "moved": float((first[every, data.changed[detected]] != 0).mean()),
        **found,
        "top 1": float(of_broken[every, why.feature_contributions.argmax(axis=1)].mean()),
    }


def on_real(load: Callable[[], Any], parameters: dict[str, Any]) -> dict[str, float]:
    data = load()
    model = ASPCA(**parameters).fit(data.data)
    alarming = np.flatnonzero((data.labels == 1) & (-model.score_samples(data.data) > model.threshold_))
    found, _, _ = figures(model, data.data.std(axis=0), data.data[alarming[:MOST_EXPLAINED]])
    return {**found, "L1": float(np.abs(model.components_).sum())}


def table(title: str, lines: dict[str, list[dict[str, float]]]) -> None:
    print(f"\n{title}\n")
    columns = list(next(iter(lines.values()))[0])
    print("| | " + " | ".join(columns) + " |\n" + "|---" * (len(columns) + 1) + "|")
    for name, runs in lines.items():
        means = [f"{np.mean([run[column] for run in runs]):.3f}" for column in columns]
        print(f"| {name} | " + " | ".join(means) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("planted", "real"), default="planted")
    parser.add_argument("--p", type=int, nargs="+", default=[10, 30])
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    if args.part == "real":
        for name, load in (("Breast-Cancer", load_breast_cancer), ("KDD99", load_kdd99)):
            table(name, {line: [on_real(load, parameters)] for line, parameters in LINES.items()})
        return
    for p in args.p:
        for noise, common, uneven in DATA:
            lines = {
                line: [on_planted(p, noise, common, uneven, seed, parameters) for seed in range(args.seeds)]
                for line, parameters in LINES.items()
            }
            spread = f" times 10^±{uneven:g}" if uneven else ""
            table(f"p = {p}, noise {noise:g}{spread}, {common:.0%} in common, {args.seeds} seeds", lines)


if __name__ == "__main__":
    main()
