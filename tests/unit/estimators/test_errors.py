"""Every refusal: its type, and one sentence that names the column or value at fault."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from aspca import ASPCA, Moments

pytestmark = pytest.mark.usefixtures("one_thread")


def table(n: int = 60) -> np.ndarray:
    rng = np.random.default_rng(0)
    a, c = rng.normal(size=(2, n))
    return np.column_stack([a, a + 0.1 * rng.normal(size=n), c, rng.normal(size=n)])


def frame(n: int = 60) -> pd.DataFrame:
    return pd.DataFrame(table(n), columns=["alpha", "beta", "gamma", "delta"])


def message(error: type[Exception], act, *given: object, **named: object) -> str:
    """The text of the error, which must be short, in one line and without a dump of the data."""
    with pytest.raises(error) as caught:
        act(*given, **named)
    text = str(caught.value)
    assert len(text) <= 300, f"{len(text)} characters: {text[:80]}"
    assert "\n" not in text.strip()
    assert text.strip().endswith(".")
    return text


ACTS = ["fit", "partial_fit", "score_samples", "predict", "decision_function", "transform", "calibrate"]


def bound(act: str, names: bool):
    """The method of a new estimator for what fits, of a fitted one for what scores."""
    if act in ("fit", "partial_fit"):
        return getattr(ASPCA(n_components=1), act)
    return getattr(ASPCA(n_components=1, contamination=0.1).fit(frame() if names else table()), act)


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_counted_by_column(act: str, value: float) -> None:
    rows = table()
    rows[[3, 9], 2] = value
    text = message(ValueError, bound(act, names=False), rows)
    assert text.startswith("Column 2 has 2 values that are NaN or infinite;")
    named = frame()
    named.loc[5, "beta"] = value
    text = message(ValueError, bound(act, names=True), named)
    assert text.startswith("Column 'beta' has 1 value that is NaN or infinite;")


def test_several_bad_columns_are_counted() -> None:
    rows = table()
    rows[0, 1:] = np.nan
    rows[1, 3] = np.nan
    text = message(ValueError, ASPCA().fit, rows)
    assert text.startswith("Column 1 has 1 value that is NaN or infinite (column 2 has 1, column 3 has 2); ")
    assert 'Preprocessor(missing="allow")' in text


def test_missing_values_of_nullable_columns_are_named() -> None:
    rows = frame().convert_dtypes()
    rows.loc[7, "gamma"] = pd.NA
    assert message(ValueError, ASPCA().fit, rows).startswith("Column 'gamma' has 1 value that is NaN")


@pytest.mark.parametrize("act", ["fit", "score_samples"])
def test_what_is_no_table_of_real_numbers_is_refused(act: str) -> None:
    rows = frame().astype({"gamma": object})
    rows.loc[2, "gamma"] = "three"
    assert "gamma" in message(ValueError, bound(act, names=True), rows)
    # Not even where it looks like numbers: nobody should have to guess.
    for texts in ([["a", "b"], ["c", "d"]], [["1", "2"], ["3", "5"]], np.array([[b"1", b"2"], [b"3", b"4"]])):
        with pytest.raises(ValueError, match=r"string|str\b|text|bytes"):
            bound(act, names=False)(texts)
    assert "omplex" in message(ValueError, bound(act, names=False), table() + 1j)
    for shape in ((60,), (1, 60, 4)):
        message(ValueError, bound(act, names=False), np.zeros(shape))
    for kind in (scipy.sparse.csr_array, scipy.sparse.csc_matrix, scipy.sparse.coo_array):
        text = message(TypeError, bound(act, names=False), kind(table()))
        assert "parse" in text
        assert "toarray" in text


def test_another_number_of_features_is_refused_after_fit_moments_with_names() -> None:
    model = ASPCA(n_components=1).fit_moments(Moments.from_array(table()), list("abcd"))
    text = message(ValueError, model.score_samples, table()[:, :3])
    assert "3 features" in text
    assert "4 features" in text


@pytest.mark.parametrize("act", ["partial_fit", "score_samples", "transform"])
def test_other_feature_names_are_refused_and_named(act: str) -> None:
    # scikit-learn's own sentences, which list the names line by line.
    act = getattr(ASPCA(n_components=1).fit(frame()), act)
    with pytest.raises(ValueError, match=r"(?s)feature names should match.*- omega.*- beta"):
        act(frame().rename(columns={"beta": "omega"}))
    with pytest.raises(ValueError, match="same order"):
        act(frame()[["beta", "alpha", "gamma", "delta"]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        act(table())


def test_names_handed_to_fit_moments_are_compared_too() -> None:
    model = ASPCA(n_components=1).fit_moments(Moments.from_array(table()), list(frame().columns))
    expected = model.score_samples(table())
    assert model.score_samples(frame()).tolist() == expected.tolist()
    with pytest.raises(ValueError, match="same order"):
        model.score_samples(frame()[["beta", "alpha", "gamma", "delta"]])


# ---- parameters


BAD: dict[str, tuple[object, ...]] = {
    "alpha": (-1.0, float("nan"), float("inf"), "small", None),
    "n_components": (0, -3, 5, 2.5, "many", None, True),
    "variant": ("H", None),
    "rounding": ("up",),
    "scaling": ("minmax",),
    "score": ("t2",),
    "contamination": (0.0, 0.51, -0.1, "few", float("nan")),
    "limit": ("3 sigma", -1.0),
    "level": (1.5, "high"),
    "tol": (0.0, 1.0, float("nan"), "tight", None),
    "max_iter": (0, "all", 2.5),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_parameter_is_named_with_its_value(name: str) -> None:
    for value in BAD[name]:
        model = ASPCA(**{name: value})
        for act, given in (
            (model.fit, table()),
            (model.partial_fit, table()),
            (model.fit_moments, Moments.from_array(table())),
        ):
            text = message(ValueError, act, given)
            assert text.startswith(name)
            assert f"got {value!r}" in text


def test_a_bad_parameter_set_after_fitting_leaves_the_model_as_it_was() -> None:
    model = ASPCA(n_components=1).fit(table())
    before = model.score_samples(table())
    model.set_params(n_components=9)
    message(ValueError, model.fit, table())
    message(ValueError, model.partial_fit, table() + 1)
    assert model.score_samples(table()).tolist() == before.tolist()


def test_whole_numbers_of_any_type_are_taken_as_n_components() -> None:
    models = [ASPCA(n_components=n).fit(table()) for n in (2, 2.0, np.int64(2), np.float32(2))]
    assert {model.n_components_ for model in models} == {2}


# ---- rows and weights


def test_too_few_rows_or_features_are_refused_with_their_number() -> None:
    assert "0 sample" in message(ValueError, ASPCA().fit, table()[:0])
    assert "1 sample" in message(ValueError, ASPCA().fit, table()[:1])
    assert "at least 2 rows" in message(ValueError, ASPCA().partial_fit, table()[:1])
    assert "at least 2 rows" in message(ValueError, ASPCA().fit_moments, Moments.from_array(table()[:1]))
    assert "0 feature" in message(ValueError, ASPCA().fit, table()[:, :0])


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.zeros(60), "every row is zero"),
        (np.r_[np.ones(30), -2.0, np.ones(29)], "row 30 is -2.0"),
        (np.r_[np.nan, np.ones(59)], "row 0 is nan"),
        (np.r_[np.ones(59), np.inf], "row 59 is inf"),
        (np.ones(59), "(60,)"),
        (np.ones((60, 1)), "(60,)"),
        (np.eye(60)[0], "at least 2 rows of positive weight"),
        (np.full(60, "1"), "real numbers"),
        (3.0, "(60,)"),
    ],
    ids=["zero", "negative", "nan", "inf", "short", "two-dimensional", "one row", "text", "scalar"],
)
def test_bad_weights_are_refused_with_the_row(weights: object, words: str) -> None:
    for act in (ASPCA().fit, ASPCA().partial_fit):
        assert words in message(ValueError, act, table(), sample_weight=weights)


# ---- the order of calls


def test_an_unfitted_estimator_has_no_fitted_attributes() -> None:
    for name in ("rules_", "certificates_", "components_", "threshold_", "offset_"):
        assert not hasattr(ASPCA(), name)


def test_fit_moments_takes_moments_only() -> None:
    assert "got ndarray" in message(TypeError, ASPCA().fit_moments, table())
    assert "got dict" in message(TypeError, ASPCA().fit_moments, {})
    assert "every row is zero" in message(ValueError, ASPCA().fit_moments, Moments.empty(3))
    text = message(ValueError, ASPCA().fit_moments, Moments.from_array(table()), ["a", "b"])
    assert "2 entries" in text
    assert "4 features" in text


def test_a_failed_fit_moments_leaves_the_model_as_it_was() -> None:
    model = ASPCA(n_components=1).fit(frame())
    before = model.score_samples(frame())
    message(ValueError, model.fit_moments, Moments.from_array(np.ones((1, 3))))
    assert model.score_samples(frame()).tolist() == before.tolist()
    assert list(model.feature_names_in_) == list(frame().columns)


@pytest.mark.parametrize("start", ["fit_moments", "partial_fit"])
def test_a_share_of_rows_needs_a_calibration_pass_which_gives_the_threshold_of_fit(start: str) -> None:
    X = table()
    model = ASPCA(n_components=2, contamination=0.1, score="standardized")
    getattr(model, start)(Moments.from_array(X) if start == "fit_moments" else X)
    assert not hasattr(model, "threshold_")
    for act in (model.predict, model.decision_function):
        text = message(ValueError, act, X)
        assert "contamination=0.1" in text
        assert "calibrate(X)" in text
    # Scores need no threshold.
    whole = ASPCA(n_components=2, contamination=0.1, score="standardized").fit(X)
    assert model.score_samples(X).tolist() == whole.score_samples(X).tolist()
    assert model.calibrate(X).threshold_ == whole.threshold_
    assert model.predict(X).tolist() == whole.predict(X).tolist()
    assert (model.predict(X) == -1).sum() == 6


def test_a_refit_forgets_the_calibration() -> None:
    X = table()
    model = ASPCA(n_components=2, contamination=0.1).fit(X)
    model.partial_fit(X + 5.0)
    assert "calibrate(X)" in message(ValueError, model.predict, X)


def test_there_is_nothing_to_calibrate_where_the_threshold_is_a_number() -> None:
    model = ASPCA(limit=5.0)
    for fitted in (model.fit(table()), model.fit_moments(Moments.from_array(table()))):
        sentence = message(ValueError, fitted.calibrate, table())
        assert sentence.startswith(
            "limit=5.0 needs no rows for its threshold; to calibrate on rows, set contamination to a number or "
            "limit to auto, "
        )


def test_automatic_limits_take_rows_that_were_not_fitted() -> None:
    model = ASPCA(n_components=2).fit_moments(Moments.from_array(table()))
    assert model.threshold_limit_.name == "gaussian"
    before = model.rule_limits_.tolist()
    model.calibrate(table(400)[60:])
    assert model.threshold_limit_.name == "held-out"
    assert model.rule_limits_.tolist() != before
