"""Numbers as they are shown, in the terminal and on the page alike."""

from __future__ import annotations

from aspca.reproduction.comparison import Comparison
from aspca.reproduction.results import Cell

MINUS = "\N{MINUS SIGN}"


def paper_text(one: Comparison) -> str:
    """As printed."""
    return _signed(str(one.paper)) if not isinstance(one.paper, str) else one.paper


def ours_text(one: Comparison, digits: int) -> str:
    """With as many digits as the paper prints in the same column."""
    return one.ours if isinstance(one.ours, str) else _signed(f"{one.ours:.{digits}f}")


def difference_text(one: Comparison, digits: int) -> str:
    """With a sign; nothing for words."""
    difference = one.difference
    if difference is None:
        return ""
    shown = f"{difference:+.{digits}f}"
    return "0" if float(shown) == 0.0 else _signed(shown)


def cell_text(cell: Cell) -> str:
    """Whole numbers as they are, others with three digits behind the point, nothing as a dash."""
    if cell is None:
        return "\N{EN DASH}"
    if isinstance(cell, str):
        return cell
    return f"{cell:g}" if float(cell).is_integer() else _signed(f"{cell:.3f}")


def _signed(text: str) -> str:
    return text.replace("-", MINUS)
