"""Counts again, from the printed text alone, how many rows satisfy what is claimed."""

from __future__ import annotations

from dataclasses import dataclass

from .finder import Finder
from .loading import NumericTable
from .relation import half_steps
from .text import Claimed, TextError

# Rows may lie on the edge of two ways to round: shares are the same up to this.
_SAME = 0.01


@dataclass(frozen=True)
class Recount:
    """One claim: the share that it states and the share that its text has; `problem` if the text cannot be read."""

    table: str
    text: str
    stated: float
    counted: float
    problem: str = ""

    @property
    def disagrees(self) -> bool:
        return bool(self.problem) or self.counted < self.stated - _SAME

    @property
    def words(self) -> str:
        return f"{self.table}: {self.text} (stated {self.stated:.3f}, " + (
            f"{self.problem})" if self.problem else f"counted {self.counted:.3f})"
        )


def recount(table: NumericTable, find: Finder) -> list[Recount]:
    """All claims in a table, accusing or not."""
    H = half_steps(table.X)
    results = []
    for identity in find(table.X.copy(), list(table.names)).identities:
        try:
            known, satisfied = Claimed(identity.equation, table.names).satisfied(table.X, H)
        except TextError as error:
            results.append(Recount(table.name, identity.text, identity.share, float("nan"), str(error)))
            continue
        share = float(satisfied.sum() / max(known.sum(), 1))
        results.append(Recount(table.name, identity.text, identity.share, share))
    return results
