"""Rules in the original units, against the rows, and as text."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aspca.preparation import Feature
from aspca.rules.chance import _log_choices, _log_tight, estimate_widening, measure_widening
from aspca.rules.rule import Rule
from aspca.sparse_pca.certificate import Certificate
from zoo import rules_of

NAMES = ("A", "B", "C", "D")


def rule(features: str, coefficients: list[float], centre: float, spread: float, deviations: list[float] | None = None):
    deviations = [1.0] * len(coefficients) if deviations is None else deviations
    c = np.array(coefficients)
    return Rule(tuple(Feature(name) for name in features), c, centre * c / (c @ c), np.array(deviations), spread)


def test_rules_are_projections_in_other_units() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)) @ rng.normal(size=(4, 4)) * [1.0, 10.0, 0.1, 5.0] + [3.0, -40.0, 0.0, 1e4]
    mean, scale = X.mean(axis=0), np.array([2.0, 30.0, 0.5, 7.0])
    Y = (X - mean) / scale
    loadings = np.zeros((4, 2))
    loadings[[0, 2], 0] = 0.6, -0.8
    loadings[:, 1] = 0.5
    rules = rules_of(loadings, mean, scale, Y.T @ Y / 200, NAMES)
    assert [one.features for one in rules] == [("A", "C"), NAMES]
    for one, v in zip(rules, loadings.T, strict=True):
        used = np.flatnonzero(v)
        values = X[:, used] @ one.coefficients
        assert abs(np.linalg.norm(one.coefficients) - 1) <= 1e-15
        assert abs(values.mean() - one.centre) <= 1e-9
        assert abs(values.std() - one.spread) <= 1e-9
        assert np.abs(one.deviations - X[:, used].std(axis=0)).max() <= 1e-9
        # The same line of zeros: a multiple of the projection, shifted by the centre.
        ratio = (values - one.centre) / (Y @ v)
        assert np.abs(ratio / ratio[0] - 1).max() <= 1e-6
        with pytest.raises(ValueError, match="read-only"):
            one.coefficients[0] = 1.0


@pytest.mark.parametrize("unit", [1e-300, 1e-200, 1e-160, 1e-100, 1e100, 1e149])
def test_extreme_units_give_finite_rules_of_unit_length(unit: float) -> None:
    loadings = np.array([[0.6, 0.0], [-0.8, 0.0], [0.0, 1.0], [0.0, 0.0]])
    scale = np.array([unit, 2 * unit, unit, 1.0])
    for one in rules_of(loadings, np.array([unit, unit, unit, 0.0]), scale, np.eye(4), NAMES):
        assert np.isfinite([*one.coefficients, one.centre, one.spread]).all()
        assert abs(np.linalg.norm(one.coefficients) - 1) <= 1e-12
        assert one.spread > 0


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (rule("F", [1.0], 0.0, 0.1), "F = 0 (± 0.1)"),
        (rule("F", [1.0], -7.25, 0.3), "F = -7.2 (± 0.3)"),
        (rule("F", [-1.0], 7.0, 0.5), "F = -7 (± 0.5)"),
        (rule("F", [1.0], 12345.6, 700.0, [700.0]), "F = 12000 (± 700)"),
        (rule("AB", [0.7071, -0.7071], 0.001, 0.1), "A = B (± 0.14)"),
        (rule("AB", [0.6, -0.8], 5.0, 0.1), "3 A = 4 B + 25 (± 0.5)"),
        (rule("AB", [0.6, 0.8], -5.0, 0.1), "3 A + 4 B = -25 (± 0.5)"),
        (rule("ACD", [0.5, 0.5, -0.7071], 0.0, 0.04), "7 D = 5 A + 5 C (± 0.4)"),
        (rule("ACD", [0.5774, 0.5774, -0.5774], 0.0, 0.04), "D = A + C (± 0.069)"),
        (rule("ABCD", [0.5, 0.5, -0.5, -0.5], 1.0, 0.01), "A + B = C + D + 2 (± 0.02)"),
        (rule("AB", [1e-6, -1.0], 0.0, 1e-8, [1.0, 1e-6]), "B = 1e-06 A (± 1e-08)"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_the_text_of_a_rule(given: Rule, text: str) -> None:
    assert given.text == str(given) == text
    assert repr(given) == f"Rule({text})"


@pytest.mark.parametrize(
    ("coefficients", "scales", "text"),
    [
        ([1.0, -1.0, 0.0], [1.0, 1.0, 1.0], "A = B"),
        ([1.0, 1.0, -1.0], [1.0, 1.0, 1.0], "C = A + B"),
        ([1.0, -1.0, 0.0], [1e-3, 1.0, 1.0], "A = 0.001 B"),
        ([1.0, -1.0, 0.0], [1.0, 12.0, 1.0], "B = 12 A"),
        ([1.0, 2.0, -1.0], [1.0, 1e6, 1.0], "C = A + 2e-06 B"),
    ],
)
def test_whole_numbers_and_conversions_of_units_are_read_off_noisy_rows(
    coefficients: list[float], scales: list[float], text: str
) -> None:
    """Rows obey the rule up to a hundredth of what they vary; the loadings are those of least variance."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(2000, 3))
        c = np.array(coefficients)
        last = int(np.flatnonzero(c)[-1])
        X[:, last] = -(X @ np.where(np.arange(3) == last, 0.0, c)) / c[last] + 0.01 * rng.normal(size=2000)
        X *= scales
        mean, scale = X.mean(axis=0), X.std(axis=0)
        C = np.cov(((X - mean) / scale).T, bias=True)
        (one,) = rules_of(np.linalg.eigh(C)[1][:, :1], mean, scale, C, ("A", "B", "C"))
        assert str(one).split(" (±")[0] == text
        # The text is about these rows: what it leaves over has the spread that it states.
        values = X @ one.equation.coefficients - one.equation.intercept
        assert np.sqrt((values**2).mean()) <= 1.3 * one.spread * one.equation.unit


def test_exact_dependencies_and_constants_are_said_to_be_so() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 5)) * 7 + 100
    X[:, 3] = X[:, 0] + X[:, 1] + X[:, 2]
    X[:, 4] = 3.0
    V = np.zeros((5, 3))
    V[:4, 0] = 0.5, 0.5, 0.5, -0.5
    V[4, 1] = 1.0
    V[0, 2] = 1.0
    total, constant, single = rules_of(
        V, X.mean(axis=0), np.ones(5), np.cov(X.T, bias=True), ("a", "b", "c", "total", "F")
    )
    assert str(total) == "total = a + b + c (exactly)"
    assert str(constant) == "F = 3 (constant)"
    assert (total.exact, constant.exact, single.exact) == (True, True, False)
    assert (total.constant, constant.constant, single.constant) == (False, True, False)
    # A millionth of noise is seen, and no equality is claimed.
    X[:, 3] += 1e-4 * rng.normal(size=300)
    (nearly,) = rules_of(V[:, :1], X.mean(axis=0), np.ones(5), np.cov(X.T, bias=True), ("a", "b", "c", "total", "F"))
    assert str(nearly).startswith("total = a + b + c (± 9.9e-05")
    assert not nearly.exact


@pytest.mark.parametrize("value", [3.0, -0.1, 0.0, 1e10 + 0.5, 1 / 3, 1e-200, -2.5e120])
def test_the_value_of_a_constant_is_told_to_the_last_digit(value: float) -> None:
    (one,) = rules_of(np.ones((1, 1)), np.array([value]), np.ones(1), np.zeros((1, 1)), ("F",))
    text = str(one)
    assert text.endswith(" (constant)")
    assert float(text.removeprefix("F = ").removesuffix(" (constant)")) == value


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("disk", "disk"),
        ("größe", "größe"),
        ("disk % used", "[disk % used]"),
        ("a = b", "[a = b]"),
        ("2nd", "[2nd]"),
        ("", "[]"),
        ("x]y", "[x]]y]"),
        ("a\nb", "[a\\nb]"),
        ("a\u202eb\x1b[31m", "[a\\u202eb\\x1b[31m]"),
    ],
)
def test_names_that_are_no_plain_words_stand_in_brackets(name: str, shown: str) -> None:
    one = Rule((Feature(name), Feature("B")), np.array([0.7071, -0.7071]), np.zeros(2), np.ones(2), 0.1)
    assert str(one) == f"{shown} = B (± 0.14)"
    assert str(one).isprintable()
    assert one.features == (name, "B")


def test_terms_that_hardly_move_a_rule_are_left_out_of_its_text_only() -> None:
    one = rule("ABC", [0.7071, -0.7071, 0.001], 0.0, 0.1, [1.0, 1.0, 1.0])
    assert str(one) == "A = B (± 0.14)"
    assert one.features == ("A", "B", "C")
    # A small coefficient of a wide feature is no small term.
    assert "C" in str(rule("ABC", [0.7071, -0.7071, 0.001], 0.0, 0.1, [1.0, 1.0, 1000.0]))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 6), st.integers(0, 2**32 - 1), st.floats(-4, 0))
def test_the_text_is_within_half_a_spread_of_the_exact_rule_on_every_usual_row(k: int, seed: int, tight: float) -> None:
    rng = np.random.default_rng(seed)
    mean, scale = 10 * rng.normal(size=k), 10.0 ** rng.uniform(-3, 3, size=k)
    v = rng.normal(size=k)
    v /= np.linalg.norm(v)
    root = np.eye(k) - (1 - 10.0**tight) * np.outer(v, v)
    C = root @ np.diag(rng.uniform(0.5, 2.0, size=k)) @ root
    (one,) = rules_of(v[:, None], mean, scale, C, tuple(f"x{j}" for j in range(k)))
    x = one.means + rng.uniform(-2, 2, size=(200, k)) * one.deviations
    exact = (x - one.means) @ one.coefficients
    said = (x @ one.equation.coefficients - one.equation.intercept) / one.equation.unit
    rounding = 1e-12 * float(np.abs(one.coefficients) @ (np.abs(one.means) + one.deviations))
    assert np.abs(said - exact).max() <= one.equation.moved + rounding
    assert one.equation.moved <= 0.5 * one.spread + rounding
    assert abs(np.linalg.norm(one.coefficients) - 1) <= 1e-12


def test_what_is_left_out_of_the_text_does_not_shift_it() -> None:
    """A = B + C / 1000, C about 5000 and nearly constant: without C the text must say A = B + 5, or name C."""
    rng = np.random.default_rng(1)
    b, c = rng.normal(size=500), 5000 + rng.normal(size=500)
    X = np.column_stack([b + c / 1000 + 0.1 * rng.normal(size=500), b, c])
    v = np.array([1.0, -1.0, -0.001]) / np.linalg.norm([1.0, -1.0, -0.001])
    (one,) = rules_of(v[:, None], X.mean(axis=0), np.ones(3), np.cov(X.T, bias=True), ("A", "B", "C"))
    assert abs(one.centre) < 0.1
    assert str(one).startswith("A = B + 5 (±")


# ---- rules that hold by chance


def test_what_others_fill_in_is_kept_and_limits_change_units() -> None:
    proof = (Certificate(0.0, 0.0, 0.0, 0.0, 0.0, True, False, 0, "solved"),)
    given = np.array([[0.6], [0.8]]), np.zeros(2), np.array([2.0, 2.0]), np.eye(2), ("A", "B")
    (one,) = rules_of(*given, limit=3.0, widening=1.25, certificate=proof)
    # Deviations of the scaled rule are half those of the rule of unit length in the original units.
    assert one.limit == pytest.approx(6.0)
    assert one.spread == pytest.approx(2.0)
    assert one.widening == 1.25
    assert one.certificate is proof
    assert not one.looks_like_chance
    # Where it was not measured, it is what to expect.
    (plain,) = rules_of(*given, n_rows=30)
    assert (plain.limit, plain.certificate, plain.sparsest) == (None, (), True)
    assert plain.widening == estimate_widening(1.0, np.array([0.36, 0.64]), 30, 1.0)
    assert not plain.looks_like_chance


def test_a_component_that_no_sparser_rule_replaced_says_so() -> None:
    one = rule("AB", [0.6, -0.8], 0.0, 0.1)
    assert str(one) == "3 A = 4 B (± 0.5)"
    assert str(replace(one, sparsest=False)) == "3 A = 4 B (± 0.5; no shorter rule found)"
    assert str(replace(one, exact=True, sparsest=False)) == "3 A = 4 B (exactly; no shorter rule found)"


def test_held_out_rows_tell_how_much_wider_a_rule_is() -> None:
    projections = np.array([[3.0, 0.0, 1e300, 2.0, np.nan], [-4.0, 0.0, 0.0, 2.0, 2.0]])
    widening = measure_widening(projections, np.array([0.5, 0.0, 0.0, 2.0, 1.0]))
    # A shift is a deviation too: of the last but one, held-out rows have no variance, but deviate by one spread.
    assert widening.tolist() == pytest.approx([np.sqrt(12.5) / 0.5, 1.0, np.inf, 1.0, 2.0])


@pytest.mark.parametrize(("widening", "chance"), [(None, False), (2.0, False), (2.001, True)])
def test_a_rule_looks_like_chance_from_twice_its_width_on(widening: float | None, chance: bool) -> None:
    assert replace(rule("AB", [0.6, -0.8], 0.0, 0.1), widening=widening).looks_like_chance == chance


def test_the_terms_of_a_rule_are_its_coefficients_squared_times_variances() -> None:
    """Few rows and many columns: if chance may have made the rule, new rows show its terms, each with its variance."""
    covariance = np.diag([4.0, 9.0, 1.0, 1.0, 1.0, 1.0])
    covariance[0, 1] = covariance[1, 0] = 4.5
    loading = np.array([[0.8], [-0.6], [0.0], [0.0], [0.0], [0.0]])
    (one,) = rules_of(loading, np.zeros(6), np.full(6, 2.0), covariance, tuple("abcdef"), n_rows=8)
    parts = np.array([0.64 * 4.0, 0.36 * 9.0])
    variance = parts.sum() - 2 * 0.48 * 4.5
    assert one.widening == pytest.approx(np.sqrt(parts.sum() / variance), rel=1e-12)


@pytest.mark.parametrize("n_rows", [3, 4, 5, 10, 100])
def test_fitted_coefficients_widen_a_rule_by_the_formula(n_rows: int) -> None:
    """Three terms of one certain rule: m = 2 fitted coefficients."""
    n, m = n_rows, 2
    formula = np.inf if n <= 4 else np.sqrt((n + 1) * (n - 2) / ((n - m - 1) * (n - m - 2)))
    assert estimate_widening(1e-9, np.ones(3), n, 0.0) == pytest.approx(formula, rel=1e-14)


@pytest.mark.parametrize(("n", "k"), [(20, 2), (30, 6), (60, 20)])
def test_the_expected_widening_is_what_new_rows_show_on_average(n: int, k: int) -> None:
    """A feature regressed on k - 1 others that determine it up to a noise: the average over many tables."""
    rng = np.random.default_rng(k)
    inside = outside = 0.0
    for _ in range(400):
        X = rng.normal(size=(n, k))
        X[:, 0] = X[:, 1:].sum(axis=1) + 0.01 * rng.normal(size=n)
        centred = X - X.mean(axis=0)
        c = np.concatenate([[1.0], -np.linalg.lstsq(centred[:, 1:], centred[:, 0])[0]])
        inside += ((centred @ c) ** 2).mean() / 400
        new = rng.normal(size=(200, k))
        new[:, 0] = new[:, 1:].sum(axis=1) + 0.01 * rng.normal(size=200)
        outside += (((new - X.mean(axis=0)) @ c) ** 2).mean() / 400
    parts = c**2 * X.var(axis=0)
    assert estimate_widening(inside, parts, n, 0.0) == pytest.approx(np.sqrt(outside / inside), rel=0.08)


def test_rules_of_few_rows_are_told_from_rules_that_hold() -> None:
    """Sixteen rows of twelve unrelated features, and a copy: what the flag says is what new rows show."""
    names = tuple(f"x{j}" for j in range(13))
    for seed in range(5):
        rng = np.random.default_rng(seed)

        def rows(n: int, rng: np.random.Generator = rng) -> np.ndarray:
            X = rng.normal(size=(n, 13))
            X[:, 12] = X[:, 0] + 0.05 * rng.normal(size=n)
            return X

        X, new = rows(16), rows(3000)
        C = np.cov(X.T, bias=True)
        chance = np.linalg.eigh(C)[1][:, :1]
        copy = np.zeros((13, 1))
        copy[[0, 12], 0] = np.sqrt(0.5), -np.sqrt(0.5)
        for V, flagged in ((chance, True), (copy, False)):
            (one,) = rules_of(V, X.mean(axis=0), np.ones(13), C, names, n_rows=16)
            (real,) = measure_widening((new - X.mean(axis=0)) @ V, np.array([one.spread]))
            assert one.looks_like_chance == flagged
            assert real > 2.5 if flagged else real < 2.5


@pytest.mark.parametrize(("n", "k", "p"), [(12, 2, 4), (20, 3, 6)])
def test_the_probability_of_chance_bounds_how_often_the_best_choice_is_as_tight(n: int, k: int, p: int) -> None:
    """Tables of unrelated features, the best of all choices of k, against the bound at the tightness it reaches."""
    rng = np.random.default_rng(n)
    best = []
    for _ in range(300):
        C = np.cov(rng.normal(size=(n, p)).T, bias=True)
        inverses = [np.linalg.inv(C[np.ix_(s, s)]) for s in map(list, itertools.combinations(range(p), k))]
        supports = list(itertools.combinations(range(p), k))
        best.append(
            min(float((1 / (np.diag(H) * np.diag(C)[list(s)])).min()) for H, s in zip(inverses, supports, strict=True))
        )
    for level in (0.02, 0.1, 0.3):
        reached = float(np.quantile(best, level))
        tight = float(_log_tight(np.array([reached]), np.array([float(n)]), k)[0])
        bound = float(np.exp(min(0.0, tight + _log_choices(k, p))))
        assert bound >= 0.6 * level
        # And not idle: within the number of choices of the truth.
        assert bound <= min(1.0, 6 * level)
