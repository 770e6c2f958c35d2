"""Rows with gaps: judged by all that the observed cells say, on the scale of whole rows."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aspca
import twins
from aspca import ASPCA, Preprocessor
from zoo import with_gaps

NAMES = list("abcdefg")
SCORES = ["complete", "standardized", "spe"]


def rows(n: int, seed: int = 0) -> np.ndarray:
    """Seven features: b = a, d = c + a, f = 2 e, g by itself; each with a noise of its own size."""
    rng = np.random.default_rng(seed)
    a, c, e, g = rng.normal(size=(4, n))
    noise = rng.normal(size=(3, n))
    return np.column_stack([a, a + 0.1 * noise[0], c, c + a + 0.2 * noise[1], e, 2 * e + 0.3 * noise[2], g])


def fitted(X: np.ndarray | None = None, **options: Any) -> ASPCA:
    model = ASPCA(n_components=3, preprocessor=Preprocessor(missing="allow"), **options)
    return model.fit(pd.DataFrame(rows(400) if X is None else X, columns=NAMES))


@cache
def usual(**options: Any) -> ASPCA:
    return fitted(**options)


def frame(X: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(X, columns=NAMES)


@pytest.mark.parametrize("score", SCORES)
def test_whole_rows_are_judged_as_ever(score: str) -> None:
    X = rows(400)
    model, twin = usual(score=score), ASPCA(n_components=3, score=score).fit(frame(X))
    np.testing.assert_array_equal(model.score_samples(frame(X)), twin.score_samples(frame(X)))
    assert model.threshold_ == twin.threshold_
    # Beside rows with gaps too.
    mixed = X.copy()
    mixed[::2] = with_gaps(X[::2], 0.3)
    np.testing.assert_array_equal(model.score_samples(frame(mixed))[1::2], twin.score_samples(frame(X))[1::2])


@pytest.mark.parametrize("score", ["standardized", "spe"])
def test_scores_over_components_take_those_that_are_left(score: str) -> None:
    """Recomputed for every row: the squares of these, times what all are on average over what these are."""
    model = usual(score=score)
    X = with_gaps(rows(60, 5), 0.2)
    why = model.explain(frame(X))
    V, variances = model.model_.table.loadings, np.diag(model.model_.table.covariance)
    units = np.ones(3) if score == "spe" else 1.0 / variances
    assert (why.share_of_rules == 0).sum() > 0
    for i, x in enumerate(X):
        used = np.flatnonzero([not np.isnan(x[loading != 0]).any() for loading in V.T])
        assert why.share_of_rules[i] == pytest.approx(used.size / 3)
        y = np.nan_to_num(twins.scaled(model.model_, x)) @ V[:, used]
        factor = (units * variances).sum() / (units * variances)[used].sum() if used.size else 1.0
        assert why.scores[i] == pytest.approx(factor * (units[used] * y**2).sum(), rel=1e-6)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.floats(0, 0.9), st.sampled_from(SCORES))
def test_contributions_sum_to_the_score(seed: int, share: float, score: str) -> None:
    model = usual(score=score)
    X = with_gaps(3 * rows(30, seed), share, seed)
    why = model.explain(frame(X))
    known = ~np.isnan(why.deviations)
    assert why.share_of_rules == pytest.approx(known.mean(axis=1))
    for parts, rest in ((why.rule_contributions, why.outside), (why.feature_contributions, 0.0)):
        assert (parts >= 0).all()
        np.testing.assert_allclose(parts.sum(axis=1) + rest, why.scores, rtol=1e-9, atol=1e-12)
    assert (why.outside >= 0).all()
    assert (why.feature_contributions[np.isnan(X)] == 0).all()
    assert (why.rule_contributions[~known] == 0).all()
    np.testing.assert_array_equal(-model.score_samples(frame(X)), why.scores)
    np.testing.assert_array_equal(model.predict(frame(X)) == -1, why.anomalies)
    assert not why.broken[~known].any()
    assert all(isinstance(why.text(i), str) for i in range(len(X)))
    groups, incidents = why.groups(), why.incidents()
    for found in (groups, incidents):
        assert sorted(row for one in found for row in one.rows) == np.flatnonzero(why.anomalies).tolist()
    assert len(why.signatures) == len(X)
    # A row of which nothing is known has nothing said against it.
    assert (why.scores[np.isnan(X).all(axis=1)] == 0).all()


def test_no_more_normal_rows_are_flagged_whatever_is_missing() -> None:
    model = fitted(rows(4000, 1))
    X = with_gaps(rows(40_000, 2), 0.15, 3)
    why = model.explain(frame(X))
    for share in np.unique(why.share_of_rules)[1:]:
        flagged = why.anomalies[why.share_of_rules == share]
        # Nominal 2.5 %, and half of it where rules cannot be broken; four standard errors either way, and a little.
        slack = 0.006 + 4 * np.sqrt(0.025 / flagged.size)
        assert 0.0125 - slack < flagged.mean() < 0.025 + slack


def test_an_anomaly_is_found_by_what_is_left_of_it() -> None:
    model = usual()
    x = rows(1, 9)
    x[0, 1] += 1.0
    x[0, 4] = np.nan
    why = model.explain(frame(x))
    assert why.anomalies[0]
    assert "It was judged by 2 of 3 rules, since e is missing." in why.text(0)
    assert why.to_frame().share_of_rules.iloc[0] == pytest.approx(2 / 3)


def test_a_tight_relation_that_no_rule_names_is_seen_where_its_rule_is_lost() -> None:
    """a = b and d = c + a; with a missing neither can be computed, but d = c + b still tells."""
    model, x = usual(), rows(200, 8)
    x[:, 0] = np.nan
    broken = x.copy()
    broken[:, 3] += 1.5
    assert np.median(-model.score_samples(frame(broken))) > 4 * np.median(-model.score_samples(frame(x)))
    assert (model.predict(frame(broken)) == -1).mean() > 0.9


def test_fitted_with_gaps() -> None:
    """The planted rules and their spreads come out, though hardly a row is whole."""
    X = with_gaps(rows(2000, 4), 0.2, 5)
    assert (~np.isnan(X)).all(axis=1).mean() < 0.25
    model = fitted(X)
    texts = [str(rule) for rule in model.rules_]
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
    with pytest.raises(ValueError, match="Row 0 has the value inf in column 'a'; all values must be finite"):
        usual().predict(frame(np.where(np.arange(7) == 0, np.inf, rows(1))))


def test_choosing_with_gaps() -> None:
    """What is chosen from rows with gaps is what is fitted to them."""
    X = frame(with_gaps(rows(400), 0.05))
    estimator = ASPCA(preprocessor=Preprocessor(missing="allow"))
    found = aspca.select(X, estimator=estimator, n_components=[2, 3], alphas=[0.01], n_resamples=2)
    model = ASPCA(n_components=found.chosen.n_components, alpha=found.chosen.alpha, preprocessor=estimator.preprocessor)
    model.fit(X)
    assert found.chosen.l1 == pytest.approx(np.abs(model.components_).sum(), rel=1e-9)
    assert found.chosen.stability is not None
