"""`ASPCA(lift="auto")`: components of lifted columns judge, explain and are stored like any others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

import aspca
from aspca import ASPCA, JobError, Moments, PerCategory, Preprocessor
from aspca.model_file.json_text import ModelFileError, seal
from zoo import with_gaps

NAMES = ("wage", "log(wage)", "wage^2", "tenure", "tenure^2", "tenursq", "tenursq^2", "lwage", "lwage^2")
BY_HAND = {"lift": "auto", "n_components": 2}


@pytest.fixture(scope="module")
def wages() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    tenure = rng.integers(0, 31, 300).astype(float)
    wage = np.round(np.exp(1.2 + 0.02 * tenure + 0.5 * rng.normal(size=300)), 2)
    return pd.DataFrame({"wage": wage, "tenure": tenure, "tenursq": tenure**2, "lwage": np.log(wage)})


@pytest.fixture(scope="module")
def fitted(wages: pd.DataFrame) -> ASPCA:
    return ASPCA.paper(**BY_HAND).fit(wages)


def lifted(table: pd.DataFrame) -> np.ndarray:
    columns = {f"{name}^2": table[name] ** 2 for name in table} | {name: table[name] for name in table}
    columns["log(wage)"] = np.log(table["wage"])
    return np.column_stack([columns[name] for name in NAMES])


@pytest.mark.parametrize("score", ["spe", "standardized"])
def test_scores_are_the_papers_on_lifted_rows(score: str, wages: pd.DataFrame) -> None:
    model = ASPCA.paper(**BY_HAND, score=score, scaling="standard").fit(wages)
    assert model.model_.names == NAMES
    assert model.components_.shape == (2, len(NAMES))
    assert model.n_features_in_ == 4
    assert list(model.get_feature_names_out()) == ["aspca0", "aspca1"]
    assert model.subspace_.verify(model.covariance_)
    rows = lifted(wages)
    Z = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    assert np.abs(model.covariance_ - Z.T @ Z / len(Z)).max() < 1e-12
    # Rows that break what was learned, so that there is something to compare.
    bad = wages.assign(tenursq=wages["tenursq"] + 50.0, lwage=wages["lwage"] - 0.5)
    broken = (lifted(bad) - rows.mean(axis=0)) / rows.std(axis=0)
    projections = broken @ model.components_.T
    assert np.allclose(model.transform(bad), projections, atol=1e-12)
    if score == "spe":
        assert np.allclose(-model.score_samples(bad), (projections**2).sum(axis=1), rtol=1e-9)
    why = model.explain(bad)
    assert np.allclose(why.rule_contributions.sum(axis=1), why.scores)
    assert np.allclose(why.feature_contributions.sum(axis=1), why.scores)


def test_rules_and_reasons_speak_of_the_columns(fitted: ASPCA, wages: pd.DataFrame) -> None:
    assert [str(rule) for rule in fitted.rules_] == ["log(wage) = lwage (exactly)", "tenure^2 = tenursq (exactly)"]
    bad = wages.copy()
    bad.loc[7, ["tenure", "tenursq"]] = [12.0, 196.0]
    bad.loc[9, ["tenure", "tenursq"]] = [12.0, 150.0]
    bad.loc[11, "wage"] = -3.0
    assert (fitted.predict(bad) == -1).nonzero()[0].tolist() == [7, 9, 11]
    why = fitted.explain(bad)
    assert why.needed(7, 1) == {"tenure": 14.0, "tenursq": 144.0}
    # No whole number of years has this square.
    assert why.needed(9, 1) == {"tenure": None, "tenursq": 144.0}
    assert "tenure 14 (not 12) or tenursq 144 (not 196)" in why.text(7)
    assert "(not -3)" in why.text(11)
    lines = why.to_frame()
    assert set(lines["feature"]) <= set(wages.columns)
    assert lines[(lines["row"] == 7) & (lines["feature"] == "tenure")]["value"].tolist() == [12.0]


def test_what_a_rule_leaves_open_is_not_proposed() -> None:
    """A column twice in a rule, and a square of a column of both signs."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=300)
    both = pd.DataFrame({"x": x, "y": x**2})
    model = ASPCA.paper(lift="auto", n_components=1).fit(both)
    assert str(model.rules_[0]) == "x^2 = y (exactly)"
    assert model.explain(both.assign(y=both["y"] + 1.0)).needed(0, 0)["x"] is None
    x = np.append(0.0, np.abs(x))
    twice = pd.DataFrame({"x": x, "y": x**2 + 2 * x})
    model = ASPCA.paper(lift="auto", n_components=1, variant="G").fit(twice)
    assert str(model.rules_[0]) == "y = 2 x + x^2 (exactly)"
    bad = twice.assign(y=twice["y"] + 1.0)
    needed = model.explain(bad).needed(0, 0)
    assert needed["x"] is None
    assert needed["y"] == pytest.approx(twice["y"][0])


def test_any_row_can_be_judged(fitted: ASPCA, wages: pd.DataFrame) -> None:
    odd = pd.DataFrame({"wage": [0.0, -5.0, 1e150], "tenure": [1.0, -1e150, 2.0], "tenursq": 1.0, "lwage": 1.0})
    assert np.isfinite(fitted.score_samples(odd)).all()
    assert (fitted.predict(odd) == -1).all()
    with pytest.raises(ValueError, match="'wage'"):
        fitted.predict(wages.assign(wage=np.nan))
    with pytest.raises(ValueError, match="'wage'"):
        ASPCA.paper(**BY_HAND).fit(wages.assign(wage=np.inf))


@pytest.mark.parametrize("prepared", [False, True])
@pytest.mark.parametrize("options", [{}, {"private": True}, {"moments": False}])
def test_stored_and_read_it_is_the_same(
    prepared: bool, options: dict[str, bool], wages: pd.DataFrame, tmp_path: Path
) -> None:
    table = wages.assign(kind=np.where(wages["tenure"] > 9, "old", "new")) if prepared else wages
    model = ASPCA.paper(**BY_HAND, preprocessor=Preprocessor() if prepared else None).fit(table)
    path = tmp_path / "model.json"
    aspca.save(model, path, **options)
    again = aspca.load(path)
    assert again.get_params()["lift"] == "auto"
    assert again.model_.names == model.model_.names
    assert set(NAMES) <= set(again.model_.names)
    assert again.model_.preparation == model.model_.preparation
    bad = table.assign(tenursq=table["tenursq"] + 7.0)
    assert np.array_equal(again.score_samples(bad), model.score_samples(bad))
    assert np.array_equal(again.components_, model.components_)
    assert [str(rule) for rule in again.rules_] == [str(rule) for rule in model.rules_]
    assert again.explain(bad).text(3) == model.explain(bad).text(3)
    # And once more.
    aspca.save(again, tmp_path / "again.json", **options)
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


def test_a_file_with_lifts_that_nobody_asked_for_is_refused(fitted: ASPCA, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    aspca.save(fitted, path)
    for change, sentence in (
        (lambda c: c["settings"].update(lift=None), "preparation"),
        (lambda c: c["settings"].update(lift="all"), "settings.lift"),
        (lambda c: c["preparation"]["columns"][0].update(lifts=["log", "log"]), "lifts"),
        (lambda c: c["preparation"]["columns"][0].update(lifts=["cube"]), "lifts"),
        (lambda c: c["preparation"]["columns"][0].update(kind="boolean"), "lifts"),
    ):
        content = json.loads(path.read_text())
        content.pop("checksum")
        change(content)
        (tmp_path / "changed.json").write_bytes(seal(content))
        with pytest.raises(ModelFileError, match=sentence):
            aspca.load(tmp_path / "changed.json")


def test_a_file_is_judged_by_a_lifted_model(fitted: ASPCA, wages: pd.DataFrame, tmp_path: Path) -> None:
    bad = wages.assign(tenursq=wages["tenursq"] + 7.0 * (wages.index == 5))
    bad.to_csv(tmp_path / "bad.csv", index=False)
    scored = aspca.score_source(fitted, tmp_path / "bad.csv", tmp_path / "scores.csv")
    assert scored is not None
    written = pd.read_csv(tmp_path / "scores.csv")
    assert np.allclose(written["score"], -fitted.score_samples(bad), atol=1e-12)
    assert written["anomaly"].to_numpy().nonzero()[0].tolist() == [5]


def test_batches_keep_the_first_decision(wages: pd.DataFrame) -> None:
    model = ASPCA.paper(**BY_HAND).partial_fit(wages[:150]).partial_fit(wages[150:])
    whole = ASPCA.paper(**BY_HAND).fit(wages)
    assert model.model_.names == whole.model_.names == NAMES
    assert np.allclose(model.covariance_, whole.covariance_, atol=1e-12)
    with pytest.raises(ValueError, match=r"^Row 1 has the value 0 in column 'wage', .*fit all rows at once\.$"):
        model.partial_fit(wages[:5].assign(wage=[1.0, 0.0, 1.0, 1.0, 1.0]))
    # No batch of a few rows makes squares of what comes later.
    few = ASPCA.paper(lift="auto").partial_fit(wages[["tenure"]][:5] - 9.0).partial_fit(wages[["tenure"]][5:])
    assert few.model_.names == ("tenure",)


def test_a_new_fit_decides_anew(wages: pd.DataFrame) -> None:
    model = ASPCA.paper(**BY_HAND).fit(wages)
    model.fit(wages.assign(wage=wages["wage"] - wages["wage"].mean()))
    assert "log(wage)" not in model.model_.names
    plain = model.set_params(lift=None).fit(wages)
    assert plain.model_.names == tuple(wages.columns)
    assert plain.components_.shape == (2, 4)


def test_moments_cannot_be_lifted(wages: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match=r"^fit_moments takes moments, of which columns cannot be lifted: .*\.$"):
        ASPCA.paper(lift="auto").fit_moments(Moments.from_array(wages))


def test_the_complete_score_refuses_it(wages: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match=r"^lift is for scores of components, standardized or spe, got score="):
        ASPCA(lift="auto").fit(wages)


@pytest.mark.parametrize("job", [aspca.detect, aspca.fit_source])
def test_sources_refuse_it(job: Any, wages: pd.DataFrame) -> None:
    with pytest.raises(JobError, match=r"^lift takes rows at hand: fit them by ASPCA\.paper\(lift=\"auto\"\)"):
        job(wages, lift="auto", preset="paper")


def test_gaps_stay_gaps(wages: pd.DataFrame) -> None:
    gapped = pd.DataFrame(with_gaps(wages.to_numpy(), 0.03), columns=wages.columns)
    model = ASPCA.paper(**BY_HAND, preprocessor=Preprocessor(missing="allow")).fit(gapped)
    assert model.model_.names == NAMES
    rows = model._rows(gapped, reset=False, least=1)
    missing = gapped.isna().to_numpy()
    columns = [feature.column for feature in model.model_.space.features]
    for j, column in enumerate(columns):
        assert np.array_equal(np.isnan(rows[:, j]), missing[:, list(wages.columns).index(column)])
    assert np.isfinite(model.score_samples(gapped)).all()


def test_the_rest_of_the_library_takes_it(wages: pd.DataFrame) -> None:
    robust = ASPCA.paper(**BY_HAND, robust="on").fit(wages.assign(tenursq=wages["tenursq"] + 400 * (wages.index < 3)))
    assert "tenure^2 = tenursq (exactly)" in [str(rule) for rule in robust.rules_]
    chosen = aspca.select(wages, estimator=ASPCA.paper(**BY_HAND), n_components=[1, 2], alphas=[], n_resamples=0)
    assert [one.n_components for one in chosen.over_components] == [1, 2]
    parts = PerCategory("kind", ASPCA.paper(**BY_HAND)).fit(wages.assign(kind=np.where(wages.index < 150, "a", "b")))
    assert {str(rule) for rules in parts.rules_.values() for rule in rules} >= {"tenure^2 = tenursq (exactly)"}
    weighted = ASPCA.paper(**BY_HAND).fit(wages, sample_weight=np.ones(len(wages)))
    assert np.allclose(weighted.components_, ASPCA.paper(**BY_HAND).fit(wages).components_)


def test_a_pipeline_is_explained_by_its_model(wages: pd.DataFrame) -> None:
    pipeline = make_pipeline(MaxAbsScaler(), ASPCA.paper(**BY_HAND)).fit(wages)
    with pytest.raises(ValueError, match=r"^The model at the end of the pipeline lifts the columns .*\.$"):
        aspca.explain(pipeline, wages)
    why = pipeline[-1].explain(pipeline[:-1].transform(wages))
    assert np.array_equal(why.scores, -pipeline.score_samples(wages))
    assert "x1^2 = x2 (exactly)" in [str(rule) for rule in why.rules]
