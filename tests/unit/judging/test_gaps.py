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
from aspca.judging.gaps import GappedScore
from aspca.judging.law import ScoreLaw
from aspca.judging.limits import score_limit
from aspca.judging.metric import metric_of
from aspca.preparation.feature import Feature
from aspca.rules.table import component_table
from zoo import space_of, with_gaps

NAMES = list("abcdefg")
SCORES = ["complete", "whitened", "standardized", "spe"]


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


@pytest.mark.parametrize("alarm", ["any", "total"])
@pytest.mark.parametrize("score", SCORES)
def test_whole_rows_are_judged_as_ever(score: str, alarm: str) -> None:
    X = rows(400)
    model, twin = usual(score=score, alarm=alarm), ASPCA(n_components=3, score=score, alarm=alarm).fit(frame(X))
    np.testing.assert_array_equal(model.score_samples(frame(X)), twin.score_samples(frame(X)))
    assert model.threshold_ == twin.threshold_
    # Beside rows with gaps too.
    mixed = X.copy()
    mixed[::2] = with_gaps(X[::2], 0.3)
    np.testing.assert_array_equal(model.score_samples(frame(mixed))[1::2], twin.score_samples(frame(X))[1::2])


def used_rules(model: ASPCA, x: np.ndarray) -> np.ndarray:
    """The rules without a missing value that moves them by more than a tenth of their spread."""
    table, space = model.model_.table, model.model_.space
    sizes = np.abs(table.loadings) * np.sqrt(np.diag(space.covariance))[:, None]
    matters = sizes > 0.1 * np.sqrt(np.diag(table.covariance))
    return np.flatnonzero([not np.isnan(x[column]).any() for column in matters.T])


@pytest.mark.parametrize("score", ["standardized", "spe"])
@pytest.mark.parametrize("limit", ["pearson", "quantile", 5.0])
def test_scores_over_components_take_those_that_are_left(score: str, limit: str | float) -> None:
    """Recomputed for every row: the distance in these alone, times the limit of all over the limit of these."""
    model = usual(score=score, limit=limit, alarm="total")
    X = with_gaps(rows(60, 5), 0.2)
    why = model.explain(frame(X))
    V, C = model.model_.table.loadings, model.model_.table.covariance

    def metric(used: np.ndarray) -> np.ndarray:
        return np.eye(used.size) if score == "spe" else np.diag(1.0 / np.diag(C)[used])

    def limit_of(used: np.ndarray) -> float:
        variances = np.linalg.eigvals(metric(used) @ C[np.ix_(used, used)]).real
        # A number is a limit of all, and its ratio of limits is one.
        name = "pearson" if limit == "quantile" else limit
        return score_limit(name, 0.975, variances=np.sort(variances)).value

    assert 0 < (why.share_of_rules == 0).sum() < 20
    for i, x in enumerate(X):
        used = used_rules(model, x)
        assert why.share_of_rules[i] == pytest.approx(used.size / 3)
        if not used.size:
            assert why.scores[i] == 0
            continue
        y = np.nan_to_num(twins.scaled(model.model_, x)) @ V[:, used]
        ratio = limit_of(np.arange(3)) / limit_of(used) if isinstance(limit, str) else None
        if ratio is None:
            ratio = _ratio_from_pearson(C, metric, used)
        assert why.scores[i] == pytest.approx(ratio * y @ metric(used) @ y, rel=1e-6)


def _ratio_from_pearson(C: np.ndarray, metric: Any, used: np.ndarray) -> float:
    both = []
    for chosen in (np.arange(3), used):
        variances = np.linalg.eigvals(metric(chosen) @ C[np.ix_(chosen, chosen)]).real
        both.append(score_limit("pearson", 0.975, variances=np.sort(variances)).value)
    return both[0] / both[1]


@pytest.mark.parametrize("score", ["complete", "whitened"])
@pytest.mark.parametrize("level", [0.8, 0.975])
def test_the_score_is_the_distance_of_the_observed_cells(score: str, level: float) -> None:
    """First the rules that can be computed, then all other directions of the cells observed; and a factor.

    The factor is the limit of whole rows over that of the directions that are left: one threshold serves all rows.
    """
    model = usual(score=score, level=level, alarm="total", limit="pearson")
    X = np.vstack([with_gaps(rows(60, 5), 0.25), with_gaps(4 * rows(30, 6), 0.25)])
    inner, n, p = model.model_, 400, 7
    C, R = np.asarray(inner.space.covariance), inner.table.loadings
    judgement = inner.judge(X)

    def law(m: int, r: int) -> float:
        limit = twins.f_limit(level, r, n, n - r) if r else 0.0
        return ScoreLaw(m, r, n, limit, r / max(m + r, 1), p).quantile(level)

    compared = 0
    for i, x in enumerate(X):
        there, used = np.flatnonzero(~np.isnan(x)), used_rules(model, x)
        if np.abs(R[np.isnan(x)][:, used]).any():
            continue  # what hardly matters to a rule is missing: then these identities hold only nearly
        z = twins.scaled(inner, x)
        y = z[there] @ R[np.ix_(there, used)]
        inside = float(y @ np.linalg.inv(R[:, used].T @ C @ R[:, used]) @ y) if used.size else 0.0
        r = len(there) - used.size if score == "complete" else 0
        outside = 0.0
        if r:
            everything = float(z[there] @ np.linalg.inv(C[np.ix_(there, there)]) @ z[there])
            limit = twins.f_limit(level, r, n, n - r)
            outside = twins.outside_part(everything - inside, limit, r / (r + used.size))
        factor = law(3, 4 if score == "complete" else 0) / law(used.size, r) if used.size or r else 1.0
        assert judgement.scores[i] == pytest.approx(factor * (inside + outside), rel=1e-6, abs=1e-9)
        compared += np.isnan(x).any()
    assert compared > 40


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.floats(0, 0.9), st.sampled_from(SCORES), st.sampled_from(["any", "total"]))
def test_contributions_sum_to_the_score(seed: int, share: float, score: str, alarm: str) -> None:
    model = usual(score=score, alarm=alarm)
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


def test_a_gap_in_what_no_component_uses_does_not_matter() -> None:
    model = usual(score="whitened")
    X = rows(50, 3)
    unused = [j for j in range(7) if not model.model_.gapped.matters[j].any()]
    assert unused == [6]
    gapped = X.copy()
    gapped[:, unused] = np.nan
    np.testing.assert_allclose(model.score_samples(frame(gapped)), model.score_samples(frame(X)), rtol=1e-9)


@pytest.mark.parametrize(("score", "limit"), [("complete", "auto"), ("complete", "pearson"), ("whitened", "auto")])
@pytest.mark.parametrize("alarm", ["any", "total"])
def test_as_many_normal_rows_are_flagged_whatever_is_missing(score: str, limit: str, alarm: str) -> None:
    model = fitted(rows(4000, 1), score=score, limit=limit, alarm=alarm)
    X = with_gaps(rows(40_000, 2), 0.15, 3)
    why = model.explain(frame(X))
    for share in np.unique(why.share_of_rules)[1:]:
        flagged = why.anomalies[why.share_of_rules == share]
        # Nominal 2.5 %; four standard errors either way, and what the shape of the limit leaves. The rules share half
        # of the level, and where some cannot be broken that half is not spent; nor is that of tail models.
        least = 0.0125 if alarm == "any" or (score, limit) == ("complete", "auto") else 0.025
        slack = 0.006 + 4 * np.sqrt(0.025 / flagged.size)
        assert least - slack < flagged.mean() < 0.025 + slack


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
    # Rules alone, as the whitened score has them, say nothing of it.
    assert (usual(score="whitened").predict(frame(broken)) == -1).mean() < 0.1


def test_of_few_rows_a_gap_changes_a_score_no_more_than_its_cell_does() -> None:
    # Fewer rows than columns: in most directions nothing varies, for want of rows.
    X = np.random.default_rng(5).normal(size=(40, 60))
    model = ASPCA(preprocessor=aspca.Preprocessor(missing="allow"), limit="pearson").fit(X)
    new = np.random.default_rng(6).normal(size=(20, 60))
    gapped = new.copy()
    gapped[:, 7] = np.nan
    ratio = model.score_samples(gapped) / model.score_samples(new)
    assert ((ratio > 0.8) & (ratio < 1.25)).all()


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


def gapped(loadings: np.ndarray, covariance: np.ndarray) -> GappedScore:
    """The score of rules (p, m) whose features have this covariance."""
    p = len(covariance)
    space = space_of(np.zeros(p), np.ones(p), covariance, tuple(Feature(name) for name in NAMES[:p]))
    table = component_table(space, loadings)
    settings = usual().model_.settings
    return GappedScore(settings, space, table, metric_of("whitened", space, table, 0.975), np.zeros(p, dtype=np.bool_))


@pytest.mark.parametrize(("share", "matters"), [(0.09, False), (0.0999, False), (0.1001, True), (0.2, True)])
def test_a_value_matters_to_a_rule_from_a_tenth_of_its_spread_on(share: float, matters: bool) -> None:
    """b moves the rule b' a' by so much of its spread, which is one here but for b itself."""
    size = share / np.sqrt(1.0 - share**2)
    loading = np.array([[1.0], [size]]) / np.hypot(1.0, size)
    found = gapped(loading, np.eye(2))
    assert found.matters.tolist() == [[True], [matters]]
    assert found.used(np.array([[False, True], [True, False]])).tolist() == [[not matters], [False]]


def test_a_value_that_never_varied_is_missed_where_a_rule_names_it() -> None:
    """At its mean it would not move the rule: but nobody knows what it would be now."""
    loadings = np.array([[0.0, 1.0, 0.6], [1.0, 0.0, 0.8], [0.0, 0.0, 0.0]])
    found = gapped(loadings, np.diag([0.0, 1.0, 0.0]))
    assert found.matters.tolist() == [[False, True, True], [True, False, True], [False, False, False]]
