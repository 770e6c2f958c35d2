"""Sizes, ties, penalties and types that break careless code, each with the result it must have and why."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from aspca import TiedSubspaceWarning
from checks import SCALINGS, assert_finite, assert_proved, detector, spe
from zoo import plant

P = 5


pytestmark = pytest.mark.usefixtures("one_thread")


# ---- sizes


def test_column_scales_from_1e_minus_150_to_1e150_unscaled_leave_the_narrow_columns_as_rules() -> None:
    X = plant(200) / 8.0 * np.array([1e-150, 1e150, 1.0, 1e-100, 1e100])
    model = detector(scaling="none").fit(X)
    assert_finite(model, X)
    assert_proved(model)
    # Beside 1e150 all other columns are constant to rounding; they tie, so they come in order.
    assert [np.flatnonzero(c).tolist() for c in model.components_] == [[0], [2], [3], [4]]
    centred = X[:, 4] - X[:, 4].mean()
    assert np.abs(spe(model, X) / centred**2 - 1).max() <= 1e-9


@pytest.mark.parametrize("scaling", SCALINGS)
def test_the_largest_values_allowed_give_finite_results(scaling: str) -> None:
    X = np.where(plant(40) > 0, 1e150, -1e150)
    model = detector(scaling=scaling, n_components=3).fit(X)
    assert_finite(model, X)
    assert_proved(model)


@pytest.mark.parametrize("value", [1.1e150, -1e151, 1e300])
def test_beyond_the_largest_value_allowed_one_sentence_names_the_column(value: float) -> None:
    good = pd.DataFrame(plant(200), columns=list("abcde"))
    bad = good.copy()
    bad.loc[3, "d"] = value
    for act in (detector().fit, detector().fit(good).predict, detector().partial_fit):
        with pytest.raises(ValueError, match=r"^Column 'd' has 1 value that is too large in size; .*1e\+150.*\.$"):
            act(bad)


def test_an_integer_beyond_float64_is_refused_by_a_sentence_that_names_the_column() -> None:
    rows = [[1, 2, 3], [4, 10**400, 6], [7, 8, 10]]
    model = detector(n_components=1).fit([[1, 2, 3], [4, 5, 6], [7, 8, 10]])
    for act in (detector(n_components=1).fit, model.predict):
        with pytest.raises(ValueError, match=r"[Cc]olumn 1\b"):
            act(rows)


# ---- offsets


@pytest.mark.parametrize("scaling", SCALINGS)
def test_a_tight_rule_at_an_offset_of_1e10_is_kept(scaling: str) -> None:
    rng = np.random.default_rng(3)
    n = 400
    a, c = rng.normal(size=(2, n))
    X = 1e10 + np.column_stack([a, c, a + 1e-3 * rng.normal(size=n)])
    model = detector(n_components=1, scaling=scaling).fit(X)
    assert_finite(model, X)
    assert_proved(model)
    assert np.flatnonzero(model.components_[0]).tolist() == [0, 2]
    broken = X[:20].copy()
    broken[:, 2] += 0.02
    assert spe(model, broken).min() > 20 * model.threshold_
    assert spe(model, broken).min() > 10 * spe(model, X).max()
    # The exact projections: values of size 1e10 have steps of 2e-6, a 500th of the rule's spread.
    wide = X.astype(np.longdouble)
    exact = ((wide - wide.mean(axis=0)) / model.scale_) @ model.components_[0]
    assert np.abs(model.transform(X)[:, 0] - exact).max() <= 1e-9
    assert (model.predict(X) == -1).mean() == pytest.approx(0.025, abs=0.025)


# ---- penalties and eigenvalues


def design(variances: list[float]) -> np.ndarray:
    """Rows whose covariance is exactly Q diag(variances) Q' to rounding, Q dense and fixed."""
    p = len(variances)
    rng = np.random.default_rng(5)
    Q = np.linalg.qr(rng.normal(size=(p, p)))[0]
    Z = np.linalg.qr(np.column_stack([np.ones(8 * p), rng.normal(size=(8 * p, p))]))[0][:, 1:] * np.sqrt(8 * p)
    return Z * np.sqrt(variances) @ Q.T


@pytest.mark.parametrize("alpha", [0.0, 0.01])
@pytest.mark.parametrize("split", [0.0, 1e-13, 1e-12])
def test_nearly_tied_eigenvalues_give_the_same_vectors_after_a_nudge(alpha: float, split: float) -> None:
    X = design([0.1, 0.1 + split, 0.1 + 2 * split, 1.0, 2.0, 3.0])
    rng = np.random.default_rng(6)
    models = [
        detector(n_components=3, alpha=alpha, variant="B", scaling="none").fit(
            X * (1 + 1e-15 * rng.normal(size=X.shape))
        )
        for _ in range(4)
    ]
    for model in models:
        assert_proved(model)
        # An objective is flat at its minimum: exact to 1e-15, it fixes the vector to about 1e-8.
        assert np.abs(model.components_ - models[0].components_).max() <= (1e-6 if alpha else 1e-9)
        assert (
            np.abs(spe(model, X) - spe(models[0], X)).max()
            <= (1e-7 if alpha else 1e-12) * np.square(X).sum(axis=1).max()
        )
    if alpha == 0.0:
        assert all(certificate.tie for certificate in models[0].certificates_)


@pytest.mark.parametrize("split", [0.0, 1e-13, 1e-12, 1e-11])
def test_every_step_without_penalty_is_rank_one_even_where_eigenvalues_tie(split: float) -> None:
    """An eigenvector attains the optimum: its certificate may not say otherwise, whatever the basis of a tie."""
    model = detector(n_components=3, alpha=0.0, variant="B", scaling="none").fit(
        design([0.1, 0.1 + split, 0.1 + 2 * split, 1.0, 2.0, 3.0])
    )
    assert_proved(model)
    assert all(certificate.rank_one for certificate in model.certificates_)


def test_a_tie_across_the_cut_is_announced() -> None:
    X = design([0.1, 0.1, 1.0, 2.0])
    with pytest.warns(TiedSubspaceWarning, match="Eigenvalues 1 and 2"):
        detector(n_components=1, variant="G", scaling="none").fit(X)
    assert detector(n_components=1, alpha=0.0, scaling="none").fit(X).certificates_[0].tie


@pytest.mark.parametrize("variant", ["F", "B", "FG", "BG", "G"])
def test_alpha_zero_is_the_residual_of_plain_pca(variant: str) -> None:
    X = plant(200)
    model = detector(n_components=2, alpha=0.0, variant=variant).fit(X)
    assert_proved(model)
    Y = (X - X.mean(axis=0)) / np.abs(X - X.mean(axis=0)).max(axis=0)
    _, _, Vt = np.linalg.svd(Y, full_matrices=False)
    residual = np.square(Y).sum(axis=1) - np.square(Y @ Vt[:3].T).sum(axis=1)
    assert np.abs(spe(model, X) - residual).max() <= 1e-12
    assert all(certificate.rank_one for certificate in model.certificates_)


@pytest.mark.parametrize("variant", ["B", "BG"])
@pytest.mark.parametrize("alpha", [10.0, 1e4, 1e10, 1e100, 1e300])
def test_a_penalty_above_everything_takes_the_least_variant_features_alone(variant: str, alpha: float) -> None:
    X = plant(200) * [3.0, 1.0, 2.0, 1.0, 0.5]
    model = detector(n_components=3, alpha=alpha, variant=variant, scaling="none").fit(X)
    assert_finite(model, X)
    assert_proved(model)
    order = np.argsort(X.var(axis=0))[:3]
    assert model.components_.tolist() == np.eye(P)[order].tolist()
    assert np.abs(model.explained_variance_ - X.var(axis=0)[order]).max() <= 1e-12


@pytest.mark.parametrize("variant", ["B", "BG"])
def test_equal_variances_under_a_large_penalty_are_taken_by_index(variant: str) -> None:
    # scaling="standard" makes all variances one, so all five features tie.
    model = detector(n_components=3, alpha=10.0, variant=variant, scaling="standard").fit(plant(200))
    assert model.components_.tolist() == np.eye(P)[:3].tolist()
    assert all(certificate.tie for certificate in model.certificates_)
    assert_proved(model)


# ---- types


COUNTS = np.round(np.abs(plant(120)) * 20 + 3)


@pytest.mark.parametrize(
    "dtype", [np.float16, np.float32, np.uint8, np.int8, np.int64, np.uint64, np.longdouble, object]
)
def test_every_real_type_gives_the_model_of_its_values(dtype: type) -> None:
    # Whole numbers up to 120 are exact in all these types.
    plain = detector(n_components=2).fit(COUNTS)
    assert COUNTS.max() < 128
    model = detector(n_components=2).fit(COUNTS.astype(dtype))
    assert model.components_.tolist() == plain.components_.tolist()
    assert model.components_.dtype == np.float64
    assert model.score_samples(COUNTS.astype(dtype)).tolist() == plain.score_samples(COUNTS).tolist()
    assert model.threshold_ == plain.threshold_


def test_bool_columns_count_as_zero_and_one() -> None:
    rng = np.random.default_rng(7)
    flags = rng.uniform(size=(100, 4)) < 0.5
    flags[:, 3] = flags[:, 0]
    model = detector(n_components=1).fit(flags)
    plain = detector(n_components=1).fit(flags.astype(float))
    assert np.flatnonzero(model.components_[0]).tolist() == [0, 3]
    assert model.components_.tolist() == plain.components_.tolist()
    assert model.score_samples(flags).tolist() == plain.score_samples(flags.astype(float)).tolist()
    assert model.predict([[True, False, True, False]]).tolist() == [-1]


def read_only(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X.flags.writeable = False
    return X


@pytest.mark.parametrize(
    "form",
    [
        np.ndarray.tolist,
        np.asfortranarray,
        read_only,
        lambda X: np.repeat(X, 2, axis=0)[::2],
        lambda X: X[:, ::-1][:, ::-1],
    ],
    ids=["list", "fortran", "read-only", "strided rows", "negative strides"],
)
def test_the_layout_of_the_table_does_not_matter(form) -> None:
    X = plant(200)
    before = X.copy()
    plain = detector(n_components=2).fit(X)
    model = detector(n_components=2).fit(form(X))
    assert model.components_.tolist() == plain.components_.tolist()
    assert np.abs(model.score_samples(form(X)) - plain.score_samples(X)).max() <= 1e-15
    assert (before == X).all()


def test_data_frames_of_mixed_types_are_taken_by_column() -> None:
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(
        {
            "count": rng.integers(0, 50, 80).astype(np.int32),
            "share": rng.uniform(size=80).astype(np.float32),
            "flag": rng.uniform(size=80) < 0.5,
            "nullable": pd.array(rng.integers(0, 9, 80), dtype="Int64"),
        }
    )
    frame["double"] = 2.0 * frame["count"]
    plain = detector(n_components=1).fit(frame.to_numpy(dtype=float))
    model = detector(n_components=1).fit(frame)
    assert model.components_.tolist() == plain.components_.tolist()
    assert model.rules_[0].features == ("count", "double")
    assert np.abs(model.rules_[0].coefficients - np.array([2, -1]) / np.sqrt(5)).max() <= 1e-12
    assert np.abs(model.score_samples(frame) - plain.score_samples(frame.to_numpy(dtype=float))).max() <= 1e-15


@pytest.mark.parametrize("variant", ["F", "B", "FG", "BG"])
@pytest.mark.parametrize("size", [1e15, 1e30, 1e60])
def test_a_penalty_that_is_nothing_beside_the_variances(variant: str, size: float) -> None:
    for seed in range(5):
        X = np.random.default_rng(seed).normal(size=(2, 4)) * size
        model = detector(alpha=0.05, scaling="none", variant=variant).fit(X)
        assert_finite(model, X)
