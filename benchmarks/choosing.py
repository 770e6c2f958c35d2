"""What "auto" could mean: ways to choose the number of rules and alpha, side by side on both benchmarks' data.

    python benchmarks/choosing.py [--seeds 3] [--json FILE]
    python benchmarks/choosing.py --part breast     # what alpha does to rules of Breast-Cancer: terms shown, AUC
    python benchmarks/choosing.py --part wide       # p = 100: a certified sparse sequence beside rotated PCA

Each way is a function of the covariance of the scaled columns and the number of rows (parametric draws have a fixed
seed). All else are ASPCA's defaults. Planted rules (`library.planted`; p = 10 and 30, noise 0.01 and 0.05, free
features driven by common factors for 0.3 or 0.9 of their variance): how often the number is right, how far off it is
on average, AUC, share of the planted rules among `rules_`, and features of a rule. Servers (`library.servers`): AUC,
average precision, HitRate@150 %, NDCG, means over files, ASD then SMD; `--no-servers` leaves them out.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

import numpy as np
from library import servers
from library.labelled import Floats
from library.measures import matched
from library.planted import planted
from library.report import Report, Row, add_json
from library.rivals import ours
from library.timing import timed
from sklearn.metrics import roc_auc_score

from aspca import ASPCA
from aspca.paper.datasets import load_breast_cancer
from aspca.sparse_pca.defaults import choose_alpha

Way = Callable[[Floats, int], int]
DRAWS = 20


def below(share: float) -> Way:
    """Directions with at most this share of a typical feature's variance."""

    def count(covariance: Floats, n: int) -> int:
        variances = np.diag(covariance)
        return int((np.linalg.eigvalsh(covariance) <= share * variances[variances > 0].mean()).sum())

    return count


def largest_gap(covariance: Floats, n: int) -> int:
    """Where the logarithm of the eigenvalues jumps most, exact zeros aside."""
    values = np.linalg.eigvalsh(covariance)
    zeros = int((values <= 1e-12 * values[-1]).sum())
    return zeros + int(np.diff(np.log(values[zeros:])).argmax()) + 1 if zeros < len(values) - 1 else max(zeros, 1)


def parallel_analysis(covariance: Floats, n: int) -> int:
    """Horn: normal directions are those above what independent features of the same variances show."""
    rng = np.random.default_rng(0)
    scale = np.sqrt(np.diag(covariance))
    draws = []
    for _ in range(DRAWS):
        rows = rng.normal(size=(min(n, 5000), len(scale))) * scale
        draws.append(np.linalg.eigvalsh(rows.T @ rows / len(rows))[::-1])
    values = np.linalg.eigvalsh(covariance)[::-1]
    above = values > np.quantile(draws, 0.95, axis=0)
    return len(values) - (int(above.argmin()) if not above.all() else len(values))


def retained(share: float) -> Way:
    """What is left when the largest directions hold this share of the variance: the usual choice."""

    def count(covariance: Floats, n: int) -> int:
        values = np.linalg.eigvalsh(covariance)[::-1]
        return len(values) - int(np.searchsorted(np.cumsum(values), share * values.sum()) + 1)

    return count


def noise_floor(covariance: Floats, n: int) -> int:
    """Eigenvalues like those of pure noise of the size of the lowest: up to the Marchenko-Pastur edge of their mean."""
    values = np.linalg.eigvalsh(covariance)
    count = 1
    for d in range(2, len(values) + 1):
        if values[d - 1] > max(values[: d - 1].mean(), 1e-300) * (1 + np.sqrt(d / n)) ** 2 * 2:
            break
        count = d
    return count


def most_stable(covariance: Floats, n: int) -> int:
    """The subspace that parametric draws of n / 2 rows give again best, beyond what chance would."""
    rng = np.random.default_rng(0)
    values, vectors = np.linalg.eigh(covariance)
    p = len(values)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    overlap = np.zeros(p)
    for _ in range(DRAWS):
        rows = rng.normal(size=(max(n // 2, 2) if n < 5000 else 2500, p)) @ root.T
        again = np.linalg.eigh(rows.T @ rows / len(rows))[1]
        squares = np.square(vectors.T @ again).cumsum(axis=0).cumsum(axis=1)
        overlap += np.diag(squares) / np.arange(1, p + 1)
    chance = np.arange(1, p + 1) / p
    return int(((overlap / DRAWS - chance) / np.maximum(1 - chance, 1e-9))[:-1].argmax()) + 1


WAYS: dict[str, Way] = {
    "below 0.3 (auto)": below(0.3),
    "below 0.1": below(0.1),
    "below 0.2": below(0.2),
    "below 0.5": below(0.5),
    "below 1 (Kaiser)": below(1.0),
    "largest gap": largest_gap,
    "parallel analysis": parallel_analysis,
    "noise floor": noise_floor,
    "most stable": most_stable,
    "90 % of variance": retained(0.9),
}
# Alpha as a multiple of the default.
ALPHAS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0)


def settings(train: Floats, way: Way, multiple: float | None) -> dict[str, object]:
    covariance = ASPCA(n_components=1, alpha=0.0, variant="B").fit(train).covariance_
    d = min(max(way(covariance, len(train)), 1), len(covariance))
    if multiple is None:
        return {"n_components": d}
    return {"n_components": d, "alpha": multiple * choose_alpha(covariance, d)}


def on_planted(way: Way, multiple: float | None, common: float, seeds: int) -> dict[str, float]:
    right, off, auc, found, size = [], [], [], [], []
    for p in (10, 30):
        for noise in (0.01, 0.05):
            for seed in range(seeds):
                data = planted(p, noise, seed, common=common)
                fitted = ours(**settings(data.train, way, multiple))(data.train)
                model, directions = fitted.model, fitted.directions
                assert model is not None
                assert directions is not None
                right.append(model.n_components_ == len(data.rules))
                off.append(abs(model.n_components_ - len(data.rules)))
                auc.append(roc_auc_score(data.labels, fitted.score(data.test)))
                found.append(matched(data.directions, directions)[0])
                size.append(np.mean([len(rule.features) for rule in model.rules_]))
    return {
        "right": float(np.mean(right)),
        "off by": float(np.mean(off)),
        "AUC": float(np.mean(auc)),
        "rules": float(np.mean(found)),
        "features/rule": float(np.mean(size)),
    }


def on_servers(way: Way, multiple: float | None) -> dict[str, float]:
    families: dict[str, list[list[float]]] = {}
    for path in servers.files_of([]):
        file = servers.File.load(path)
        measured = servers.measure(file, ours(**settings(file.train, way, multiple))(file.train))
        line = [measured.auc, measured.ap, measured.hit150, measured.ndcg]
        families.setdefault(servers.family_of(file.name), []).append(line)
    titles = ("AUC", "AP", "Hit@150%", "NDCG")
    return {
        f"{family} {title}": float(value)
        for family in sorted(families)
        for title, value in zip(titles, np.mean(families[family], axis=0), strict=True)
    }


def breast_cancer(report: Report) -> None:
    data = load_breast_cancer()
    rows: list[Row] = []
    for multiple in ALPHAS:
        model = ASPCA(**settings(data.data, below(0.3), multiple)).fit(data.data)
        rows.append(
            {
                "alpha": f"x {multiple:g}",
                "features per rule": float(np.mean([len(rule.features) for rule in model.rules_])),
                "per component": float((model.components_ != 0).sum(axis=1).mean()),
                "AUC": float(roc_auc_score(data.labels, -model.score_samples(data.data))),
            }
        )
    report.table("Breast-Cancer", rows, digits={"features per rule": 1, "per component": 1})


def wide(report: Report) -> None:
    rows: list[Row] = []
    for noise in (0.05, 0.01):
        data = planted(100, noise, 0)
        covariance = ASPCA(n_components=1, alpha=0.0, variant="B").fit(data.train).covariance_
        d = below(0.3)(covariance, len(data.train))
        # What "auto" would be without its bound on features that hang together.
        alpha = float(np.linalg.eigvalsh(covariance)[:d].mean())
        for name, options in (
            ("alpha 0", {"alpha": 0.0}),
            ("tol 1e-4", {"alpha": alpha, "tol": 1e-4}),
            ("tol 1e-6", {"alpha": alpha}),
        ):
            model, seconds = timed(lambda options=options, data=data: ASPCA(**options).fit(data.train))
            auc = float(roc_auc_score(data.labels, -model.score_samples(data.test)))
            rows.append({"": f"noise {noise}, {d} rules, {name}", "seconds": seconds, "AUC": auc})
    report.table("p = 100, planted rules", rows, digits={"seconds": 1})


def ways(report: Report, seeds: int, with_servers: bool) -> None:
    lines = [(name, way, None) for name, way in WAYS.items()]
    lines += [(f"below 0.3, alpha x {multiple:g}", below(0.3), multiple) for multiple in ALPHAS]
    rows: list[Row] = []
    for name, way, multiple in lines:
        row: dict[str, float | str] = {"way": name}
        for common in (0.3, 0.9):
            figures = on_planted(way, multiple, common, seeds)
            row |= {f"{common:g} {title}": value for title, value in figures.items()}
        if with_servers:
            row |= on_servers(way, multiple)
        rows.append(row)
        print(name, file=sys.stderr)
    report.table(f"Ways to choose, {seeds} seeds", rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--part", choices=("ways", "breast", "wide"), default="ways")
    parser.add_argument("--no-servers", action="store_true", help="planted rules only")
    add_json(parser)
    options = parser.parse_args()
    with Report(options.json) as report:
        if options.part == "breast":
            breast_cancer(report)
        elif options.part == "wide":
            wide(report)
        else:
            ways(report, options.seeds, not options.no_servers)


if __name__ == "__main__":
    main()
