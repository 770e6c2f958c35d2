"""The peers of the benchmarks on rules and causes, and ASPCA itself, behind one small interface.

``RIVALS[name](train)`` fits and returns a `Fitted`: a score per row, a non-negative attribution of it to features, and
the directions the method reads its score along, where it has any. A peer whose package is absent raises `Absent`.

Every peer of the PCA family works on standardised columns. A column that is constant in training has no spread: it gets
scale 1, so that it takes no part in the fit and counts in its own units, with the floor of the method, once it moves.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from aspca import ASPCA
from library.labelled import Floats

# Retained variance after which components count as minor: the usual rule.
RETAINED = 0.9
# Least variance, as a share of the mean variance, that a minor component is divided by. A thousandth of the mean
# variance is the middle of the floors tried for the Mahalanobis distance.
MINOR_FLOOR = 1e-3
MAHALANOBIS_FLOORS = (1e-2, 1e-3, 1e-4, 1e-5)
# Rows, evenly spaced, that the surrogate tree is fitted to: pruning it by cross-validation on 23,700 rows took 345 s.
_TREE_ROWS = 2000
# Rows explained at once: an explanation holds several tables of them.
_SLICE = 4096


class Absent(ImportError):
    """A peer that cannot run because what it is made of is not installed."""


@dataclass(frozen=True)
class Fitted:
    """A fitted peer.

    Attributes
    ----------
    score : (n, p) -> (n,)
        Higher is more abnormal.
    contributions : (n, p) -> (n, p)
        Non-negative attribution to features.
    directions : ndarray of shape (p, d) or None
        Directions in the *standardised* space (columns over their training deviation; constant columns over 1), of
        unit length, along which the method measures what is abnormal; of ours, the rules.
    model : ASPCA or None
        The model itself, where it is ours.
    """

    score: Callable[[Floats], Floats]
    contributions: Callable[[Floats], Floats]
    directions: Floats | None = None
    model: ASPCA | None = None


Rival = Callable[[Floats], Fitted]


@dataclass(frozen=True)
class Spectrum:
    """Standardisation of training rows (n, p), and the eigenvalues (ascending) and vectors of their covariance."""

    mean: Floats
    scale: Floats
    values: Floats
    vectors: Floats

    @classmethod
    def of(cls, train: Floats) -> Spectrum:
        train = np.asarray(train, dtype=np.float64)
        mean, spread = train.mean(axis=0), train.std(axis=0)
        # Float32 data repeat a constant exactly; the mean of n copies may still be off by rounding.
        constant = spread <= 1e-12 * np.maximum(np.abs(mean), 1e-300)
        scale = np.where(constant, 1.0, spread)
        scaled = np.where(constant, 0.0, (train - mean) / scale)
        values, vectors = np.linalg.eigh(scaled.T @ scaled / len(train))
        return cls(mean, scale, np.maximum(values, 0.0), vectors)

    def rows(self, X: Floats) -> Floats:
        """Rows (n, p) in the standardised space."""
        return np.asarray((np.asarray(X, dtype=np.float64) - self.mean) / self.scale)

    def floored(self, share: float, values: Floats | None = None) -> Floats:
        """Variances no smaller than `share` of the mean variance of a column."""
        least = share * self.values.mean()
        return np.maximum(self.values if values is None else values, least if least > 0 else 1.0)

    def n_minor(self) -> int:
        """How many components are left after the leading ones that retain 90 % of the variance; at least one."""
        share = np.cumsum(self.values[::-1]) / max(float(self.values.sum()), 1e-300)
        return max(1, len(self.values) - int(np.searchsorted(share, RETAINED)) - 1)


# ---- peers of the PCA family


def z_scores(train: Floats) -> Fitted:
    """Squared z-scores, one feature at a time."""
    spectrum = Spectrum.of(train)
    return Fitted(
        lambda X: np.square(spectrum.rows(X)).sum(axis=1),
        lambda X: np.square(spectrum.rows(X)),
        np.eye(len(spectrum.mean)),
    )


def pca_residual(train: Floats) -> Fitted:
    """PCA's squared prediction error; each feature's part is its squared residual."""
    spectrum = Spectrum.of(train)
    minor = spectrum.vectors[:, : spectrum.n_minor()]

    def contributions(X: Floats) -> Floats:
        return np.square(spectrum.rows(X) @ minor @ minor.T)

    return Fitted(lambda X: np.square(spectrum.rows(X) @ minor).sum(axis=1), contributions, minor)


def mahalanobis(floor: float) -> Rival:
    """Mahalanobis distance with eigenvalues no smaller than `floor` of the mean variance.

    A feature's part is its reconstruction-based contribution (Alcala and Qin 2009): by how much the distance falls if
    that feature alone may be replaced, (M y)_j^2 / M_jj.
    """

    def fit(train: Floats) -> Fitted:
        spectrum = Spectrum.of(train)
        inverse = (spectrum.vectors / spectrum.floored(floor)) @ spectrum.vectors.T

        def score(X: Floats) -> Floats:
            return np.asarray((np.square(spectrum.rows(X) @ spectrum.vectors) / spectrum.floored(floor)).sum(axis=1))

        def contributions(X: Floats) -> Floats:
            return np.square(spectrum.rows(X) @ inverse) / np.diag(inverse)

        return Fitted(score, contributions, spectrum.vectors)

    return fit


def minor_components(train: Floats) -> Fitted:
    """Minor principal components, each over its own variance with a floor; parts c_i v_ij^2."""
    spectrum = Spectrum.of(train)
    d = spectrum.n_minor()
    return _along(spectrum, spectrum.vectors[:, :d], spectrum.floored(MINOR_FLOOR)[:d])


def varimax_minor(train: Floats, n_components: int | None = None) -> Fitted:
    """Minor components turned by varimax, each over its own variance with a floor; parts c_i v_ij^2.

    `n_components` tells it how many of the least components to take; without it the 90 % rule does.
    """
    spectrum = Spectrum.of(train)
    minor = varimax(spectrum.vectors[:, : spectrum.n_minor() if n_components is None else n_components])
    variances = np.square(spectrum.vectors.T @ minor).T @ spectrum.values
    return _along(spectrum, minor, spectrum.floored(MINOR_FLOOR, variances))


def varimax_told(n_components: int) -> Rival:
    """Varimax told the right number of components."""
    return lambda train: varimax_minor(train, n_components)


def varimax(loadings: Floats, max_iter: int = 500, tol: float = 1e-9) -> Floats:
    """Kaiser's raw varimax rotation of orthonormal columns (p, d), by the usual singular value iteration."""
    p, d = loadings.shape
    rotation = np.eye(d)
    reached = 0.0
    for _ in range(max_iter):
        turned = loadings @ rotation
        gradient = loadings.T @ (turned**3 - turned * (np.square(turned).sum(axis=0) / p))
        left, values, right = np.linalg.svd(gradient)
        rotation = left @ right
        if values.sum() <= reached * (1.0 + tol):
            break
        reached = float(values.sum())
    return np.asarray(loadings @ rotation)


def _along(spectrum: Spectrum, directions: Floats, variances: Floats) -> Fitted:
    def parts(X: Floats) -> Floats:
        return np.asarray(np.square(spectrum.rows(X) @ directions) / variances)

    return Fitted(lambda X: parts(X).sum(axis=1), lambda X: parts(X) @ np.square(directions).T, directions)


# ---- the paper's peers


def jspca(train: Floats) -> Fitted:
    """Joint sparse PCA: one set of features for all anomalies, so every row gets the same ranking."""
    try:
        from aspca.paper.baselines import JSPCA
    except ImportError as error:
        raise Absent("this version of aspca has no aspca.paper.baselines.") from error
    train = np.asarray(train, dtype=np.float64)
    model = JSPCA(scaling="standard", tol=1e-4).fit(train)
    # Features it does not select have no weight; a constant column has its own scale there, but no weight either.
    norms = np.linalg.norm(model.loadings_, axis=0)
    return Fitted(
        lambda X: -np.asarray(model.score_samples(np.asarray(X, dtype=np.float64))),
        lambda X: np.asarray(model.feature_contributions(np.asarray(X, dtype=np.float64))),
        model.loadings_[:, norms > 0] / norms[norms > 0],
    )


def surrogate_tree(train: Floats) -> Fitted:
    """A decision tree taught the labels of PCA's residual; parts are the features on the path to a flagged leaf.

    Each feature on the path gets the leaf's share of flagged training rows: a path to a normal leaf explains nothing.
    """
    try:
        from aspca.paper.baselines import PCADetector, SurrogateTree
    except ImportError as error:
        raise Absent("this version of aspca has no aspca.paper.baselines.") from error
    train = np.asarray(train, dtype=np.float64)
    detector = PCADetector(n_components=Spectrum.of(train).n_minor(), scaling="standard")
    model = SurrogateTree(detector).fit(train[:: -(-len(train) // _TREE_ROWS)])
    paths = np.zeros((len(model.rules_), train.shape[1]))
    for k, rule in enumerate(model.rules_):
        paths[k, [condition.feature for condition in rule.conditions]] = rule.share_flagged
    return Fitted(
        lambda X: -np.asarray(model.score_samples(np.asarray(X, dtype=np.float64))),
        lambda X: paths[model.rule_of(np.asarray(X, dtype=np.float64))],
    )


# ---- peers from elsewhere


def ecod(train: Floats) -> Fitted:
    """PyOD's ECOD: tail probabilities, one feature at a time; parts are its per-dimension values.

    PyOD ranks the rows asked about together with the training rows, so a row's score depends on its company.
    """
    try:
        from pyod.models.ecod import ECOD
    except ImportError as error:
        raise Absent("ECOD needs pyod: pip install 'aspca[bench]'.") from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the skewness of a constant column
        model = ECOD().fit(np.asarray(train, dtype=np.float64))

    def score(X: Floats) -> Floats:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            return np.asarray(model.decision_function(np.asarray(X, dtype=np.float64)))

    def contributions(X: Floats) -> Floats:
        score(X)
        return np.maximum(np.asarray(model.O)[-len(X) :], 0.0)

    return Fitted(score, contributions)


def forest_shap(train: Floats) -> Fitted:
    """An isolation forest (scikit-learn's defaults); parts are the absolute values of SHAP's tree explainer."""
    try:
        import shap
    except ImportError as error:
        raise Absent("SHAP on an isolation forest needs shap: pip install 'aspca[bench]'.") from error
    from sklearn.ensemble import IsolationForest

    forest = IsolationForest(random_state=0).fit(np.asarray(train, dtype=np.float64))
    explainer = shap.TreeExplainer(forest)
    return Fitted(
        lambda X: -np.asarray(forest.score_samples(np.asarray(X, dtype=np.float64))),
        lambda X: np.abs(np.asarray(explainer.shap_values(np.asarray(X, dtype=np.float64)))),
    )


# ---- ours


def ours(**params: Any) -> Rival:
    """ASPCA with these parameters; parts are the features' shares of the score.

    The directions are the rules that judge, taken from the scaled to the standardised space and brought to unit length
    there.
    """

    def fit(train: Floats) -> Fitted:
        train = np.asarray(train, dtype=np.float64)
        with warnings.catch_warnings():
            # What a model says of a table is not what is measured.
            warnings.simplefilter("ignore")
            model = ASPCA(**params).fit(train)

        def contributions(X: Floats) -> Floats:
            X = np.asarray(X, dtype=np.float64)
            parts = [model.explain(X[k : k + _SLICE]).feature_contributions for k in range(0, len(X), _SLICE)]
            return np.concatenate(parts)

        directions = model.model_.table.loadings * (Spectrum.of(train).scale / model.scale_)[:, None]
        directions /= np.maximum(np.linalg.norm(directions, axis=0), 1e-300)
        return Fitted(lambda X: -model.score_samples(np.asarray(X, dtype=np.float64)), contributions, directions, model)

    return fit


def forest(train: Floats) -> Fitted:
    """An isolation forest (scikit-learn's defaults), which names nothing."""
    from sklearn.ensemble import IsolationForest

    trees = IsolationForest(random_state=0).fit(np.asarray(train, dtype=np.float64))
    return Fitted(
        lambda X: -np.asarray(trees.score_samples(np.asarray(X, dtype=np.float64))),
        lambda X: np.zeros(np.shape(X)),
    )


# The Mahalanobis distance with the whole covariance: nothing but rounding is floored.
WHOLE = "whole covariance"
whole_covariance = mahalanobis(1e-12)

QUICK: dict[str, Rival] = {
    "z-scores": z_scores,
    "PCA residual": pca_residual,
    **{f"Mahalanobis {floor:.0e}": mahalanobis(floor) for floor in MAHALANOBIS_FLOORS},
    "minor components": minor_components,
    "varimax": varimax_minor,
}
# Seconds to minutes for each table.
SLOW: dict[str, Rival] = {"JSPCA": jspca, "surrogate tree": surrogate_tree, "ECOD": ecod, "SHAP of forest": forest_shap}
RIVALS: dict[str, Rival] = {**QUICK, **SLOW}
