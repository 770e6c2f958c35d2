"""Joint sparse PCA: one set of features for all anomalies."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from aspca.linalg.arrays import Floats
from aspca.paper.baselines.joint_sparse import JointSparse, find_largest_mu, solve_joint_sparse, solve_path
from aspca.paper.baselines.subspace import SubspaceDetector
from aspca.settings import Setting

_MU = Setting("mu", "auto", '"auto" or a finite number >= 0', "Weight of the penalty.", ("auto",), 0.0)

# "auto", as a share of the penalty from which on nothing is selected. Chosen on the paper's synthetic data (seeds 0 to
# 59), where it leaves A, B, C, D and F for most seeds; `benchmarks/baselines.py` prints the count over 100.
_SHARE_OF_LARGEST = 1.0 / 3.0


class JSPCA(SubspaceDetector):
    """Joint sparse PCA, after Jiang, Fei and Huan (2011, 2013): the features that carry the abnormal subspace.

    Loadings B (p, d) that do without most features and still rebuild the part of the scaled, centred rows X that lies
    in the abnormal subspace, with an orthonormal basis A (p, d) of it:

        min over A, B:  1/2 ||X - X B A'||_F^2 / n + mu sum_j ||B_j.||_2,   span A = span of PCA's last d directions.

    A feature's weight is the norm of its row of B, one for all anomalies. The problem is convex in B alone, A being
    PCA's directions (see `joint_sparse`), so what is found is the global optimum, to the gap in `solution_`.

    The score is ``||y B||^2``, the squared length of ``y B A'``: the model's own copy of the row's projection on the
    abnormal subspace. At ``mu=0`` it is the squared prediction error of PCA; as mu grows it shrinks, and speaks of the
    selected features alone. A constant column has no weight at any ``mu > 0``.

    Parameters
    ----------
    mu : float >= 0 or "auto", default="auto"
        Weight of the penalty, on the scale of the scaled covariance: repeating every row changes nothing. "auto" is a
        third of the value from which on no feature is selected, and 0 where the abnormal subspace does not vary at all.
    n_components, scaling, contamination, limit, level
        As in `PCADetector`.
    tol : float, default=1e-8
        Duality gap at which the problem counts as solved, as a share of the objective at B = 0.
    max_iter : int, default=2000
        Limit of the solver's passes.

    Attributes
    ----------
    loadings_ : ndarray of shape (n_features, n_components)
        B, in the scaled space.
    components_ : ndarray of shape (n_components, n_features)
        A', PCA's last directions.
    feature_weights_ : ndarray of shape (n_features,)
        Row norms of the loadings.
    selected_features_ : ndarray of int
        Features with a weight, the heaviest first.
    mu_ : float
        The penalty used.
    solution_ : JointSparse
        With its objective, history and gap.
    n_iter_ : int
        Passes of the solver, at least 1.
    explained_variance_, n_components_, mean_, scale_, covariance_, threshold_, offset_, threshold_limit_
        As in `PCADetector`.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from aspca.paper.baselines import JSPCA
    >>> from aspca.paper.datasets import load_synthetic
    >>> data = load_synthetic()
    >>> model = JSPCA(n_components=4, scaling="none").fit(data.data)
    >>> sorted(data.feature_names[j] for j in model.selected_features_)
    ['A', 'B', 'C', 'D', 'F']
    """

    def __init__(
        self,
        n_components: int | str = "auto",
        mu: float | str = "auto",
        *,
        scaling: str = "maxabs",
        contamination: float | str = "auto",
        limit: str | float = "auto",
        level: float = 0.975,
        tol: float = 1e-8,
        max_iter: int = 2000,
    ) -> None:
        self.n_components = n_components
        self.mu = mu
        self.scaling = scaling
        self.contamination = contamination
        self.limit = limit
        self.level = level
        self.tol = tol
        self.max_iter = max_iter

    def feature_contributions(self, X: Any) -> Floats:
        """Each feature's share (n, p) of the score: its part of the squared weights, the same for every row.

        Never negative, and together the score. JSPCA localises all anomalies on one set of features; it has nothing to
        say about which of them an individual row breaks.
        """
        scores = -self.score_samples(X)
        squares = np.square(self.feature_weights_)
        total = squares.sum()
        return np.asarray(np.outer(scores, squares / total if total > 0 else squares))

    def path(
        self, X: Any, mus: Sequence[float] | Floats | None = None, sample_weight: Any = None
    ) -> tuple[JointSparse, ...]:
        """Solutions for rows (n, p) over a grid of penalties; this object stays as it is.

        `mus` (m,) are 25 by default, evenly spaced in the logarithm from a hundredth of the value from which on nothing
        is selected up to that value.
        """
        other = clone(self)
        other._fit_subspace(X, sample_weight)
        directions = np.ascontiguousarray(other.components_.T)
        if mus is None:
            mus = np.geomspace(0.01, 1.0, 25) * find_largest_mu(other.covariance_, directions)
        grid = np.asarray(mus, dtype=np.float64)
        if grid.ndim != 1 or not (np.isfinite(grid) & (grid >= 0)).all():
            raise ValueError("mus must be a list of finite numbers >= 0, one per point of the path.")
        points = solve_path(other.covariance_, directions, grid, tol=self.tol, max_iter=self.max_iter)
        self._warn_unless_solved(points, other.explained_variance_)
        return points

    def _check_parameters(self) -> None:
        super()._check_parameters()
        _MU.check(self.mu)

    def _fit_loadings(self) -> Floats:
        directions = np.ascontiguousarray(self.components_.T)
        auto = self.mu == "auto"
        self.mu_ = _SHARE_OF_LARGEST * find_largest_mu(self.covariance_, directions) if auto else float(self.mu)
        found = solve_joint_sparse(self.covariance_, directions, self.mu_, tol=self.tol, max_iter=self.max_iter)
        self._warn_unless_solved((found,), self.explained_variance_)
        self.solution_ = found
        self.loadings_ = found.loadings
        self.feature_weights_ = found.weights
        self.selected_features_ = found.selected
        self.n_iter_ = max(1, len(found.history) - 1)
        return found.loadings

    def _warn_unless_solved(self, points: Sequence[JointSparse], variances: Floats) -> None:
        unit = 0.5 * float(variances.sum())
        worst = max((point.gap for point in points), default=0.0)
        if worst > self.tol * unit:
            warnings.warn(
                f"JSPCA stopped after {self.max_iter} passes at a gap of {worst / unit:.1e}, where {self.tol:g} was "
                "asked for; raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
