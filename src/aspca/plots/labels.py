"""Names as labels: hostile text made harmless, long text shortened where it says least, and never two labels alike.

matplotlib reads text between dollar signs as mathematics, breaks lines at newlines and warns about characters that
have no glyph. Widths are in characters.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from functools import lru_cache
from os.path import commonprefix

import numpy as np

from aspca.escaping import for_picture, for_terminal, name_text

# What is written beside the part of a score that no rule accounts for.
OUTSIDE_THE_RULES = "outside the rules"
ELLIPSIS = "…"
_HARD = "\u00a0"


def shorten(text: str, width: int) -> str:
    """At most `width` characters, the middle left out: names tend to differ at their ends."""
    return _cut(for_terminal(text), width)


def shorten_names(names: Sequence[str], width: int) -> list[str]:
    """Harmless labels of at most `width` characters, all different where the names are."""
    return [for_picture(label) for label in _distinguish(tuple(names), width)]


def _cut(text: str, width: int) -> str:
    if len(text) <= width:
        return text
    head = width // 2
    return text[:head] + ELLIPSIS + text[len(text) - (width - 1 - head) :]


@lru_cache(maxsize=64)
def _distinguish(names: tuple[str, ...], width: int) -> tuple[str, ...]:
    """Names of at most `width` characters that can be told apart.

    Where the ends of some are alike, what is left is where they begin to differ; where even that is, their positions
    are added.
    """
    names = tuple(map(for_terminal, names))
    short = [_cut(name, width) for name in names]
    for same in _find_alike(short, names):
        differ = len(commonprefix([names[k] for k in same]))  # noqa: RUF071  # characters are meant
        for k in same:
            short[k] = _cut_around(names[k], differ, width)
    for same in _find_alike(short, names):
        for k in same:
            position = f" [{k}]"
            short[k] = _cut(names[k], max(width - len(position), 3)) + position
    return tuple(short)


def _find_alike(short: Sequence[str], names: Sequence[str]) -> list[list[int]]:
    """Positions of different names that are the same when shortened."""
    groups: dict[str, list[int]] = {}
    for k, label in enumerate(short):
        groups.setdefault(label, []).append(k)
    return [same for same in groups.values() if len({names[k] for k in same}) > 1]


def _cut_around(name: str, place: int, width: int) -> str:
    """The beginning of a name, and what begins at a place in it: at the word or number that it is part of."""
    start = place
    while start > max(0, place - 6) and name[start - 1].isalnum():
        start -= 1
    head = width // 3
    if start > head + 1:
        name = name[:head] + ELLIPSIS + name[start:]
    return name if len(name) <= width else name[: width - 1] + ELLIPSIS


# ---- rules


def wrap_rule(text: str, width: int, lines: int, names: Sequence[str] = ()) -> str:
    """At most `lines` lines of at most `width` characters; a rule is broken, and its middle left out, between terms.

    Where that does not do, names are shortened as far as it takes: both ends and what is behind the equals sign stay.
    `names` are all there are, so that shortened ones can be told apart.
    """
    # Inside brackets, which are doubled in a name, is a name, whatever it looks like. None of the text's own hard
    # spaces is left: they do not print.
    whole = re.sub(r"\[(?:[^\]]|\]\])*\]", lambda name: _glue(name[0]), for_terminal(text))
    for longest in (len(whole), width - 10, width // 2):
        terms = _split_terms(_shorten_words(whole, longest, names))
        found = _wrap_terms(terms, width)
        if len(found) <= lines and max(map(len, terms)) <= width:
            break
    else:
        found = _wrap_tightly(whole, width, lines, names)
    return "\n".join(for_picture(line.replace(_HARD, " ")) for line in found)


def _shorten_words(text: str, longest: int, names: Sequence[str]) -> str:
    """The text of a rule, its words of at most so many characters, at least five; numbers stay as they are."""
    longest = max(longest, 5)
    words = text.split(" ")
    if all(len(word) <= longest for word in words):
        return text
    # Brackets count, too.
    known = {name_text(name): short for name, short in zip(names, _distinguish(tuple(names), longest - 2), strict=True)}
    short = {_glue(word): _glue(f"[{label}]" if word.startswith("[") else label) for word, label in known.items()}
    return " ".join(
        word
        if len(word) <= longest or re.fullmatch(r"\(?[\d.,e+-]{1,12}\)?", word)
        else short.get(word) or _cut(word, longest)
        for word in words
    )


def _glue(text: str) -> str:
    return text.replace(" ", _HARD)


def _split_terms(text: str) -> list[str]:
    """``a = 2 b + c`` as ``a``, ``= 2 b``, ``+ c``."""
    return re.split(r" (?=[+=*-] )", text)


def _wrap_terms(terms: list[str], width: int) -> list[str]:
    # textwrap does not break at hard spaces.
    glued = (_glue(term) if len(term) <= width else term for term in terms)
    return textwrap.wrap(" ".join(glued), width, break_on_hyphens=False) or [""]


def _wrap_tightly(text: str, width: int, lines: int, names: Sequence[str]) -> list[str]:
    """Lines of a rule of which terms have to go."""
    sizes = (width // 2, width // 3, width // 4, width // 6, width // 8, 5)
    shorter = [_split_terms(_shorten_words(text, longest, names)) for longest in sizes]
    # At worst how it begins, that something follows, and how tight it is.
    remark = re.search(r" (\([^()]*\))$", text)
    where = next((k for k, term in enumerate(shorter[0]) if term.startswith("=")), 0)
    rest = [ELLIPSIS] * (where > 1) + [f"= {ELLIPSIS}"] + [found[1] for found in (remark,) if found]
    barest = [[terms[0], *rest] for terms in shorter] if where else []
    for terms in shorter + barest:
        found = _drop_terms(terms, width, lines)
        if len(found) <= lines:
            return found
    return _wrap_terms([_cut(text, width * lines)], width)[:lines]


def _drop_terms(terms: list[str], width: int, lines: int) -> list[str]:
    """Lines of the terms, of as few as it takes: ends stay, and so does what is behind the equals sign."""
    kept = list(range(len(terms)))
    while True:
        shown = [
            part
            for before, k in zip([-1, *kept], kept, strict=False)
            for part in (*[ELLIPSIS] * (k > before + 1), terms[k])
        ]
        found = _wrap_terms(shown, width)
        inner = [k for k in kept[1:-1] if not terms[k].startswith("=")]
        if len(found) <= lines or not inner:
            return found
        # As near to the middle as can be.
        kept.remove(min(inner, key=lambda k: abs(2 * k - len(terms) + 1)))


# ---- numbers


def write_number(value: float, digits: int = 4) -> str:
    """So many digits, for reading; whole numbers of up to seven are written out."""
    if 1e3 <= abs(value) < 1e7:
        whole = len(str(int(abs(value))))
        return use_minus_sign(f"{value:,.{max(0, digits - whole)}f}")
    return use_minus_sign(f"{value:.{digits}g}")


def write_pair(value: float, normal: float, same: float = 0.0) -> str:
    """``value  (normal)``, with as many digits as tell them apart where they are more than `same` apart."""
    if np.isnan(value):
        return "missing"
    size, apart = max(abs(value), abs(normal)), abs(value - normal)
    digits = 4 if apart <= same else int(np.clip(np.ceil(np.log10(size) - np.log10(apart)) + 2, 4, 17))
    return f"{write_number(value, digits)}  ({write_number(normal, digits)})"


def use_minus_sign(text: str) -> str:
    """A number as text with a proper minus sign, as on matplotlib's axes."""
    return text.replace("-", "\N{MINUS SIGN}")


def write_share(value: float) -> str:
    """A share as a percentage, small ones not rounded away to nothing."""
    if value == 0:
        return "0 %"
    if value < 0.0005:
        return "< 0.1 %"
    return f"{100 * value:.1f} %" if value < 0.0995 else f"{100 * value:.0f} %"
