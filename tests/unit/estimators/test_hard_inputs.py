"""Columns and rows that break careless code, each with the result it must have and why."""

from __future__ import annotations

import numpy as np
import pytest

from checks import SCALINGS, assert_finite, assert_proved, detector, spe
from zoo import plant

P = 5


pytestmark = pytest.mark.usefixtures("one_thread")


# ---- columns


@pytest.mark.parametrize("value", [0.1, 1e-3, -12345.678, 1e10 + 1 / 3, 1e150, -1e-150])
def test_a_constant_column_is_recognised_whatever_its_value(value: float) -> None:
    X = np.column_stack([plant(50), np.full(50, value)])
    model = detector(n_components=1).fit(X)
    assert model.components_.tolist() == [[0.0] * P + [1.0]]
    assert (spe(model, X) == 0.0).all()
    assert (model.predict(X) == 1).all()
    off = X.copy()
    off[0, P] -= np.copysign(max(abs(value) * 1e-6, 1e-6), value)  # towards zero: 1e150 is the limit
    assert model.predict(off)[0] == -1


def test_a_duplicated_column_is_the_first_rule_with_equal_and_opposite_weights() -> None:
    X = plant(200)
    X = np.column_stack([X, X[:, 4]])
    model = detector(n_components=1).fit(X)
    assert_finite(model, X)
    assert_proved(model)
    expected = np.zeros(P + 1)
    expected[[4, 5]] = np.sqrt(0.5), -np.sqrt(0.5)
    assert np.abs(model.components_[0] - expected).max() <= 1e-15
    assert spe(model, X).max() <= 1e-30
    assert (model.predict(X) == 1).all()
    # x4 - x5 = 1e-6 has never been seen: rounding cannot explain it.
    X[0, 5] += 1e-6
    assert model.predict(X)[:2].tolist() == [-1, 1]


@pytest.mark.parametrize("alpha", [0.0, 0.001, "auto"])
def test_breaking_an_exact_dependence_scores_far_above_everything(alpha: float | str) -> None:
    rng = np.random.default_rng(1)
    a, c, e = rng.normal(size=(3, 300))
    X = np.column_stack([a, c, a + c, e])
    model = detector(n_components=1, alpha=alpha).fit(X)
    assert_finite(model, X)
    assert_proved(model)
    assert np.flatnonzero(model.components_[0]).tolist() == [0, 1, 2]
    broken = X[:5].copy()
    broken[:, 2] += 2.0
    normal = spe(model, X)
    assert spe(model, broken).min() > 20 * normal.max()
    assert spe(model, broken).min() > 20 * model.threshold_
    if alpha == 0.0:
        # Nothing is traded for sparsity: the rule holds to rounding, and a hundred-thousandth of a spread breaks it.
        broken[:, 2] = X[:5, 2] + 1e-5
        assert normal.max() <= 1e-29
        assert (model.predict(X) == 1).all()
        assert spe(model, broken).min() > 100 * model.threshold_


@pytest.mark.parametrize("offset", [0.0, 1000.0])
@pytest.mark.parametrize("spread", [1e-6, 1e-7, 1e-8, 3e-9, 1e-9, 1e-10, 1e-12, 1e-14, 1e-16])
def test_rules_tighter_than_a_covariance_can_show_raise_no_alarm_among_normal_rows(
    spread: float, offset: float
) -> None:
    """Below 1e-8 a spread is lost in the rounding of variances; the threshold must not be that rounding."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        a, c = rng.normal(size=(2, 500))
        X = np.column_stack([a, c, a + spread * rng.normal(size=500)]) + offset
        model = detector(n_components=1).fit(X)
        assert np.flatnonzero(model.components_[0]).tolist() == [0, 2]
        assert (model.predict(X) == -1).mean() <= 0.06
        X[0, 2] += 1e-4
        assert model.predict(X)[0] == -1


@pytest.mark.parametrize("digits", ["float32", "ten decimals"])
def test_a_copy_with_fewer_digits_raises_no_alarm_among_normal_rows(digits: str) -> None:
    a, c = np.random.default_rng(4).normal(size=(2, 500))
    b = a.astype(np.float32) if digits == "float32" else np.round(1.8 * a + 32, 10)
    X = np.column_stack([a, b, c])
    model = detector(n_components=1).fit(X)
    assert (model.predict(X) == -1).mean() <= 0.06


# ---- rows


def test_fewer_rows_than_columns_leave_a_null_space_that_is_found() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(4, 9))
    auto = detector().fit(X)
    assert_finite(auto, X)
    assert_proved(auto)
    assert auto.n_components_ >= 9 - 3
    # Without a penalty the null space itself: training rows score zero, to rounding; another row does not.
    model = detector(n_components=6, alpha=0.0).fit(X)
    assert_proved(model)
    assert spe(model, X).max() <= 1e-29
    assert model.predict(X).tolist() == [1] * 4
    assert (model.predict(rng.normal(size=(20, 9))) == -1).all()


def test_two_rows_span_one_direction_and_all_others_are_rules() -> None:
    X = plant(200)[:2]
    model = detector(alpha=0.0).fit(X)
    assert_finite(model, X)
    assert_proved(model)
    assert model.n_components_ == P - 1
    assert model.predict(X).tolist() == [1, 1]
    # On the line through both rows nothing is wrong; off it everything is.
    assert model.predict([X[0] + 3 * (X[1] - X[0])]).tolist() == [1]
    assert model.predict([X[0] + [0, 0, 0, 0, 0.1]]).tolist() == [-1]
    for alpha in ("auto", 1e-3, 10.0):
        sparse = detector(alpha=alpha).fit(X)
        assert_finite(sparse, X)
        assert_proved(sparse)


@pytest.mark.parametrize("variant", ["B", "BG", "F", "FG"])
def test_identical_rows_make_every_feature_a_rule_in_order(variant: str) -> None:
    X = np.repeat([[0.1, -3.0, 1e10, 7e-5]], 6, axis=0)
    model = detector(variant=variant).fit(X)
    assert_finite(model, X)
    assert_proved(model)
    assert model.components_.tolist() == np.eye(4).tolist()
    assert (spe(model, X) == 0.0).all()
    assert (model.predict(X) == 1).all()
    # The last digit of a value is no anomaly, a thousandth of it is one.
    assert model.predict(np.nextafter(X[:1], np.inf)).tolist() == [1]
    assert model.predict(X[:1] * 1.001).tolist() == [-1]


@pytest.mark.parametrize("scaling", SCALINGS)
def test_one_feature_is_scored_by_its_distance_from_the_mean(scaling: str) -> None:
    X = plant(200)[:, :1]
    model = detector(scaling=scaling).fit(X)
    assert_finite(model, X)
    assert_proved(model)
    assert model.components_.tolist() == [[1.0]]
    centred = X[:, 0] - X[:, 0].mean()
    unit = {"maxabs": np.abs(centred).max(), "standard": centred.std(), "none": 1.0}[scaling]
    assert np.abs(spe(model, X) - (centred / unit) ** 2).max() <= 1e-12 * (centred / unit).max() ** 2
