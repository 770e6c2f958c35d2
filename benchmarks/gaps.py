"""Rows with gaps: how well they are judged, and what the ways to a covariance make of the rules in them.

    python benchmarks/gaps.py                               # judging: 0, 1, 5, 20 % of the cells gone
    python benchmarks/gaps.py --part spread                 # the table of docs/data.md: p 12 and 30
    python benchmarks/gaps.py --cost                        # what gaps cost: 100,000 x 41, a fifth of the cells gone
    python benchmarks/gaps.py --seeds 5 --json result.json

**Judging.** Totals that share parts (`library.sums`): every feature is in a total, one feature of an anomaly has the
value of another row, 1,500 training rows; two fifths of 20 features are totals, or a third of 18. Cells are removed at
random from training and test rows; the cell that was moved stays, since what is not there cannot be wrong. AUC of ours
(`missing="allow"`); of the Mahalanobis distance of the observed cells under the very covariance that ours fitted, as it
is and as a probability (a row with fewer cells has a smaller distance); of ours where rules with a gap are dropped,
from the same model; and of ours learned from the complete training rows alone, gaps of test rows filled by means.
Seconds: fitting, judging the test rows, explaining them, beside the time that judging the same rows takes without gaps.
Goals: AUC 0.95, 0.93 and 0.89 where whole rows give about 0.976 and the observed cells still about 0.90 with a fifth
gone (two fifths totals); otherwise the better of both ways to rank observed cells, less 0.005.

**Spread.** Data of `library.planted`: about p / 3 sparse rules whose spread is a share (*noise*) of the features' own;
cells are removed at random. Each way gives a covariance, and from it the spread of every planted rule. Figures are
ratios to the spread that the complete rows have: 1 is right, above 1 the rule is blurred, below 1 it is promised
tighter than it is.
    EM              `IncompleteMoments.completed`
    pairwise        each covariance of the rows that have both features; negative eigenvalues set to zero
    complete rows   rows with gaps left out
    means           gaps filled with the column's mean
*Span* is the sine of the largest angle between the planted rules and as many lowest eigenvectors (correlation scale):
0 where the rules are found, 1 where one is lost. A dash: fewer than two rows. With no noise the rules are exact in the
complete rows up to rounding; then the spread itself is given, as a share of the features' own.

**Cost.** The fit of a large table of the same kind with gaps over that of the same table without, seconds of the
processor: the median of the runs and the worst. With OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from library.labelled import Bools, Floats, Labelled
from library.planted import planted
from library.report import Cell, Goal, Report, Row, add_json
from library.sums import sums
from library.timing import timed
from sklearn.metrics import roc_auc_score

from aspca import ASPCA, Preprocessor
from aspca.moments import IncompleteMoments

SHARES = (0.01, 0.05, 0.2)
GOALS = {0.01: 0.95, 0.05: 0.93, 0.2: 0.89}
MARGIN = 0.005
MOST_TIMES = 10.0
# Features, share of totals among them, noise; with the goals above, or beside observed cells only.
SETTINGS = ((20, 0.4, 0.023, True), (18, 1 / 3, 0.016, False))
NOISES = (0.05, 0.001, 0.0)

# ---- judging


def with_gaps(data: Labelled, share: float, seed: int) -> tuple[Floats, Floats]:
    """Training and test rows without this share of their cells; a moved cell stays."""
    rng = np.random.default_rng([seed, data.train.shape[1], round(1e6 * share)])
    train = np.where(rng.random(data.train.shape) < share, np.nan, data.train)
    gone = rng.random(data.test.shape) < share
    moved = np.flatnonzero(data.anomalous)
    gone[moved, data.changed[moved]] = False
    return train, np.where(gone, np.nan, data.test)


def observed_distances(X: Floats, mean: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """Mahalanobis distances of the cells that are there, and how unlikely each is (n,)."""
    deviations = np.sqrt(np.diag(covariance))
    z, correlation = (X - mean) / deviations, covariance / np.outer(deviations, deviations)
    distances, known = np.zeros(len(X)), ~np.isnan(X)
    for k, there in enumerate(known):
        own = z[k, there]
        distances[k] = own @ np.linalg.solve(correlation[np.ix_(there, there)], own)
    return distances, unlikely(distances, known.sum(axis=1))


def unlikely(distances: Any, freedom: Any) -> Any:
    """Chi-squares as normal deviates (Wilson and Hilferty), which no distance makes infinite."""
    share = 2.0 / (9.0 * freedom)
    return (np.cbrt(distances / freedom) - (1.0 - share)) / np.sqrt(share)


def without_rules(model: ASPCA, X: Floats) -> Floats:
    """How unlikely the distance of the rules without a gap is; zero where none is left: what dropping rules leaves."""
    table, space = model.model_.table, model.model_.space
    missing = np.isnan(X)
    scaled = np.where(missing, 0.0, space.centred(np.where(missing, space.mean, X)))
    usable: Bools = missing.astype(float) @ (table.loadings != 0) == 0
    deviations = scaled @ table.loadings
    scores = np.zeros(len(X))
    for k, rules in enumerate(usable):
        if rules.any():
            own = deviations[k, rules]
            distance = own @ np.linalg.solve(table.covariance[np.ix_(rules, rules)], own)
            scores[k] = unlikely(distance, int(rules.sum()))
    return scores


def judging(p: int, totals: float, noise: float, share: float, seeds: int, absolute: bool) -> Row:
    found: dict[str, list[float]] = {}
    for seed in range(seeds):
        data = sums(p, seed, noise=noise, share=totals)
        train, test = with_gaps(data, share, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            allowing = ASPCA(preprocessor=Preprocessor(missing="allow"))
            model, fitting = timed(lambda allowing=allowing, train=train: allowing.fit(train))
            complete = train[~np.isnan(train).any(axis=1)]
            whole = ASPCA().fit(complete) if len(complete) > p else None
        scores, seconds = timed(lambda model=model, test=test: -model.score_samples(test))
        explaining = timed(lambda model=model, test=test: model.explain(test).feature_contributions)[1]
        plain = timed(lambda model=model, data=data: model.score_samples(data.test))[1]
        covariance = model.covariance_ * np.outer(model.scale_, model.scale_)
        distances, ranked = observed_distances(test, model.mean_, covariance)
        ways = {"ours": scores, "observed cells": distances, "their probability": ranked}
        ways["rules dropped"] = without_rules(model, test)
        if whole is not None:
            ways["complete rows, means"] = -whole.score_samples(np.where(np.isnan(test), complete.mean(axis=0), test))
        for way, values in ways.items():
            found.setdefault(way, []).append(float(roc_auc_score(data.labels, values)))
        times = {"fit, s": fitting, "judge, s": seconds, "explain, s": explaining, "whole, s": plain}
        for name, value in times.items():
            found.setdefault(name, []).append(value)
    means = {name: float(np.mean(values)) for name, values in found.items() if len(values) == seeds}
    cells: dict[str, Cell] = {"cells gone": f"{100 * share:g} %"}
    best = max(means["observed cells"], means["their probability"])
    least = GOALS[share] if absolute and share in GOALS else best - MARGIN
    return {**cells, "ours": Goal(means.pop("ours"), least=least), **means}


# ---- spread


def by_em(rows: Floats) -> tuple[Floats | None, int]:
    done = IncompleteMoments.from_array(rows).completed()
    return done.moments.covariance, done.iterations


def by_pairs(rows: Floats) -> tuple[Floats | None, int]:
    present = ~np.isnan(rows)
    deviations = np.where(present, rows - np.nanmean(rows, axis=0), 0.0)
    covariance = (deviations.T @ deviations) / (present.T.astype(float) @ present)
    scale = np.sqrt(np.diagonal(covariance))
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    repaired = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return repaired * np.outer(scale, scale), 0


def by_complete_rows(rows: Floats) -> tuple[Floats | None, int]:
    complete = rows[~np.isnan(rows).any(axis=1)]
    return (np.cov(complete.T, bias=True) if len(complete) > 1 else None), 0


def by_means(rows: Floats) -> tuple[Floats | None, int]:
    return np.cov(np.where(np.isnan(rows), np.nanmean(rows, axis=0), rows).T, bias=True), 0


WAYS: dict[str, Callable[[Floats], tuple[Floats | None, int]]] = {
    "EM": by_em,
    "pairwise": by_pairs,
    "complete rows": by_complete_rows,
    "means": by_means,
}


def sine(directions: Floats, correlation: Floats) -> float:
    """Of the largest angle between the span of `directions` (p, m) and that of the m lowest eigenvectors."""
    lowest = np.linalg.eigh(correlation)[1][:, : directions.shape[1]]
    basis = np.linalg.qr(directions)[0]
    return float(np.linalg.norm(basis - lowest @ (lowest.T @ basis), ord=2))


def spreads(p: int, noise: float, share: float, seeds: int) -> list[Row]:
    found: dict[str, list[tuple[Floats, float]]] = {way: [] for way in WAYS}
    seconds, steps = dict.fromkeys(WAYS, 0.0), dict.fromkeys(WAYS, 0)
    for seed in range(seeds):
        data = planted(p, noise, seed)
        rng = np.random.default_rng([seed, p, round(1e6 * share)])
        rows = np.where(rng.random(data.train.shape) < share, np.nan, data.train)
        scale = data.train.std(axis=0)
        # The rows' own spread of each rule, not that of a covariance: a rule may be too tight for one.
        true = ((data.train - data.train.mean(axis=0)) / scale @ data.directions).std(axis=0)
        for way, covariance_of in WAYS.items():
            (covariance, n_steps), taken = timed(lambda of=covariance_of, rows=rows: of(rows))
            seconds[way] += taken
            steps[way] += n_steps
            if covariance is not None:
                own = covariance / np.outer(scale, scale)
                variances = np.einsum("im,ij,jm->m", data.directions, own, data.directions)
                spread = np.sqrt(np.maximum(variances, 0.0))
                found[way].append((spread / true if noise else spread, sine(data.directions, own)))
    result: list[Row] = []
    for way, entries in found.items():
        line: dict[str, Cell] = {"way": f"{way}, {100 * share:g} % gone, noise {noise:g}"}
        # Where only some seeds left two complete rows, the rest would flatter.
        if len(entries) == seeds:
            ratios = np.concatenate([ratio for ratio, _ in entries])
            for name, value in (("lowest", ratios.min()), ("median", np.median(ratios)), ("highest", ratios.max())):
                line[name] = f"{value:.3g}"
            line["span"] = f"{max(angle for _, angle in entries):.2g}"
        else:
            line |= dict.fromkeys(("lowest", "median", "highest", "span"))
        result.append({**line, "ms": 1000 * seconds[way] / seeds, "steps": steps[way] / seeds})
    return result


# ---- cost


def cost(rows: int, p: int, noise: float, share: float, runs: int) -> Row:
    train = planted(p, noise, 0, n=rows).train
    gapped = np.where(np.random.default_rng([1, rows, p]).random(train.shape) < share, np.nan, train)

    def spent(allowing: ASPCA, X: Floats) -> float:
        start = time.process_time()
        allowing.fit(X)
        return time.process_time() - start

    ratios, steps = [], 0
    for _ in range(runs):
        model = ASPCA(preprocessor=Preprocessor(missing="allow"))
        whole = spent(ASPCA(), train)
        ratios.append(spent(model, gapped) / whole)
        steps = model.model_.gaps.iterations
    goal = Goal(float(np.median(ratios)), most=MOST_TIMES)
    return {"table": f"noise {noise:g}", "times the fit without": goal, "worst": max(ratios), "steps of EM": steps}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("judging", "spread"), default="judging")
    parser.add_argument("--p", type=int, nargs="+", default=[12, 30], help="features, for the spreads")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--cost", action="store_true", help="what gaps cost, instead")
    parser.add_argument("--rows", type=int, default=100_000, help="rows, for the cost")
    parser.add_argument("--runs", type=int, default=3, help="runs, for the cost")
    add_json(parser)
    options = parser.parse_args()
    with Report(options.json) as report:
        if options.cost:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                # The first fit of a process loads what it needs.
                ASPCA().fit(planted(12, 0.05, 0).train)
                table = [cost(options.rows, 41, noise, 0.2, options.runs) for noise in NOISES]
            report.table(f"{options.rows:,} x 41, 20 % of the cells gone", table, digits=1)
            return
        if options.part == "judging":
            for p, totals, noise, absolute in SETTINGS:
                shares = (0.0, *SHARES)
                lines = [judging(p, totals, noise, share, options.seeds, absolute) for share in shares]
                title = f"{round(totals * p)} sums among {p} features, noise {noise:g}, {options.seeds} seeds: AUC"
                report.table(title, lines)
            return
        for p in options.p:
            table = [row for noise in NOISES for share in SHARES for row in spreads(p, noise, share, options.seeds)]
            report.table(f"p = {p}: spread of the rules over that of complete rows", table, digits=1)


if __name__ == "__main__":
    main()
