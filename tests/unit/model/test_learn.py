"""What is learned of a sample: which columns are judged, which rows are another kind, where verdicts begin."""

from __future__ import annotations

import numpy as np
import pytest

from aspca.model.cross_fit import (
    Sample,
    describe_columns,
    differ_from_others,
    learn_evidence,
    rank_columns,
)
from aspca.model.evidence import largest_rejected, learn_law


def sample_of(X: np.ndarray) -> Sample:
    n, p = X.shape
    nothing = np.zeros(X.shape, dtype=bool)
    return Sample(X, np.arange(n) % 5, nothing, nothing[:, 0], np.zeros(p, dtype=bool))


def test_columns_of_few_or_mostly_equal_values_are_not_judged() -> None:
    rng = np.random.default_rng(0)
    n = 400
    columns = {
        "numbers": rng.normal(size=n),
        "dummy": rng.integers(0, 2, n).astype(float),
        "years": rng.choice([1991.0, 1992.0, 1993.0], n),
        "mostly zero": np.where(rng.random(n) < 0.9, 0.0, rng.gamma(2.0, size=n)),
        "counts": rng.poisson(20, n).astype(float),
    }
    judged = describe_columns(np.column_stack(list(columns.values())))[1]
    assert dict(zip(columns, judged.tolist(), strict=True)) == {
        "numbers": True,
        "dummy": False,
        "years": False,
        "mostly zero": False,
        "counts": True,
    }


def test_a_row_with_a_wrong_cell_is_found_by_what_the_others_say() -> None:
    rng = np.random.default_rng(1)
    a = rng.normal(size=500)
    X = np.column_stack([a, a + 0.1 * rng.normal(size=500), rng.normal(size=500)])
    X[7, 0], X[7, 1] = 1.5, -1.5  # both well within their ranges
    cells = learn_evidence(sample_of(X)).cells
    assert cells.ranges[7].min() > np.log(0.01)
    # 500 rows claim no more.
    assert cells.conditionals[7].min() < np.log(1e-5)
    assert cells.conditionals[:, :2].min(axis=1).argmin() == 7


def test_a_wild_predictor_does_not_accuse_what_it_predicts() -> None:
    rng = np.random.default_rng(2)
    a = rng.normal(size=500)
    X = np.column_stack([a, a + 0.1 * rng.normal(size=500), a + 0.1 * rng.normal(size=500)])
    X[3, 0] = 1e4
    evidence = learn_evidence(sample_of(X)).evidence
    parts = evidence.attribute(X[[3]], np.ones(1))
    assert parts[0, 0] > 0.99


def test_another_kind_of_rows_is_no_error() -> None:
    rng = np.random.default_rng(3)
    n = 1000
    kind = (rng.random(n) < 0.01).astype(float)
    X = np.column_stack([rng.normal(size=n) + 30.0 * kind, rng.normal(size=n) + 3.0 * kind, rng.normal(size=n)])
    told = learn_evidence(sample_of(X)).evidence.caps
    assert told[0, 0] == pytest.approx(np.log(kind.mean()), abs=0.3)
    # The same values in rows that differ in nothing else are errors.
    X[:, 1] = rng.normal(size=n)
    assert (learn_evidence(sample_of(X)).evidence.caps[:, 0] == -np.inf).all()


def test_a_slip_is_an_error_where_another_kind_of_rows_is_not() -> None:
    rng = np.random.default_rng(5)
    n = 1000
    kind = (rng.random(n) < 0.01).astype(float)
    X = np.column_stack([rng.normal(size=n) + 15.0 * kind, rng.normal(size=n) + 4.0 * kind, rng.normal(size=n)])
    slips = np.flatnonzero(kind == 0.0)[:4]
    X[slips, 0] = 1e6
    evidence = learn_evidence(sample_of(X)).evidence
    assert evidence.caps[0, 0] > np.log(1e-2) - 1.0
    assert evidence.caps[1, 0] == -np.inf
    ranges = evidence.cells(X).ranges[:, 0]
    assert (ranges[slips] < np.log(1e-6)).all()
    assert (ranges[kind == 1.0] > np.log(1e-3)).all()


def test_random_rows_do_not_differ_from_the_others() -> None:
    rng = np.random.default_rng(4)
    ranks = rank_columns(rng.normal(size=(400, 6)))
    found = [differ_from_others(rng.random(400) < 0.05, ranks) for _ in range(200)]
    assert np.mean(found) <= 0.1


def test_benjamini_and_hochberg() -> None:
    p = np.array([0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205, 0.212, 0.216])
    assert largest_rejected(p, 0.05) == 0.008
    assert largest_rejected(np.full(10, 0.9), 0.05) == 0.0


@pytest.mark.parametrize("n", [30, 200, 5000])
def test_the_law_counts_in_the_bulk_and_names_no_error_by_chance(n: int) -> None:
    scores = 1.0 / np.random.default_rng(n).random(n) - 1.0
    law = learn_law(scores, 0.975, 0.1, n)
    assert (scores > law.unusual).mean() <= 0.025 + 1 / n
    assert (scores > law.error).sum() <= 1
    assert law.error >= law.unusual
    p = law.p_values(np.sort(scores))
    assert (np.diff(p) <= 1e-12).all()
    assert np.quantile(p, 0.5) == pytest.approx(0.5, abs=0.1)


def test_errors_are_told_from_what_is_unusual() -> None:
    rng = np.random.default_rng(9)
    scores = np.concatenate([1.0 / rng.random(1000) - 1.0, np.full(20, 1e9)])
    law = learn_law(scores, 0.975, 0.1, scores.size)
    assert (scores[-20:] > law.error).all()
    assert (scores[:-20] > law.error).sum() <= 2
    # p falls as one over the score beyond all that was seen.
    far = law.p_values(np.array([1e12, 1e13]))
    assert far[0] / far[1] == pytest.approx(10.0, rel=1e-6)


@pytest.mark.parametrize("shape", [(2, 3), (5, 1), (19, 4), (12, 40)])
def test_a_handful_of_rows_can_be_learned_from(shape: tuple[int, int]) -> None:
    X = np.random.default_rng(5).normal(size=shape)
    learned = learn_evidence(sample_of(X))
    nothing = np.zeros((len(X), 0))
    scores = learned.evidence.parts(nothing, np.zeros(0, dtype=bool), nothing, learned.cells).scores
    law = learn_law(scores, 0.975, 0.1, len(X))
    assert np.isfinite(scores).all()
    assert not (scores > law.error).any()
