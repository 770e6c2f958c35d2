"""Other people's text never acts: not on a terminal, in a spreadsheet, in Markdown, HTML, a picture or a sentence."""

from __future__ import annotations

import html
import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aspca.escaping import (
    for_csv,
    for_html,
    for_json,
    for_markdown,
    for_picture,
    for_terminal,
    level_text,
    name_text,
    quoted,
)

ANY = st.text(st.characters())


@given(ANY)
def test_a_terminal_gets_one_line_of_printable_signs(text: str) -> None:
    shown = for_terminal(text)
    assert shown.isprintable()
    if text.isprintable():
        assert shown == text


@pytest.mark.parametrize("text", ["\x1b[31m", "a\nb", "\r", "\u202e", "\u2028", "\ud800", "\x9b"])
def test_what_would_act_is_spelled_out(text: str) -> None:
    assert for_terminal(text) == "".join(s if s.isprintable() else s.encode("unicode_escape").decode() for s in text)


@given(ANY)
def test_no_cell_begins_as_a_formula(text: str) -> None:
    cell = for_csv(text)
    assert cell in (text, f"'{text}")
    # Whatever a spreadsheet may drop before it looks.
    seen = re.sub(r"^[\s\x00-\x20\x7f-\xa0\u200b-\u200f\u2060\ufeff]+", "", cell)
    if seen.startswith(("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")):
        assert re.fullmatch(r"[+-][0-9.eE+-]+\s*", seen)


@pytest.mark.parametrize(
    "before", ["", " ", "   ", "\t", "\r\n", "\xa0", "\u3000", "\ufeff", "\u200b", "\x00", "\x1b", " \t "]
)
@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20"])
def test_whatever_stands_before_a_formula(before: str, sign: str) -> None:
    assert for_csv(f"{before}{sign}cmd|' /C calc'!A0") == f"'{before}{sign}cmd|' /C calc'!A0"


@pytest.mark.parametrize(
    "cell", ["-5", " -5", "+3.25 ", "1e5", " 7", "a = b", " x", "\xa0word", "'=1", "", " ", "_=", '"']
)
def test_numbers_and_words_stay(cell: str) -> None:
    assert for_csv(cell) == cell


@given(ANY)
def test_json_says_the_same_and_is_printable(text: str) -> None:
    document = {"text": text, text: [text, 1.5, None]}
    made = for_json(json.dumps(document, ensure_ascii=False, indent=1))
    assert json.loads(made) == document
    assert all(line.isprintable() for line in made.split("\n"))
    if text.isprintable():
        assert text.replace("\\", "\\\\").replace('"', '\\"') in made


@pytest.mark.parametrize(
    ("cell", "shown"),
    [(None, ""), (True, "1"), (False, "0"), (-1.5, "-1.5"), (0.1, "0.1"), ("-1e5", "-1e5"), ("-a", "'-a")],
)
def test_cells(cell: object, shown: str) -> None:
    assert for_csv(cell) == shown


@given(ANY)
def test_markdown_loses_nothing(text: str) -> None:
    shown = for_markdown(text).replace("&#8203;", "")
    assert re.sub(r"\\([\\`*_{}\[\]<>()#+!|~&$-])", r"\1", shown) == for_terminal(text)


class NoTags(HTMLParser):
    def handle_starttag(self, tag: str, attrs: object) -> None:
        raise AssertionError(tag)


@given(ANY)
def test_html_has_no_tags(text: str) -> None:
    reader = NoTags()
    reader.feed(for_html(text))
    reader.close()
    assert html.unescape(for_html(text)) == text
    assert '"' not in for_html(text)


@given(ANY)
def test_a_picture_has_no_mathematics(text: str) -> None:
    assert for_picture(text).replace(r"\$", "$") == for_terminal(text) or "\\$" in text
    assert not re.search(r"(?<!\\)\$", for_picture(text))


@given(ANY, ANY)
def test_names_in_sentences_read_in_one_way_only(one: str, other: str) -> None:
    for say in (name_text, level_text):
        assert say(one).isprintable()
        if say(one) == say(other):
            assert for_terminal(one) == for_terminal(other)


def test_plain_words_stay() -> None:
    assert [name_text(name) for name in ("flow", "größe.max", "disk % used", "a]", "2x")] == [
        "flow",
        "größe.max",
        "[disk % used]",
        "[a]]]",
        "[2x]",
    ]
    assert [level_text(level) for level in ("red", "2024-01-02 10:00:00", "a b")] == [
        "red",
        "2024-01-02 10:00:00",
        "[a b]",
    ]
    assert quoted("x" * 100) == "'" + "x" * 37 + "...'"
