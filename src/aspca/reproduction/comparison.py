"""One published number beside ours: how far apart they may be, and whether they are."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from aspca.reproduction.published import Number, digits_of

# A printed number stands for all that are rounded to it.
_HALF = 0.5


@dataclass(frozen=True)
class Tolerance:
    """How far ours may be from the paper's.

    Attributes
    ----------
    absolute, relative : float
        Apart by at most so much, or by such a share of the paper's.
    or_lower : bool
        Whether anything below the paper's agrees, too: sparser is better.
    at_most : float or None
        A bound of its own instead.
    """

    absolute: float = 0.0
    relative: float = 0.0
    or_lower: bool = False
    at_most: float | None = None

    def allows(self, paper: Number, ours: float) -> bool:
        """Whether ours agrees; what is printed as 0.25 may be any number that rounds to it."""
        value = float(paper)
        if self.at_most is not None:
            return ours <= self.at_most
        if self.or_lower and ours <= value:
            return True
        rounding = _HALF * 10.0 ** -digits_of(paper) if isinstance(paper, Decimal) else 0.0
        return abs(ours - value) <= max(self.absolute, self.relative * abs(value), rounding) * (1 + 1e-9)

    @property
    def text(self) -> str:
        """``within 5 %``, ``within 0.02 or lower``, ``at most 55.2``, ``equal``."""
        if self.at_most is not None:
            return f"at most {self.at_most:g}"
        parts = [f"within {self.absolute:g}"] if self.absolute else []
        parts += [f"within {100 * self.relative:g} %"] if self.relative else []
        return (" or ".join(parts) or "equal as printed") + (" or lower" if self.or_lower else "")


EQUAL = Tolerance()


@dataclass(frozen=True)
class Comparison:
    """What the paper says and what came out here.

    Attributes
    ----------
    key : str
        Its name: ``sparsity/breast-cancer/ASPCA-B/L1``.
    source : str
        Where the paper prints it.
    row, column : str
        Its place in a table.
    paper : number or str
    ours : number or str
        Words where the paper has words.
    tolerance : str
        How far apart they may be.
    agrees : bool
    """

    key: str
    source: str
    row: str
    column: str
    paper: Number | str
    ours: float | str
    tolerance: str
    agrees: bool

    @property
    def difference(self) -> float | None:
        """Ours less the paper's; None of words."""
        if isinstance(self.paper, str) or isinstance(self.ours, str):
            return None
        return float(self.ours) - float(self.paper)

    @property
    def as_printed(self) -> bool:
        """Whether ours is the printed number to its last digit; of words, whether they agree."""
        if isinstance(self.paper, str) or isinstance(self.ours, str):
            return self.agrees
        return round(float(self.ours), self.digits) == float(self.paper)

    @property
    def digits(self) -> int:
        """Decimals to show ours with."""
        return 0 if isinstance(self.paper, str) else digits_of(self.paper)


def compared(
    place: tuple[str, ...], source: str, paper: Number, ours: float, tolerance: Tolerance = EQUAL
) -> Comparison:
    """A number beside a number; `place` is a table, a data set, a row and a column."""
    *_, row, column = place
    return Comparison(
        "/".join(place), source, row, column, paper, ours, tolerance.text, tolerance.allows(paper, float(ours))
    )


def claimed(
    place: tuple[str, ...], source: str, paper: str, ours: str, holds: bool, asked: str = "as the text says"
) -> Comparison:
    """Words beside words: whether they say the same was found out by whoever calls."""
    *_, row, column = place
    return Comparison("/".join(place), source, row, column, paper, ours, asked, bool(holds))
