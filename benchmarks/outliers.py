"""Rows that somebody labelled as anomalies: 21 public outlier sets, KDD99, Breast-Cancer, beside peers.

    python benchmarks/outliers.py                          # everything: about ten minutes
    python benchmarks/outliers.py --rows 2000 --only wine  # at most so many rows of a set; sets by parts of their names

Sets (ADBench, `data/outliers`; more than `--rows` rows are sampled, more than 300 columns left out) are judged by
themselves, anomalies among the rows learned from, and by a fit on 70 % of the rows for the other 30 %. KDD99 and
Breast-Cancer are learned from all rows, and from half of the normal rows; *found* is the share of the anomalies above
the score that 5 % of the normal rows exceed.

Peers see standardised columns; constant ones take no part. Every learner has its default settings: Mahalanobis with the
pseudo-inverse of the covariance, scikit-learn's MinCovDet and IsolationForest, PyOD's ECOD.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from library.labelled import Bools, Floats
from library.report import Goal, Report, Row, add_json
from sklearn.metrics import average_precision_score, roc_auc_score

from aspca import ASPCA
from aspca.paper.datasets import find_data, load_breast_cancer, load_kdd99

KNOWN = "outliers/45_wine.npz"
MOST_COLUMNS = 300
LEARNED = 0.7
OURS, MAHALANOBIS, MCD = "ASPCA", "Mahalanobis", "FastMCD"
# The share of normal rows that may be flagged where anomalies are counted as found.
FLAGGED = 0.05

Scores = Callable[[Floats, Floats], Floats]


def score_by_aspca(train: Floats, test: Floats) -> Floats:
    return -np.asarray(ASPCA().fit(train).score_samples(test))


def score_by_mahalanobis(train: Floats, test: Floats) -> Floats:
    precision = np.linalg.pinv(np.atleast_2d(np.cov(train, rowvar=False)), hermitian=True)
    centred = test - train.mean(axis=0)
    return np.einsum("ij,ij->i", centred @ precision, centred)


def score_by_mcd(train: Floats, test: Floats) -> Floats:
    from sklearn.covariance import MinCovDet

    return np.asarray(MinCovDet(random_state=0).fit(train).mahalanobis(test))


def score_by_forest(train: Floats, test: Floats) -> Floats:
    from sklearn.ensemble import IsolationForest

    return -np.asarray(IsolationForest(random_state=0).fit(train).score_samples(test))


def score_by_ecod(train: Floats, test: Floats) -> Floats:
    from pyod.models.ecod import ECOD

    return np.asarray(ECOD().fit(train).decision_function(test))


PEERS: dict[str, Scores] = {
    MAHALANOBIS: score_by_mahalanobis,
    MCD: score_by_mcd,
    "isolation forest": score_by_forest,
    "ECOD": score_by_ecod,
}


def standardise(train: Floats, test: Floats) -> tuple[Floats, Floats]:
    spread = train.std(axis=0)
    used = spread > 1e-12 * np.maximum(np.abs(train).max(axis=0), 1e-300)
    middle = train[:, used].mean(axis=0)
    return (train[:, used] - middle) / spread[used], (test[:, used] - middle) / spread[used]


def score_all(train: Floats, test: Floats) -> dict[str, Floats]:
    """The scores of all methods."""
    ours = score_by_aspca(train, test)
    return {OURS: ours} | {name: score(*standardise(train, test)) for name, score in PEERS.items()}


def load_sets(rows: int, only: list[str]) -> dict[str, tuple[Floats, Bools]]:
    found = {}
    for path in sorted(find_data(KNOWN).parent.glob("*.npz")):
        with np.load(path) as data:
            X, y = data["X"].astype(np.float64), data["y"].astype(bool)
        if X.shape[1] > MOST_COLUMNS or (only and not any(word in path.stem for word in only)):
            continue
        chosen = np.random.default_rng(0).permutation(len(X))[:rows]
        if y[chosen].sum() > 1:
            found[Path(path).stem] = X[chosen], y[chosen]
    return found


def report_sets(report: Report, sets: dict[str, tuple[Floats, Bools]]) -> None:
    for title, split in (("judged by themselves", False), ("30 % judged by a fit on 70 %", True)):
        figures: dict[str, list[tuple[float, float]]] = {}
        for name, (X, y) in sets.items():
            order = np.random.default_rng(1).permutation(len(X))
            cut = round(LEARNED * len(X))
            train, test = (order[:cut], order[cut:]) if split else (order, order)
            if not 0 < y[test].sum() < len(test):
                continue
            for method, scores in score_all(X[train], X[test]).items():
                pair = roc_auc_score(y[test], scores), average_precision_score(y[test], scores)
                figures.setdefault(method, []).append(pair)
            print(f"  {name}, {title}: " + ", ".join(f"{m} {v[-1][0]:.3f}/{v[-1][1]:.3f}" for m, v in figures.items()))
        means = {method: np.mean(values, axis=0) for method, values in figures.items()}
        least = np.maximum(means[MAHALANOBIS], means[MCD] - 0.01)
        rows: list[Row] = [
            {
                "": method,
                "AUC": Goal(auc, least=least[0]) if method == OURS else auc,
                "AP": Goal(ap, least=least[1]) if method == OURS else ap,
            }
            for method, (auc, ap) in ((method, mean.tolist()) for method, mean in means.items())
        ]
        report.table(f"{len(figures[OURS])} outlier sets, {title}, means", rows)


def report_paper_data(report: Report) -> None:
    for title, data, least in (
        ("KDD99", load_kdd99(), (0.963, 0.5)),
        ("Breast-Cancer", load_breast_cancer(), (0.98, None)),
    ):
        X, y = np.asarray(data.data), np.asarray(data.labels, dtype=bool)
        normal = np.random.default_rng(0).permutation(np.flatnonzero(~y))
        half = normal[: len(normal) // 2]
        rows: list[Row] = []
        for words, train in (("all rows", np.arange(len(X))), ("half of the normal rows", half)):
            test = np.arange(len(X)) if train is not half else np.setdiff1d(np.arange(len(X)), half)
            scores = score_by_aspca(X[train], X[test])
            found = float((scores[y[test]] > np.quantile(scores[~y[test]], 1.0 - FLAGGED)).mean())
            auc = float(roc_auc_score(y[test], scores))
            rows.append(
                {
                    "learned from": words,
                    "AUC": Goal(auc, least=least[0]),
                    "found": found if least[1] is None else Goal(found, least=least[1]),
                }
            )
        report.table(title, rows)


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--only", nargs="*", default=[], metavar="WORD")
    add_json(parser)
    options = parser.parse_args()
    with Report(options.json) as report:
        report_sets(report, load_sets(options.rows, options.only))
        if not options.only:
            report_paper_data(report)


if __name__ == "__main__":
    main()
