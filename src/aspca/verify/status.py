"""How a step ended, as the sentence a user reads; which of them may stand there follows from the bounds."""

from __future__ import annotations

from enum import Enum


class Status(Enum):
    """How a component's solve ended; the value is the sentence a user reads."""

    CERTIFIED = "the vector attains the optimum of the convex problem, within the tolerance or within rounding"
    RELAXED = "the convex problem is solved, but its optimum is not rank one: the best vector may be better by the gap"
    ITERATIONS = "the iteration limit ended the convex solver early: the bounds are valid but apart"
    PRECISION = "float64 precision ended the convex solver early: the bounds are valid but apart"
    QUICK = "only a quick proof was asked for: the bounds are valid but apart, and certify(A) brings them together"
    BUDGET = "the time budget ended the convex solver early: the bounds are valid but apart"


# What ended a solve early cannot be seen in its bounds; that it ended early can.
_EARLY = frozenset({Status.ITERATIONS.value, Status.PRECISION.value, Status.QUICK.value, Status.BUDGET.value})


def sentences(*, attained: bool, solved: bool) -> frozenset[str]:
    """What may be said of a step whose vector attains the convex optimum, or whose convex problem is solved, or not."""
    if attained:
        return frozenset({Status.CERTIFIED.value})
    return frozenset({Status.RELAXED.value}) if solved else _EARLY
