"""Breast-Cancer (Wisconsin, diagnostic), as the paper selects it."""

from __future__ import annotations

import numpy as np

from aspca.datasets.dataset import Dataset

N_MALIGNANT = 10


def load_breast_cancer() -> Dataset:
    """All 357 benign records, then the first 10 malignant ones in the order of the file: (367, 30).

    Names are the paper's: `radius_mean`, `area_se`, `symmetry_worst`. The file comes with scikit-learn.
    """
    from sklearn.datasets import load_breast_cancer as load

    bunch = load()
    malignant = np.asarray(bunch.target) == list(bunch.target_names).index("malignant")
    rows = np.r_[np.flatnonzero(~malignant), np.flatnonzero(malignant)[:N_MALIGNANT]]
    labels = malignant[rows].astype(np.intp)
    return Dataset(
        data=np.asarray(bunch.data, dtype=np.float64)[rows],
        feature_names=tuple(_paper_name(str(name)) for name in bunch.feature_names),
        labels=labels,
        kinds=tuple("malignant" if label else "normal" for label in labels),
        description="Breast Cancer Wisconsin (Diagnostic): all benign and the first 10 malignant records.",
    )


def _paper_name(name: str) -> str:
    """`mean concave points` becomes `concave_points_mean`, `radius error` becomes `radius_se`."""
    words = name.split()
    if words[-1] == "error":
        return "_".join([*words[:-1], "se"])
    return "_".join([*words[1:], words[0]])
