"""A loaded model is the saved one, bit for bit."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aspca import ASPCA, Moments, TiedSubspaceWarning
from aspca.estimators.stored import load, save
from aspca.identities import Identity
from aspca.model.model import Model
from aspca.model_file.bounds import BOUNDS
from aspca.model_file.contents import OMITTED, Contents
from aspca.model_file.model_file import read_model, write_model
from aspca.settings import BY_NAME, SCORES

VARIANTS = ("F", "B", "FG", "BG", "G")
LIMITS = ("auto", "quantile", "conformal", 0.25)


def saved_and_loaded(model: ASPCA, **options: bool) -> ASPCA:
    with tempfile.TemporaryDirectory() as folder:
        save(model, Path(folder) / "model.json", **options)
        return load(Path(folder) / "model.json")


def bits(array: Any) -> bytes:
    return np.ascontiguousarray(array, dtype=np.float64).tobytes()


def rule_facts(rule: Any) -> Iterator[Any]:
    yield str(rule)
    yield from (rule.features, rule.spread, rule.limit, rule.exact, rule.widening, rule.sparsest, rule.certificate)
    if isinstance(rule, Identity):
        # Dataclasses and tuples of numbers, which are none of NaN: equal means the same.
        yield from (rule.formula, rule.table, rule.resolutions, rule.tier, rule.n_kept, rule.n_broken)
        yield from (rule.exceptions, rule.written, rule.strict, rule.accuses, rule.columns)
    else:
        yield from (bits(rule.coefficients), bits(rule.means), bits(rule.deviations))


def parameters(model: ASPCA) -> dict[str, Any]:
    """What it was asked for; of a preprocessor, what became of it."""
    found = model.get_params(deep=False)
    return found | ({} if found["preprocessor"] is None else {"preprocessor": model.preprocessor_.plan_})


def assert_same_use(one: ASPCA, other: ASPCA, X: Any, *, coarse: bool = False) -> None:
    """All that any file keeps: parameters, scores, limits, rules, explanations; `coarse`: scores nearly so, by a
    private file, which tells quantiles of columns in coarse steps."""
    assert parameters(one) == parameters(other)
    assert {name: type(value) for name, value in vars(one).items() if name in BY_NAME} == {
        name: type(value) for name, value in vars(other).items() if name in BY_NAME
    }
    assert {*vars(one), "moments_"} == {*vars(other), "moments_"}
    assert one._names() == other._names()
    if coarse:
        assert [str(rule) for rule in one.rules_] == [str(rule) for rule in other.rules_]
        assert one.model_.thresholds.total == other.model_.thresholds.total
        assert np.array_equal(one.model_.thresholds.rules, other.model_.thresholds.rules)
        assert one.model_.thresholds.error == other.model_.thresholds.error
        assert np.isfinite(one.score_samples(X)).all()
        return
    assert bits(one.score_samples(X)) == bits(other.score_samples(X))
    assert np.array_equal(one.transform(X), other.transform(X))
    for name in ("components_", "mean_", "scale_"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    for name in ("alpha_", "n_components_", "n_iter_", "n_features_in_", "certificates_"):
        assert getattr(one, name) == getattr(other, name), name
    assert one.model_.thresholds.total == other.model_.thresholds.total
    assert one.model_.thresholds.error == other.model_.thresholds.error
    for part, names in {
        "table": ("loadings", "covariance", "unresolved", "sparsest"),
        "thresholds": ("rules",),
        "space": ("centre", "residual", "scale", "variances", "nonnegative", "decimals", "n_rows", "weight"),
    }.items():
        for name in names:
            mine, theirs = (getattr(getattr(each.model_, part), name) for each in (one, other))
            assert np.array_equal(mine, theirs), (part, name)
    assert [list(rule_facts(r)) for r in one.rules_] == [list(rule_facts(r)) for r in other.rules_]
    why, same = one.explain(X), other.explain(X)
    assert [why.text(i) for i in range(len(X))] == [same.text(i) for i in range(len(X))]
    assert bits(why.feature_contributions) == bits(same.feature_contributions)
    assert bits(why.rule_contributions) == bits(same.rule_contributions)
    assert bits(why.outside) == bits(same.outside)
    assert np.array_equal(why.broken, same.broken)
    assert [repr(repair) for repair in why.repairs.values()] == [repr(repair) for repair in same.repairs.values()]
    if one.model_.thresholds.total is not None:
        assert bits(one.decision_function(X)) == bits(other.decision_function(X))
        assert np.array_equal(one.predict(X), other.predict(X))


def assert_same_model(one: ASPCA, other: ASPCA, X: Any) -> None:
    assert_same_use(one, other, X)
    assert vars(one).keys() == vars(other).keys()
    assert bits(one.covariance_) == bits(other.covariance_)
    assert bits(one.explained_variance_) == bits(other.explained_variance_)
    assert bits(one.model_.space.largest) == bits(other.model_.space.largest)
    assert one.moments_.decimals.tolist() == other.moments_.decimals.tolist()
    for name in ("centre", "residual", "scatter", "minimum", "maximum"):
        assert bits(getattr(one.moments_, name)) == bits(getattr(other.moments_, name))
    assert (one.moments_.weight, one.moments_.n_rows) == (other.moments_.weight, other.moments_.n_rows)
    for name in ("sequence", "rotation", "loadings"):
        assert np.array_equal(getattr(one.subspace_, name), getattr(other.subspace_, name))
    assert one.subspace_.certificates == other.subspace_.certificates
    if one.model_.thresholds.calibration is not None:
        assert bits(one.p_values(X)) == bits(other.p_values(X))


@st.composite
def fits(draw: st.DrawFn) -> tuple[ASPCA, pd.DataFrame]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    p, n = draw(st.integers(1, 6)), draw(st.integers(2, 60))
    X = rng.normal(size=(n, p)) @ (rng.normal(size=(p, p)) * (rng.random((p, p)) < 0.6))
    power = draw(st.sampled_from([0, -120, 120, -7]))
    X = X * 10.0**power + draw(st.sampled_from([0.0, 1e10, -3.0]))
    if draw(st.booleans()):
        X[:, -1] = X[:, 0]
    if draw(st.booleans()):
        X[:, 0] = draw(st.sampled_from([0.0, -0.0, 0.1, 1e20]))
    names = draw(st.lists(st.text(max_size=8), min_size=p, max_size=p, unique=True))
    model = ASPCA(
        n_components=draw(st.sampled_from(["auto", *range(1, p + 1)])),
        alpha=draw(st.sampled_from(["auto", 0] if power > 0 else ["auto", 0, 0.05, 1e-9])),
        variant=draw(st.sampled_from(VARIANTS)),
        rounding=draw(st.sampled_from(["sparse", "dominant"])),
        scaling=draw(st.sampled_from(["maxabs", "standard", "none"])),
        score=draw(st.sampled_from(SCORES)),
        contamination=draw(st.sampled_from(["auto", "auto", 0.1])),
        limit=draw(st.sampled_from(LIMITS)),
        level=draw(st.sampled_from([0.975, 0.5])),
        time_budget=draw(st.sampled_from([None, float("inf"), 5])),
    )
    frame = pd.DataFrame(X, columns=names)
    weights = rng.integers(0, 3, size=n) if draw(st.booleans()) else None
    if weights is not None:
        weights[:2] = 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TiedSubspaceWarning)
        model.fit(frame, sample_weight=weights)
    if model.model_.settings.total[0] == "conformal" and draw(st.booleans()):
        model.calibrate(frame)
    if draw(st.booleans()):
        model.check_rules(frame)
    return model, frame


# Asked for after the fit, components may tie then.
@pytest.mark.filterwarnings("ignore::aspca.TiedSubspaceWarning")
@given(fits())
@settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_a_loaded_model_is_the_saved_one(case: tuple[ASPCA, pd.DataFrame]) -> None:
    model, frame = case
    assert_same_model(saved_and_loaded(model), model, frame)


@pytest.mark.filterwarnings("ignore::aspca.TiedSubspaceWarning")
@given(fits(), st.booleans(), st.booleans())
@settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_what_is_left_out_changes_no_score_or_sentence(
    case: tuple[ASPCA, pd.DataFrame], private: bool, moments: bool
) -> None:
    model, frame = case
    coarse = private and model.model_.evidence is not None
    assert_same_use(saved_and_loaded(model, private=private, moments=moments), model, frame, coarse=coarse)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"private": True},
        {"private": True, "moments": False},
        {"moments": False},
    ],
)
def test_a_second_file_is_the_first(options: dict[str, bool], fitted: ASPCA, tmp_path: Path) -> None:
    save(fitted, tmp_path / "one.json", **options)
    # What the first file left out stays out, asked for or not.
    save(load(tmp_path / "one.json"), tmp_path / "two.json")
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()


def test_names_given_by_hand_are_still_taken_on_trust(table: pd.DataFrame) -> None:
    moments = Moments.from_array(table)
    model = ASPCA(n_components=3).fit_moments(moments, feature_names=table.columns)
    loaded = saved_and_loaded(model)
    assert_same_model(loaded, model, table)
    # Rows without names raise no warning, which would be an error here.
    assert bits(loaded.score_samples(table.to_numpy())) == bits(model.score_samples(table.to_numpy()))


def test_numpy_parameters_become_plain_ones(table: pd.DataFrame) -> None:
    model = ASPCA(n_components=np.int64(3), alpha=np.float64(0.01), max_iter=np.int32(4000), tol=np.float32(1e-4))
    model.fit(table)
    loaded = saved_and_loaded(model)
    assert loaded.get_params() == model.get_params()
    assert type(loaded.n_components) is int
    assert type(loaded.tol) is float


def test_limits_that_wait_for_rows_still_wait(table: pd.DataFrame) -> None:
    model = ASPCA(n_components=3, limit="conformal").fit_moments(Moments.from_array(table))
    loaded = saved_and_loaded(model)
    with pytest.raises(ValueError, match="calibrate"):
        loaded.predict(table.to_numpy())
    rows = table.to_numpy()
    assert_same_model(loaded.calibrate(rows), model.calibrate(rows), rows)


def test_a_loaded_model_goes_on_learning(fitted: ASPCA, table: pd.DataFrame) -> None:
    loaded = saved_and_loaded(fitted).partial_fit(table[150:])
    anew = ASPCA(**fitted.get_params()).fit_moments(
        Moments.from_array(table[:150]).rounded().update(table[150:]), feature_names=table.columns
    )
    # No multipliers are kept, so the solve starts cold: as a fit to the same moments does.
    assert bits(loaded.score_samples(table)) == bits(anew.score_samples(table))
    assert loaded.subspace_.verify(loaded.covariance_)


def test_a_loaded_model_holds_no_proof(fitted: ASPCA) -> None:
    loaded = saved_and_loaded(fitted)
    verdict = loaded.subspace_.verify(loaded.covariance_)
    assert not verdict
    assert len(verdict.problems) == 1
    assert "not their proof" in verdict.problems[0]
    with pytest.raises(ValueError, match="not their proof"):
        _ = loaded.subspace_.claims


def test_copies_and_pickles_of_loaded_models(fitted: ASPCA, table: pd.DataFrame) -> None:
    for options in ({}, {"private": True}, {"moments": False}):
        loaded = saved_and_loaded(fitted, **options)
        for again in (copy.deepcopy(loaded), pickle.loads(pickle.dumps(loaded))):  # noqa: S301
            assert_same_use(again, fitted, table, coarse="private" in options)


def test_the_file_is_plain_json(fitted: ASPCA, tmp_path: Path) -> None:
    save(fitted, tmp_path / "model.json")
    text = (tmp_path / "model.json").read_bytes().decode("ascii")
    content = json.loads(text)
    assert content["space"]["centre"] == fitted.moments_.centre.tolist()
    assert [column["name"] for column in content["preparation"]["columns"]] == list(fitted.feature_names_in_)
    for column, stored in zip(fitted.components_, content["components"]["loadings"], strict=True):
        assert stored["index"] == np.flatnonzero(column).tolist()
        assert stored["value"] == column[np.flatnonzero(column)].tolist()


def test_a_model_is_read_and_scored_without_scikit_learn(fitted: ASPCA, table: pd.DataFrame, tmp_path: Path) -> None:
    write_model(fitted.model_, tmp_path / "model.json")
    code = (
        "import sys, numpy as np; from aspca.model_file.model_file import read_model; "
        "model = read_model(sys.argv[1]); print(model.score(np.ones((1, 6)))[0].hex()); "
        "assert not {'sklearn', 'pandas'} & set(sys.modules)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "model.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert float.fromhex(done.stdout) == pytest.approx(fitted.model_.score(np.ones((1, 6)))[0], rel=1e-12)
    assert read_model(tmp_path / "model.json").names == fitted.model_.names


def test_no_field_is_forgotten() -> None:
    """A new field of a model must find its place in the file, and what no file holds must be fields."""
    elsewhere = {"moments": "scatter", "table": "rules"}
    held = {field.name for field in fields(Contents)}
    assert {elsewhere.get(field.name, field.name) for field in fields(Model)} <= held
    for named in (OMITTED, BOUNDS):
        for kind, names in named.items():
            known = {field.name for field in fields(kind)} if is_dataclass(kind) else set(kind._fields)
            assert set(names) <= known, kind


def test_only_a_fitted_model_as_it_was_fitted_is_saved(table: pd.DataFrame, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="fitted ASPCA, got dict"):
        save({}, tmp_path / "model.json")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not fitted"):
        save(ASPCA(), tmp_path / "model.json")
    model = ASPCA(n_components=2).fit(table).set_params(level=0.9)
    with pytest.raises(ValueError, match="parameters level were changed after the fit"):
        save(model, tmp_path / "model.json")
    assert list(tmp_path.iterdir()) == []
