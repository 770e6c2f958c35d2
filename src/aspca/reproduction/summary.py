"""How many numbers agree, data set by data set."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from aspca.reproduction.comparison import Comparison
from aspca.reproduction.deviations import reason_for
from aspca.reproduction.results import Reproduction


@dataclass(frozen=True)
class Count:
    """Of one data set: how many numbers and sayings of the paper there are, how many agree, and numbers exactly."""

    title: str
    published: int
    agree: int
    to_the_last_digit: int

    @property
    def differ(self) -> int:
        return self.published - self.agree


@dataclass(frozen=True)
class Explained:
    """Numbers that differ for one reason; an empty reason: none is known."""

    comparisons: tuple[Comparison, ...]
    reason: str

    @property
    def agrees(self) -> bool:
        """Whether all are within their tolerances all the same."""
        return all(one.agrees for one in self.comparisons)


def counts(reproduction: Reproduction) -> tuple[Count, ...]:
    """One for each section."""
    found = []
    for section in reproduction.sections:
        comparisons = tuple(section.comparisons)
        agree = sum(one.agrees for one in comparisons)
        exact = sum(one.as_printed for one in comparisons if one.difference is not None)
        found.append(Count(section.title, len(comparisons), agree, exact))
    return tuple(found)


def explained(comparisons: Iterable[Comparison]) -> tuple[Explained, ...]:
    """Numbers by the reason why they differ: all outside their tolerances, others where a reason is known."""
    found: dict[str, list[Comparison]] = {}
    for one in comparisons:
        reason = reason_for(one)
        if reason or not one.agrees:
            found.setdefault(reason, []).append(one)
    return tuple(Explained(tuple(several), reason) for reason, several in found.items())


def deviations(reproduction: Reproduction) -> tuple[Explained, ...]:
    """All that do not agree, by their reasons."""
    return explained(one for one in reproduction.comparisons if not one.agrees)
