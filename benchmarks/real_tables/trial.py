"""All cases of one table: learned from the clean table (A), from the table with the one error (B), with all of them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from .ours import Verdict, fitted, rule_of, scores, verdict
from .peers import Peer, distance_of, forest_of
from .spoiling import Case, Skipped, cases, skipped, spoiled_table
from .table import Floats, Table

# All errors at once are at most this share of the rows: more would not be errors but another kind of row.
_MOST = 0.1


@dataclass(frozen=True)
class Peers:
    """Whether the spoiled row is the first by each peer, and whether the distance blames the right column."""

    mahalanobis: bool
    column: bool
    forest: bool


@dataclass(frozen=True)
class Tried:
    case: Case
    clean: Verdict
    spoiled: Verdict
    clean_peers: Peers
    spoiled_peers: Peers


@dataclass
class Outcome:
    """`found` and `exact` per identity, in the clean table; `together` shares of the spoiled rows among the first."""

    table: str
    n: int
    p: int
    identities: list[str] = field(default_factory=list)
    found: list[bool] = field(default_factory=list)
    declared: list[bool] = field(default_factory=list)
    exact: list[bool] = field(default_factory=list)
    tried: list[Tried] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    together: dict[str, float] = field(default_factory=dict)
    errors: int = 0
    rules: list[str] = field(default_factory=list)
    seconds: float = 0.0


def trial(table: Table) -> Outcome:
    start = time.perf_counter()
    wrong = table.check()
    if wrong:
        raise ValueError("; ".join(wrong))
    clean = table.frame
    n, p = clean.shape
    result = Outcome(table.name, n, p, skipped=skipped(table))
    model = fitted(table, clean)
    rules = model.rules_
    result.rules = [str(rule) for rule in rules]
    for identity in table.identities:
        rule = rule_of(table, identity, rules)
        result.identities.append(table.words(identity))
        result.found.append(rule is not None)
        result.declared.append(identity.exact)
        result.exact.append(bool(rule is not None and rule.exact))
    known = scores(model, clean)
    distance, forest = distance_of(table, clean), forest_of(table, clean)
    apart, alone = distance.scores(clean), forest.scores(clean)
    several = cases(table)
    for case in several:
        frame = spoiled_table(table, [case])
        again = fitted(table, frame, itself=True)
        closer, deeper = distance_of(table, frame), forest_of(table, frame)
        result.tried.append(
            Tried(
                case,
                verdict(table, case, model, _others(known, case)),
                verdict(table, case, again, _others(scores(again, frame), case)),
                _peers(table, case, distance, forest, apart, alone),
                _peers(table, case, closer, deeper, closer.scores(frame), deeper.scores(frame)),
            )
        )
    _together(table, several, result)
    result.seconds = time.perf_counter() - start
    return result


def _others(all_scores: Floats, case: Case) -> Floats:
    return np.delete(all_scores, case.row)


def _peers(table: Table, case: Case, distance: Peer, forest: Peer, apart: Floats, alone: Floats) -> Peers:
    row = case.spoiled_row(table)
    return Peers(
        bool((_others(apart, case) < distance.scores(row)[0]).all()),
        distance.blamed(row) in case.changes,
        bool((_others(alone, case) < forest.scores(row)[0]).all()),
    )


def _together(table: Table, several: list[Case], result: Outcome) -> None:
    """Learned from the table with many errors: how many of them are among the first as many rows."""
    most = max(1, int(_MOST * len(table.frame)))
    order = np.random.default_rng(0).permutation(len(several))
    chosen = [several[k] for k in sorted(order[:most].tolist())]
    rows = [case.row for case in chosen]
    if not rows:
        return
    frame: pd.DataFrame = spoiled_table(table, chosen)
    result.errors = len(rows)
    ways = {
        "ours": scores(fitted(table, frame, itself=True), frame),
        "Mahalanobis": distance_of(table, frame).scores(frame),
        "forest": forest_of(table, frame).scores(frame),
    }
    for way, values in ways.items():
        first = np.argsort(-values, kind="stable")[: len(rows)]
        result.together[way] = float(np.isin(rows, first).mean())
