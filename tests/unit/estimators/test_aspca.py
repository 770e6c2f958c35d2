"""What ASPCA promises: one model whatever the road to it, a score that splits exactly, a threshold with a meaning."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

from aspca import ASPCA, Moments
from zoo import PLANT as NAMES
from zoo import plant as table
from zoo import plant_frame as frame

VARIANTS = ("F", "B", "FG", "BG", "G")


pytestmark = pytest.mark.usefixtures("one_thread")


def scaled(model: ASPCA, X: np.ndarray) -> np.ndarray:
    """The slow, obvious twin of what the solver works on."""
    return (X - X.mean(axis=0)) / model.scale_


# ---- one model, many roads


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("scaling", ["maxabs", "standard", "none"])
def test_moments_alone_give_the_model_of_the_rows(variant: str, scaling: str) -> None:
    X = table()
    rows = ASPCA(variant=variant, scaling=scaling).fit(X)
    moments = ASPCA(variant=variant, scaling=scaling).fit_moments(Moments.from_array(X))
    assert rows.components_.tolist() == moments.components_.tolist()
    assert (rows.n_components_, rows.alpha_) == (moments.n_components_, moments.alpha_)
    assert rows.subspace_.witness.seal == moments.subspace_.witness.seal
    assert [str(rule) for rule in rows.rules_] == [str(rule) for rule in moments.rules_]
    # Tails are all that rows add.
    assert (rows.threshold_limit_.name, moments.threshold_limit_.name) == ("held-out", "gaussian")
    paper, same = ASPCA.paper(variant=variant, scaling=scaling), ASPCA.paper(variant=variant, scaling=scaling)
    paper.fit(X)
    same.fit_moments(Moments.from_array(X))
    assert paper.score_samples(X).tolist() == same.score_samples(X).tolist()
    assert paper.threshold_ == same.threshold_
    assert paper.rule_limits_.tolist() == same.rule_limits_.tolist()


def test_fit_starts_anew_and_partial_fit_goes_on() -> None:
    model = ASPCA(n_components=2).fit(table(seed=1)).fit(table())
    assert model.moments_.n_rows == 240
    assert model.components_.tolist() == ASPCA(n_components=2).fit(table()).components_.tolist()
    model.partial_fit(table(seed=1))
    assert model.moments_.n_rows == 480


@pytest.mark.parametrize("scaling", ["maxabs", "standard", "none"])
def test_whole_weights_are_repetitions(scaling: str) -> None:
    X = table(80)
    weights = np.random.default_rng(2).integers(0, 4, size=80)
    options = {"n_components": 2, "alpha": 0.005, "scaling": scaling, "score": "standardized"}
    weighted = ASPCA(**options).fit(X, sample_weight=weights)
    repeated = ASPCA(**options).fit(np.repeat(X, weights, axis=0))
    assert np.abs(weighted.components_ - repeated.components_).max() <= 1e-9
    assert np.abs(weighted.score_samples(X) - repeated.score_samples(X)).max() <= 1e-9
    assert abs(weighted.threshold_ - repeated.threshold_) <= 1e-9 * repeated.threshold_
    # The quantile of the training scores follows the weights, too.
    weighted.set_params(contamination=0.1).fit(X, sample_weight=weights)
    repeated.set_params(contamination=0.1).fit(np.repeat(X, weights, axis=0))
    assert abs(weighted.threshold_ - repeated.threshold_) <= 1e-9 * repeated.threshold_


def test_weights_in_batches_and_in_calibration_are_repetitions() -> None:
    X = table(80)
    weights = np.random.default_rng(3).integers(0, 4, size=80)
    repeated = ASPCA(n_components=2, contamination=0.2, score="standardized").fit(np.repeat(X, weights, axis=0))
    model = ASPCA(n_components=2, contamination=0.2, score="standardized")
    for rows in (slice(0, 30), slice(30, 80)):
        model.partial_fit(X[rows], sample_weight=weights[rows])
    model.calibrate(X, sample_weight=weights)
    assert np.abs(model.score_samples(X) - repeated.score_samples(X)).max() <= 1e-9
    assert abs(model.threshold_ - repeated.threshold_) <= 1e-9 * repeated.threshold_


@pytest.mark.parametrize("factor", [0.25, 0.5])
def test_a_common_factor_below_one_moves_no_limit_from_rows(factor: float) -> None:
    """There are as many rows as there are: no fewer for what weighs less."""
    X = table()
    plain, ones = ASPCA().fit(X), ASPCA().fit(X, sample_weight=np.ones(240))
    lighter = ASPCA().fit(X, sample_weight=np.full(240, factor))
    assert {model.threshold_limit_.name for model in (plain, ones, lighter)} == {"held-out"}
    for model in (ones, lighter):
        assert model.threshold_ == pytest.approx(plain.threshold_, rel=1e-9)
        assert model.rule_limits_ == pytest.approx(plain.rule_limits_, rel=1e-9)


def test_what_auto_means_depends_on_moments_alone() -> None:
    X = table()
    plain = ASPCA(score="spe").fit(X)
    shuffled = ASPCA(score="spe").fit(X[np.random.default_rng(4).permutation(240)])
    twice = ASPCA(score="spe").fit(np.repeat(X, 2, axis=0))
    covariance = plain.covariance_
    average = np.diag(covariance).mean()
    # Rules are directions with less than 0.3 of an average feature's variance; the penalty is their mean variance.
    values = np.linalg.eigvalsh(covariance)
    assert plain.n_components_ == (values <= 0.3 * average).sum() == 2
    assert abs(plain.alpha_ - values[:2].mean()) <= 1e-15
    # Not less than 5e-4 of it, where rules are exact.
    exact = ASPCA().fit(np.column_stack([X, X[:, 4]])[:, [2, 4, 5]])
    assert exact.alpha_ == pytest.approx(5e-4 * np.diag(exact.covariance_).mean(), rel=1e-12)
    # More than 64 features that hang together: the exact subspace, rotated.
    wide = np.random.default_rng(0).normal(size=(100, 70))
    assert ASPCA(n_components=3).fit(wide).alpha_ == 0.0
    assert ASPCA(n_components=3).fit(wide[:, :60]).alpha_ > 0.0
    # So are more than 2000 features times directions.
    causes = np.random.default_rng(0).normal(size=(300, 4)) @ np.random.default_rng(1).normal(size=(4, 60))
    noisy = causes + 0.3 * np.random.default_rng(2).normal(size=causes.shape)
    assert ASPCA(score="spe").fit(noisy).alpha_ == 0.0
    assert ASPCA(n_components=3).fit(noisy).alpha_ > 0.0
    for other in (shuffled, twice):
        assert other.n_components_ == plain.n_components_
        assert abs(other.alpha_ - plain.alpha_) <= 1e-12 * plain.alpha_
        assert np.abs(other.components_ - plain.components_).max() <= 1e-9
        assert abs(other.threshold_ - plain.threshold_) <= 1e-9 * plain.threshold_


# ---- scores and thresholds


def test_the_automatic_threshold_is_pearsons_limit_of_the_projected_covariance() -> None:
    X = table()
    model = ASPCA(score="spe").fit(X)
    values = np.linalg.eigvalsh(np.cov(model.transform(X).T, bias=True))
    # a + b chi2(h) with the mean, variance and skewness of the weighted sum of chi-squares.
    mean, variance, third = values.sum(), 2 * (values**2).sum(), 8 * (values**3).sum()
    h = 8 * variance**3 / third**2
    b = np.sqrt(variance / (2 * h))
    assert abs(model.threshold_ - (mean - b * h + b * chi2.ppf(0.975, h))) <= 1e-12 * model.threshold_
    assert model.threshold_limit_.name == "pearson"
    # Gaussian rows: one false alarm in forty, give or take what 4000 draws and two moments leave open.
    assert abs((model.predict(table(4000, seed=77)) == -1).mean() - 0.025) <= 0.015


@pytest.mark.parametrize("share", [0.05, 0.1, 0.25, 0.3, 0.5])
@pytest.mark.parametrize("n", [20, 100, 240])
def test_contamination_flags_that_share_of_the_rows_exactly(share: float, n: int) -> None:
    X = table(n)
    model = ASPCA(n_components=2, contamination=share).fit(X)
    # Two rows that are lifted by different rules may have one score, each at the same place of its rule's tail: then no
    # threshold could tell them apart, so none of them may stand at it.
    descending = np.sort(-model.score_samples(X))[::-1]
    assert descending[round(share * n) - 1] > descending[round(share * n)]
    assert (model.predict(X) == -1).sum() == round(share * n)
    # The threshold is a score that was seen (but for a hair): the smallest that enough rows do not exceed.
    assert np.abs(-model.score_samples(X) / model.threshold_ - 1).min() <= 1e-11


def test_contamination_counts_weights() -> None:
    X = table(100)
    weights = np.random.default_rng(6).integers(0, 5, size=100).astype(float)
    model = ASPCA(n_components=2, contamination=0.2).fit(X, sample_weight=weights)
    scores = -model.score_samples(X)
    flagged = weights[scores > model.threshold_].sum()
    lower = scores[(scores < model.threshold_ * (1 - 1e-9)) & (weights > 0)].max()
    assert flagged <= 0.2 * weights.sum() < weights[scores > lower].sum()


@pytest.mark.parametrize("source", ["rows", "moments"])
def test_anomalies_are_explained_by_the_rule_they_break(source: str) -> None:
    rows = table(3, seed=8)
    rows[0, 1] += 1.0  # outlet leaves inlet
    rows[1, 3] += 1.5  # total leaves inlet + pump
    rows[2, 4] += 9.0  # free is free
    model = ASPCA()
    if source == "rows":
        model.fit(frame())
    else:
        model.fit_moments(Moments.from_array(frame()), feature_names=NAMES)
    rules = {frozenset(rule.features): number for number, rule in enumerate(model.rules_)}
    pair, total = rules[frozenset({"inlet", "outlet"})], rules[frozenset({"inlet", "pump", "total"})]
    why = model.explain(pd.DataFrame(rows, columns=NAMES))
    assert why.anomalies.all()
    assert why.broken[:, [pair, total]].tolist() == [[True, False], [False, True], [False, False]]
    # Tail models judge the columns of a broken rule as well, each given the others.
    most = 0.99 if source == "moments" else 0.5
    assert why.shares[0, pair] >= most
    assert why.shares[1, total] >= most
    # What is free may be anywhere it ever was; nine deviations out it is unusual, and no rule is named.
    assert why.outside[2] >= 0.95 * why.scores[2]
    assert "It keeps its rules, but stands out: free is " in why.text(2)
    assert why.feature_contributions[2].argmax() == 4
    # Components do not look there.
    assert ASPCA(score="standardized").fit(table()).predict(rows).tolist() == [-1, -1, 1]


# ---- what is proved


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("rounding", ["sparse", "dominant"])
def test_every_model_carries_its_proof(variant: str, rounding: str) -> None:
    X = table()
    model = ASPCA(n_components=3, variant=variant, rounding=rounding).fit(X)
    verification = model.subspace_.verify(model.covariance_)
    assert verification, str(verification)
    assert len(model.certificates_) == model.n_components_ == 3
    assert model.certificates_ == model.subspace_.certificates[-3:]
    assert all(one.lower <= one.primal <= one.upper for one in model.certificates_)
    Y = scaled(model, X)
    assert np.abs(model.covariance_ - Y.T @ Y / len(Y)).max() <= 1e-13
    assert np.abs(model.components_ @ model.components_.T - np.eye(3)).max() <= 1e-12
    assert model.n_iter_ >= 1
    # The proof speaks of this table only.
    assert not model.subspace_.verify(model.covariance_ + 1e-6 * np.eye(5))


# ---- rules and names


@pytest.mark.parametrize("score", ["complete", "spe"])
def test_rules_speak_in_the_names_and_units_of_the_table(score: str) -> None:
    units = np.array([1.0, 1.0, 2.0, 1.0, 100.0])
    rows = frame() * units + [10.0, 10.0, 0.0, 10.0, 0.0]
    model = ASPCA(n_components=2, alpha=0.02, score=score).fit(rows)
    pair, sum_ = sorted(model.rules_, key=lambda rule: len(rule.features))
    assert pair.features == ("inlet", "outlet")
    assert np.abs(np.abs(pair.coefficients) - np.sqrt(0.5)).max() <= 0.02
    if score == "complete":
        # Readable, and no more orthogonal than inlet - outlet and total - inlet - pump are.
        assert sum_.features == ("inlet", "pump", "total")
        directions = model.model_.table.loadings.T
    else:
        assert set(sum_.features) <= {"inlet", "outlet", "pump", "total"}
        directions = model.components_
    for rule, direction in zip(model.rules_, directions, strict=True):
        used = [NAMES.index(name) for name in rule.features]
        assert used == np.flatnonzero(direction).tolist()
        # coefficients . x has the stated mean and spread, and is the projection in other units.
        values = rows.to_numpy()[:, used] @ rule.coefficients
        assert abs(values.mean() - rule.centre) <= 1e-9
        assert abs(values.std() - rule.spread) <= 1e-9
        assert abs(np.linalg.norm(rule.coefficients) - 1) <= 1e-12
    text = str(pair)
    assert "inlet" in text
    assert "outlet" in text
    assert "pump" not in text
    assert "±" in text


def test_the_text_of_a_rule_is_true_of_the_rows() -> None:
    """A term left out of the text for moving the rule too little still has a mean, which the text must not forget."""
    rng = np.random.default_rng(10)
    a = rng.normal(size=300)
    X = np.column_stack([a, a + 0.05 * rng.normal(size=300), 1e6 + rng.normal(size=300)])
    X[:, 1] += 1e-3 * (X[:, 2] - 1e6)
    model = ASPCA(n_components=1, alpha=0.0, scaling="none").fit(X)
    text = str(model.rules_[0])
    assert "x2" not in text
    left, right = text.split(" (±")[0].split(" = ")
    assert "x0" in text
    assert "x1" in text

    def side(terms: str) -> np.ndarray:
        total = np.zeros(300)
        for term in terms.replace(" - ", " + -").split(" + "):
            number, _, name = term.rpartition(" ")
            total += float(name) if not name.startswith("x") else float(number or 1) * X[:, int(name[1:])]
        return total

    assert abs((side(left) - side(right)).mean()) <= 3 * model.rules_[0].spread


def test_names_of_columns_come_in_and_names_of_components_go_out() -> None:
    model = ASPCA(n_components=2).fit(frame())
    assert list(model.feature_names_in_) == NAMES
    assert model.n_features_in_ == 5
    assert list(model.get_feature_names_out()) == ["aspca0", "aspca1"]
    assert set(model.rules_[0].features) <= set(NAMES)
    unnamed = ASPCA(n_components=2).fit(table())
    assert not hasattr(unnamed, "feature_names_in_")
    assert set(unnamed.rules_[0].features) <= {f"x{j}" for j in range(5)}
    handed = ASPCA(n_components=2).fit_moments(Moments.from_array(table()), NAMES)
    assert handed.rules_[0].features == model.rules_[0].features
    # A later fit without names forgets them.
    assert not hasattr(handed.fit_moments(Moments.from_array(table())), "feature_names_in_")
    assert not hasattr(model.fit(table()), "feature_names_in_")
