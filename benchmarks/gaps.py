"""What gaps do to rules: the likeliest Gaussian (EM) beside the usual ways to a covariance from rows with gaps.

    python benchmarks/gaps.py                               # p 12 and 30, 1, 5, 20 % of the cells gone
    python benchmarks/gaps.py --p 12 --seeds 20 --json result.json

Data of `planted.py`: about p / 3 sparse rules whose spread is a share (*noise*) of the features' own; cells are
removed at random. Each way gives a covariance, and from it the spread of every planted rule. Figures are ratios to the
spread that the complete rows have: 1 is right, above 1 the rule is blurred, below 1 it is promised tighter than it is.
    EM              `IncompleteMoments.completed`
    pairwise        each covariance of the rows that have both features; negative eigenvalues set to zero
    complete rows   rows with gaps left out
    means           gaps filled with the column's mean
*Span* is the sine of the largest angle between the planted rules and as many lowest eigenvectors (correlation scale):
0 where the rules are found, 1 where one is lost. A dash: fewer than two rows. With no noise the rules are exact in the
complete rows up to rounding; then the spread itself is given, as a share of the features' own.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from planted import Floats, planted

from aspca.moments import IncompleteMoments

SHARES = (0.01, 0.05, 0.2)
NOISES = (0.05, 0.001, 0.0)


@dataclass(frozen=True)
class Line:
    """One line of the table: spreads as (lowest, median, highest) over rules and seeds."""

    p: int
    noise: float
    share: float
    way: str
    spread: tuple[float, float, float] | None
    span: float | None
    seconds: float
    steps: float


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


def lines(p: int, noise: float, share: float, seeds: int) -> list[Line]:
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
            begin = time.perf_counter()
            covariance, n_steps = covariance_of(rows)
            seconds[way] += time.perf_counter() - begin
            steps[way] += n_steps
            if covariance is not None:
                own = covariance / np.outer(scale, scale)
                variances = np.einsum("im,ij,jm->m", data.directions, own, data.directions)
                spread = np.sqrt(np.maximum(variances, 0.0))
                found[way].append((spread / true if noise else spread, sine(data.directions, own)))
    result = []
    for way, entries in found.items():
        # Where only some seeds left two complete rows, the rest would flatter.
        complete = len(entries) == seeds
        ratios = np.concatenate([ratio for ratio, _ in entries]) if complete else np.zeros(0)
        summary = (float(ratios.min()), float(np.median(ratios)), float(ratios.max())) if complete else None
        span = max(angle for _, angle in entries) if complete else None
        result.append(Line(p, noise, share, way, summary, span, seconds[way] / seeds, steps[way] / seeds))
    return result


def show(line: Line) -> None:
    spread = "-" if line.spread is None else " ".join(f"{value:9.3g}" for value in line.spread)
    span = "-" if line.span is None else f"{line.span:.2g}"
    head = f"{line.p:3d}  {line.noise:6g}  {100 * line.share:4g} %  {line.way:14s}"
    print(f"{head} {spread:>29s}  {span:>8s}  {1000 * line.seconds:7.1f}  {line.steps:5.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--p", type=int, nargs="+", default=[12, 30])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write the figures there too")
    arguments = parser.parse_args()
    print("  p   noise    gone  way               lowest    median   highest      span       ms  steps")
    table = []
    for p in arguments.p:
        for noise in NOISES:
            for share in SHARES:
                for line in lines(p, noise, share, arguments.seeds):
                    show(line)
                    table.append(line)
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(line) for line in table], indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
