"""Ticks of logarithmic axes: as many as there is room for when the picture is drawn, in numbers that read at once.

matplotlib's own labels run into each other where an axis is short or spans less than a decade. Imports matplotlib, so
it is imported only when something is drawn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import Locator, MaxNLocator, NullFormatter, NullLocator

from aspca.linalg.arrays import Floats
from aspca.plots.labels import use_minus_sign

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def set_log_ticks(ax: Axes, which: str) -> None:
    """Ticks for the x or y axis, whose scale is "log" or "symlog"."""
    axis = ax.xaxis if which == "x" else ax.yaxis
    axis.set_major_locator(_LogLocator(which))
    axis.set_major_formatter(lambda value, _: _write_power(float(value)))
    axis.set_minor_formatter(NullFormatter())
    if axis.get_scale() == "symlog":
        axis.set_minor_locator(NullLocator())


def _write_power(value: float) -> str:
    """As in 0.01, 20,000 or, as mathematics, 2 × 10⁻⁷."""
    if value == 0:
        return "0"
    if 1e-4 <= abs(value) < 1e5:
        return use_minus_sign(f"{value:,.6g}")
    digits, exponent = f"{value:.3e}".split("e")
    factor = digits.rstrip("0").rstrip(".")
    ten = f"10^{{{int(exponent)}}}"
    return f"${ten}$" if factor == "1" else f"$-{ten}$" if factor == "-1" else rf"${factor}\times{ten}$"


class _LogLocator(Locator):
    """The finest grid of round numbers whose labels do not touch."""

    def __init__(self, which: str) -> None:
        self.which = which

    def __call__(self) -> Any:
        axis: Any = self.axis
        return self.tick_values(*axis.get_view_interval())

    def tick_values(self, vmin: float, vmax: float) -> Any:
        axis: Any = self.axis
        low, high = sorted((float(vmin), float(vmax)))
        box = axis.axes.get_window_extent()
        length = (box.width if self.which == "x" else box.height) * 72.0 / axis.axes.get_figure(root=True).dpi
        transform = axis.get_transform()
        linear = float(transform.linthresh) if axis.get_scale() == "symlog" else 0.0
        ends = transform.transform(np.array([low, high]))
        best = np.array([low, high])
        for grid in (grid for grid in _make_grids(low, high, linear) if grid.size > 1):
            best = grid
            places = (transform.transform(grid) - ends[0]) * length / max(float(ends[1] - ends[0]), 1e-300)
            # Points that a label takes along its axis: beside x, long ones take more.
            room = 14.0
            if self.which == "x":
                # What of mathematics is not seen; a sign for multiplication stays.
                texts = (re.sub(r"[${}^]|(?<=\\)times", "", _write_power(float(value))) for value in grid)
                room = max(34.0, 5.5 * max(map(len, texts)))
            if float(np.diff(places).min()) >= room:
                break
        return best


def _make_grids(low: float, high: float, linear: float) -> Iterator[Floats]:
    """Ascending round numbers from `low` to `high`, the finest first; with a linear part, zero and sizes beyond it."""

    def clip(sizes: Floats) -> Floats:
        if linear > 0.0:
            sizes = sizes[sizes >= linear]
            sizes = np.concatenate([-sizes, [0.0], sizes])
        return np.unique(sizes[(sizes >= low) & (sizes <= high)])

    exponents = np.floor(np.log10([linear if linear > 0.0 else low, max(abs(low), abs(high))]))
    powers = np.arange(exponents[0], exponents[1] + 1)
    decades = clip(10.0**powers)
    if linear == 0.0 and decades.size < 2:
        # Within a decade or so round numbers of one digit may be few: those of a plain axis do.
        yield from (clip(np.asarray(MaxNLocator(n).tick_values(low, high))) for n in (6, 4, 3, 2))
    if decades.size < 3:
        yield from (clip(np.outer(10.0**powers, few).ravel()) for few in ((1.0, 2.0, 5.0), (1.0, 3.0)))
    yield decades
    yield from (clip(10.0 ** powers[powers % step == 0]) for step in range(2, powers.size + 1))
