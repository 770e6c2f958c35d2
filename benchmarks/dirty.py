"""Learning from rows that hold gross errors: is detection what it is after a clean fit?

    python benchmarks/dirty.py                                # p 10, 30 and 100
    python benchmarks/dirty.py --p 18 --seeds 3 --json result.json
    python benchmarks/dirty.py --servers                      # what it costs clean rows, and gains on files as they are

Totals that share parts (`library.sums`), 1,500 training rows spoiled in one way each; AUC on clean test rows with one
moved feature. *Robust* is ``ASPCA(robust="on")``, what `detect` does with the file that it judges; *plain* learns from
everything; FastMCD is scikit-learn's, its distance. The goal is the AUC of the clean fit less 0.005 (0.02 for 20 % of
rows). *Rules* is the share of the clean fit's rules that the robust fit has too, by their features; *flagged* are
normal test rows at a nominal 2.5 %; *aside* are gross rows and cells.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from library.labelled import Floats
from library.report import Cell, Goal, Report, Row, add_json
from library.servers import File, family_of, files_of
from library.sums import sums
from sklearn.covariance import MinCovDet
from sklearn.metrics import average_precision_score, roc_auc_score

from aspca import ASPCA

KINDS = (
    "nothing",
    "0.2 % cells",
    "1 % cells",
    "5 % cells",
    "0.2 % rows",
    "1 % rows",
    "5 % rows",
    "10 % rows",
    "20 % rows",
    "10 % in one cluster",
    "five cells of -9999",
    "one cell times 1000",
    "5 % in range",
)


def spoiled(rows: Floats, kind: str, rng: np.random.Generator) -> Floats:
    """A copy of rows (n, p) with errors of one kind."""
    X = rows.copy()
    n, p = X.shape
    mean, spread = X.mean(axis=0), X.std(axis=0)
    share = float(kind.split(" ")[0]) / 100 if "%" in kind else 0.0
    chosen = rng.random(n) < share
    if kind.endswith("cells"):
        gross = rng.random(X.shape) < share
        X[gross] *= 10.0
    elif kind.endswith("rows"):
        X[chosen] = mean + 10.0 * spread * rng.normal(size=(chosen.sum(), p))
    elif kind.endswith("cluster"):
        X[chosen] = mean + spread * (8.0 * rng.choice([-1.0, 1.0], p) + 0.01 * rng.normal(size=(chosen.sum(), p)))
    elif kind.endswith("-9999"):
        for _ in range(5):
            X[rng.integers(n), rng.integers(p)] = -9999.0
    elif kind.endswith("1000"):
        X[rng.integers(n), rng.integers(p)] *= 1000.0
    elif kind.endswith("range"):
        for row in np.flatnonzero(chosen):
            column = rng.integers(p)
            X[row, column] = rows[rng.integers(n), column]
    return X


def line(p: int, kind: str, seeds: int) -> Row:
    figures: dict[str, list[float]] = {}
    for seed in range(seeds):
        data = sums(p, seed)
        train = spoiled(data.train, kind, np.random.default_rng(seed))
        clean = ASPCA().fit(data.train)
        robust = ASPCA(robust="on").fit(train)
        with warnings.catch_warnings():
            # That its determinant has increased, at every step.
            warnings.simplefilter("ignore")
            distance = MinCovDet(random_state=0).fit(train)
        known = {frozenset(rule.features) for rule in robust.rules_}
        aside = robust.model_.aside
        found = {
            "clean": roc_auc_score(data.labels, -clean.score_samples(data.test)),
            "robust": roc_auc_score(data.labels, -robust.score_samples(data.test)),
            "plain": roc_auc_score(data.labels, -ASPCA().fit(train).score_samples(data.test)),
            "FastMCD": roc_auc_score(data.labels, distance.mahalanobis(data.test)),
            "rules": float(np.mean([frozenset(rule.features) in known for rule in clean.rules_])),
            "flagged": float((robust.predict(data.test[data.labels == 0]) == -1).mean()),
            "rows aside": float(aside.n_rows),
            "cells aside": float(aside.cells.sum()),
        }
        for name, value in found.items():
            figures.setdefault(name, []).append(float(value))
    means = {name: float(np.mean(values)) for name, values in figures.items()}
    cells: dict[str, Cell] = {"training rows": kind, "AUC clean": means["clean"]}
    slack = 0.02 if kind == "20 % rows" else 0.005
    cells["AUC robust"] = Goal(means["robust"], least=means["clean"] - slack)
    cells |= {"AUC plain": means["plain"], "AUC FastMCD": means["FastMCD"]}
    cells |= {"rules": Goal(means["rules"], least=0.95), "flagged": means["flagged"]}
    return cells | {name: round(means[name], 1) for name in ("rows aside", "cells aside")}


def server_lines() -> list[Row]:
    """AP and AUC on servers: learned from their clean training rows, and from the very rows that are judged."""
    figures: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    for path in files_of([]):
        file = File.load(path)
        for source, rows in (("clean rows", file.train), ("the file itself", file.test)):
            for robust in ("off", "on"):
                scores = -ASPCA(robust=robust).fit(rows).score_samples(file.test)
                found = roc_auc_score(file.label, scores), average_precision_score(file.label, scores)
                figures.setdefault((family_of(file.name), source, robust), []).append(found)
    means = {key: np.mean(values, axis=0) for key, values in figures.items()}
    return [
        {"": family, "learned from": source, "robust": robust, "AUC": float(auc), "AP": float(ap)}
        for (family, source, robust), (auc, ap) in means.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--p", type=int, nargs="+", default=[10, 30, 100])
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS, metavar="KIND")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--servers", action="store_true", help="servers instead: clean rows, and files as they are")
    add_json(parser)
    options = parser.parse_args()
    with Report(options.json) as report:
        if options.servers:
            report.table("Servers", server_lines())
            return
        for p in options.p:
            report.table(f"p = {p}, {options.seeds} seeds", [line(p, kind, options.seeds) for kind in options.kinds])


if __name__ == "__main__":
    main()
