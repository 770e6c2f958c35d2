"""Equations in short numbers: integers where they are meant, and never further off than they may be."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aspca.rules.numbers import simplify_equation


def furthest(c, means, deviations, equation) -> float:
    """The same bound by brute force: the distance of the two equations at every corner of the usual range."""
    worst = 0.0
    for corner in itertools.product([-2.0, 0.0, 2.0], repeat=c.size):
        x = means + np.array(corner) * deviations
        rounded = (equation.coefficients @ x - equation.intercept) / equation.unit
        worst = max(worst, abs(rounded - c @ (x - means)))
    return worst


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.floats(-5, 5), st.floats(-50, 50), st.floats(0.01, 20)), min_size=1, max_size=5),
    st.floats(1e-6, 1.0),
    st.sampled_from([1e-6, 1.0, 1e6]),
)
def test_rounding_never_moves_an_equation_beyond_the_tolerance(terms, tolerance, units) -> None:
    c, means, deviations = (np.array(column) for column in zip(*terms, strict=True))
    if not np.abs(c).max() > 1e-3:
        return
    c, means, deviations = c / np.linalg.norm(c), means * units, deviations * units
    tolerance *= float((np.abs(c) * deviations).max())
    found = simplify_equation(c, means, deviations, tolerance)
    rounding = 1e-12 * float(np.abs(c) @ (np.abs(means) + deviations))
    assert found.moved <= tolerance + rounding
    assert abs(furthest(c, means, deviations, found) - found.moved) <= rounding
    # Every term that is named keeps its sign, and the widest is named.
    named = found.coefficients != 0
    assert (np.sign(found.coefficients[named]) == np.sign(c[named])).all()
    assert named[np.argmax(np.abs(c) * deviations)]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(1, 9), min_size=2, max_size=4),
    st.integers(0, 2**4 - 1),
    st.floats(0.1, 10),
    st.integers(0, 2**32 - 1),
)
def test_small_integers_are_recovered_from_coefficients_that_err_within_the_noise(sizes, signs, scale, seed) -> None:
    """Coefficients that err, and a tolerance that tells integers of one digit apart: the planted ones come back."""
    rng = np.random.default_rng(seed)
    planted = np.array([-z if signs >> k & 1 else z for k, z in enumerate(sizes)], dtype=float)
    planted /= np.gcd.reduce(np.array(sizes))
    deviations = rng.uniform(0.5, 2.0, size=planted.size)
    # A tolerance below which no other integers of one digit are a multiple of these.
    tolerance = 0.01 * float((np.abs(planted) * deviations).min())
    # Within two deviations, and with an error of the pivot's own, they then err by no more than that tolerance.
    error = min(1e-4, 0.2 * tolerance / float(np.abs(planted) @ deviations))
    c = planted * (1 + error * rng.uniform(-1, 1, size=planted.size))
    found = simplify_equation(c / scale, rng.normal(size=planted.size), deviations, tolerance / scale)
    assert found.coefficients.tolist() == planted.tolist()
    assert abs(found.unit / scale - 1) <= 2e-4


@pytest.mark.parametrize(
    ("exact", "tolerance", "expected"),
    [
        ([1.0, -1.004], 0.02, [1.0, -1.0]),
        ([1.0, -1.004], 0.004, [0.996, -1.0]),
        ([0.4, -0.6001], 0.01, [2.0, -3.0]),
        ([1.0, -0.001], 1e-4, [1.0, -0.001]),
        ([100.0, -1.0], 1e-3, [100.0, -1.0]),
        ([0.3333, 0.3333, -1.0], 0.01, [1.0, 1.0, -3.0]),
        ([1.0, -0.45359237], 1e-9, [1.0, -0.45359237]),
        ([-3.7], 1e-9, [-1.0]),
    ],
)
def test_the_numbers_that_are_chosen(exact, tolerance, expected) -> None:
    c = np.array(exact)
    found = simplify_equation(c, np.zeros(c.size), np.ones(c.size), tolerance)
    assert found.coefficients.tolist() == expected
    assert found.intercept == 0.0
