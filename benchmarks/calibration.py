"""Are p-values of fresh rows uniform? Shares of fresh rows with p-values below the usual levels, and called errors.

    python benchmarks/calibration.py                                # every law, n = 60 to 10,000, five seeds
    python benchmarks/calibration.py --laws gauss t5 --n 60 200 --seeds 2
    python benchmarks/calibration.py --moments                      # learned from moments alone, by `fit_moments`

A table of n rows and 6 correlated columns is learned from, `ASPCA().fit(X)`, and 5,000 further rows of the same law
are judged by `p_values`. Printed for each law and n, as means over the seeds: the share (in %) of the fresh rows with
p <= 0.001, 0.01, 0.025 and 0.1, which should be 0.1, 1, 2.5 and 10, and the share classified as error, with the largest
of any seed.
    gauss        Gaussian
    t5           elliptical t with 5 degrees of freedom
    log-normal   exponentials of Gaussian columns
    counts       Poisson, with rates that are log-normal and correlated
    AR(1)        Gaussian rows that follow each other with a correlation of 0.7; fresh rows are a series of their own
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable

import numpy as np
from identity_tables.corruption import make_rng
from library.report import Cell, Report, Row, add_json
from ordinary_tables.loading import Floats
from ordinary_tables.product import find_errors

import aspca

LEVELS = (0.001, 0.01, 0.025, 0.1)
COLUMNS = 6
FRESH_ROWS = 5_000
_FOLLOWING = 0.7

Rng = np.random.Generator


def draw_gauss(rng: Rng, mixing: Floats, n: int) -> Floats:
    return rng.normal(size=(n, COLUMNS)) @ mixing


def draw_t5(rng: Rng, mixing: Floats, n: int) -> Floats:
    return draw_gauss(rng, mixing, n) / np.sqrt(rng.chisquare(5, size=(n, 1)) / 5)


def draw_log_normal(rng: Rng, mixing: Floats, n: int) -> Floats:
    return np.exp(draw_gauss(rng, mixing, n))


def draw_counts(rng: Rng, mixing: Floats, n: int) -> Floats:
    return rng.poisson(10.0 * np.exp(0.5 * draw_gauss(rng, mixing, n))).astype(np.float64)


def draw_series(rng: Rng, mixing: Floats, n: int) -> Floats:
    rows = draw_gauss(rng, mixing, n)
    for row in range(1, n):
        rows[row] = _FOLLOWING * rows[row - 1] + np.sqrt(1.0 - _FOLLOWING**2) * rows[row]
    return rows


LAWS: dict[str, Callable[[Rng, Floats, int], Floats]] = {
    "gauss": draw_gauss,
    "t5": draw_t5,
    "log-normal": draw_log_normal,
    "counts": draw_counts,
    "AR(1)": draw_series,
}


def draw_mixing(rng: Rng) -> Floats:
    """What makes columns of unit variance correlated, by two common factors."""
    shared = rng.normal(size=(2, COLUMNS))
    covariance = shared.T @ shared + np.eye(COLUMNS)
    spread = np.sqrt(np.diag(covariance))
    return np.linalg.cholesky(covariance / np.outer(spread, spread)).T


def measure_shares(law: str, n: int, seed: int, *, moments: bool) -> list[float]:
    """The shares of fresh rows at each level, and the share classified as error."""
    rng = make_rng(seed, law, str(n))
    mixing = draw_mixing(rng)
    train = LAWS[law](rng, mixing, n)
    model = aspca.ASPCA().fit_moments(aspca.Moments.from_array(train)) if moments else aspca.ASPCA().fit(train)
    fresh = LAWS[law](rng, mixing, FRESH_ROWS)
    p_values = np.asarray(model.p_values(fresh))
    errors = find_errors(model.explain(fresh))
    return [*(float((p_values <= level).mean()) for level in LEVELS), float(errors.mean())]


def describe(law: str, n: int, seeds: int, *, moments: bool) -> Row:
    percent = 100.0 * np.array([measure_shares(law, n, seed, moments=moments) for seed in range(seeds)])
    row: dict[str, Cell] = {"law, n": f"{law}, {n}"}
    row |= {f"p <= {level:g}": float(percent[:, k].mean()) for k, level in enumerate(LEVELS)}
    print(f"{law}, n = {n}", file=sys.stderr, flush=True)
    return row | {"errors": float(percent[:, -1].mean()), "most errors of a seed": float(percent[:, -1].max())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--laws", nargs="+", choices=LAWS, default=list(LAWS))
    parser.add_argument("--n", nargs="+", type=int, default=[60, 200, 1_000, 10_000])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--moments", action="store_true", help="learn from moments alone")
    add_json(parser)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    nominal: Row = {"law, n": "nominal", **{f"p <= {level:g}": 100.0 * level for level in LEVELS}}
    with Report(options.json) as report:
        rows = [describe(law, n, options.seeds, moments=options.moments) for law in options.laws for n in options.n]
        report.table(f"Fresh rows in %, mean of {options.seeds} seeds", [nominal, *rows], digits=2)


if __name__ == "__main__":
    main()
