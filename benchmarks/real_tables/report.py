"""The outcomes as lines of one table, totals, and every miss by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from library.report import Cell

from .trial import Outcome, Tried

_HEADER = (
    "table", "n", "p", "identities", "found", "exact", "cases", "flagged", "first", "Mahal. first", "forest first",
    "listed B", "top rule", "broken rule", "column", "Mahal. column", "value", "all at once", "Mahal.", "forest", "s",
)  # fmt: skip


def lines(outcomes: Sequence[Outcome]) -> list[dict[str, Cell]]:
    """A line per table, and one for all."""
    cells = [_cells(outcome.table, [outcome]) for outcome in outcomes] + [_cells("all", outcomes)]
    return [dict(zip(_HEADER, line, strict=True)) for line in cells]


def misses(outcomes: Sequence[Outcome]) -> str:
    """Identities that are not among the rules, cases that fail in a respect, cases that were left out."""
    lines = ["Identities that are not among the rules of the clean table, or not marked exact:"]
    for outcome in outcomes:
        for k, identity in enumerate(outcome.identities):
            if not outcome.found[k]:
                lines.append(f"- {outcome.table}: {identity}")
            elif outcome.declared[k] and not outcome.exact[k]:
                lines.append(f"- {outcome.table}: {identity} (listed, not as exact)")
    lines += ["", "Cases that were missed (A: learned from the clean table, B: from the spoiled one):"]
    for tried in (one for outcome in outcomes for one in outcome.tried):
        failed = _failed(tried)
        if failed:
            lines.append(f"- {tried.case} (identity {tried.case.identity + 1}): {failed}")
    lines += ["", "Left out, since nobody could see them:"]
    lines += [
        f"- {one.table}, identity {one.identity + 1}, {one.kind}: {one.reason}"
        for outcome in outcomes
        for one in outcome.skipped
    ]
    return "\n".join(lines)


def _failed(tried: Tried) -> str:
    words = []
    for mode, found in (("A", tried.clean), ("B", tried.spoiled)):
        wrong = [
            word
            for word, right in (
                ("not flagged", found.flagged),
                (f"rank {found.rank}", found.first),
                ("no such rule", found.listed),
                ("another rule first", found.top_rule),
                ("rule not broken", found.any_rule),
                ("another column", found.column),
                ("another value", found.value is not False),
            )
            if not right
        ]
        if wrong:
            words.append(f"{mode}: {', '.join(wrong)}")
    return "; ".join(words)


def _cells(name: str, outcomes: Sequence[Outcome]) -> list[Cell]:
    tried = [one for outcome in outcomes for one in outcome.tried]
    whole = len(outcomes) == 1
    found = [one for outcome in outcomes for one in outcome.found]
    declared = sum(one for outcome in outcomes for one in outcome.declared)
    marked = sum(a and b for outcome in outcomes for a, b in zip(outcome.exact, outcome.declared, strict=True))
    return [
        name,
        str(outcomes[0].n) if whole else "",
        str(outcomes[0].p) if whole else "",
        str(len(found)),
        f"{sum(found)}/{len(found)}",
        f"{marked}/{declared}",
        str(len(tried)),
        _both(tried, lambda one: one.flagged),
        _both(tried, lambda one: one.first),
        _both_peers(tried, lambda one: one.mahalanobis),
        _both_peers(tried, lambda one: one.forest),
        str(sum(one.spoiled.listed for one in tried)),
        _both(tried, lambda one: one.top_rule),
        _both(tried, lambda one: one.any_rule),
        _both(tried, lambda one: one.column),
        _both_peers(tried, lambda one: one.column),
        _both(tried, lambda one: one.value is True) + f" of {sum(one.clean.value is not None for one in tried)}",
        *(_together(outcomes, way) for way in ("ours", "Mahalanobis", "forest")),
        f"{sum(outcome.seconds for outcome in outcomes):.0f}",
    ]


def _both(tried: Sequence[Tried], holds: Callable[[Any], bool]) -> str:
    return f"{sum(holds(one.clean) for one in tried)} / {sum(holds(one.spoiled) for one in tried)}"


def _both_peers(tried: Sequence[Tried], holds: Callable[[Any], bool]) -> str:
    return f"{sum(holds(one.clean_peers) for one in tried)} / {sum(holds(one.spoiled_peers) for one in tried)}"


def _together(outcomes: Sequence[Outcome], way: str) -> str:
    errors = sum(outcome.errors for outcome in outcomes)
    found = sum(outcome.together.get(way, 0.0) * outcome.errors for outcome in outcomes)
    return f"{found:.0f}/{errors}"
