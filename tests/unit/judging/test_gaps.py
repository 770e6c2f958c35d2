"""Rows with gaps: judged by the rules that can be computed, on the scale of whole rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aspca
from aspca import ASPCA, Preprocessor
from aspca.judging.alarms import few_rows_factor
from aspca.judging.limits import score_limit

NAMES = list("abcdefg")


def rows(n: int, seed: int = 0) -> np.ndarray:
    """Seven features: b = a, d = c + a, f = 2 e, g by itself; each with a noise of its own size."""
    rng = np.random.default_rng(seed)
    a, c, e, g = rng.normal(size=(4, n))
    noise = rng.normal(size=(3, n))
    return np.column_stack([a, a + 0.1 * noise[0], c, c + a + 0.2 * noise[1], e, 2 * e + 0.3 * noise[2], g])


def with_gaps(X: np.ndarray, share: float, seed: int = 1) -> np.ndarray:
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


def fitted(X: np.ndarray | None = None, **options: Any) -> ASPCA:
    model = ASPCA(n_components=3, preprocessor=Preprocessor(missing="allow"), **options)
    return model.fit(pd.DataFrame(rows(400) if X is None else X, columns=NAMES))


def frame(X: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(X, columns=NAMES)


@pytest.mark.parametrize("score", ["whitened", "standardized", "spe"])
def test_whole_rows_are_judged_as_ever(score: str) -> None:
    X = rows(400)
    model, twin = fitted(score=score), ASPCA(n_components=3, score=score).fit(frame(X))
    np.testing.assert_array_equal(model.score_samples(frame(X)), twin.score_samples(frame(X)))
    assert model.threshold_ == twin.threshold_
    # Beside rows with gaps too.
    mixed = X.copy()
    mixed[::2] = with_gaps(X[::2], 0.3)
    np.testing.assert_allclose(model.score_samples(frame(mixed))[1::2], twin.score_samples(frame(X))[1::2], rtol=1e-12)


@pytest.mark.parametrize("score", ["whitened", "standardized", "spe"])
@pytest.mark.parametrize("limit", ["pearson", "quantile", 5.0])
def test_the_score_of_the_rules_that_are_left(score: str, limit: str | float) -> None:
    """Recomputed for every row: the distance in these rules alone, times the limit of all over the limit of these."""
    model = fitted(score=score, limit=limit)
    X = with_gaps(rows(60, 5), 0.2)
    why = model.explain(frame(X))
    whole = model.model_
    V, C, n = whole.loadings, whole.projected, whole.moments.n_rows
    asked = "pearson"

    def limit_of(used: np.ndarray, metric: np.ndarray) -> float:
        inside = C[np.ix_(used, used)]
        variances = np.linalg.eigvals(metric @ inside).real
        found = score_limit(asked, 0.975, variances=np.sort(variances)).value
        return found * (few_rows_factor(used.size, n, 0.975) if score == "whitened" else 1.0)

    def metric(used: np.ndarray) -> np.ndarray:
        inside = C[np.ix_(used, used)]
        if score == "spe":
            return np.eye(used.size)
        return np.linalg.inv(inside if score == "whitened" else np.diag(np.diag(inside)))

    assert 0 < (why.share_of_rules == 0).sum() < 20
    for i, x in enumerate(X):
        sizes = np.abs(V) * np.sqrt(np.diag(whole.covariance))[:, None]
        matters = sizes > 0.1 * np.sqrt(np.diag(C))
        used = np.flatnonzero([not np.isnan(x[column]).any() for column in matters.T])
        assert why.share_of_rules[i] == pytest.approx(used.size / 3)
        if not used.size:
            assert why.scores[i] == 0
            continue
        y = np.array([np.nansum((x - whole.moments.mean) / whole.scale * V[:, k]) for k in used])
        everything = np.arange(3)
        ratio = limit_of(everything, metric(everything)) / limit_of(used, metric(used))
        assert why.scores[i] == pytest.approx(ratio * y @ metric(used) @ y, rel=1e-6)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.floats(0, 0.9), st.sampled_from(["whitened", "standardized", "spe"]))
def test_contributions_sum_to_the_score(seed: int, share: float, score: str) -> None:
    model = fitted(score=score)
    X = with_gaps(3 * rows(30, seed), share, seed)
    why = model.explain(frame(X))
    assert why.used is not None
    for parts in (why.rule_contributions, why.feature_contributions):
        assert (parts >= 0).all()
        np.testing.assert_allclose(parts.sum(axis=1), why.scores, rtol=1e-9, atol=1e-12)
    assert (why.feature_contributions[np.isnan(X)] == 0).all()
    assert (why.rule_contributions[~why.used] == 0).all()
    np.testing.assert_allclose(-model.score_samples(frame(X)), why.scores, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(model.predict(frame(X)) == -1, why.anomalies)
    assert np.isnan(why.deviations[~why.used]).all()
    assert not why.broken[~why.used].any()
    assert all(isinstance(why.text(i), str) for i in range(len(X)))
    why.groups()
    why.incidents()
    assert len(why.signatures) == len(X)


def test_what_is_missing_in_no_rule_does_not_matter() -> None:
    model = fitted()
    X = rows(50, 8)
    unused = np.flatnonzero((model.model_.loadings == 0).all(axis=1))
    assert unused.size
    gapped = X.copy()
    gapped[:, unused] = np.nan
    np.testing.assert_allclose(model.score_samples(frame(gapped)), model.score_samples(frame(X)), rtol=1e-12)


def test_as_many_normal_rows_are_flagged_whatever_is_missing() -> None:
    model = fitted(rows(4000, 1))
    X = with_gaps(rows(40_000, 2), 0.15, 3)
    why = model.explain(frame(X))
    for share in np.unique(why.share_of_rules)[1:]:
        flagged = why.anomalies[why.share_of_rules == share]
        # Nominal 2.5 %; four standard errors either way, and what the shape of the limit leaves.
        assert abs(flagged.mean() - 0.025) < 0.006 + 4 * np.sqrt(0.025 / flagged.size)


def test_an_anomaly_is_found_by_what_is_left_of_it() -> None:
    model = fitted()
    x = rows(1, 9)
    x[0, 1] += 1.0
    x[0, 4] = np.nan
    why = model.explain(frame(x))
    assert why.anomalies[0]
    assert "It was judged by 2 of 3 rules, since e is missing." in why.text(0)
    assert why.to_frame().share_of_rules.iloc[0] == pytest.approx(2 / 3)


def test_fitted_with_gaps() -> None:
    """The planted rules and their spreads come out, though hardly a row is whole."""
    X = with_gaps(rows(2000, 4), 0.2, 5)
    assert (~np.isnan(X)).all(axis=1).mean() < 0.25
    model = fitted(X)
    texts = [str(rule) for rule in model.canonical_rules_]
    for expected, spread in (("a = b", 0.1), ("d = a + c", 0.2), ("f = 2 e", 0.3)):
        (text,) = [text for text in texts if text.startswith(f"{expected} (")]
        assert float(text.partition("± ")[2].rstrip(")")) == pytest.approx(spread, rel=0.15)
    gaps = model.model_.gaps
    assert gaps is not None
    np.testing.assert_array_equal(gaps.missing, np.isnan(X).sum(axis=0))
    assert gaps.converged
    assert gaps.left_out == np.isnan(X).all(axis=1).sum()


def test_batches_with_gaps() -> None:
    X = with_gaps(rows(300, 4), 0.1, 5)
    model = ASPCA(n_components=3, preprocessor=Preprocessor(missing="allow"))
    for part in np.array_split(X, 3):
        model.partial_fit(frame(part))
    np.testing.assert_allclose(model.covariance_, fitted(X).covariance_, rtol=1e-8, atol=1e-12)


def test_files_of_models_with_gaps(tmp_path: Path) -> None:
    X = with_gaps(rows(300, 4), 0.1, 5)
    model = fitted(X)
    for number, (private, moments) in enumerate([(False, True), (True, True), (True, False)]):
        aspca.save(model, tmp_path / f"{number}.json", private=private, moments=moments)
        again = aspca.load(tmp_path / f"{number}.json")
        np.testing.assert_allclose(again.score_samples(frame(X)), model.score_samples(frame(X)), rtol=1e-12)
        assert again.model_.gaps is not None
        np.testing.assert_array_equal(again.model_.gaps.missing, model.model_.gaps.missing)
        assert again.explain(frame(X)).text(7) == model.explain(frame(X)).text(7)
    with pytest.raises(ValueError, match="read from a file, which does not keep what partial_fit needs"):
        again.partial_fit(frame(X))


def test_rules_checked_on_rows_with_gaps() -> None:
    X = rows(400, 4)
    model = fitted(X)
    fresh = rows(4000, 6)
    whole = [rule.widening for rule in model.check_rules(frame(fresh))]
    gapped = [rule.widening for rule in model.check_rules(frame(with_gaps(fresh, 0.1)))]
    np.testing.assert_allclose(gapped, whole, rtol=0.1)


def test_refused_unless_allowed() -> None:
    X = with_gaps(rows(50), 0.05)
    counts = {name: int(count) for name, count in zip(NAMES, np.isnan(X).sum(axis=0), strict=True) if count}
    listed = ", ".join(f"'{name}' \\({count}\\)" for name, count in counts.items())
    with pytest.raises(ValueError, match=f"Values are missing \\(NaN\\) in columns {listed}: fill them"):
        ASPCA(preprocessor=Preprocessor()).fit(frame(X))
    with pytest.raises(ValueError, match="NaN"):
        ASPCA().fit(frame(X))
    with pytest.raises(ValueError, match="Column 'a' has the value inf in row 0; all values must be finite"):
        fitted().predict(frame(np.where(np.arange(7) == 0, np.inf, rows(1))))


def test_choosing_with_gaps() -> None:
    """What is chosen from rows with gaps is what is fitted to them."""
    X = frame(with_gaps(rows(400), 0.05))
    estimator = ASPCA(preprocessor=Preprocessor(missing="allow"))
    found = aspca.select(X, estimator=estimator, n_components=[2, 3], alphas=[0.01], n_resamples=2)
    model = ASPCA(n_components=found.chosen.n_components, alpha=found.chosen.alpha, preprocessor=estimator.preprocessor)
    model.fit(X)
    assert found.chosen.l1 == pytest.approx(np.abs(model.components_).sum(), rel=1e-9)
    assert found.chosen.stability is not None
