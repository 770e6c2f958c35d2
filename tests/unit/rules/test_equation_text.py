"""Rules as people write them: read, refused in a sentence, and read again as they are printed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from aspca.preparation import Feature
from aspca.rules.equation_text import parse_equation
from aspca.rules.equations import RuleError
from aspca.rules.user_rules import parse_linear_rules
from zoo import rules_of

NUMBERS = tuple(map(Feature, ("total", "a", "b", "disk % used", "x]y", "new\nline", "x.1", "e", "days")))
PREPARED = (
    *(Feature(name, "log") for name in ("price", "cost")),
    *(Feature(name, "date") for name in ("sent", "got")),
    Feature("size", "sqrt"),
    Feature("hue", "level", "red", ("blue", "red")),
    Feature("kind", "code", "", ("u", "v")),
    Feature("open", "boolean"),
)
FEATURES = (*NUMBERS, *PREPARED)


def read(text: str, features: tuple[Feature, ...] = FEATURES) -> tuple[dict[str, float], float]:
    found = parse_equation(text, features).linear
    assert found is not None
    terms, constant = found
    return {features[j].text: float(a) for j, a in terms.items()}, float(constant)


@pytest.mark.parametrize(
    ("text", "terms", "constant"),
    [
        ("total = a + b", {"total": 1, "a": -1, "b": -1}, 0),
        ("2 a - b = 5", {"a": 2, "b": -1}, 5),
        ("a = 0", {"a": 1}, 0),
        ("a = 2e", {"a": 1, "e": -2}, 0),
        ("total = 2 (a + b) + a", {"total": 1, "a": -3, "b": -2}, 0),
        ("total \u2212 2 \u00b7 a = b \u00d7 3", {"total": 1, "a": -2, "b": -3}, 0),
        ("a = x.1 - -b", {"a": 1, "x.1": -1, "b": -1}, 0),
        ("[x]]y] = [new\\nline]", {"[x]]y]": 1, "[new\\nline]": -1}, 0),
        # As rules are printed: what is said of their spread is passed over.
        ("total = a + b (± 0.3)", {"total": 1, "a": -1, "b": -1}, 0),
        ("a = 3 (constant; given)", {"a": 1}, 3),
        ("a = b + 5 (± 0.3; given as a = [disk % used] (+ 3))", {"a": 1, "b": -1}, 5),
        # Columns that are prepared.
        ("cost = 2 * price", {"log(cost)": 1, "log(price)": -1}, float(np.log(2))),
        ("cost * price^-2 = 1 (within a factor of 1.6)", {"log(cost)": 1, "log(price)": -2}, 0),
        ("2 log(price) + a = 3", {"log(price)": 2, "a": 1}, 3),
        ("code(kind) = 1", {"code(kind)": 1}, 1),
        ("a = 2 [hue is red] + 1 (± 0.3)", {"a": 1, "[hue is red]": -2}, 1),
        ("cost = (2 price)^2 (± 3 %)", {"log(cost)": 1, "log(price)": -2}, float(np.log(4))),
        # What is linear when it is multiplied out.
        ("a / b = 2", {"a": 1, "b": -2}, 0),
        ("a / (b + 2) = 3", {"a": 1, "b": -3}, 6),
        ("(a + b)^2 - a^2 - b^2 - 2 a b = total", {"total": -1}, 0),
        ("a = 2^3 b + 4^0.5 + log(1)", {"a": 1, "b": -8}, 2),
        ("sent = 1970-01-03", {"days(sent)": 1}, 2),
        ("got = 1970-01-03 12:00:00 (± 2 days)", {"days(got)": 1}, 2.5),
    ],
)
def test_what_is_read(text: str, terms: dict[str, float], constant: float) -> None:
    found, level = read(text)
    assert found == terms
    assert level == pytest.approx(constant, rel=1e-15)


def test_days_are_a_unit_unless_a_column_is_called_so() -> None:
    assert read("got = sent + 3 days", PREPARED) == ({"days(got)": 1, "days(sent)": -1}, 3.0)
    assert read("a = 3 days") == ({"a": 1, "days": -3}, 0.0)
    # Where nothing is a date, a date is a difference.
    assert read("a = 2024-01-02", NUMBERS) == ({"a": 1}, 2021.0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "at its end: a column or a number was expected; a rule is one equation"),
        ("total = a +", "at its end: a column or a number was expected"),
        ("(a = b", "at position 4 ('='): a ) was expected"),
        ("a = b = total", "at position 7 ('='): the rule should be over here"),
        ("a < b", "at position 3 ('<'): this sign has no meaning there"),
        ("a = `b`", "stand in brackets, as in [disk % used]"),
        ("a = a", "since its columns cancel"),
        ("3 = 3", "names no column"),
        ("total = totl", "at position 9 ('totl'): there is no such column to make rules of; did you mean total?"),
        ("disk = a", "did you mean [disk % used]?"),
        ("zzz = a", "there are total, a, b, [disk % used], [x]]y], [new\\nline], x.1, e and more."),
        ("total = a b", "so it can only be checked row by row, which needs the rows: use fit"),
        ("total = a + b if open is true", "is no sum of columns that holds in all rows"),
        ("a = asinh(b)", "at position 5 ('asinh(b)'): column 'b' is taken as b, so write that."),
        ("a = log(size)", "the column is taken as sqrt(size), so write that"),
        ("cost = log(price)", "it stands beside columns that are prepared as"),
        ("cost = price + 3", "are multiplied, not added"),
        ("cost = 0", "is never 0"),
        ("cost = exp(price)", "are multiplied, not added"),
        ("cost = 2 price if open is true", "has a condition, which products of columns"),
        ("a = hue", "the column is taken as categories: write one of them as in [hue is red], or a condition."),
        ("a = size", "the column is taken as sqrt(size), so write that"),
        ("sent = 2024-13-01", "there is no such day"),
        ("a = 1e999", "numbers lie between 1e-300 and 1e+300 in size"),
        ("1e99 * 1e99 a = b", "has coefficients beyond 1e+150"),
        (100 * "(" + "a", "at most 40 deep"),
        (100 * "-" + "a", "at most 40 deep"),
        (30_000 * "a", "is longer than 20,000 characters"),
        ("a = b\x1b[31m", "\\x1b"),
    ],
)
def test_what_cannot_be_read_is_refused_in_a_sentence(text: str, said: str) -> None:
    with pytest.raises(RuleError) as caught:
        parse_linear_rules([text], FEATURES)
    message = str(caught.value)
    assert said in message
    assert message.startswith("The rule '")
    assert message[-1] in ".?"
    assert "\n" not in message
    assert "\x1b" not in message


def test_two_columns_that_read_alike_are_not_guessed_between() -> None:
    twins = (Feature("a\n"), Feature("a\\n"), Feature("b"))
    with pytest.raises(RuleError, match="two columns are called so"):
        parse_equation("[a\\n] = b", twins)


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["a = 0.1 b", "10 a = b"], "The rule '10 a = b' says the same as 'a = 0.1 b'; leave one of them out."),
        (["total = a + b", "e = 1", "a = b", "total = 2 b"], "follows from 'total = a + b' and 'a = b'"),
        (["total = a + b", "a = b", "total = 2 b + 1"], "contradicts 'total = a + b' and 'a = b'"),
        (["cost = 3 * price", "price * 2 = cost"], "contradicts 'cost = 3 * price'"),
    ],
)
def test_a_rule_that_others_say_or_deny_is_refused(texts: list[str], said: str) -> None:
    with pytest.raises(RuleError) as caught:
        parse_linear_rules(texts, FEATURES)
    assert said in str(caught.value)
    assert len(parse_linear_rules(texts[:-1], FEATURES)) == len(texts) - 1


NAMES = st.text(min_size=1, max_size=6).filter(lambda name: name.isprintable() or "\n" in name)


@pytest.mark.parametrize("name", ["given", "exactly", "constant"])
@pytest.mark.parametrize("tail", ["", " (± 0.3)", " (exactly)", " (± 0.3; given)", "(± 1)"])
def test_columns_called_like_a_remark(name: str, tail: str) -> None:
    features = (Feature(name, "sqrt"), Feature("b", "number"))
    for text in (f"sqrt({name}) = 2 b", f"2 b = sqrt({name})"):
        (rule,) = parse_linear_rules([text + tail], features)
        assert np.array_equal(np.abs(rule.coefficients), [1.0, 2.0])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(NAMES, min_size=1, max_size=5, unique=True),
    st.sampled_from(["number", "log", "date", "sqrt", "boolean"]),
    st.data(),
)
def test_a_rule_that_is_printed_is_read_as_it_was_meant(names: list[str], kind: str, data: st.DataObject) -> None:
    features = tuple(Feature(name, kind) for name in names)
    assume(len({feature.text for feature in features}) == len(names))
    k = len(names)
    coefficients = data.draw(st.lists(st.integers(-9, 9).filter(bool), min_size=k, max_size=k))
    means = data.draw(st.lists(st.integers(-999, 999), min_size=k, max_size=k))
    spread = data.draw(st.sampled_from([1e-9, 0.01, 0.3]))
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, k)) * 3.0
    vector = np.array(coefficients, dtype=np.float64)
    rows -= np.outer(rows @ vector - spread * rng.normal(size=200), vector) / (vector @ vector)
    covariance = np.cov(rows.T, bias=True).reshape(k, k)
    # Of a logarithm a hundred is e^100.
    centre = np.array(means, dtype=np.float64) / (100.0 if kind == "log" else 10.0)
    (rule,) = rules_of((vector / np.linalg.norm(vector))[:, None], centre, np.ones(k), covariance, features, 200)
    said = rule.equation
    terms, constant = read(str(rule), features)
    found = np.array([terms.get(feature.text, 0.0) for feature in features])
    expected = np.append(said.coefficients, said.intercept)
    # Both sides may have changed places.
    times = found[said.coefficients != 0][0] / said.coefficients[said.coefficients != 0][0]
    assert abs(times) == pytest.approx(1.0)
    if kind == "log":
        # The constant of a product is written to its own digits.
        assert np.allclose(found, times * said.coefficients)
        room = rule.rounding * said.unit + 1e-9 * (1 + abs(float(said.coefficients @ rule.means)))
        assert abs(times * constant - float(said.coefficients @ rule.means)) <= room
    else:
        close = {"rtol": 1e-12, "atol": 1e-12}
        if kind == "date" and k <= 2:
            # A date is printed to the second.
            close = {"rtol": 0.0, "atol": 1.0 / 86400}
        assert np.allclose(np.append(found, constant), times * expected, **close)
