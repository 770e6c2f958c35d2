"""Identities of explanations, on random tables: nothing here depends on what the rules are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aspca import ASPCA
from aspca.settings import SCORES


def table(seed: int, p: int, n: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) * 10.0 ** rng.uniform(-3, 3, size=p)
    X[:, 0] = X[:, 1] + 1e-3 * X[:, 1].std() * rng.normal(size=n)
    return X + rng.normal(size=p) * X.std(axis=0)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), p=st.integers(2, 6), score=st.sampled_from(SCORES), data=st.data())
def test_contributions_sum_and_rows_stand_alone(seed: int, p: int, score: str, data: st.DataObject) -> None:
    d = data.draw(st.integers(1, p))
    X = table(seed, p, 40)
    new = X[:10] * 1.5
    model = ASPCA(n_components=d, score=score, scaling="standard").fit(X)
    explained = model.explain(new)
    scores = -model.score_samples(new)
    slack = 1e-12 * np.maximum(scores, model.threshold_)
    assert (explained.rule_contributions >= 0).all()
    assert (explained.feature_contributions >= 0).all()
    assert (explained.outside >= 0).all()
    assert (explained.scores == scores).all()
    assert (np.abs(explained.rule_contributions.sum(axis=1) + explained.outside - scores) <= slack).all()
    assert (np.abs(explained.feature_contributions.sum(axis=1) - scores) <= slack).all()
    # A row is explained the same alone and among others.
    for row in (0, 7):
        alone = model.explain(new[[row]])
        assert (alone.rule_contributions[0] == explained.rule_contributions[row]).all()
        assert (alone.feature_contributions[0] == explained.feature_contributions[row]).all()
        assert alone.text(0).replace("Row 0", "") == explained.text(row).replace(f"Row {row}", "")
    # The nearest normal row obeys every rule; rounding of its values is all that is left.
    again = model.explain(explained.repaired)
    assert not again.broken.any()
    first = model.model_.n_identities
    left = np.square(again.judgement.deviations[:, first:])
    assert (left <= 1e-20 * np.maximum(scores, 1.0)[:, None] + 100 * model.model_.roundings).all()


@pytest.mark.parametrize("score", SCORES)
def test_the_order_of_features_does_not_matter(score: str) -> None:
    X = table(3, 5, 60)
    order = np.array([3, 0, 4, 1, 2])
    # Which loose relations are rules, where three are asked for, may depend on the order, and each is judged alone.
    many = "auto" if score == "complete" else 3
    straight = ASPCA(n_components=many, score=score).fit(X).explain(X)
    permuted = ASPCA(n_components=many, score=score).fit(X[:, order]).explain(X[:, order])
    assert np.abs(permuted.scores - straight.scores).max() <= 1e-8 * straight.scores.max()
    difference = permuted.feature_contributions - straight.feature_contributions[:, order]
    assert np.abs(difference).max() <= 1e-6 * straight.scores.max()


@pytest.mark.parametrize("score", SCORES)
def test_a_constant_column_in_small_units_that_moves_breaks_its_rule(score: str) -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([1e6 * rng.normal(size=(300, 3)), np.full(300, 2.0)])
    X[:, 0] = X[:, 1] + 1e5 * rng.normal(size=300)
    row = X[[0]].copy()
    row[0, 3] = 3.0
    model = ASPCA(n_components=2, scaling="none", score=score).fit(X)
    why = model.explain(row)
    assert why.broken[0].any()
    assert "It breaks the rule x3 = 2 (constant): it is 1 too high" in why.text(0)
    assert "It would hold with x3 2 (not 3)." in why.text(0)
    assert model.predict(X).sum() > 250
    if score == "complete":
        assert why.text(0).startswith("Row 0 is unusual: p = ")
    # The paper's sum of squares does not see one in squares of a million, and says so.
    if score == "spe":
        assert model.predict(row)[0] == 1
        assert why.text(0).startswith("Row 0 keeps within the overall limit (score ")


def test_the_data_frame_library_does_not_matter() -> None:
    frame = pd.DataFrame(table(9, 5, 80), columns=["a", "b", "c d", "e", "f"])
    tables = (frame, pl.from_pandas(frame), pa.table(dict(frame)))
    results = [ASPCA(n_components=3, scaling="standard").fit(each).explain(each) for each in tables]
    plain = ASPCA(n_components=3, scaling="standard").fit(frame.to_numpy()).explain(frame.to_numpy())
    for explained in results:
        assert (explained.scores == plain.scores).all()
        assert (explained.feature_contributions == plain.feature_contributions).all()
        assert explained.text(3) == results[0].text(3)
    frames = [explained.to_frame() for explained in results]
    assert [type(one).__module__.partition(".")[0] for one in frames] == ["pandas", "polars", "pyarrow"]
    for one in frames[1:]:
        pd.testing.assert_frame_equal(one.to_pandas(), frames[0], check_dtype=False)
