"""Silence where there is nothing: are rules claimed of unrelated columns, and are planted ones still claimed?

    python benchmarks/silence.py                              # every law, n and p; 200 draws, 20 of p = 100
    python benchmarks/silence.py --draws 50 --p 5 10 --laws gauss coin
    python benchmarks/silence.py --few                        # fresh rows flagged where rows are few, by whole fits

*Silent* is the share of draws of unrelated columns in which no relation is claimed (a column's own range is none): at
least 0.95. *Planted* is the share of planted rules (`library.planted`) that are claimed, by their features, from three
rows a feature on: at least 0.9 over noises of 0.001, 0.01 and 0.1 of a feature's deviation; successive rows carry the
same rules with free features that follow themselves. What decides is called by itself (`find_rules`,
`drop_chance_rules`): whole fits add certificates, which take long and decide nothing here.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

import numpy as np
from library.labelled import Floats
from library.planted import planted
from library.report import Cell, Goal, Report, Row, add_json

from aspca import ASPCA, Moments
from aspca.moments.accumulator import Rows
from aspca.moments.autocorrelation import LagSums, compute_lag_one_correlation
from aspca.moments.space import ScaledSpace
from aspca.preparation import Preparation
from aspca.rules.table import RuleTable, drop_chance_rules, find_rules
from aspca.sparse_pca.defaults import count_relations

Rng = np.random.Generator
_WIDE = 100


def _autoregression(r: float) -> Callable[[Rng, int, int], Floats]:
    def draw(rng: Rng, n: int, p: int) -> Floats:
        rows = rng.normal(size=(n, p))
        for row in range(1, n):
            rows[row] = r * rows[row - 1] + np.sqrt(1.0 - r * r) * rows[row]
        return rows

    return draw


def _flags(rng: Rng, n: int, p: int) -> Floats:
    return np.asarray((rng.random((n, p)) < rng.choice([0.02, 0.05, 0.1, 0.2, 0.5], size=p)).astype(np.float64))


LAWS: dict[str, Callable[[Rng, int, int], Floats]] = {
    "gauss": lambda rng, n, p: rng.normal(size=(n, p)),
    "t5": lambda rng, n, p: rng.standard_t(5, size=(n, p)),
    "log-normal": lambda rng, n, p: rng.lognormal(size=(n, p)),
    "counts of 3": lambda rng, n, p: rng.poisson(3.0, size=(n, p)).astype(np.float64),
    "counts of 0.2": lambda rng, n, p: rng.poisson(0.2, size=(n, p)).astype(np.float64),
    "coins": lambda rng, n, p: rng.integers(0, 2, size=(n, p)).astype(np.float64),
    "flags": _flags,
    "AR(1) 0.5": _autoregression(0.5),
    "AR(1) 0.9": _autoregression(0.9),
    "random walk": lambda rng, n, p: np.cumsum(rng.normal(size=(n, p)), axis=0),
}


def claimed(rows: Floats) -> RuleTable:
    """The rules that a fit with default settings claims."""
    moments = Moments.from_array(rows)
    features = Preparation.identity([f"x{j}" for j in range(rows.shape[1])]).features
    pairs = Rows.here(lambda: [rows]).reduce(lambda: LagSums.empty(moments.minimum, moments.maximum))
    space = ScaledSpace.of(moments, "maxabs", features, compute_lag_one_correlation(pairs, moments))
    return drop_chance_rules(find_rules(space, count_relations(space.covariance)), space)


def _supports(table: RuleTable) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(column).tolist()) for column in table.loadings.T}


def silent(law: str, n: int, p: int, draws: int) -> float:
    quiet = [
        all(len(one) < 2 for one in _supports(claimed(LAWS[law](np.random.default_rng([seed, n, p]), n, p))))
        for seed in range(draws)
    ]
    return float(np.mean(quiet))


def _following(rows: Floats, r: float) -> Floats:
    """Rows of the same relations that follow each other: any weighted sum of rows obeys what rows obey."""
    made = rows - rows.mean(axis=0)
    for row in range(1, len(made)):
        made[row] = r * made[row - 1] + np.sqrt(1.0 - r * r) * made[row]
    return made


def found(p: int, n: int, noise: float, seeds: int, r: float = 0.0) -> float:
    hits: list[bool] = []
    for seed in range(seeds):
        data = planted(p, noise, seed, n=n, n_normal=2, n_anomalies=2)
        have = _supports(claimed(_following(data.train, r)))
        hits += [frozenset(np.flatnonzero(rule).tolist()) in have for rule in data.rules]
    return float(np.mean(hits))


def power(p: int, times: int, seeds: int) -> Row:
    """Planted rules claimed at so many rows a feature."""
    n = times * p
    noises = {f"noise {noise}": found(p, n, noise, seeds) for noise in (0.001, 0.01, 0.1)}
    cells: dict[str, Cell] = {"p, n": f"{p}, {n}", **noises}
    cells["all"] = Goal(float(np.mean(list(noises.values()))), least=0.9)
    return cells | {"AR(1) 0.9, noise 0.01": found(p, n, 0.01, seeds, 0.9)}


def few_rows(n: int, p: int) -> Row:
    """Fresh rows flagged after a whole fit, Gaussian and with planted rules."""
    rng = np.random.default_rng([n, p])
    plain = ASPCA(time_budget=10).fit(rng.normal(size=(n, p)))
    data = planted(p, 0.01, 0, n=n, n_normal=1000, n_anomalies=2)
    ruled = ASPCA(time_budget=10).fit(data.train)
    have = {frozenset(int(name[1:]) for name in rule.features) for rule in ruled.rules_}
    told = np.mean([frozenset(np.flatnonzero(rule).tolist()) in have for rule in data.rules])
    return {
        "p, n": f"{p}, {n}",
        "rules of noise": len(plain.rules_),
        "noise, fresh rows flagged": float((plain.predict(rng.normal(size=(1000, p))) == -1).mean()),
        "planted rules claimed": float(told),
        "planted, fresh rows flagged": float((ruled.predict(data.test[data.labels == 0]) == -1).mean()),
        "says so": bool(plain.model_.warnings),
    }


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--laws", nargs="+", choices=LAWS, default=list(LAWS))
    parser.add_argument("--n", nargs="+", type=int, default=[20, 60, 100, 300, 1000])
    parser.add_argument("--p", nargs="+", type=int, default=[5, 10, 40, 100])
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--wide-draws", type=int, default=20, help="draws where p is 100 or more")
    parser.add_argument("--seeds", type=int, default=10, help="draws of planted rules")
    parser.add_argument("--few", action="store_true", help="whole fits of few rows instead")
    add_json(parser)
    options = parser.parse_args(given)
    with Report(options.json) as report:
        if options.few:
            report.table("Few rows", [few_rows(n, p) for p in (20, 40, 60) for n in (10, 20, 40, 60, 120)])
            return
        for p in options.p:
            draws = min(options.draws, options.wide_draws) if p >= _WIDE else options.draws
            lines: list[Row] = []
            for law in options.laws:
                shares = {f"n = {n}": Goal(silent(law, n, p, draws), least=0.95) for n in options.n}
                lines.append({"law": law, **shares})
            report.table(f"Silent, p = {p}, {draws} draws", lines)
        sizes = [p for p in (6, 10, 20, 40, 60) if p <= max(options.p)]
        report.table("Planted", [power(p, times, options.seeds) for p in sizes for times in (3, 5)])


if __name__ == "__main__":
    main()
