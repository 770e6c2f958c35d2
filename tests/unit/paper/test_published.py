"""When a number agrees with a printed one, and how both are shown."""

from __future__ import annotations

from decimal import Decimal

import pytest

from aspca.paper.published import (
    EQUAL,
    Comparison,
    Number,
    Tolerance,
    compare_numbers,
    compare_words,
    count_digits,
    format_cell,
    get_printed,
    load_reasons,
)

PLACE = ("sparsity", "synthetic", "row", "column")


@pytest.mark.parametrize(
    ("tolerance", "paper", "agree", "differ", "text"),
    [
        (EQUAL, 17, [17], [16, 18], "equal as printed"),
        (EQUAL, Decimal("0.0476"), [0.04755, 0.0476, 0.04765], [0.0475, 0.0477], "equal as printed"),
        (Tolerance(0.02), Decimal("5.00"), [4.98, 5.02], [4.97, 5.03], "within 0.02"),
        (Tolerance(relative=0.05), 100, [95, 105], [94.9, 105.1], "within 5 %"),
        (Tolerance(0.02, or_lower=True), Decimal("34.22"), [1.0, 34.24], [34.25], "within 0.02 or lower"),
        (Tolerance(or_lower=True), 18, [0, 18], [19], "equal as printed or lower"),
        (Tolerance(at_most=55.2), Decimal("54.52"), [50.0, 55.2], [55.21], "at most 55.2"),
        (Tolerance(2.0, 0.1), -10, [-12, -8], [-12.1, -7.9], "within 2 or within 10 %"),
    ],
)
def test_tolerances(
    tolerance: Tolerance, paper: Decimal | int, agree: list[float], differ: list[float], text: str
) -> None:
    assert [tolerance.allows(paper, value) for value in agree] == [True] * len(agree)
    assert [tolerance.allows(paper, value) for value in differ] == [False] * len(differ)
    assert tolerance.text == text


def compare(place: tuple[str, ...], paper: Number, ours: float, tolerance: Tolerance = EQUAL) -> Comparison:
    *row, column = place
    (one,) = compare_numbers(tuple(row), {column: paper}, {column: ours}, tolerance)
    return one


def test_a_number_is_shown_as_the_paper_shows_it() -> None:
    one = compare(PLACE, Decimal("-0.2220"), -0.22193, Tolerance(0.01))
    assert (one.key, one.row, one.column, one.digits) == ("sparsity/synthetic/row/column", "row", "column", 4)
    assert one.source == "Table 3"
    assert compare(("components", "synthetic", "row", "column"), 1, 1.0).source == "Table 5"
    minus = "\N{MINUS SIGN}"
    assert (one.paper_text, one.ours_text(4), one.difference_text(4)) == (f"{minus}0.2220", f"{minus}0.2219", "+0.0001")
    assert one.agrees
    assert not one.as_printed
    same = compare(PLACE, Decimal("0.2219"), 0.22193)
    assert same.as_printed
    assert same.difference_text(4) == "0"


def test_every_column_has_its_own_tolerance() -> None:
    printed, ours = {"x": 1, "y": 1}, {"x": 2.0, "y": 2.0, "z": 3.0}
    found = compare_numbers(PLACE[:-1], printed, ours, {"x": Tolerance(1.0), "y": EQUAL})
    assert [(one.column, one.agrees) for one in found] == [("x", True), ("y", False)]


def test_words_have_no_difference() -> None:
    one = compare_words(PLACE, "Section 4", "a, b", "a, b, c", holds=False)
    assert (one.difference, one.difference_text(0), one.digits) == (None, "", 0)
    assert (one.paper_text, one.ours_text(3)) == ("a, b", "a, b, c")
    assert not one.as_printed


@pytest.mark.parametrize(("cell", "text"), [(None, "\N{EN DASH}"), (4, "4"), (1.0, "1"), (0.02, "0.020"), ("-x", "-x")])
def test_cells(cell: float | str | None, text: str) -> None:
    assert format_cell(cell) == text


def test_printed_digits_are_kept() -> None:
    loading = get_printed("components", "kdd99", "4", "dst_bytes")
    assert (str(loading), count_digits(loading)) == ("0.9520", 4)
    assert count_digits(get_printed("thresholds", "synthetic", "TPR")) == 0


def test_a_reason_is_found_by_key_or_by_how_it_begins() -> None:
    pattern = next(key for key in load_reasons() if key.endswith("*"))
    place = (*pattern[:-1].strip("/").split("/"), "row", "column")
    assert compare(place, 1, 2.0).reason == load_reasons()[pattern]
    assert compare(("sparsity", "such", "row", "column"), 1, 2.0).reason == ""
    assert compare(place, 1, 1.0).reason == "", "what is as printed needs no reason"
