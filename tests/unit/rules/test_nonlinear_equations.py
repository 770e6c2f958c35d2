"""Rules beyond sums: read into formulas, printed and read again, with conditions, and refused in a sentence."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aspca.identities.formula import Condition, Factor, Formula, Term
from aspca.identities.identity import Identity, write_formula
from aspca.identities.resolution import Resolution
from aspca.preparation import Feature
from aspca.rules.equations import RuleError
from aspca.rules.user_rules import is_linear, parse_formulas, parse_linear_rules

LEVELS = ("bolt", "nut m", "not")
FEATURES = (
    *map(Feature, ("y", "a", "b", "c", "log", "region")),
    Feature("sent", "date"),
    Feature("due", "date"),
    *(Feature("kind", "level", level, LEVELS) for level in LEVELS),
    Feature("open", "boolean"),
    Feature("grade", "code", "", ("low", "high")),
    Feature("size", "sqrt"),
    Feature("price", "log"),
)
NAMES = [feature.name for feature in FEATURES]


def formula(text: str) -> Formula:
    ((_, found),) = parse_formulas([text], FEATURES)
    return found


def said(text: str) -> str:
    """What is understood, as it is printed."""
    found = formula(text)
    dates = [j for j, feature in enumerate(FEATURES) if feature.kind == "date"]
    condition = found.condition
    shown = (
        "" if condition is None else f" if {'not ' * condition.negated}{NAMES[condition.column]} {condition.value:g}"
    )
    return write_formula(found, [f.column if f.kind == "date" else f.text for f in FEATURES], dates) + shown


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("y = 100 a / b", "y = 100 a / b"),
        ("y = a^-0.5", "y = 1 / sqrt(a)"),
        ("y = a^(1/2) + b^(-2)", "y = sqrt(a) + 1 / b^2"),
        ("y = (2 a b)^2 / c", "y = 4 a^2 * b^2 / c"),
        ("y = sqrt(4 a / b)", "y = 2 sqrt(a) / sqrt(b)"),
        ("y = -a^2", "y = -a^2"),
        ("y = sqrt(-a) * sqrt(-a)", "y = -a"),
        ("y = sqrt(-4 a)", "y = 2 sqrt(-a)"),
        ("y = (a + b)^2", "y = a^2 + 2 a * b + b^2"),
        ("y = 2 log(-a)^2", "y = 2 log(-a)^2"),
        ("y = log(a b / c^3)", "y = log(a) + log(b) - 3 log(c)"),
        ("y = log(a + 1) + log(1 - b)", "y = log(a + 1) + log(-b + 1)"),
        ("y = log(2 + 2 a) - log(2)", "y = log(a + 1)"),
        ("y = log(exp(a) * exp(-a) * b)", "y = log(b)"),
        ("y = exp(a) exp(-b)^2", "y = exp(a) * exp(-b)^2"),
        ("y = a log", "y = a * log"),
        ("y = log(log)", "y = log(log)"),
        ("due = sent + 30 days", "due = sent + 30 days"),
        ("y = 2 [kind is bolt] * a", "y = 2 a * [kind is bolt]"),
        ("y = [kind is [nut m]] + log(sqrt(size))", "y = log(sqrt(size)) + [kind is [nut m]]"),
        ("y = log(price)^2", "y = log(price)^2"),
        # The left side: what was written, else what is a factor alone, else a product.
        ("a = 2 y", "a = 2 y"),
        ("2 y = a b", "y = 0.5 a * b"),
        ("y^2 = a + b", "y^2 = a + b"),
        ("1 = a b + 3 y", "y = -0.3333333333333333 a * b + 0.3333333333333333"),
        ("2 a b = 6 c y + 1", "a * b = 3 y * c + 0.5"),
        ("a / b = c / y", "y * a = b * c"),
        # Divided by a sum: multiplied by it.
        ("y = 100 a / (a + b)", "a = 0.01 y * a + 0.01 y * b"),
        ("y (a + b)^-1 = a", "y = a^2 + a * b"),
        ("y = a + a / (b + 1)", "y = 2 a + a * b - y * b"),
    ],
)
def test_what_is_understood(text: str, meant: str) -> None:
    rows = np.random.default_rng(0).uniform(0.1, 0.9, size=(20, len(FEATURES)))
    shown = said(text)
    if shown != meant:
        # Other orders of terms are as good.
        assert np.allclose(formula(text).residual(rows), formula(meant).residual(rows), rtol=1e-12, atol=1e-12), shown
    again = formula(shown)
    assert np.allclose(again.residual(rows), formula(text).residual(rows), rtol=1e-12, atol=1e-12)
    assert again.left == formula(text).left


def test_the_left_side() -> None:
    assert formula("a + b = y").left == Term(1.0, (Factor(0),))
    assert formula("y = a + b").left == Term(1.0, (Factor(0),))
    assert formula("a = y + b").left == Term(1.0, (Factor(1),))
    assert formula("2 a b = c y").left == Term(1.0, (Factor(1), Factor(2)))
    # What is there once can be solved for.
    assert formula("3 a + a b = 2 c").left == Term(1.0, (Factor(3),))
    assert np.isnan(formula("y = a + a^2").solve(np.ones((1, len(FEATURES))), 1)).all()


@pytest.mark.parametrize("remark", ["", " (exactly, all rows)", " (exactly, 99.8 % of the rows)", " (exactly; given)"])
@pytest.mark.parametrize("more", ["", " (to rounding, 97 % of the rows; given)", " (± 0.3)"])
@pytest.mark.parametrize("text", ["y = 100 a / b", "y = log(a)", "y = a + b if kind is bolt", "y = a if region is 3"])
def test_remarks_are_passed_over(text: str, remark: str, more: str) -> None:
    assert formula(text + (remark or more)) == formula(text)


# ---- conditions


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("kind is bolt", Condition(8, 1.0)),
        ("kind is not bolt", Condition(8, 1.0, negated=True)),
        ("kind is [nut m]", Condition(9, 1.0)),
        ("kind is not", Condition(10, 1.0)),
        ("kind is not not", Condition(10, 1.0, negated=True)),
        ("region is 3", Condition(5, 3.0)),
        ("open is true", Condition(11, 1.0)),
        ("grade is high", Condition(12, 1.0)),
        ("sent is 1970-01-03 12:00:00", Condition(6, 2.5)),
    ],
)
def test_conditions(text: str, condition: Condition) -> None:
    found = formula(f"y = a + b if {text}")
    assert found.condition == condition
    assert found.left == Term(1.0, (Factor(0),))
    assert not is_linear(f"y = a + b if {text}", FEATURES)
    assert formula(f"y = a + b if {text} (exactly, all rows)").condition == condition


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("y = a if colour is red", "if it holds categories, give --categorical colour."),
        ("y = a if [a b] is red", "if it holds categories, give --categorical 'a b'."),
        ("y = a if kind is screw", "the column has no such category; there are bolt, [nut m], not."),
        ("y = a if region is north", "the column holds numbers, so compare it with one of these."),
        ("y = a if size is 3", "taken as sqrt(size), and conditions are about columns as they are."),
        ("y = a if kind = bolt", "a condition stands at the end, as in if kind is bolt"),
        ("y = if kind is bolt", "at its end: a column or a number was expected"),
        ("y = log(a + b)", "log is of a column, a product, or a column + 1"),
        ("y = log(log(a))", "functions may not be nested"),
        ("y = log(a^2)", "at position 5 ('log'): it is of an even power"),
        ("y = log(-a b)", "of a negative number"),
        ("y = sqrt(a + b)", "only whole powers up to 6 are allowed, and no roots: raise both sides to a power"),
        ("y = (a + b)^7", "only whole powers up to 6"),
        ("y = exp(2 a)", "exp is of one column"),
        ("y = exp(log(a))", "exp is of one column"),
        ("y = a^b", "a number was expected"),
        ("y = a^2^2", "a power of a power needs brackets"),
        ("y = a^(1/0)", "nothing can be divided by zero"),
        ("y = a / (b - b)", "nothing can be divided by zero"),
        ("y = a^101", "has exponents beyond 100"),
        ("y = a b - a b + y", "since its columns cancel"),
        ("y = exp(1000) a", "numbers lie between"),
        ("y = 3^1000000000 a", "numbers lie between"),
        ("y = ((a + b + c)^6 (a + y)^6 (b + y + 1)^6)^6", "would be more than 1,000 products"),
        ("y = log a = b", "the rule should be over here"),
        ("y = exp a", "there is no such column to make rules of"),
    ],
)
def test_what_is_refused(text: str, refusal: str) -> None:
    with pytest.raises(RuleError) as caught:
        parse_formulas([text], FEATURES)
    message = str(caught.value)
    assert refusal in message
    assert message.startswith("The rule '")
    assert message.endswith((".", "?"))
    assert "\n" not in message


@pytest.mark.parametrize(
    "text",
    [
        "y = " + " * ".join(["(a + b)^6"] * 1500),
        "y = " + " + ".join(["1 / (a + b)"] * 1500),
        "y = " + " + ".join(f"a / {k}" for k in range(1, 2000)),
        "y = " + "(" * 39 + "a" + "^99)" * 39,
        "y = " + " * ".join(["1e300"] * 2500) + " a",
        "y = " + " * ".join(["1.00000001^999"] * 1200) + " a",
        "y = " + "log(" * 60 + "a",
        "if " * 5000,
        "y = a if " + "[" * 10_000,
        "y = a (exactly" * 1000,
    ],
)
def test_hostile_texts_end_in_a_sentence(text: str) -> None:
    with pytest.raises(RuleError) as caught:
        parse_formulas([text, "y = "], FEATURES)
    assert len(str(caught.value)) < 600


PIECES = st.sampled_from(
    [
        *("y", "a", "b", "log", "sqrt(", "exp(", "sent", "kind", "[kind is bolt]", "log(price)", "price", "days"),
        *("2", "0", "0.5", "1e300", "1e-300", "-1", "1970-01-03", "+", "-", "*", "/", "^", "^2", "^-0.5", "(", ")"),
        *("(a+b)", "=", "if", "is", "not", "bolt", "(exactly"),
    ]
)


@settings(max_examples=400, deadline=None)
@given(st.lists(PIECES, max_size=14))
def test_whatever_is_written_is_read_or_refused(pieces: list[str]) -> None:
    # Nothing but a RuleError: no overflow, no division by zero.
    with suppress(RuleError):
        parse_formulas([" ".join(pieces)], FEATURES)
    with suppress(RuleError):
        parse_formulas([" ".join(["y", "=", *pieces])], FEATURES)


# ---- several


def test_linear_or_not() -> None:
    assert is_linear("y = a + b", FEATURES)
    assert is_linear("y = log", FEATURES)
    assert is_linear("a / b = 2", FEATURES)
    assert not is_linear("y = a * b", FEATURES)
    assert not is_linear("y = log(a)", FEATURES)
    assert is_linear("log(price) = 3 a", FEATURES)
    with pytest.raises(RuleError, match="can only be checked row by row, which needs the rows: use fit"):
        parse_linear_rules(["y = a + c", "y = a * b"], FEATURES)
    assert len(parse_formulas(["y = a + c", "y = a * b", "y = a * b if kind is bolt"], FEATURES)) == 3


@pytest.mark.parametrize(
    ("texts", "refusal"),
    [
        (["y = a b", "2 b a = 2 y"], "The rule '2 b a = 2 y' says the same as 'y = a b'; leave one of them out."),
        (["y = 100 a / (a + b)", "y a + y b = 100 a"], "says the same"),
        (["y = a if kind is bolt", "a = y if kind is bolt"], "says the same"),
        (["y = a b", "y = 2 a", "a = y / 2"], "says the same as 'y = 2 a'"),
        (["y = a b", "y = a", "y = a + 1"], "contradicts 'y = a'"),
    ],
)
def test_what_is_there_twice_is_refused(texts: list[str], refusal: str) -> None:
    with pytest.raises(RuleError) as caught:
        parse_formulas(texts, FEATURES)
    assert refusal in str(caught.value)
    assert [text for text, _ in parse_formulas(texts[:-1], FEATURES)] == texts[:-1]


# ---- printed and read again

COLUMNS = ("y", "x.1", "disk % used", "log", "a]b", "e")
TABLE = (*map(Feature, COLUMNS), *(Feature("kind", "level", level, LEVELS) for level in LEVELS), Feature("region"))
NUMBERS = st.one_of(
    st.integers(-30, 30).filter(bool).map(float),
    st.sampled_from([1.0, -1.0, 1 / 3, 1 / 365, 1e-7, 2.5e17]),
    st.floats(1e-9, 1e9).flatmap(lambda value: st.sampled_from([value, -value])),
)
FACTORS = st.builds(
    Factor,
    st.integers(0, len(COLUMNS) - 1),
    st.sampled_from(["x", "x", "log", "log1p", "exp"]),
    st.sampled_from([1.0, 1.0, 2.0, -1.0, 0.5, -0.5, 3.0, 1.7, -2.0]),
    st.sampled_from([1.0, 1.0, -1.0]),
)


def products(most: int) -> st.SearchStrategy[tuple[Factor, ...]]:
    """Factors of different columns."""
    return st.lists(FACTORS, min_size=1, max_size=most, unique_by=lambda factor: factor.column).map(tuple)


CONDITIONS = st.one_of(
    st.none(),
    st.builds(Condition, st.integers(6, 8), st.sampled_from([0.0, 1.0]), st.booleans()),
    st.builds(Condition, st.just(9), st.sampled_from([3.0, -2.5, 1e-7]), st.booleans()),
)


@settings(max_examples=300, deadline=None)
@given(
    products(1),
    st.lists(st.builds(Term, NUMBERS, products(3)), max_size=4, unique_by=lambda term: frozenset(term.factors)),
    st.one_of(st.just(0.0), NUMBERS),
    CONDITIONS,
    st.sampled_from([0, 1, 3]),
)
def test_what_is_printed_is_read_as_it_was_meant(
    left: tuple[Factor, ...], terms: list[Term], constant: float, condition: Condition | None, tier: int
) -> None:
    # A column on both sides may cancel, or have the equation solved for another.
    others = [term for term in terms if left[0].column not in {factor.column for factor in term.factors}]
    made = Formula(Term(1.0, left), tuple(others), constant, condition)
    identity = Identity(made, TABLE, (Resolution.of(np.arange(9.0)),) * len(TABLE), tier, 90, 1)
    ((written, found),) = parse_formulas([identity.text], TABLE)
    assert written == identity.text
    rng = np.random.default_rng(0)
    rows = rng.uniform(-0.9, 0.9, size=(200, len(TABLE)))
    rows[:, 6:9] = np.eye(3)[rng.integers(3, size=200)]
    rows[:, 9] = rng.choice([3.0, -2.5, 1e-7], size=200)
    expected, again = made.residual(rows), found.residual(rows)
    assert np.array_equal(np.isnan(expected), np.isnan(again))
    exist = np.isfinite(expected)
    assert np.isfinite(again[exist]).all()
    with np.errstate(all="ignore"):
        sizes = sum(np.abs(term.value(rows)) for term in (made.left, *made.terms)) + abs(constant)
    # (-y) = a is read as y = -a.
    off = [np.abs(sign * again[exist] - expected[exist]) for sign in (1.0, -1.0)]
    assert any((one <= 1e-9 * sizes[exist]).all() for one in off)
