"""The paper's baselines on its own data: what joint sparse PCA selects, and what a surrogate tree splits on.

    python benchmarks/baselines.py [--json FILE]

Where the selection of joint sparse PCA changes along its penalty, on the synthetic data and on Breast-Cancer; AUC
beside PCA and ASPCA with the paper's settings; and the surrogate tree of ASPCA's flags, with how much the detector
looks at each feature the tree splits on.
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np
from library.report import Report, Row, add_json
from sklearn.metrics import roc_auc_score

from aspca import ASPCA
from aspca.paper.baselines import JSPCA, PCADetector, SurrogateTree
from aspca.paper.datasets import Dataset, load_breast_cancer, load_synthetic
from aspca.paper.published import get_printed

PAPER_SIX = tuple(get_printed("jspca", "breast-cancer", "all"))
SYNTHETIC = {"n_components": 4, "scaling": "none"}
CANCER = {"n_components": 10}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_json(parser)
    options = parser.parse_args()
    with Report(options.json) as report:
        show(report)


def show(report: Report) -> None:
    synthetic, cancer = load_synthetic(), load_breast_cancer()
    report.say("Joint sparse PCA, synthetic data (paper: A, B, D, F)")
    show_path(synthetic, SYNTHETIC)
    sets = Counter(selected_at(load_synthetic(seed)) for seed in range(100))
    report.say("default mu over seeds 0 to 99: " + ", ".join(f"{s} {k}x" for s, k in sets.most_common()))
    report.say("Joint sparse PCA, Breast-Cancer: one set of features for all anomalies")
    show_path(cancer, CANCER)
    beside_the_paper(cancer)
    at_any_number(cancer)
    lines = [auc("synthetic", synthetic, SYNTHETIC, 5.0), auc("Breast-Cancer", cancer, CANCER, 5.0)]
    report.table("AUC", lines)
    report.say("Surrogate tree of ASPCA-BG, synthetic data (threshold 0.25)")
    show_tree(synthetic, SYNTHETIC, 0.25)
    report.say("Surrogate tree of ASPCA-BG, Breast-Cancer (threshold 0.1003)")
    show_tree(cancer, CANCER, 0.1003)


def aspca(data: Dataset, settings: dict[str, object], lam: float, **more: object) -> ASPCA:
    """As in the paper: its lambda belongs to D'D, and its vectors are dominant eigenvectors."""
    return ASPCA.paper(alpha=lam / data.data.shape[0], **settings, **more)


def selected_at(data: Dataset) -> str:
    model = JSPCA(**SYNTHETIC).fit(data.data)
    return "".join(sorted(data.feature_names[j] for j in model.selected_features_))


def show_path(data: Dataset, settings: dict[str, object]) -> None:
    """Where the selection changes along the path; mu as a share of the value that selects nothing."""
    largest = 3.0 * JSPCA(**settings).fit(data.data).mu_
    shares = np.linspace(0.01, 0.99, 99)
    path = JSPCA(**settings).path(data.data, shares * largest)
    before = None
    for share, point in zip(shares, path, strict=True):
        chosen = point.selected
        if before != set(chosen) and (len(chosen) <= 8):
            names = ", ".join(f"{data.feature_names[j]} {point.weights[j]:.3f}" for j in chosen)
            print(f"- mu = {share:.2f} of largest, {len(chosen)} selected: {names}")
        before = set(chosen)


def beside_the_paper(data: Dataset) -> None:
    """The heaviest six at every penalty, and the penalty where they agree best with the paper's six."""
    largest = 3.0 * JSPCA(**CANCER).fit(data.data).mu_
    shares = np.linspace(0.01, 0.99, 99)
    path = JSPCA(**CANCER).path(data.data, shares * largest)
    sixes = [[data.feature_names[j] for j in point.selected[:6]] for point in path]
    common = [len(set(six) & set(PAPER_SIX)) for six in sixes]
    best = int(np.argmax(common))
    print(f"- paper's six:  {', '.join(PAPER_SIX)}")
    print(f"- heaviest six at {shares[best]:.2f} of the largest mu: {', '.join(sixes[best])}")
    print(f"- in common with the paper's: {common[best]} there, the most on the path")
    weights = path[best].weights
    places = (-weights).argsort().argsort() + 1
    ours = [str(places[data.feature_names.index(name)]) for name in PAPER_SIX]
    print("- places of the paper's six there: " + ", ".join(ours))
    gap, objective = max(point.gap for point in path), min(point.objective for point in path)
    print(f"- largest duality gap on the path: {gap:.1e} (objectives {objective:.1e} and more)")


def at_any_number(data: Dataset) -> None:
    """The most that the heaviest six have in common with the paper's, over numbers of components and penalties."""
    most = []
    for number in range(1, data.data.shape[1]):
        model = JSPCA(n_components=number, tol=1e-6)
        path = model.path(data.data, np.linspace(0.02, 0.98, 25) * 3.0 * model.fit(data.data).mu_)
        sixes = [{data.feature_names[j] for j in point.selected[:6]} for point in path]
        most.append(max(len(six & set(PAPER_SIX)) for six in sixes))
    print(
        f"- in common with the paper's six over 1 to {len(most)} components and 25 penalties each: at most {max(most)}"
    )


def auc(name: str, data: Dataset, settings: dict[str, object], lam: float) -> Row:
    models = {"PCA": PCADetector(**settings), "JSPCA": JSPCA(**settings), "ASPCA-BG": aspca(data, settings, lam)}
    areas = {
        method: float(roc_auc_score(data.labels, -model.fit(data.data).score_samples(data.data)))
        for method, model in models.items()
    }
    return {"data": name, "features": data.data.shape[1], **areas}


def show_tree(data: Dataset, settings: dict[str, object], threshold: float) -> None:
    """The rules that flag, and for each feature the tree splits on whether the detector looks at it at all."""
    import pandas as pd

    frame = pd.DataFrame(data.data, columns=list(data.feature_names))
    for words, cut in (
        ("cut back by the one-standard-error rule", {}),
        ("cut back to the lowest error", {"standard_errors": 0.0}),
        ("not cut back", {"ccp_alpha": 0.0}),
    ):
        tree = SurrogateTree(aspca(data, settings, 5.0, limit=threshold), **cut).fit(frame)
        print(f"- {words} (leaves: {len(tree.rules_)}): agrees with the detector on {tree.fidelity_:.1%} of the rows")
        for rule in tree.rules_:
            if rule.flagged:
                print(f"  - {rule}")
        size = np.abs(tree.detector_.components_).max(axis=0)
        notes = [
            f"{data.feature_names[j]} ({f'{size[j]:.3f}' if size[j] else 'none: orthogonal to the abnormal subspace'})"
            for j in tree.features_used_
        ]
        print("  - splits on (largest loading in the detector): " + (", ".join(notes) or "nothing"))


if __name__ == "__main__":
    main()
