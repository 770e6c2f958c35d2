"""A few lines of SVG: shapes, text that never acts, and numbers as short as a picture needs them."""

from __future__ import annotations

from aspca.harmless import for_html, for_terminal

MINUS, TIMES = "\N{MINUS SIGN}", "\N{MULTIPLICATION SIGN}"


def number(value: float) -> str:
    """A coordinate, to a tenth of a pixel."""
    text = f"{value:.1f}"
    return text.removesuffix(".0") if text != "-0.0" else "0"


def element(tag: str, content: str = "", **attributes: object) -> str:
    """An element; `content` is SVG. A trailing or inner `_` of an attribute's name is left out, or stands for `-`."""
    given = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{_attribute(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{given}>{content}</{tag}>" if content else f"<{tag}{given}/>"


def label(x: float, y: float, words: object, class_: str = "t", anchor: str = "start", **attributes: object) -> str:
    """Text at a place."""
    given = None if anchor == "start" else anchor
    return element("text", shown(words), x=x, y=y, class_=class_, text_anchor=given, **attributes)


def shown(words: object) -> str:
    """Other people's words between tags."""
    return for_html(for_terminal(words))


def hint(words: object) -> str:
    """What a pointer that rests there is told."""
    return element("title", shown(words))


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> str:
    return element("path", d=f"M{number(x1)} {number(y1)}L{number(x2)} {number(y2)}", class_=class_)


def picture(width: float, height: float, content: str, says: str, class_: str = "", *, group: bool = False) -> str:
    """A whole picture; `says` is read to those who do not see it. `group`: there are links in it."""
    return element(
        "svg",
        content,
        viewBox=f"0 0 {number(width)} {number(height)}",
        width=number(width),
        height=number(height),
        class_=class_ or None,
        role="group" if group else "img",
        aria_label=for_terminal(says),
    )


def clipped(words: str, longest: int) -> str:
    """The beginning of a name, where it is long."""
    return words if len(words) <= longest else f"{words[: longest - 1]}…"


def _attribute(value: object) -> str:
    return number(value) if isinstance(value, float) else for_html(str(value))
