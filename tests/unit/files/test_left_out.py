"""What `private` and `moments=False` leave out of a file, and what a model then says instead."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from aspca import ASPCA, Moments
from aspca.estimators.stored import load, save
from aspca.files.encode import blurred


def loaded(model: ASPCA, folder: Path, **options: bool) -> ASPCA:
    save(model, folder / "model.json", **options)
    return load(folder / "model.json")


def numbers(value: Any) -> set[float]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return set().union(*(numbers(entry) for entry in value)) if value else set()
    return {float(value)} if isinstance(value, int | float) and not isinstance(value, bool) else set()


@pytest.mark.parametrize("moments", [True, False])
def test_a_private_file_holds_no_value_of_a_row(moments: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 5)) @ rng.normal(size=(5, 5)) + 10.0
    # Every column its own rule: floors of one feature, which would give away its largest value.
    model = ASPCA(n_components=5, alpha=100.0, scaling="standard", limit="conformal").fit(X[:50]).calibrate(X[50:])
    assert {len(rule.features) for rule in model.rules_} == {1}
    save(model, tmp_path / "model.json", private=True, moments=moments)
    kept = numbers(json.loads((tmp_path / "model.json").read_text()))
    assert not kept & set(X.ravel())
    assert not kept & set(np.abs(X).ravel())
    assert not kept & set(-model.score_samples(X))
    assert not kept & set(model.model_.floors.squares)
    save(model, tmp_path / "model.json", moments=moments)
    kept = numbers(json.loads((tmp_path / "model.json").read_text()))
    assert set(X[:50].max(axis=0)) <= kept
    assert set(-model.score_samples(X[50:])) <= kept


def test_floors_are_blurred_upwards_by_less_than_twice() -> None:
    floors = np.concatenate([[0.0, 5e-324, 1.0, 0.5, 1e308, np.inf], np.random.default_rng(0).random(100) * 1e-20])
    raised = blurred(floors)
    assert (raised >= floors).all()
    finite = np.isfinite(raised) & (floors > 0.0)
    assert (0.5 * raised[finite] < floors[finite]).all()
    assert set(np.frexp(raised[finite])[0]) == {0.5}
    assert np.array_equal(blurred(raised), raised)


def test_a_private_model_can_be_calibrated_and_checked(fitted: ASPCA, table: pd.DataFrame, tmp_path: Path) -> None:
    model = loaded(fitted, tmp_path, private=True)
    with pytest.raises(ValueError, match="call calibrate"):
        model.p_values(table)
    model.calibrate(table[150:])
    assert np.array_equal(model.p_values(table), fitted.p_values(table))
    assert model.threshold_ == fitted.threshold_
    np.testing.assert_allclose(model.t2(table), fitted.t2(table), rtol=1e-9)
    assert [str(rule) for rule in model.canonical_rules_] == [str(rule) for rule in fitted.canonical_rules_]


def test_a_model_without_moments_can_be_calibrated_and_checked(
    fitted: ASPCA, table: pd.DataFrame, tmp_path: Path
) -> None:
    model = loaded(fitted, tmp_path, moments=False)
    again = loaded(fitted, tmp_path)
    for rows in (table[:100], table[100:]):
        found, expected = model.check_rules(rows), again.check_rules(rows)
        assert [rule.widening for rule in found] == [rule.widening for rule in expected]
        model.calibrate(rows)
        again.calibrate(rows)
        assert model.threshold_ == again.threshold_
        assert [rule.limit for rule in model.rules_] == [rule.limit for rule in again.rules_]
        assert np.array_equal(model.predict(table), again.predict(table))


@pytest.mark.parametrize(
    "use",
    [
        lambda model, X: model.t2(X),
        lambda model, X: model.canonical_rules_,
        lambda model, X: model.partial_fit(X),
        lambda model, X: model.moments_.covariance,
        lambda model, X: Moments.from_array(X).merge(model.moments_),
        lambda model, X: model.moments_.merge(model.moments_),
        lambda model, X: np.diag(model.covariance_),
        lambda model, X: model.covariance_.shape,
        lambda model, X: model.covariance_[0],
        lambda model, X: X.to_numpy() @ model.covariance_,
        lambda model, X: model.covariance_ @ X.to_numpy(),
        lambda model, X: len(model.covariance_),
        lambda model, X: ASPCA().fit_moments(model.moments_),
    ],
)
def test_what_needs_the_moments_says_so(
    use: Callable[[ASPCA, pd.DataFrame], object], fitted: ASPCA, table: pd.DataFrame, tmp_path: Path
) -> None:
    model = loaded(fitted, tmp_path, moments=False)
    with pytest.raises(ValueError, match=r"^This model was saved with moments=False, so .* or fit again\.$"):
        use(model, table)
    # It is as it was.
    assert np.array_equal(model.score_samples(table), fitted.score_samples(table))


@pytest.mark.parametrize(
    "use",
    [
        lambda model, X: model.partial_fit(X),
        lambda model, X: Moments.from_array(X).merge(model.moments_),
        lambda model, X: model.moments_.merge(model.moments_),
        lambda model, X: ASPCA().fit_moments(model.moments_),
        lambda model, X: ASPCA(scaling="standard").fit_moments(model.moments_),
        lambda model, X: model.moments_.minimum == model.moments_.maximum,
    ],
)
def test_what_needs_the_extremes_says_so(
    use: Callable[[ASPCA, pd.DataFrame], object], fitted: ASPCA, table: pd.DataFrame, tmp_path: Path
) -> None:
    model = loaded(fitted, tmp_path, private=True)
    with pytest.raises(ValueError, match=r"^This model was saved with private=True, so .* or fit again\.$"):
        use(model, table)
    assert np.array_equal(model.score_samples(table), fitted.score_samples(table))


def test_no_moments_make_a_wide_file_small(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 100))
    X[:, 1] = X[:, 0]
    model = ASPCA(n_components=1, alpha=0.01).fit(X)
    save(model, tmp_path / "whole.json")
    save(model, tmp_path / "small.json", moments=False)
    # 5050 numbers against a handful per feature.
    assert (tmp_path / "whole.json").stat().st_size > 5 * (tmp_path / "small.json").stat().st_size
    assert np.array_equal(load(tmp_path / "small.json").score_samples(X), model.score_samples(X))
