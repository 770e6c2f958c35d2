"""The split of a score over features: against its definition, row by row, and what it must say of simple cases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import twins
from aspca import ASPCA, Moments
from aspca.findings.attribution import split_by_components


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 7), st.floats(-2, 2), st.data())
def test_the_split_is_what_its_definition_says(seed: int, p: int, size: float, data: st.DataObject) -> None:
    rng = np.random.default_rng(seed)
    d = data.draw(st.integers(1, p))
    B = np.linalg.qr(rng.normal(size=(p, d)))[0] * 10.0 ** rng.uniform(-2, 2, size=d)
    B[rng.random(size=(p, d)) < 0.3] = 0.0
    B[0] = rng.normal(size=d)
    B[rng.integers(p, size=d), np.arange(d)] += 1.0
    X = 10.0**size * rng.normal(size=(5, p))
    split = split_by_components(B, X, X @ B)
    assert (split >= 0).all()
    scores = np.square(X @ B).sum(axis=1)
    assert np.abs(split.sum(axis=1) - scores).max() <= 1e-12 * scores.max()
    for row in range(5):
        assert split[row] == pytest.approx(twins.blame(B, X[row]), rel=1e-8, abs=1e-10 * scores[row])


@pytest.mark.parametrize("source", ["rows", "moments"])
def test_one_feature_that_breaks_two_rules_is_blamed_for_both(source: str) -> None:
    rng = np.random.default_rng(0)
    a, b, c, d = rng.normal(size=(4, 2000))
    noise = 0.01 * rng.normal(size=(2, 2000))
    X = np.column_stack([a, b, a + b + noise[0], c, d, a + c - d + noise[1]])
    model = ASPCA(scaling="standard")
    model = model.fit(X) if source == "rows" else model.fit_moments(Moments.from_array(X))
    assert model.n_components_ == 2
    row = X[[7]].copy()
    row[0, 0] += 0.5  # inside its usual range: only the two rules together tell
    split = model.explain(row).feature_contributions[0]
    assert split.argmax() == 0
    # Tail models judge each column given the others, of which three are off the word of the one that moved.
    assert split[0] >= (0.9 if source == "moments" else 0.7) * split.sum()
    # Within one rule no feature can be told from the others but by how usual the row would be without the move.
    row = X[[7]].copy()
    row[0, 2] += 0.5
    split = model.explain(row).feature_contributions[0]
    assert set(np.argsort(-split)[:2]) <= {0, 1, 2}
    assert split[[3, 4, 5]].sum() <= 0.1 * split.sum()


def test_a_row_at_the_mean_and_a_model_without_variance_have_nothing_to_split() -> None:
    nothing = np.zeros((1, 2))
    assert split_by_components(np.eye(3)[:, :2], np.zeros((1, 3)), nothing).tolist() == [[0.0, 0.0, 0.0]]
    assert split_by_components(np.zeros((3, 2)), np.ones((1, 3)), nothing).tolist() == [[0.0, 0.0, 0.0]]


def test_huge_and_tiny_rows_do_not_overflow() -> None:
    B = np.array([[1.0, 0.0], [-1.0, 1e-3], [0.0, 1.0]])
    for size in (1e-150, 1e-30, 1e30, 1e70):
        X = size * np.array([[1.0, 2.0, -1.0]])
        split = split_by_components(B, X, X @ B)
        assert np.isfinite(split).all()
        assert split.sum() == pytest.approx(np.square(X @ B).sum(), rel=1e-12)


def test_rows_are_split_alone_as_in_any_company() -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(2500, 6))
    X[:, 5] = X[:, 0] + X[:, 1] + 0.05 * rng.normal(size=2500)
    X[::100, 5] += 1.0
    X[7::90, 2] = 9.0
    model = ASPCA().fit(X)
    together = model.explain(X)
    rows = [0, 7, 100, 2047, 2048, 2499]
    alone = [model.explain(X[row : row + 1]) for row in rows]
    for name in ("scores", "rule_contributions", "outside", "feature_contributions", "repaired", "broken", "anomalies"):
        assert np.array_equal(getattr(together, name)[rows], np.concatenate([getattr(one, name) for one in alone]))
