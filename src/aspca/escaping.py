"""Other people's text, made harmless for where it goes: names, cells and paths are data, and never act.

One function per place. Nothing is lost: each shows what the text is, and none changes plain words.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable

from aspca.masking import MASK, find_secrets, mask_secrets

# What a spreadsheet takes for the beginning of a formula, also in the wide signs of East Asian keyboards.
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
# What no cell should begin with, whatever follows.
_BREAKS = ("\t", "\r", "\n")
# Begins as a formula does, and is none.
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
# Whatever Markdown, or HTML inside it, would act on.
_ACTIVE = re.compile(r"([\\`*_{}\[\]<>()#+!|~&$-])")
# What hosts of tickets make links of once Markdown is HTML, where no backslash helps any more: mentions, mail,
# references (#12, !12, GH-12, owner/name#12), and addresses with or without a scheme. A break goes after each.
_LINKED = re.compile(
    r"(@|(?:\\[#!~$&]|[%^])(?=[\w\"])|GH\\-(?=\d)|:(?=//)|www(?=\.)|\b(?:mailto|xmpp):)", re.IGNORECASE
)
# No width, and no letter: as Dependabot and Renovate write it.
_BREAK = "&#8203;"
# Whatever might not be printable; ASCII has one such sign that JSON leaves as it is.
_UNSEEN = re.compile(r"[\x7f-\U0010ffff]")
_SHORTEST_SECRET = 4
_PLAIN_NAME = re.compile(r"[^\W\d][\w.]*")
# A date with its time of day is plain too.
_PLAIN_LEVEL = re.compile(r"[\w.+-]+|[\d-]+ \d\d:\d\d:\d\d")


def for_terminal(text: object) -> str:
    """On one line, whatever a terminal would act on spelled out; letters of all languages stay."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in str(text))


def for_csv(cell: object) -> str:
    """A cell as it reads: text that a spreadsheet would take for a formula gets a quote before it.

    Numbers are in the fewest digits that are exact, yes and no are 1 and 0, a missing value is empty.
    """
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "1" if cell else "0"
    if isinstance(cell, int | float):
        return repr(cell)
    text = str(cell)
    return f"'{text}" if _may_be_formula(text) else text


def _may_be_formula(text: str) -> bool:
    if text[:1].isalnum():
        return False
    if text.startswith(_BREAKS):
        return True
    # Blanks of any kind, marks of byte order, and other signs that are not seen.
    seen = next((place for place, sign in enumerate(text) if sign.isprintable() and sign != " "), len(text))
    return text.startswith(_FORMULA, seen) and not _NUMBER.fullmatch(text.strip())


def for_json(text: str) -> str:
    """JSON that says the same, in which nothing acts on a terminal: all but letters and signs is escaped."""

    def escape(match: re.Match[str]) -> str:
        return match[0] if match[0].isprintable() else json.dumps(match[0])[1:-1]

    return "\n".join(line if line.isprintable() else _UNSEEN.sub(escape, line) for line in text.split("\n"))


def for_markdown(text: str) -> str:
    """Text that Markdown shows as it is, on one line: nothing in it is a link, a mention or a reference."""
    return _LINKED.sub(rf"\1{_BREAK}", _ACTIVE.sub(r"\\\1", for_terminal(text)))


def for_html(text: str) -> str:
    """Text that HTML shows as it is, between tags or in an attribute."""
    return html.escape(text)


def for_picture(text: str) -> str:
    """Text that matplotlib draws as it stands: every dollar sign escaped, what cannot be printed spelled out."""
    return for_terminal(text).replace("$", r"\$")


def for_sql_name(name: str) -> str:
    """The name of a table or a column in SQL, whatever it is."""
    return '"' + name.replace('"', '""') + '"'


def for_sql_text(text: str) -> str:
    """A text in SQL, where no parameter may stand."""
    return "'" + text.replace("'", "''") + "'"


def name_text(name: str) -> str:
    """A column's name inside a sentence: in brackets unless it is a plain word, such as ``[disk % used]``.

    A bracket inside is doubled, and what cannot be printed is written as an escape, so that a sentence stays on its
    line and reads in one way only.
    """
    return name if _PLAIN_NAME.fullmatch(name) else f"[{for_terminal(name).replace(']', ']]')}]"


def level_text(level: str) -> str:
    """A category inside a sentence, in brackets unless it is one plain word or number."""
    return level if _PLAIN_LEVEL.fullmatch(level) else name_text(level)


def quoted(text: object, longest: int = 40) -> str:
    """A cell or a name inside an error's sentence: in quotes, on one line, cut where it is long, without passwords."""
    whole = mask_secrets(str(text))
    return for_terminal(repr(whole if len(whole) <= longest else whole[: longest - 3] + "..."))


def without_secrets(sentence: str, words: Iterable[str]) -> str:
    """A sentence without the passwords of words that were given, whichever part of them it repeats."""
    hidden: dict[str, str] = {}
    # Options may hold their value behind a sign, and values several names.
    for piece in {piece for word in words for piece in (word, word.partition("=")[2], *word.split(","))}:
        for secret in find_secrets(piece):
            hidden |= dict.fromkeys(_spellings(piece), mask_secrets(piece))
            # A shorter one may be part of any word: it goes only with the address that it stands in.
            hidden |= dict.fromkeys(_spellings(secret), MASK) if len(secret) >= _SHORTEST_SECRET else {}
    for spelled in sorted(hidden, key=len, reverse=True):
        sentence = sentence.replace(spelled, hidden[spelled])
    return sentence


def _spellings(text: str) -> set[str]:
    """A text as it may stand in a sentence."""
    joined = " ".join(text.split())
    return {text, joined, for_terminal(text), for_terminal(joined), repr(text)[1:-1], for_terminal(repr(text)[1:-1])}
