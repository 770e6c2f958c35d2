"""How many numbers agree, data set by data set."""

from __future__ import annotations

from dataclasses import dataclass

from aspca.reproduction.comparison import Comparison
from aspca.reproduction.deviations import reason_for
from aspca.reproduction.results import Reproduction


@dataclass(frozen=True)
class Count:
    """Of one data set: how many numbers (and sayings) of the paper there are, and how many agree."""

    title: str
    published: int
    agree: int

    @property
    def differ(self) -> int:
        return self.published - self.agree


@dataclass(frozen=True)
class Deviation:
    """A number outside its tolerance, and why."""

    comparison: Comparison
    reason: str


def counts(reproduction: Reproduction) -> tuple[Count, ...]:
    """One for each section."""
    found = []
    for section in reproduction.sections:
        comparisons = tuple(section.comparisons)
        found.append(Count(section.title, len(comparisons), sum(one.agrees for one in comparisons)))
    return tuple(found)


def deviations(reproduction: Reproduction) -> tuple[Deviation, ...]:
    """All that do not agree."""
    return tuple(Deviation(one, reason_for(one)) for one in reproduction.comparisons if not one.agrees)
