"""Colours that the colour-blind tell apart, too, and that differ in lightness, for paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.colors import ListedColormap

# Okabe and Ito (2008): Color Universal Design.
BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
)
CYCLE = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK)
# With the colours of the cycle these make lines that are told apart by shape as well.
DASHES = ("-", "--", "-.", ":")
GREY = "0.55"
ANOMALY, NORMAL = VERMILLION, GREY
# Of the score, what lies outside the rules.
OUTSIDE = PURPLE

# Paler than this a small loading could be taken for none.
_PALEST = 0.14


def diverging() -> ListedColormap:
    """Orange to purple (ColorBrewer's PuOr) without its white middle: whatever is not zero has a colour."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    half = np.linspace(0.0, 0.5 - _PALEST / 2, 128)
    return ListedColormap(colormaps["PuOr"](np.concatenate([half, 1.0 - half[::-1]])), name="aspca_diverging")


def sequential() -> ListedColormap:
    """Light to dark blue, which everyone sees alike, without its whitest part: empty cells are white."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    return ListedColormap(colormaps["Blues"](np.linspace(_PALEST, 1.0, 256)), name="aspca_sequential")


def ink_on(colour: tuple[float, float, float, float]) -> str:
    """Black or white, whichever reads better on a colour."""
    red, green, blue, _ = colour
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"
