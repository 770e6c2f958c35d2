"""What `private` and `moments=False` leave out of a file, and what a model then says instead."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from aspca import ASPCA, Preprocessor
from aspca.estimators.stored import load, save
from running.stored_numbers import numbers
from zoo import with_gaps


def loaded(model: ASPCA, folder: Path, **options: bool) -> ASPCA:
    save(model, folder / "model.json", **options)
    return load(folder / "model.json")


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
    assert not kept & (set(-model.score_samples(X)) - {0.0})
    assert not kept & set(model.model_.roundings)
    save(model, tmp_path / "model.json", moments=moments)
    kept = numbers(json.loads((tmp_path / "model.json").read_text()))
    assert set(X[:50].max(axis=0)) <= kept
    assert set(-model.score_samples(X[50:])) <= kept


@pytest.mark.parametrize("n", [81, 200, 201])
def test_no_value_of_a_row_follows_from_tail_models_of_a_private_file(n: int, tmp_path: Path) -> None:
    """Medians, quantiles and knots, in the units of their columns: of 81 and 201 rows these are cells."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4)) @ rng.normal(size=(4, 4)) + 10.0
    X[:, 3] = np.exp(X[:, 3] - 10.0)

    def told(private: bool) -> int:
        save(ASPCA(scaling="standard").fit(X), tmp_path / "model.json", private=private)
        evidence = json.loads((tmp_path / "model.json").read_text())["evidence"]
        found = 0
        for view in evidence["views"]:
            scales, given = view["scales"], view["conditional"]
            for k, j in enumerate(scales["columns"]):
                side, origin, reach = (scales[name][k] for name in ("sides", "origins", "reaches"))
                places = np.array([0.0, given["low"][k], given["high"][k]]) * scales["units"][k] + scales["middles"][k]
                places = np.append(places, scales["floors"][k]) if side else places
                values = origin + side * reach * np.exp(side * places) if side else places
                found += (np.abs(values[:, None] - X[:, j]) < 1e-9).sum()
                tail = evidence["ranges"][k]
                knots = np.array(tail["knots"])
                values = tail["middle"] + tail["unit"] * np.sign(knots) * np.expm1(np.abs(knots))
                found += (np.abs(values[:, None] - X[:, j]) < 1e-9).sum()
        return int(found)

    assert told(private=False) > 50
    assert told(private=True) == 0


def test_largest_sizes_are_blurred_upwards_by_less_than_twice(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(60, 7)) * [1e-140, 1e-9, 0.3, 1.0, 17.0, 1e9, 1e140]
    X[:, 4] = 0.0
    model = ASPCA(n_components=2).fit(X)
    again = loaded(model, tmp_path, private=True)
    exact, raised = model.model_.space.largest, again.model_.space.largest
    assert exact == pytest.approx(np.abs(X).max(axis=0), rel=1e-15)
    assert (raised >= exact).all()
    assert raised[4] == 0.0
    some = exact > 0.0
    assert (0.5 * raised[some] < exact[some]).all()
    assert set(np.frexp(raised[some])[0]) == {0.5}
    # And again is no more.
    save(again, tmp_path / "again.json")
    assert load(tmp_path / "again.json").model_.space.largest.tolist() == raised.tolist()


def test_a_private_model_can_be_calibrated_and_checked(fitted: ASPCA, table: pd.DataFrame, tmp_path: Path) -> None:
    model = loaded(fitted, tmp_path, private=True)
    with pytest.raises(ValueError, match="call calibrate"):
        model.p_values(table)
    model.calibrate(table[150:])
    np.testing.assert_allclose(model.p_values(table), fitted.p_values(table), atol=0.05)
    assert model.threshold_ == pytest.approx(fitted.threshold_, rel=0.15)
    assert [str(rule) for rule in model.rules_] == [str(rule) for rule in fitted.rules_]


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


COVARIANCE = r"^This model was saved with moments=False, so it does not hold the covariance .* or fit again\.$"
FURTHER = r"^This model was saved without all of its moments \(moments=False or private=True\), .* or fit again\.$"


@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize(
    ("use", "sentence"),
    [
        (lambda model, X: model.covariance_, COVARIANCE),
        (lambda model, X: model.explained_variance_, COVARIANCE),
        (lambda model, X: model.partial_fit(X), FURTHER),
    ],
)
def test_what_needs_the_moments_says_so(
    use: Callable[[ASPCA, pd.DataFrame], object],
    sentence: str,
    private: bool,
    fitted: ASPCA,
    table: pd.DataFrame,
    tmp_path: Path,
) -> None:
    model = loaded(fitted, tmp_path, moments=False, private=private)
    with pytest.raises(ValueError, match=sentence):
        use(model, table)
    # What is not there has no attribute, and the model is as it was.
    assert not hasattr(model, "moments_")
    # A private file tells quantiles of columns in coarse steps.
    np.testing.assert_allclose(
        model.score_samples(table), fitted.score_samples(table), rtol=0.15 if private else 0.0, atol=0.1 * private
    )


def test_a_private_model_knows_its_covariance_but_learns_no_more(
    fitted: ASPCA, table: pd.DataFrame, tmp_path: Path
) -> None:
    model = loaded(fitted, tmp_path, private=True)
    assert np.array_equal(model.covariance_, fitted.covariance_)
    assert np.array_equal(model.explained_variance_, fitted.explained_variance_)
    with pytest.raises(ValueError, match=FURTHER):
        model.partial_fit(table)
    assert not hasattr(model, "moments_")
    np.testing.assert_allclose(model.score_samples(table), fitted.score_samples(table), rtol=0.15, atol=0.1)


def test_rows_with_gaps_need_no_moments(table: pd.DataFrame, tmp_path: Path) -> None:
    gapped = pd.DataFrame(with_gaps(table.to_numpy(), 0.05), columns=table.columns)
    prepared = Preprocessor(missing="allow")
    model = ASPCA(n_components=3, preprocessor=prepared).fit(gapped)
    for options in ({}, {"private": True}, {"moments": False}):
        again = loaded(model, tmp_path, **options)
        coarse = 0.15 if options.get("private") else 0.0
        np.testing.assert_allclose(
            again.score_samples(gapped), model.score_samples(gapped), rtol=coarse, atol=0.5 * coarse
        )
        with pytest.raises(ValueError, match=r"does not keep what partial_fit needs|without all of its moments"):
            again.partial_fit(gapped)
    for score in ("standardized", "spe"):
        plain = ASPCA(n_components=3, score=score, preprocessor=prepared).fit(gapped)
        again = loaded(plain, tmp_path, moments=False, private=True)
        assert np.array_equal(again.score_samples(gapped), plain.score_samples(gapped))
        assert np.array_equal(again.model_.gaps.missing, np.isnan(gapped).sum(axis=0))


@pytest.mark.parametrize(("score", "options"), [("spe", {"private": True}), ("standardized", {})])
def test_no_moments_make_a_wide_file_small(score: str, options: dict[str, bool], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 100))
    X[:, 1] = X[:, 0]
    model = ASPCA(n_components=1, alpha=0.01, score=score).fit(X)
    save(model, tmp_path / "whole.json", **options)
    save(model, tmp_path / "small.json", moments=False, **options)
    # 5050 numbers against a handful per feature.
    assert (tmp_path / "whole.json").stat().st_size > 5 * (tmp_path / "small.json").stat().st_size
    assert np.array_equal(load(tmp_path / "small.json").score_samples(X), model.score_samples(X))
