"""Servers with incidents that operators explained: rows, labels, and the features they named; how well those are named.

ASD (`omi-*`, application servers) and SMD (`machine-*`, server machines).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from math import comb
from pathlib import Path

import numpy as np
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score

from aspca.paper.datasets import find_data
from library.labelled import Bools, Floats, Ints
from library.rivals import Fitted

FAMILIES = {"omi": "ASD", "machine": "SMD"}
# One file of each family, to find the folder by.
KNOWN = ("servers/omi-1.npz", "servers/machine-1-6.npz")
TITLES = {
    "auc": "AUC",
    "ap": "AP",
    "f1": "F1",
    "hit100": "Hit@100%",
    "hit150": "Hit@150%",
    "ndcg": "NDCG",
    "top3": "top 3",
}


@dataclass(frozen=True)
class File:
    """One server: rows (n, p), a label per test row, incidents (k, 2) half-open, and the causes of each (k, p)."""

    name: str
    train: Floats
    test: Floats
    label: Bools
    segments: Ints
    causes: Bools

    @classmethod
    def load(cls, path: Path) -> File:
        with np.load(path) as data:
            return cls(
                path.stem,
                data["train"].astype(np.float64),
                data["test"].astype(np.float64),
                data["label"].astype(bool),
                data["segments"].astype(np.int64),
                data["causes"].astype(bool),
            )


@dataclass(frozen=True)
class Measures:
    """The columns of the table, each from 0 to 1, more is better."""

    auc: float
    ap: float
    f1: float
    hit100: float
    hit150: float
    ndcg: float
    top3: float

    @classmethod
    def mean(cls, several: Iterable[Measures]) -> Measures:
        return cls(*np.mean([list(asdict(one).values()) for one in several], axis=0).tolist())

    @classmethod
    def best(cls, several: Iterable[Measures]) -> Measures:
        """The largest of each column by itself."""
        return cls(*np.max([list(asdict(one).values()) for one in several], axis=0).tolist())


# ---- what is measured


def detection(label: Bools, score: Floats) -> tuple[float, float, float]:
    """Area under the ROC curve, average precision, and the best F1 over all thresholds."""
    precision, recall, _ = precision_recall_curve(label, score)
    f1 = 2.0 * precision * recall / np.maximum(precision + recall, 1e-300)
    return float(roc_auc_score(label, score)), float(average_precision_score(label, score)), float(f1.max())


def naming(weights: Floats, causes: Bools) -> tuple[float, float, float, float]:
    """HitRate@100 %, HitRate@150 %, NDCG and a cause in the top 3, for one incident.

    Parameters
    ----------
    weights : (p,)
        By which features are ranked, largest first.
    causes : (p,)
        At least one is true.
    """
    order = np.argsort(-weights, kind="stable")
    _, starts, sizes = np.unique(-weights[order], return_index=True, return_counts=True)
    # Tied features share their places: each stands for the mean relevance of its group.
    relevance = np.repeat(np.add.reduceat(causes[order].astype(np.float64), starts) / sizes, sizes)
    n = int(causes.sum())
    discounts = 1.0 / np.log2(np.arange(2, len(weights) + 2))
    ndcg = float(relevance @ discounts / discounts[:n].sum())
    missed = 1.0
    for start, size, in_group in zip(starts, sizes, relevance[starts] * sizes, strict=True):
        taken = min(int(size), max(0, 3 - int(start)))
        missed *= comb(int(size) - round(in_group), taken) / comb(int(size), taken)
    return float(relevance[:n].sum() / n), float(relevance[: 3 * n // 2].sum() / n), ndcg, 1.0 - missed


def measure(file: File, fitted: Fitted) -> Measures:
    """One fitted detector on one file."""
    found = detection(file.label, fitted.score(file.test))
    named = [
        (start, stop, causes) for (start, stop), causes in zip(file.segments, file.causes, strict=True) if causes.any()
    ]
    # Only the rows of incidents: explaining all of them takes some peers minutes.
    parts = fitted.contributions(np.concatenate([file.test[start:stop] for start, stop, _ in named]))
    ends = np.cumsum([0] + [stop - start for start, stop, _ in named])
    ranks = [naming(parts[a:b].mean(axis=0), c) for a, b, (_, _, c) in zip(ends[:-1], ends[1:], named, strict=True)]
    return Measures(*found, *np.mean(ranks, axis=0).tolist())


# ---- files


def files_of(words: list[str]) -> list[Path]:
    """Files by path, or by a part of their name in the data folder; all of that folder without words."""
    paths = [Path(word) for word in words if word.endswith(".npz")]
    names = [word for word in words if not word.endswith(".npz")]
    if names or not words:
        folder: Path | None = None
        for known in KNOWN:
            try:
                folder = find_data(known).parent
            except FileNotFoundError as error:
                missing = error
            else:
                break
        if folder is None:
            raise missing
        paths += [path for path in sorted(folder.glob("*.npz")) if not names or any(n in path.stem for n in names)]
    return paths


def family_of(name: str) -> str:
    """The data family of a file name; the part before the first hyphen where it is a new one."""
    kind = name.split("-")[0]
    return FAMILIES.get(kind, kind)
