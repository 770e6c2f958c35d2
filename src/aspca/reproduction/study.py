"""One of the paper's data sets with its settings, and every fit that a table or a figure needs, made once."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.metrics import roc_auc_score

from aspca.baselines import PCADetector
from aspca.datasets.dataset import Dataset
from aspca.estimators.aspca import ASPCA
from aspca.jobs.fit import Learning
from aspca.jobs.options import request_of
from aspca.jobs.passes import Silent
from aspca.jobs.tables import array_table
from aspca.judging.judgement import Judgement
from aspca.judging.model import Model
from aspca.linalg.arrays import Bools, Floats
from aspca.moments import Moments
from aspca.reproduction.published import published

PLAIN = "PCA"
METHODS = (PLAIN, "ASPCA-F", "ASPCA-B", "ASPCA-FG", "ASPCA-BG")
BEST = "ASPCA-BG"


@dataclass(frozen=True, eq=False)
class Fit:
    """An abnormal subspace of the scaled rows.

    Attributes
    ----------
    method : str
    penalty : float
        The paper's lambda.
    loadings : ndarray of shape (p, d)
    variance : float
        Sum of the squared projections of all rows: the paper's.
    scores : ndarray of shape (n,)
        Squared prediction errors.
    auc : float
    sequence : ndarray of shape (p, k)
        What it was taken from, the most abnormal direction first.
    """

    method: str
    penalty: float
    loadings: Floats
    variance: float
    scores: Floats
    auc: float
    sequence: Floats

    @property
    def l1(self) -> float:
        return float(np.abs(self.loadings).sum())

    def card(self, above: float) -> int:
        """How many loadings are larger than that."""
        return int((np.abs(self.loadings) > above).sum())


class Study:
    """A data set and the paper's settings for it.

    Parameters
    ----------
    name : {"synthetic", "breast-cancer", "kdd99"}
    data : Dataset
    """

    def __init__(self, name: str, data: Dataset) -> None:
        settings = published("parameters", name)
        self.name, self.data = name, data
        self.n_components, self.penalty = int(settings["abnormal PCs"]), float(settings["lambda"])
        self.threshold = float(published("thresholds", name, "SPE"))
        # The published loadings of the synthetic data fit D = C + A in raw units.
        self.scaling = "none" if name == "synthetic" else "maxabs"
        self._fits: dict[tuple[str, float], Fit] = {}
        self._aucs: dict[str, Floats] = {}
        # By group of rows, what joint sparse PCA selects, and at which penalty; a table and a figure ask for it.
        self.selections: dict[str, tuple[list[str], float]] = {}

    @cached_property
    def anomalous(self) -> Bools:
        """Which rows (n,) are anomalies."""
        return np.asarray(self.data.labels == 1)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return self.data.feature_names

    @cached_property
    def moments(self) -> Moments:
        return Moments.from_array(self.data.data)

    @cached_property
    def pca(self) -> PCADetector:
        """All principal directions, the least first."""
        return PCADetector(n_components=len(self.names), scaling=self.scaling).fit(self.data.data)

    @cached_property
    def rows(self) -> Floats:
        """The paper's D (n, p): centred and scaled."""
        return np.asarray((self.data.data - self.pca.mean_) / self.pca.scale_)

    def fit(self, method: str = BEST, penalty: float | None = None) -> Fit:
        """One method at one lambda, the paper's by default; at 0 all are plain PCA, not rotated."""
        wanted = self.penalty if penalty is None else penalty
        method = PLAIN if wanted == 0 else method
        key = (method, 0.0 if method == PLAIN else wanted)
        if key not in self._fits:
            self._fits[key] = self._fitted(*key)
        return self._fits[key]

    def auc(self, scores: Floats) -> float:
        """Not a number where there is nothing to find."""
        return float(roc_auc_score(self.data.labels, scores)) if self.anomalous.any() else float("nan")

    def projections(self, fit: Fit) -> Floats:
        """Of the anomalies (m, d)."""
        return np.asarray(self.rows[self.anomalous] @ fit.loadings)

    @cached_property
    def flagged(self) -> Bools:
        """Rows (n,) above the paper's threshold by its best method."""
        return np.asarray(self.fit().scores >= self.threshold)

    @cached_property
    def backward(self) -> Floats:
        """ASPCA-B's sequence (p, p) to its end: its own fit stops at its number of directions."""
        return self._model("ASPCA-B", self.penalty, len(self.names)).subspace_.sequence

    def all_columns(self, method: str) -> Floats:
        """A basis (p, p) of the whole space, the most significant direction first, the abnormal ones last."""
        fit = self.fit(method)
        sequence = self.backward if method.startswith("ASPCA-B") else fit.sequence
        normal = sequence[:, self.n_components :]
        # A rotated basis ascends in variance; F and B keep their order.
        abnormal = fit.loadings if method.endswith("G") else sequence[:, : self.n_components]
        return np.concatenate([abnormal, normal], axis=1)[:, ::-1]

    @cached_property
    def product(self) -> tuple[Model, Judgement]:
        """What `aspca detect` learns of the rows with its defaults, and how it judges them."""
        table = array_table(self.data.description, self.names, self.data.data)
        with ExitStack() as stack:
            model = Learning.of(request_of(table), stack, Silent(), judges_itself=True).model()
        return model, model.judge(self._columns(model))

    @cached_property
    def product_shares(self) -> Floats:
        """The anomalies' scores by `product` (m, p), split over features."""
        model, _ = self.product
        rows = self._columns(model)[self.anomalous]
        return model.explain(rows, range(rows.shape[0])).feature_contributions

    def _columns(self, model: Model) -> Floats:
        return np.ascontiguousarray(self.data.data[:, [self.names.index(name) for name in model.names]])

    def aucs_by_number(self, method: str) -> Floats:
        """AUC with 1, 2, ..., p - 1 abnormal directions: sequences are nested, so one is enough."""
        if method not in self._aucs:
            sequence = self.backward if method == "ASPCA-B" else self.fit(method).sequence
            totals = np.cumsum(np.square(self.rows @ sequence), axis=1)
            self._aucs[method] = np.array([self.auc(column) for column in totals.T[:-1]])
        return self._aucs[method]

    def _fitted(self, method: str, penalty: float) -> Fit:
        if method == PLAIN:
            sequence = np.ascontiguousarray(self.pca.components_.T)
            loadings = sequence[:, : self.n_components]
        else:
            subspace = self._model(method, penalty, self.n_components).subspace_
            forward = method.startswith("ASPCA-F")
            sequence, loadings = subspace.sequence[:, ::-1] if forward else subspace.sequence, subspace.loadings
        scores = np.square(self.rows @ loadings).sum(axis=1)
        return Fit(method, penalty, loadings, float(scores.sum()), scores, self.auc(scores), sequence)

    def _model(self, method: str, penalty: float, n_components: int) -> ASPCA:
        # The paper's lambda belongs to D'D, the public alpha to D'D / n.
        model = ASPCA.paper(
            n_components=n_components,
            alpha=penalty / self.data.data.shape[0],
            variant=method.removeprefix("ASPCA-"),
            scaling=self.scaling,
        )
        return model.fit_moments(self.moments, self.names)
