"""Figures as files: the same bytes for the same figure, on every run."""

from __future__ import annotations

import io
from dataclasses import dataclass

from aspca.reproduction.results import Figure

_DOTS = 110


@dataclass(frozen=True)
class Picture:
    """A figure as PNG and as SVG."""

    png: bytes
    svg: bytes


def drawn(figure: Figure) -> Picture:
    """Draw it, without dates and random names."""
    import matplotlib

    # What a user set for pictures of their own is not for these.
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, "svg.hashsalt": figure.key}):
        canvas = figure.draw()
        png, svg = io.BytesIO(), io.BytesIO()
        canvas.savefig(png, format="png", dpi=_DOTS, metadata={"Software": None})
        canvas.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    return Picture(png.getvalue(), svg.getvalue())
