"""Rules and causes: does a detector find planted rules, and name what broke one? ASPCA beside its peers, in one run.

    python benchmarks/interpretation.py                                     # the defaults, every peer
    python benchmarks/interpretation.py --ours scaling=standard,n_components=true --only ASPCA --p 30
    python benchmarks/interpretation.py --json result.json

`n_components=true` stands for the number of rules planted. The data are those of `planted.py`; means over seeds.

Columns
    AUC         of the score, anomalies against normal test rows
    found       share of the anomalies above the 99 % quantile of the normal test rows' scores: the *detected* ones
    top 1       of the detected: the feature with the largest part of the score is in a rule that broke
    changed 3   of the detected: the feature that was moved is among the three largest parts
    for 90 %    features needed for 90 % of the score, mean over the detected
    rules       share of the planted rules among the directions the score is read along
    canonical   the same among ASPCA's canonical rules
    extra       canonical rules that are no planted rule, per planted rule (ASPCA only)
    non-zeros   per direction; entries above a hundredth of the largest
    seconds     fit, and canonical rules where there are any
A planted rule is found if a vector has the same features, after entries below 5 % of its largest are dropped, and a
cosine of at least 0.999 with it, both in units of the features' standard deviations.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from planted import Floats, Planted, planted
from rivals import RIVALS, Absent, Fitted, Spectrum, varimax_told
from sklearn.metrics import roc_auc_score

from aspca import ASPCA, Moments

# When a vector is a planted rule.
DROPPED, COSINE = 0.05, 0.999
# Share of normal test rows below the level at which an anomaly counts as detected.
DETECTED = 0.99
# An entry of a direction that counts as a non-zero, as a share of its largest.
NONZERO = 0.01
# The peers whose detection and naming are the mark; how far below the best of them still counts as reached.
DENSE = ("PCA residual", *(name for name in RIVALS if name.startswith("Mahalanobis")), "minor components")
AUC_MARGIN, TOP_MARGIN = 0.005, 0.01
FEATURES_GOAL, RULES_GOAL, RULES_P, RULES_NOISE = 4.0, 0.95, 30, 0.01

Fit = Callable[[Planted], tuple[Fitted, Floats | None]]


@dataclass(frozen=True)
class Figures:
    """One method on one data set; None where a figure does not apply. See the module's text."""

    method: str
    p: int
    noise: float
    seed: int
    auc: float
    found: float
    top: float
    changed: float
    features: float
    rules: float | None
    canonical: float | None
    extra: float | None
    nonzeros: float | None
    n_components: int | None
    seconds: float


COLUMNS = {
    "auc": "AUC",
    "found": "found",
    "top": "top 1",
    "changed": "changed 3",
    "features": "for 90 %",
    "rules": "rules",
    "canonical": "canonical",
    "extra": "extra",
    "nonzeros": "non-zeros",
    "n_components": "d",
    "seconds": "seconds",
}


# ---- methods


def peer(fit: Callable[[Floats], Fitted]) -> Fit:
    return lambda data: (fit(data.train), None)


def told_varimax(data: Planted) -> tuple[Fitted, Floats | None]:
    return varimax_told(len(data.rules))(data.train), None


def ours(parameters: dict[str, Any]) -> Fit:
    """ASPCA with these parameters, and its canonical rules (p, d) in standardised units."""

    def fit(data: Planted) -> tuple[Fitted, Floats]:
        told = {"n_components": len(data.rules)} if parameters.get("n_components") == "true" else {}
        names = [str(j) for j in range(data.train.shape[1])]
        model = ASPCA(**{**parameters, **told}).fit_moments(Moments.from_array(data.train), feature_names=names)
        scale = Spectrum.of(data.train).scale
        canonical = np.zeros((len(names), len(model.canonical_rules_)))
        for k, rule in enumerate(model.canonical_rules_):
            index = [int(name) for name in rule.features]
            canonical[index, k] = rule.coefficients * scale[index]
        directions = model.components_.T * (scale / model.scale_)[:, None]
        fitted = Fitted(
            lambda X: -model.score_samples(X),
            lambda X: model.explain(X).feature_contributions,
            directions / np.linalg.norm(directions, axis=0),
        )
        return fitted, canonical

    return fit


def settings(text: str) -> dict[str, Any]:
    """Parameters from ``name=value,name=value``; what is no Python literal is a string."""
    parameters: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        name, given, value = part.partition("=")
        if not given:
            raise argparse.ArgumentTypeError(
                f"{part!r} is not name=value; write for example scaling=standard,alpha=0.01."
            )
        try:
            parameters[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            parameters[name] = value
    return parameters


# ---- figures


def matched(directions: Floats, vectors: Floats) -> tuple[float, float]:
    """Share of the planted `directions` (p, m) among `vectors` (p, d); and vectors that are none of them, over m."""
    sizes = np.abs(vectors)
    kept = np.where(sizes >= DROPPED * sizes.max(axis=0, keepdims=True), vectors, 0.0)
    unit = kept / np.maximum(np.linalg.norm(kept, axis=0), 1e-300)
    same = np.abs(directions.T @ unit) >= COSINE
    same &= ((directions != 0).T[:, :, None] == (kept != 0)[None]).all(axis=1)
    m = directions.shape[1]
    return float(same.any(axis=1).mean()), float((~same.any(axis=0)).sum() / m)


def features_needed(parts: Floats) -> Floats:
    """How many of the largest parts (n, p) make up 90 % of each row's sum."""
    falling = -np.sort(-np.abs(parts), axis=1)
    told = np.cumsum(falling, axis=1) / np.maximum(falling.sum(axis=1, keepdims=True), 1e-300)
    return np.asarray((told < 0.9).sum(axis=1) + 1, dtype=np.float64)


def figures(method: str, fit: Fit, data: Planted, noise: float, seed: int) -> Figures:
    start = time.perf_counter()
    fitted, canonical = fit(data)
    seconds = time.perf_counter() - start
    scores = fitted.score(data.test)
    anomalous = data.labels == 1
    detected = anomalous & (scores > np.quantile(scores[~anomalous], DETECTED))
    # Some peers refuse a table without rows.
    parts = np.abs(fitted.contributions(data.test[detected])) if detected.any() else np.zeros((0, data.test.shape[1]))
    falling = np.argsort(-parts, axis=1, kind="stable")
    changed = data.changed[detected]
    # The rules that broke, as features: any feature of any of them.
    named = data.broken[detected].astype(np.int64) @ np.abs(data.rules) > 0
    directions = fitted.directions
    any_found = bool(detected.any())
    return Figures(
        method=method,
        p=data.train.shape[1],
        noise=noise,
        seed=seed,
        auc=float(roc_auc_score(data.labels, scores)),
        found=float(detected.sum() / anomalous.sum()),
        top=float(named[np.arange(len(named)), falling[:, 0]].mean()) if any_found else 0.0,
        changed=float((falling[:, :3] == changed[:, None]).any(axis=1).mean()) if any_found else 0.0,
        features=float(features_needed(parts).mean()) if any_found else float(data.train.shape[1]),
        rules=None if directions is None else matched(data.directions, directions)[0],
        canonical=None if canonical is None else matched(data.directions, canonical)[0],
        extra=None if canonical is None else matched(data.directions, canonical)[1],
        nonzeros=None if directions is None else _nonzeros(directions),
        n_components=None if directions is None else directions.shape[1],
        seconds=seconds,
    )


def _nonzeros(directions: Floats) -> float:
    sizes = np.abs(directions)
    return float((sizes > NONZERO * sizes.max(axis=0)).sum(axis=0).mean())


# ---- output


def mean_of(rows: Sequence[Figures], name: str) -> float | None:
    values = [getattr(row, name) for row in rows if getattr(row, name) is not None]
    return float(np.mean(values)) if values else None


def table(rows: Sequence[Figures], methods: Sequence[str]) -> None:
    width = max(map(len, methods))
    print(" " * width + "".join(f"{title:>11}" for title in COLUMNS.values()))
    for method in methods:
        of_method = [row for row in rows if row.method == method]
        cells = [mean_of(of_method, name) for name in COLUMNS]
        if of_method:
            print(f"{method:<{width}}" + "".join(f"{'-' if cell is None else f'{cell:.3f}':>11}" for cell in cells))


def verdicts(rows: Sequence[Figures], ours_names: Sequence[str]) -> None:
    """One line per goal, setting of ASPCA and data."""
    dense = [row for row in rows if row.method in DENSE]
    best = {}
    for name in ("auc", "top"):
        means = [mean_of([row for row in dense if row.method == method], name) for method in DENSE]
        best[name] = max((mean for mean in means if mean is not None), default=None)
    p, noise = rows[0].p, rows[0].noise
    for method in ours_names:
        mine = [row for row in rows if row.method == method]
        value = {name: mean_of(mine, name) or 0.0 for name in COLUMNS}
        goals = []
        for name, margin, words in (("auc", AUC_MARGIN, "AUC"), ("top", TOP_MARGIN, "top 1")):
            mark = best[name]
            if mark is not None:
                goals.append((f"{words} {value[name]:.3f}, dense {mark:.3f}", value[name] >= mark - margin))
        goals.append(
            (f"{value['features']:.1f} features for 90 % (<= {FEATURES_GOAL:g})", value["features"] <= FEATURES_GOAL)
        )
        if (p, noise) == (RULES_P, RULES_NOISE):
            goals.append(
                (f"canonical {value['canonical']:.0%} (>= {RULES_GOAL:.0%})", value["canonical"] >= RULES_GOAL)
            )
        print(f"  {method}: " + "; ".join(f"{text}: {'reached' if reached else 'MISSED'}" for text, reached in goals))


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--ours", type=settings, action="append", default=[], help="parameters of ASPCA; repeatable")
    parser.add_argument("--only", nargs="+", help="methods whose name begins with one of these")
    parser.add_argument("--p", type=int, nargs="+", default=[10, 30, 100])
    parser.add_argument("--noise", type=float, nargs="+", default=[0.01, 0.05])
    parser.add_argument("--common", type=float, default=0.3, help="share of variance from common factors")
    parser.add_argument("--uneven", type=float, default=0.0, help="decades over which noise differs between features")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="every single figure, as JSON")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    options = parsed(arguments)
    methods: dict[str, Fit] = {name: peer(fit) for name, fit in RIVALS.items()}
    methods["varimax, told d"] = told_varimax
    mine = {"ASPCA": ours({})}
    for chosen in options.ours:
        mine["ASPCA " + ",".join(f"{name}={value}" for name, value in chosen.items())] = ours(chosen)
    methods |= mine
    if options.only:
        methods = {name: fit for name, fit in methods.items() if name.startswith(tuple(options.only))}
    everything: list[Figures] = []
    absent: set[str] = set()
    for p in options.p:
        for noise in options.noise:
            rows = []
            for seed in range(options.seeds):
                data = planted(p, noise, seed, common=options.common, uneven=options.uneven)
                for name, fit in methods.items():
                    if name in absent:
                        continue
                    try:
                        rows.append(figures(name, fit, data, noise, seed))
                    except Absent as error:
                        absent.add(name)
                        print(f"{name} left out: {error}", file=sys.stderr)
            print(f"\np = {p}, {len(data.rules)} rules, noise {noise:g}, {options.seeds} seeds")
            table(rows, list(methods))
            verdicts(rows, [name for name in methods if name in mine])
            everything += rows
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in everything], indent=1) + "\n")


if __name__ == "__main__":
    main()
