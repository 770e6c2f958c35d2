"""A reproduction as one page that needs nothing else: no script, no file beside it, nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined

from aspca.reproduction.pictures import Picture
from aspca.reproduction.results import Figure, Listing, Reproduction, Table
from aspca.reproduction.summary import counts, deviations, explained
from aspca.reproduction.wording import cell_text, difference_text, ours_text, paper_text

_TEMPLATE, _STYLE = "page.html.jinja", "page.css"


def page_of(reproduction: Reproduction, pictures: Mapping[str, Picture]) -> str:
    """HTML in which every text is escaped, every table and figure stands, and nothing can be loaded or run."""
    style = _text(_STYLE)
    environment = Environment(
        loader=FunctionLoader(_text), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.tests |= {"figure": _is(Figure), "table": _is(Table), "listing": _is(Listing)}
    environment.globals |= {
        "paper": paper_text,
        "ours": ours_text,
        "difference": difference_text,
        "shown": cell_text,
        "explained": explained,
        "address": lambda figure: _address(pictures[figure.key]),
    }
    # The only style that the page's own rule lets through is this one.
    allowed = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return environment.get_template(_TEMPLATE).render(
        reproduction=reproduction,
        counts=counts(reproduction),
        deviations=deviations(reproduction),
        style=style,
        style_hash=allowed,
    )


def _is(kind: type) -> Callable[[object], bool]:
    return lambda part: isinstance(part, kind)


def _text(name: str) -> str:
    return (files("aspca.reproduction") / name).read_text(encoding="utf-8")


def _address(picture: Picture) -> str:
    """The picture itself as an address, in the smaller of its two forms."""
    kind, content = min((("image/png", picture.png), ("image/svg+xml", picture.svg)), key=lambda one: len(one[1]))
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"
