"""Labels say what the names say, in less room."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pytest

from aspca.escaping import for_picture
from aspca.plots.labels import shorten, shorten_names, wrap_rule, write_number, write_pair, write_share


@pytest.mark.parametrize("name", ["$x^2$", r"$\frac{", r"a\$b$", "$", "$$", r"\$", r"\\$ $"])
def test_dollars_are_drawn_as_dollars(name: str) -> None:
    text = plt.figure().text(0, 0, for_picture(name))
    # What matplotlib makes of a text just before it draws it: the characters, and whether they are mathematics.
    assert text._preprocess_math(text.get_text()) == (name, False)


def test_the_middle_goes() -> None:
    assert shorten("abcdefghij", 10) == "abcdefghij"
    assert shorten("abcdefghijk", 7) == "abc…ijk"
    assert all(len(shorten("x" * 50, width)) == width for width in range(3, 50))


def test_shortened_names_show_where_they_differ() -> None:
    names = [f"sum of quarter {k} - all departments, everything that was paid" for k in range(12)] + ["plain"]
    short = shorten_names(names, 20)
    assert len(set(short)) == len(names)
    assert max(map(len, short)) <= 20
    assert short[-1] == "plain"
    assert all(
        label.startswith("sum of…") and f" {k} -" in label.replace("…", " ") for k, label in enumerate(short[:-1])
    )


def test_names_that_differ_in_several_places_get_their_positions() -> None:
    names = ["a" * 50 + one + "a" * 50 + two + "a" * 50 for one in "xy" for two in "pq"]
    short = shorten_names(names, 20)
    assert len(set(short)) == 4
    assert max(map(len, short)) <= 20
    assert [label.endswith(f"[{k}]") for k, label in enumerate(short)] == [True] * 4
    # The same name twice stays the same.
    assert len(set(shorten_names(["a" * 50] * 2, 20))) == 1


def test_rules_are_broken_between_terms_and_keep_both_ends() -> None:
    rule = " + ".join(f"{k} feature_{k}" for k in range(2, 20)) + " = 7 total - 3 (± 0.5)"
    text = wrap_rule(rule, 40, 3)
    lines = text.split("\n")
    assert len(lines) <= 3
    assert max(map(len, lines)) <= 40
    assert text.startswith("2 feature_2 + 3 feature_3")
    assert text.endswith("- 3 (± 0.5)")
    assert "= 7 total" in text
    assert "…" in text
    # Whatever is left of a term is all of it.
    told = {word.strip() for line in lines for word in line.replace("…", "+").replace("=", "+").split("+")} - {""}
    assert all(term in rule for term in told)
    assert all(not term.isdigit() for term in told)


def test_rules_as_they_are_wrapped() -> None:
    assert wrap_rule("A = B (± 0.17)", 40, 3) == "A = B (± 0.17)"
    assert wrap_rule("A = B (± 0.17)", 12, 3) == "A\n= B (± 0.17)"
    endless = wrap_rule(f"{'a' * 200} = {'b' * 200} (± 1)", 40, 3)
    assert "= b" in endless
    assert endless.endswith("(± 1)")
    # Long names are cut and not broken.
    names = [f"{'department_' * 6}{k}" for k in range(3)]
    text = wrap_rule(f"{names[0]} = {names[1]} + 0.00012345 {names[2]} (± 0.17)", 40, 3, names)
    assert text.replace("…", "~") == (
        "departmen~rtment_0 = departmen~rtment_1\n+ 0.00012345 departmen~rtment_2 (± 0.17)"
    )


@pytest.mark.parametrize("width", [14, 20, 31, 44, 62])
@pytest.mark.parametrize("lines", [1, 2, 3])
@pytest.mark.parametrize("count", [2, 3, 9])
def test_whatever_the_room_both_sides_are_told(width: int, lines: int, count: int) -> None:
    names = [f"name {k} - of what = is a rather long + column" for k in range(count)]
    right = " + ".join(f"0.25 [{name}]" for name in names[1:])
    text = wrap_rule(f"17:  [{names[0]}] = {right} (± 0.17)", width, lines, names)
    assert text.count("\n") < lines
    assert max(map(len, text.split("\n"))) <= width
    # Less is no room for the shortest name and what is around it.
    if width * lines > 24 and width > 14:
        words = " ".join(text.split())
        assert words.startswith("17: [n")
        assert "= 0.25 [n" in words or "= …" in words
        assert words.endswith("(± 0.17)")


def test_numbers() -> None:
    assert write_number(41604.94) == "41,605"
    assert write_number(-0.00012345) == "\N{MINUS SIGN}0.0001234"
    assert [write_share(value) for value in (0, 1e-5, 0.049, 0.5, 1)] == ["0 %", "< 0.1 %", "4.9 %", "50 %", "100 %"]
    # What differs by next to nothing needs no digits.
    assert write_pair(0.5086984239, 0.5086983783, 1e-5) == "0.5087  (0.5087)"
    assert write_pair(float("nan"), 1.0) == "missing"


@pytest.mark.parametrize(("value", "normal"), [(100000.21, 100000.2), (1.0, 0.0), (-5.00001, -5.0), (3.0, 3.0)])
def test_a_value_and_a_normal_one_are_told_apart(value: float, normal: float) -> None:
    one, two = write_pair(value, normal).replace(",", "").replace("\N{MINUS SIGN}", "-").rstrip(")").split("  (")
    assert (float(one) != float(two)) == (value != normal)
    assert abs(float(one) - value) <= 0.1 * abs(value - normal)
