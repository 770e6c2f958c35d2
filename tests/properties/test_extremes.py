"""From the smallest to the largest units, singular or not, in any batch: finite, verified, adding up, bit for bit.

What float64 cannot hold is refused in a sentence that names the column.
"""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aspca import ASPCA, Moments, TiedSubspaceWarning
from aspca.linalg.arrays import LARGEST_VALUE, SMALLEST_DEVIATION
from aspca.moments.space import refuse_vanishing

SENTENCE = re.compile(
    r"^Column 'x\d'( \(and \d+ more\))? varies by less than 1e-152, whose square float64 cannot hold; .*\.$"
)
TOO_LARGE = re.compile(
    r"^Column \d has .* too large in size.*; values must lie within \+-1e\+150, so rescale the column\.$"
)


def table(seed: int, noise: float = 0.05, n: int = 60, p: int = 4) -> np.ndarray:
    """Two columns at will, the others made of them up to the noise; numbers of many digits."""
    rng = np.random.default_rng(seed)
    free = rng.normal(size=(n, 2))
    return np.hstack([free, free @ rng.normal(size=(2, p - 2)) + noise * rng.normal(size=(n, p - 2))])


def fitted(X: np.ndarray, **parameters) -> ASPCA:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TiedSubspaceWarning)
        return ASPCA(**parameters).fit(X)


def sound(model: ASPCA, X: np.ndarray) -> None:
    """Every number finite, every certificate true, every split exact."""
    verification = model.subspace_.verify(model.covariance_)
    assert verification, str(verification)
    scores, why = -model.score_samples(X), model.explain(X)
    size = np.maximum(scores, max(why.threshold, 1e-300))
    for parts in (
        scores,
        model.decision_function(X),
        why.rule_contributions,
        why.feature_contributions,
        why.outside,
        why.deviations,
        why.multiples,
        why.repaired,
    ):
        assert np.isfinite(parts).all()
    assert (np.abs(why.rule_contributions.sum(axis=1) + why.outside - scores) <= 1e-12 * size).all()
    assert (np.abs(why.feature_contributions.sum(axis=1) - scores) <= 1e-12 * size).all()
    assert why.rule_contributions.min(initial=0.0) >= 0.0
    assert why.feature_contributions.min() >= 0.0
    assert (why.anomalies == (model.predict(X) == -1)).all()
    assert all(why.text(row) for row in (0, len(X) - 1))


POWERS = (st.integers(0, 5), st.lists(st.integers(-480, 480), min_size=4, max_size=4))
UNITS = (st.integers(0, 3), st.lists(st.floats(-323.0, 300.0), min_size=4, max_size=4), st.booleans())
SINGULAR = (
    st.integers(0, 2**32 - 1),
    st.integers(1, 7),
    st.floats(-17.0, -1.0),
    st.sampled_from([0.0, 1e3, 1e8]),
    st.sampled_from(["complete", "spe", "standardized"]),
)


@settings(max_examples=3)
@given(*POWERS)
@example(0, [-480] * 4)
@example(1, [-480, 480, 0, -200])
def test_powers_of_two_change_no_verdict(seed, powers):
    powers_of_two_change_no_verdict(seed, powers)


@pytest.mark.long
@settings(max_examples=200)
@given(*POWERS)
def test_any_powers_of_two_change_no_verdict(seed, powers):
    powers_of_two_change_no_verdict(seed, powers)


def powers_of_two_change_no_verdict(seed, powers):
    X = table(seed)
    units = 2.0 ** np.array(powers, dtype=np.float64)
    plain, scaled = fitted(X), fitted(X * units)
    assert plain.score_samples(X).tolist() == scaled.score_samples(X * units).tolist()
    assert plain.predict(X).tolist() == scaled.predict(X * units).tolist()
    assert plain.offset_ == scaled.offset_
    assert len(plain.rules_) == len(scaled.rules_)
    sound(scaled, X * units)


@pytest.mark.parametrize(("scaling", "power"), [("standard", 480), ("none", -490)])
def test_one_unit_for_all_columns_changes_no_verdict_in_any_scaling(scaling, power):
    X = table(3)
    unit = 2.0**power
    plain, scaled = fitted(X, scaling=scaling), fitted(X * unit, scaling=scaling)
    np.testing.assert_allclose(plain.score_samples(X), scaled.score_samples(X * unit), rtol=1e-12)
    assert plain.predict(X).tolist() == scaled.predict(X * unit).tolist()
    sound(scaled, X * unit)


@settings(max_examples=4)
@given(*UNITS)
@example(0, [-154.0] * 4, False)
@example(0, [-150.0] * 4, False)
@example(0, [-323.0] * 4, False)
@example(0, [0.0, 0.0, 0.0, -310.0], False)
@example(0, [150.0] * 4, False)
def test_units_are_sound_or_refused_in_a_sentence(seed, exponents, one):
    units_are_sound_or_refused_in_a_sentence(seed, exponents, one)


@pytest.mark.long
@settings(max_examples=500)
@given(*UNITS)
def test_any_units_are_sound_or_refused_in_a_sentence(seed, exponents, one):
    units_are_sound_or_refused_in_a_sentence(seed, exponents, one)


def units_are_sound_or_refused_in_a_sentence(seed, exponents, one):
    units = np.array([10.0 ** (exponents[0] if one else e) for e in exponents])
    X, spreads = table(seed) * units, table(seed).std(axis=0) * units
    try:
        model = fitted(X)
    except ValueError as refusal:
        text = str(refusal)
        small, large = spreads < 2.0 * SMALLEST_DEVIATION, np.abs(X).max(axis=0) > LARGEST_VALUE
        assert (SENTENCE.match(text) and small.any()) or (TOO_LARGE.match(text) and large.any()), text
    else:
        assert (spreads >= 0.5 * SMALLEST_DEVIATION).all()
        sound(model, X)


def test_what_varies_too_little_is_named():
    X = table(0)
    X[:, 1] = 0.0
    X[5, 1] = 5e-324
    X[:, 3] *= 1e-200
    message = r"^Column 'b' \(and 1 more\) varies by less than 1e-152.*multiply the column.*leave it out\.$"
    with pytest.raises(ValueError, match=message):
        refuse_vanishing(Moments.from_array(X), "abcd")
    X[:, 3] = 7.0
    with pytest.raises(ValueError, match=r"^Column 'b' varies"):
        refuse_vanishing(Moments.from_array(X), "abcd")
    X[:, 1] = 5e-324
    refuse_vanishing(Moments.from_array(X), "abcd")
    fitted(X)
    # Weights count rows, in whatever unit they are.
    tiny = ASPCA().fit(table(0), sample_weight=np.full(60, 1e-307))
    assert tiny.predict(table(0)).tolist() == ASPCA().fit(table(0)).predict(table(0)).tolist()


@pytest.mark.parametrize("deviation", [1.01e-152, 0.99e-152])
def test_the_smallest_deviation_is_the_one_that_is_said(deviation):
    column = np.tile([-1.0, 1.0], 30) * deviation
    moments = Moments.from_array(np.column_stack([column, np.arange(60.0)]))
    if deviation > SMALLEST_DEVIATION:
        refuse_vanishing(moments, "ab")
    else:
        with pytest.raises(ValueError, match="Column 'a' varies"):
            refuse_vanishing(moments, "ab")


@pytest.mark.parametrize("score", ["complete", "spe"])
@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("unit", [2.0**-504, 1.0, 2.0**490])
def test_rows_from_one_end_to_the_other_of_what_is_allowed(unit, exact, score):
    X = table(2) * unit
    if exact:
        X[:, 3] = X[:, 0] + X[:, 1]
    model = fitted(X, score=score)
    values = np.array([-LARGEST_VALUE, LARGEST_VALUE, 0.0, 5e-324, -1e-300, 1e-150, unit])
    Y = np.vstack([np.random.default_rng(0).choice(values, size=(40, 4)), np.full((1, 4), 1e150), X[:3]])
    sound(model, Y)
    assert (model.predict(Y[Y.max(axis=1) == LARGEST_VALUE]) == -1).all() or unit > 1.0


@settings(max_examples=4)
@given(*SINGULAR)
def test_a_row_is_judged_alike_in_any_company_on_nearly_singular_data(seed, p, digits, offset, score):
    a_row_is_judged_alike_in_any_company(seed, p, digits, offset, score)


@pytest.mark.long
@settings(max_examples=200)
@given(*SINGULAR)
def test_any_row_is_judged_alike_in_any_company_on_nearly_singular_data(seed, p, digits, offset, score):
    a_row_is_judged_alike_in_any_company(seed, p, digits, offset, score)


def a_row_is_judged_alike_in_any_company(seed, p, digits, offset, score):
    rng = np.random.default_rng(seed)
    n, rank = 40 + 2 * p, int(rng.integers(1, p + 1))
    X = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, p)) + 10.0**digits * rng.normal(size=(n, p))
    X = X * 10.0 ** rng.uniform(-6, 6, size=p) + offset
    model = fitted(X, score=score)
    Y = np.vstack([X, X[:20] + rng.normal(size=(20, p)) * X.std(axis=0), 1e6 * X[:5]])
    sound(model, Y)
    scores, why = model.score_samples(Y), model.explain(Y)
    # The threshold laid on a row: what is judged is the same number wherever the row stands.
    order = rng.permutation(len(Y))
    for size in (1, 3, 33, len(Y)):
        parts = [order[start : start + size] for start in range(0, len(Y), size)][:12]
        for rows in parts:
            assert model.score_samples(Y[rows]).tolist() == scores[rows].tolist()
            assert model.predict(Y[rows]).tolist() == np.where(why.anomalies[rows], -1, 1).tolist()
        alike = model.explain(Y[parts[0]])
        assert alike.rule_contributions.tolist() == why.rule_contributions[parts[0]].tolist()
        assert alike.feature_contributions.tolist() == why.feature_contributions[parts[0]].tolist()


def test_a_row_on_the_threshold_stays_on_its_side():
    X = table(4, n=200)
    scores = -fitted(X).score_samples(X)
    for row in np.argsort(scores)[[100, 150, 190]].tolist():
        model = fitted(X, limit=float(scores[row]))
        for size in (1, 2, 31, 64, 200):
            starts = [max(0, row - size + 1), row - row % size, min(row, 200 - size)]
            verdicts = {int(model.predict(X[start : start + size])[row - start]) for start in starts}
            assert verdicts == {1}, "a score that equals the limit is not above it"
