"""Formulas: what they say of rows, what rounding allows, and what a cell would have to be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aspca.identities.accept import is_slip
from aspca.identities.formula import Condition, Factor, Formula, Term, as_product, convert_units
from aspca.identities.identity import write_formula
from aspca.identities.resolution import Cells, Resolution

_factors = st.builds(
    Factor,
    st.integers(0, 4),
    st.sampled_from(["x", "x", "log", "log1p"]),
    st.sampled_from([1.0, 1.0, 2.0, 0.5, -1.0, 3.0]),
    st.just(1.0),
)
_terms = st.builds(
    Term,
    st.sampled_from([1.0, -1.0, 2.0, 100.0, 0.25, -1.19]),
    st.lists(_factors, min_size=1, max_size=3, unique_by=lambda factor: factor.column).map(tuple),
)


@st.composite
def formulas(draw: st.DrawFn) -> Formula:
    left = draw(st.sampled_from([Factor(5), Factor(5, "log"), Factor(5, "x", 2.0), Factor(5, "x", -1.0)]))
    terms = draw(st.lists(_terms, min_size=1, max_size=3).map(tuple))
    return Formula(Term(1.0, (left,)), terms, draw(st.sampled_from([0.0, 0.0, 3.5, -12.0])))


def _rows(seed: int, n: int = 40) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.5, 9.0, (n, 6))


@settings(max_examples=80, deadline=None)
@given(formulas(), st.integers(0, 1000))
def test_what_solves_an_equation_satisfies_it(formula: Formula, seed: int) -> None:
    X = _rows(seed)
    cells = Cells(X, np.zeros(X.shape), np.zeros(6, dtype=bool))
    for column in formula.columns:
        wanted = formula.solve(X, column)
        solved = X.copy()
        solved[:, column] = wanted
        some = np.isfinite(wanted) & (wanted > 0.05) & (wanted < 1e5)
        found = Cells(solved[some], cells.steps[some], cells.coarse)
        # What computing leaves, where one value is near the edge of a function.
        assert (np.abs(formula.residual(found.X)) <= 1e3 * formula.tolerances(found)[0] + 1e-6).all()


@settings(max_examples=80, deadline=None)
@given(formulas(), st.integers(0, 1000), st.integers(0, 3))
def test_tolerances_are_nested_and_bound_what_rounding_does(formula: Formula, seed: int, decimals: int) -> None:
    """Rows that satisfy an equation satisfy it after rounding of one fine column, within the second tolerance."""
    X = _rows(seed)
    X[:, 5] = 1.0
    value = formula.solve(X, 5)
    good = np.isfinite(value) & (np.abs(value) < 1e5) & (np.abs(value) > 0.1)
    X = X[good]
    X[:, 5] = value[good]
    column = formula.columns[-1]
    rounded = X.copy()
    rounded[:, column] = np.round(X[:, column], decimals)
    keeps = np.abs(rounded[:, column]) > 10.0**-decimals
    resolutions = tuple(Resolution(decimals if j == column else 16, 17, False) for j in range(6))
    cells = Cells.of(rounded[keeps], resolutions)
    first, second, third, last = formula.tolerances(cells)
    assert (first <= second).all()
    assert (second <= third).all()
    assert (second <= last).all()
    small = cells.steps[:, column] < 0.02 * np.abs(cells.X[:, column])
    assert (np.abs(formula.residual(cells.X))[small] <= 1.3 * second[small] + 1e-9).all()


def test_what_cannot_be_computed() -> None:
    ratio = Formula(Term(1.0, (Factor(0),)), (Term(100.0, (Factor(1), Factor(2, "x", -1.0))),))
    X = np.array([[50.0, 1.0, 2.0], [7.0, 0.0, 0.0], [7.0, 3.0, 0.0], [np.nan, 1.0, 2.0]])
    residual = ratio.residual(X)
    assert residual[0] == 0.0
    # Zero over zero is anything, three over zero nothing.
    np.testing.assert_array_equal(np.isnan(residual), [False, True, False, True])
    assert np.isinf(residual[2])
    logarithm = Formula(Term(1.0, (Factor(0),)), (Term(1.0, (Factor(1, "log"),)),))
    assert np.isinf(logarithm.residual(np.array([[1.0, -2.0]])))[0]


def test_conditions() -> None:
    formula = Formula(Term(1.0, (Factor(0),)), (Term(2.0, (Factor(1),)),), 0.0, Condition(2, 1.0))
    X = np.array([[4.0, 2.0, 1.0], [5.0, 2.0, 1.0], [5.0, 2.0, 0.0], [5.0, 2.0, np.nan]])
    np.testing.assert_array_equal(formula.residual(X), [0.0, 1.0, np.nan, np.nan])
    other = Formula(formula.left, formula.terms, 0.0, Condition(2, 1.0, negated=True))
    np.testing.assert_array_equal(other.residual(X), [np.nan, np.nan, 1.0, np.nan])


def test_other_units() -> None:
    total = Formula(Term(1.0, (Factor(0),)), (Term(1.0, (Factor(1),)), Term(1.0, (Factor(2),))), 5.0)
    T = np.random.default_rng(0).normal(size=(30, 3))
    T[:, 0] = T[:, 1] + T[:, 2] + 5.0
    slopes, offsets = np.array([0.5, 4.0, 0.25]), np.array([3.0, -1.0, 0.0])
    # Of features x = slope t + offset, with x of another total.
    scaled = slopes * T + offsets
    told = Formula(
        total.left,
        (Term(0.5 / 4.0, (Factor(1),)), Term(0.5 / 0.25, (Factor(2),))),
        0.5 * 5.0 + 3.0 + 0.5 / 4.0,
    )
    assert np.abs(told.residual(scaled)).max() < 1e-12
    back = convert_units(told, slopes, offsets)
    assert back is not None
    assert write_formula(back, ["t0", "t1", "t2"]) == "t0 = t1 + t2 + 5"
    product = Formula(total.left, (Term(2.0, (Factor(1), Factor(2))),))
    assert convert_units(product, slopes, offsets) is None
    turned = convert_units(product, slopes, np.zeros(3))
    assert turned is not None
    assert turned.terms[0].coefficient == pytest.approx(2.0 * 4.0 * 0.25 / 0.5)


def test_sums_of_logarithms_read_as_products() -> None:
    log_sum = Formula(Term(1.0, (Factor(0),)), (Term(1.0, (Factor(1),)), Term(-2.0, (Factor(2),))), float(np.log(1.2)))
    product = as_product(log_sum)
    assert product is not None
    assert write_formula(product, ["cost", "price", "amount"]) == "cost = 1.2 price / amount^2"


@pytest.mark.parametrize(
    ("old", "new", "slip"),
    [(123.4, 1234.0, True), (-5.5, 5.5, True), (1324.0, 1234.0, True), (1294.0, 1234.0, True), (17.0, 23.0, False)],
)
def test_slips_of_the_pen(old: float, new: float, slip: bool) -> None:
    assert is_slip(old, new) is slip


@pytest.mark.parametrize(
    ("values", "decimals"),
    [([1.0, 2.0, 30.0], 0), ([1.25, 3.5, 1e6 + 0.01], 2), ([1200.0, 500.0, 90000.0], -2), ([1.0 / 3.0, 0.1, 0.7], 15)],
)
def test_decimals(values: list[float], decimals: int) -> None:
    assert Resolution.of(np.array(values)).decimals == decimals


def test_a_few_wrong_cells_do_not_hide_the_decimals() -> None:
    rng = np.random.default_rng(0)
    values = np.round(rng.gamma(2.0, 50.0, 1000), 2)
    values[:20] += rng.normal(size=20)
    assert Resolution.of(values).decimals == 2


def test_float32_and_significant_digits() -> None:
    rng = np.random.default_rng(0)
    x = rng.lognormal(0.0, 3.0, 500)
    single = Resolution.of(x.astype(np.float32).astype(np.float64))
    assert single.single
    np.testing.assert_allclose(single.half_steps(x), 2.0**-23 * x)
    four = np.array([float(f"{v:.4g}") for v in x])
    found = Resolution.of(four)
    assert found.significant == 4
    np.testing.assert_allclose(found.half_steps(np.array([1234.0, 0.5678])), [0.5, 0.5e-4])


def test_coarse_columns_are_told_by_their_levels_in_any_unit() -> None:
    rng = np.random.default_rng(0)
    year, amount = rng.integers(1950, 2020, 500).astype(float), np.round(rng.gamma(2.0, 100.0, 500), 2)
    for unit in (1.0, 1000.0, 0.01):
        assert Resolution.of(year * unit).coarse
        assert not Resolution.of(amount * unit).coarse
