"""`aspca demo`: the paper's synthetic data, its four rules, and the rule that each anomaly breaks."""

from __future__ import annotations

from typing import TextIO

import numpy as np

from aspca.datasets.synthetic import load_synthetic
from aspca.estimators.aspca import ASPCA
from aspca.moments import Moments

# The paper's setting for these data: four abnormal components, lambda = 5, a threshold of 0.25, no rescaling.
_RULES, _LAMBDA, _THRESHOLD = 4, 5.0, 0.25


def demo(out: TextIO) -> None:
    """Write the demonstration to `out`."""
    data = load_synthetic()
    n = data.data.shape[0]
    model = ASPCA(n_components=_RULES, alpha=_LAMBDA / n, scaling="none", score="spe")
    model.fit_moments(Moments.from_array(data.data), feature_names=data.feature_names)
    scores = -model.score_samples(data.data)
    shares = model.transform(data.data) ** 2
    flagged = np.flatnonzero(scores >= _THRESHOLD)

    print(f"{n} rows, {data.data.shape[1]} features ({', '.join(data.feature_names)}), no labels used.\n", file=out)
    print(f"{_RULES} rules that normal rows obey", file=out)
    for number, rule in enumerate(model.rules_, 1):
        print(f"  {number}  {rule}", file=out)
    gap = max(step.gap for step in model.certificates_)
    checked = "verified" if model.subspace_.verify(model.covariance_) else "NOT VERIFIED"
    print(f"  Each step is within {gap:.0e} of its optimum; recomputed from the data: {checked}.\n", file=out)

    print(f"{flagged.size} anomalies (score >= {_THRESHOLD})", file=out)
    print(f"  row  score  {'breaks':<45}  share  planted", file=out)
    right = 0
    for i in flagged:
        worst = int(np.argmax(shares[i]))
        kind = data.kinds[i]
        right += kind != "normal" and _names(kind) <= set(model.rules_[worst].features)
        print(
            f"  {i:>3}  {scores[i]:5.2f}  {worst + 1}  {model.rules_[worst]!s:<42}  {shares[i, worst] / scores[i]:5.0%}"
            f"  {kind}",
            file=out,
        )
    print(f"\n{right} of {int(data.labels.sum())} planted anomalies are explained by the rule they break.", file=out)


def _names(kind: str) -> set[str]:
    return {letter for letter in kind if letter.isalpha()}
