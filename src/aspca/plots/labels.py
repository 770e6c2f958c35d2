"""Names as labels: hostile text made harmless, long text shortened where it says least, and never two labels alike.

matplotlib reads text between dollar signs as mathematics, breaks lines at newlines and warns about characters that
have no glyph. Widths are in characters.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Sequence

import numpy as np

_ELLIPSIS = "…"


def harmless(text: str) -> str:
    """Text that matplotlib draws as it stands: every dollar sign escaped, what cannot be printed spelled out."""
    return _printable(text).replace("$", r"\$")


def shortened(text: str, width: int) -> str:
    """At most `width` characters, the middle left out: names tend to differ at their ends."""
    text = _printable(text)
    if len(text) <= width:
        return text
    head = (width - 1 + 1) // 2
    return text[:head] + _ELLIPSIS + text[len(text) - (width - 1 - head) :]


def short_names(names: Sequence[str], width: int) -> list[str]:
    """Harmless labels of at most `width` characters, all different where the names are.

    Where shortening makes two names the same, their positions are added.
    """
    short = [shortened(name, width) for name in names]
    times = Counter(short)
    for position, (name, label) in enumerate(zip(names, short, strict=True)):
        if times[label] > 1 and label != name:
            number = f" [{position}]"
            short[position] = shortened(name, max(width - len(number), 3)) + number
    return [harmless(label) for label in short]


def wrapped(text: str, width: int, lines: int) -> str:
    """At most `lines` lines of at most `width` characters; a rule is broken, and its middle left out, between terms."""
    terms = _terms(_printable(text))
    found = _lines(terms, width)
    if len(found) > lines:
        # Long names first, or a single one might push out what it is compared with.
        terms = _terms(" ".join(shortened(word, max(12, width // 2)) for word in _printable(text).split(" ")))
        found = _lines(terms, width)
    kept = list(range(len(terms)))
    while len(found) > lines and len(kept) > 2:
        # Ends stay, and so does what is behind the equals sign; what goes is as near to the middle as can be.
        inner = [k for k in kept[1:-1] if not terms[k].startswith("=")]
        if not inner:
            break
        kept.remove(min(inner, key=lambda k: abs(2 * k - len(terms) + 1)))
        found = _lines(_with_gaps(terms, kept), width)
    if len(found) > lines:
        found = _lines([shortened(_printable(text), width * lines)], width)[:lines]
    return "\n".join(harmless(line) for line in found)


def _terms(text: str) -> list[str]:
    """``a = 2 b + c`` as ``a``, ``= 2 b``, ``+ c``."""
    return re.split(r" (?=[+=-] )", text)


def _with_gaps(terms: list[str], kept: list[int]) -> list[str]:
    told: list[str] = []
    for before, k in zip([-1, *kept], kept, strict=False):
        if k > before + 1:
            told.append(_ELLIPSIS)
        told.append(terms[k])
    return told


def _lines(terms: list[str], width: int) -> list[str]:
    # textwrap does not break at hard spaces, and none is left of the text's own: they are not printable.
    glued = (term.replace(" ", "\u00a0") if len(term) <= width else term for term in terms)
    found = textwrap.wrap(" ".join(glued), width, break_on_hyphens=False)
    return [line.replace("\u00a0", " ") for line in found] or [""]


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def number(value: float, digits: int = 4) -> str:
    """So many digits, for reading; whole numbers of up to seven are written out."""
    if 1e3 <= abs(value) < 1e7:
        whole = len(str(int(abs(value))))
        return minus(f"{value:,.{max(0, digits - whole)}f}")
    return minus(f"{value:.{digits}g}")


def beside(value: float, normal: float) -> str:
    """``value  (normal)``, with as many digits as tell them apart."""
    size, apart = max(abs(value), abs(normal)), abs(value - normal)
    digits = 4 if apart == 0 else int(np.clip(np.ceil(np.log10(size) - np.log10(apart)) + 2, 4, 17))
    return f"{number(value, digits)}  ({number(normal, digits)})"


def minus(text: str) -> str:
    """A number as text with a proper minus sign, as on matplotlib's axes."""
    return text.replace("-", "\N{MINUS SIGN}")


def share(value: float) -> str:
    """A share as a percentage, small ones not rounded away to nothing."""
    if value == 0:
        return "0 %"
    if value < 0.0005:
        return "< 0.1 %"
    return f"{100 * value:.1f} %" if value < 0.0995 else f"{100 * value:.0f} %"
