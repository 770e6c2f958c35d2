"""`aspca.fit_source` is `ASPCA.fit` of a table wherever it is: an estimator that scores, explains and is saved."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import aspca
from aspca import ASPCA, Preprocessor
from aspca.settings import DEFAULTS

RNG = np.random.default_rng(1)
A = RNG.normal(size=500)
FRAME = pd.DataFrame(
    {"a": A, "b": 2 * A + 0.01 * RNG.normal(size=500), "c": RNG.normal(size=500), "kind": ["u", "v"] * 250}
)
NUMBERS = FRAME[["a", "b", "c"]]


def same(model: ASPCA, other: ASPCA, rows: object) -> None:
    assert [str(rule) for rule in model.rules_] == [str(rule) for rule in other.rules_]
    np.testing.assert_allclose(model.score_samples(rows), other.score_samples(rows), rtol=1e-9)
    np.testing.assert_array_equal(model.predict(rows), other.predict(rows))
    assert model.get_params(deep=False) == other.get_params(deep=False) or model.preprocessor is not None


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"robust": "on"},
        {"level": 0.99},
        {"limit": "quantile"},
        {"preset": "paper"},
        {"rules": ["b = 2 a"]},
    ],
    ids=str,
)
def test_it_is_the_fit_of_its_rows(options: dict[str, object]) -> None:
    parameters = {name: value for name, value in options.items() if name in DEFAULTS}
    expected = (ASPCA.paper() if "preset" in options else ASPCA(**parameters)).fit(NUMBERS)
    for source in (NUMBERS, pl.from_pandas(NUMBERS).lazy()):
        same(aspca.fit_source(source, **options), expected, NUMBERS)


def test_it_is_an_estimator_like_any_other(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = aspca.fit_source(pl.from_pandas(FRAME).lazy())
    # What was decided stands in the model.
    assert any("kind" in remark for remark in model.model_.reading)
    assert isinstance(model, ASPCA)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    aspca.save(model, tmp_path / "model.json")
    same(aspca.load(tmp_path / "model.json"), model, NUMBERS)
    assert aspca.load(tmp_path / "model.json").model_.reading == model.model_.reading
    why = model.explain(NUMBERS)
    np.testing.assert_allclose(why.scores, -model.score_samples(NUMBERS))
    assert model.subspace_.verify(model.covariance_)
    # And goes on from its moments.
    same(model.partial_fit(NUMBERS), ASPCA().fit(NUMBERS).partial_fit(NUMBERS), NUMBERS)
    with pytest.raises(ValueError, match="should match those that were passed during fit"):
        model.predict(NUMBERS.assign(d=1.0))


def test_an_array_has_no_names(tmp_path: Path) -> None:
    rows = NUMBERS.to_numpy()
    np.save(tmp_path / "rows.npy", rows)
    for source in (rows, rows.tolist(), np.load(tmp_path / "rows.npy", mmap_mode="r")):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = aspca.fit_source(source)
            same(model, ASPCA().fit(rows), rows)
        assert not hasattr(model, "feature_names_in_")
    # Of an array of which a column was left out, the others are known by their names.
    counted = np.column_stack([np.arange(500.0), rows])
    model = aspca.fit_source(counted)
    if model.n_features_in_ == 3:
        assert model.feature_names_in_.tolist() == ["x1", "x2", "x3"]
        assert "x0" in " ".join(model.model_.reading)


def test_preparation_is_the_preprocessors() -> None:
    frame = FRAME.assign(price=np.exp(RNG.normal(size=500)))
    frame.loc[3, "c"] = np.nan
    model = aspca.fit_source(pl.from_pandas(frame).lazy(), categorical="kind", log="price")
    assert isinstance(model.preprocessor, Preprocessor)
    expected = ASPCA(preprocessor=Preprocessor(transforms={"price": "log"}, missing="allow")).fit(frame)
    same(model, expected, frame)


def test_rules_that_do_not_hold_are_warned_of() -> None:
    with pytest.warns(UserWarning, match=r"The rule you gave, b = 2 a \+ 5, does not hold"):
        aspca.fit_source(NUMBERS, rules=["b = 2 a + 5"])


def test_rows_kept_out_are_for_conformal_limits() -> None:
    model = aspca.fit_source(NUMBERS[:300], limit="conformal", calibrate=pl.from_pandas(NUMBERS[300:]).lazy())
    expected = ASPCA(limit="conformal").fit(NUMBERS[:300]).calibrate(NUMBERS[300:])
    assert model.threshold_ == pytest.approx(expected.threshold_, rel=1e-9)


def test_options() -> None:
    names = list(inspect.signature(aspca.fit_source).parameters)
    assert names[0] == "source"
    assert {"id", "query", "engine", "table", "level", "allow_missing"} <= set(names)
    assert not {"output", "scores", "top", "by", "report", "train"} & set(names)
    for options, sentence in (
        ({"by": "kind"}, "fit_source has no option 'by', .*PerCategory"),
        ({"output": "x"}, "fit_source has no option 'output', .*aspca.detect has it"),
        ({"labels": "x"}, "There is no option 'labels'; did you mean 'label'?"),
        ({"level": 2}, "level must be a number between 0 and 1"),
        ({"ignore": "nothing"}, "^ignore: the table has no column 'nothing'"),
    ):
        with pytest.raises(aspca.JobError, match=sentence.replace("?", r"\?")):
            aspca.fit_source(FRAME, **options)
