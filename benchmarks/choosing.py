"""What "auto" could mean: ways to choose the number of rules and alpha, side by side on both benchmarks' data.

    python benchmarks/choosing.py [--seeds 3] [--json]
    python benchmarks/choosing.py --part breast     # what alpha does to rules of Breast-Cancer: terms shown, AUC
    python benchmarks/choosing.py --part wide       # p = 100: a certified sparse sequence beside rotated PCA

Each way is a function of the covariance of the scaled columns and the number of rows (parametric draws have a fixed
seed). All else are ASPCA's defaults. Planted rules (`planted.py`; p = 10 and 30, noise 0.01 and 0.05, free features
driven by common factors for 0.3 or 0.9 of their variance): how often the number is right, how far off it is on average,
AUC, share of the planted rules among the canonical ones. Servers (`causes.py`): AUC, average precision, HitRate@150 %,
NDCG, means over files, ASD then SMD.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import json
import time
from collections.abc import Callable

import causes
import interpretation
import numpy as np
from planted import Floats, planted
from rivals import ours
from sklearn.metrics import roc_auc_score

from aspca import ASPCA
from aspca.datasets.breast_cancer import load_breast_cancer
from aspca.subspace.defaults import default_alpha

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
    return {"n_components": d, "alpha": multiple * default_alpha(covariance, d)}


def on_planted(way: Way, multiple: float | None, common: float, seeds: int) -> dict[str, float]:
    right, off, auc, found, size = [], [], [], [], []
    for p in (10, 30):
        for noise in (0.01, 0.05):
            for seed in range(seeds):
                data = planted(p, noise, seed, common=common)
                model = ASPCA(**settings(data.train, way, multiple)).fit(data.train)
                right.append(model.n_components_ == len(data.rules))
                off.append(abs(model.n_components_ - len(data.rules)))
                auc.append(roc_auc_score(data.labels, -model.score_samples(data.test)))
                found.append(interpretation.matched(data.directions, canonical_of(model))[0])
                size.append(np.mean([len(rule.equation.coefficients.nonzero()[0]) for rule in model.rules_]))
    return {
        "right": float(np.mean(right)),
        "off by": float(np.mean(off)),
        "AUC": float(np.mean(auc)),
        "canonical": float(np.mean(found)),
        "features/rule": float(np.mean(size)),
    }


def canonical_of(model: ASPCA) -> Floats:
    """Canonical rules as directions of the standardised space (p, d)."""
    deviations = np.sqrt(np.diag(model.covariance_)) * model.scale_
    vectors = np.zeros((model.n_features_in_, len(model.canonical_rules_)))
    for column, rule in enumerate(model.canonical_rules_):
        used = [int(name[1:]) for name in rule.features]
        vectors[used, column] = rule.coefficients * deviations[used]
    return vectors / np.linalg.norm(vectors, axis=0)


def on_servers(way: Way, multiple: float | None) -> dict[str, float]:
    families: dict[str, list[list[float]]] = {}
    for path in causes.files_of([]):
        file = causes.File.load(path)
        measured = causes.measure(file, ours(**settings(file.train, way, multiple))(file.train))
        line = [measured.auc, measured.ap, measured.hit150, measured.ndcg]
        families.setdefault(causes.family_of(file.name), []).append(line)
    titles = ("AUC", "AP", "Hit@150%", "NDCG")
    return {
        f"{family} {title}": float(value)
        for family in sorted(families)
        for title, value in zip(titles, np.mean(families[family], axis=0), strict=True)
    }


def breast_cancer() -> None:
    data = load_breast_cancer()
    for multiple in ALPHAS:
        model = ASPCA(**settings(data.data, below(0.3), multiple)).fit(data.data)
        terms = np.mean([np.count_nonzero(rule.equation.coefficients) for rule in model.rules_])
        auc = roc_auc_score(data.labels, -model.score_samples(data.data))
        print(f"alpha x {multiple:g}: {terms:.1f} terms per rule, AUC {auc:.3f}", flush=True)


def wide() -> None:
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
            begin = time.perf_counter()
            model = ASPCA(**options).fit(data.train)
            seconds = time.perf_counter() - begin
            auc = roc_auc_score(data.labels, -model.score_samples(data.test))
            print(f"noise {noise}, {d} rules, {name}: {seconds:.1f} s, AUC {auc:.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--part", choices=("ways", "breast", "wide"), default="ways")
    given = parser.parse_args()
    if given.part != "ways":
        breast_cancer() if given.part == "breast" else wide()
        return
    lines = [(name, way, None) for name, way in WAYS.items()]
    lines += [(f"below 0.3, alpha x {multiple:g}", below(0.3), multiple) for multiple in ALPHAS]
    results: dict[str, dict[str, float]] = {}
    for name, way, multiple in lines:
        row = {}
        for common in (0.3, 0.9):
            figures = on_planted(way, multiple, common, given.seeds)
            row |= {f"{common:g} {title}": value for title, value in figures.items()}
        try:
            row |= on_servers(way, multiple)
        except FileNotFoundError as error:
            row["servers"] = float("nan")
            print(error)
        results[name] = row
        if not given.json:
            if len(results) == 1:
                print("| way | " + " | ".join(row) + " |\n|" + "---|" * (len(row) + 1))
            print(f"| {name} | " + " | ".join(f"{value:.3f}" for value in row.values()) + " |", flush=True)
    if given.json:
        print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
