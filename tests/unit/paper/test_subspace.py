"""Plain PCA: scores and contributions recomputed from the data by a singular value decomposition."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from aspca import ASPCA
from aspca.paper.baselines import PCADetector


def table(n: int = 80, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    a, c = rng.normal(size=(2, n))
    noise = 0.1 * rng.normal(size=(2, n))
    return np.column_stack([a, 5 * a + noise[0], c, a - c + noise[1], 1000 * rng.normal(size=n)])


def scaled(X: np.ndarray, scaling: str) -> np.ndarray:
    Z = X - X.mean(axis=0)
    by = {"maxabs": np.abs(Z).max(axis=0), "standard": Z.std(axis=0), "none": np.ones(X.shape[1])}
    return Z / by[scaling]


@pytest.mark.parametrize("scaling", ["maxabs", "standard", "none"])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_score_is_the_squared_residual_of_the_leading_subspace(scaling: str, d: int) -> None:
    X = table()
    Z = scaled(X, scaling)
    leading = np.linalg.svd(Z)[2][: X.shape[1] - d]
    residual = Z - Z @ leading.T @ leading
    model = PCADetector(n_components=d, scaling=scaling).fit(X)
    scores = -model.score_samples(X)
    unit = float(np.square(Z).sum(axis=1).max())
    np.testing.assert_allclose(scores, np.square(residual).sum(axis=1), atol=1e-12 * unit)
    contributions = model.feature_contributions(X)
    np.testing.assert_allclose(contributions, residual**2, atol=1e-12 * unit)
    assert contributions.min() >= 0
    np.testing.assert_allclose(contributions.sum(axis=1), scores, rtol=1e-12, atol=1e-25 * unit)
    np.testing.assert_allclose(
        model.explained_variance_.sum(), np.square(residual).sum() / len(X), rtol=1e-9, atol=1e-15 * unit
    )


def test_same_scores_as_aspca_without_a_penalty() -> None:
    X = table()
    ours = ASPCA(n_components=2, alpha=0.0, variant="B", score="spe").fit(X)
    plain = PCADetector(n_components=2).fit(X)
    np.testing.assert_allclose(plain.score_samples(X), ours.score_samples(X), rtol=1e-9)
    assert plain.threshold_ == pytest.approx(ours.threshold_, rel=1e-9)
    assert PCADetector().fit(X).n_components_ == ASPCA().fit(X).n_components_


def test_threshold() -> None:
    X = table(100)
    assert (PCADetector(contamination=0.1).fit(X).predict(X) == -1).sum() == 10
    fixed = PCADetector(n_components=2, limit=0.01).fit(X)
    assert fixed.threshold_ == 0.01
    np.testing.assert_array_equal(fixed.predict(X) == -1, -fixed.score_samples(X) > 0.01)
    # Variances of the two directions, and the Gaussian limit they give.
    one = PCADetector(n_components=1, level=0.95).fit(X)
    assert one.threshold_ == pytest.approx(3.841459 * one.explained_variance_[0], rel=1e-6)


def test_a_constant_column_that_moves_is_flagged_and_rounding_is_not() -> None:
    X = np.column_stack([table(), np.full(80, 0.1)]) + 1e6
    model = PCADetector(n_components=1).fit(X)
    assert (model.predict(X) == 1).all()
    moved = X[:1].copy()
    moved[0, -1] += 1e-3
    assert model.predict(moved) == [-1]
    assert model.feature_contributions(moved).argmax() == X.shape[1] - 1


def test_no_threshold_lies_below_rounding() -> None:
    a, b = np.random.default_rng(0).normal(size=(2, 80))
    X = np.column_stack([a, b, 0.1 * a + 0.7 * b])
    model = PCADetector(n_components=1, limit=0.0).fit(X)
    assert (model.score_samples(X) < 0).any()
    assert (model.predict(X) == 1).all()
    assert model.predict(X[:1] + np.array([0.0, 0.0, 1e-9])) == [-1]


def test_rows_far_out_stay_finite() -> None:
    model = PCADetector(n_components=3).fit(1e-5 * table())
    far = np.full((1, 5), 1e150)
    assert np.isfinite(model.score_samples(far)).all()
    assert np.isfinite(model.feature_contributions(far)).all()
    assert model.predict(far) == [-1]


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_components": 6}, "between 1 and 5"),
        ({"n_components": 0}, "n_components must be"),
        ({"scaling": "minmax"}, "scaling must be one of maxabs, standard, none"),
        ({"contamination": 0.7}, "contamination must be"),
        ({"limit": "conformal"}, "limit must be one of auto, quantile"),
        ({"level": 2.0}, "level"),
    ],
)
def test_refusals_are_one_sentence(parameters: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        PCADetector(**parameters).fit(table())
    assert "\n" not in str(caught.value)


def test_columns_at_fault_are_named() -> None:
    frame = pd.DataFrame(table(), columns=list("abcde"))
    model = PCADetector().fit(frame)
    broken = frame.copy()
    broken.loc[3, "c"] = np.nan
    for act in (PCADetector().fit, model.predict, model.feature_contributions):
        with pytest.raises(ValueError, match="Column 'c' has 1 value that is NaN"):
            act(broken)
    with pytest.raises(ValueError, match="at least 2 rows of positive weight, got 1"):
        PCADetector().fit(frame, sample_weight=np.eye(80)[0])
