"""A few lines of SVG: shapes, text that never acts, numbers as short as a picture needs them, and logarithmic axes.

Colours come from classes that the page's stylesheet knows, in light and in dark.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from markupsafe import Markup

from aspca.escaping import for_html, for_terminal

MINUS, TIMES = "\N{MINUS SIGN}", "\N{MULTIPLICATION SIGN}"


def number(value: float) -> str:
    """A coordinate, to a tenth of a pixel."""
    text = f"{value:.1f}"
    return text.removesuffix(".0") if text != "-0.0" else "0"


def element(tag: str, content: str = "", /, **attributes: object) -> str:
    """An element; `content` is SVG. A trailing or inner `_` of an attribute's name is left out, or stands for `-`."""
    given = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{number(value) if isinstance(value, float) else for_html(str(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{given}>{content}</{tag}>" if content else f"<{tag}{given}/>"


def label(x: float, y: float, words: object, class_: str = "t", anchor: str | None = None, **attributes: object) -> str:
    """Text at a place."""
    content = for_html(for_terminal(words))
    return element("text", content, x=x, y=y, class_=class_, text_anchor=anchor, **attributes)


def hint(words: object) -> str:
    """What is shown to a pointer that rests there."""
    return element("title", for_html(for_terminal(words)))


def path(d: str, class_: str, **attributes: object) -> str:
    """A path, or nothing where it is empty."""
    return element("path", d=d, class_=class_, **attributes) if d else ""


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> str:
    return path(f"M{number(x1)} {number(y1)}L{number(x2)} {number(y2)}", class_)


def picture(width: float, height: float, content: str, says: str, class_: str, role: str = "img") -> Markup:
    """A whole picture; `says` is read to those who do not see it. With links in it its role is that of a group."""
    box, says = f"0 0 {number(width)} {number(height)}", for_terminal(says)
    size = {"viewBox": box, "width": number(width), "height": number(height)}
    drawn = element("svg", content, **size, class_=class_, role=role, aria_label=says)
    return Markup(drawn)  # noqa: S704  # our own SVG, its text escaped


def clip(words: str, longest: int) -> str:
    """The beginning of a name, where it is long."""
    return words if len(words) <= longest else f"{words[: longest - 1]}…"


@dataclass(frozen=True)
class LogScale:
    """From `low` to `high`, both above zero, onto the pixels `start` to `stop`, by logarithms."""

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        inside = min(max(value, self.low), self.high)
        width = math.log(self.high / self.low) or 1.0
        return self.start + (self.stop - self.start) * math.log(inside / self.low) / width

    def ticks(self, most: int) -> list[float]:
        """Powers of ten, at most so many."""
        powers = range(math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9) + 1)
        step = max(1, -(-len(powers) // most))
        return [10.0**power for power in powers if power % step == 0] or [10.0**power for power in powers[:1]]


def draw_grid(y: LogScale, left: float, right: float, away: float) -> str:
    """Lines at powers of ten, from left to right, with their numbers so far away from them."""
    return "".join(
        line(left, y(tick), right, y(tick), "gr") + label(left - away, y(tick) + 4, write_tick(tick), "t", "end")
        for tick in y.ticks(5)
    )


def write_tick(value: float) -> str:
    """A round number: 0.01, 1,000, or 1e+09."""
    return f"{value:,.6g}" if 1e-4 <= value < 1e7 else f"{value:.0e}"
