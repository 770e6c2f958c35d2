"""One table: its true relations, and which of them are found in it clean and corrupted."""

from __future__ import annotations

from dataclasses import dataclass, field

from .brute_force import find_truth
from .closure import is_found
from .corruption import corrupt, make_rng
from .finder import Finder
from .loading import NumericTable
from .relation import Relation, half_steps
from .repair import RepairCounts, judge_repairs

LEVELS = {"clean": 0.0, "1 % corrupted": 0.01, "5 % corrupted": 0.05}


@dataclass
class Trial:
    """Per level of corruption: the relations that were missed, the claims, and how violations were located."""

    name: str
    truth: list[str]
    missed: dict[str, list[str]] = field(default_factory=dict)
    claims: dict[str, list[str]] = field(default_factory=dict)
    repairs: dict[str, RepairCounts] = field(default_factory=dict)
    wrong_cells: list[str] = field(default_factory=list)


def run_trial(table: NumericTable, find: Finder, seed: int, repair: bool = True) -> Trial:
    """Tables without a true relation are not searched."""
    relations = find_truth(table.X, seed)
    return search_levels(table, relations, find, seed, LEVELS, repair)


def search_levels(
    table: NumericTable, relations: list[Relation], find: Finder, seed: int, levels: dict[str, float], repair: bool
) -> Trial:
    """The given relations, looked for in the table with each share of corrupted rows."""
    H = half_steps(table.X)
    trial = Trial(table.name, [relation.text(table.names) for relation in relations])
    for level, share in levels.items() if relations else ():
        X, wrong = corrupt(table.X, share, make_rng(seed, table.name, level)) if share else (table.X, [])
        found = find(X.copy(), list(table.names))
        flags = [is_found(relation, found.identities, table.X, H) for relation in relations]
        trial.missed[level] = [text for text, flag in zip(trial.truth, flags, strict=True) if not flag]
        trial.claims[level] = [f"{one.text} ({one.share:.3f}, {one.accuses})" for one in found.identities]
        if share and repair:
            trial.repairs[level], missed = judge_repairs(found, X, table.X, H, wrong)
            trial.wrong_cells += [f"{table.name}, {level}, {words}" for words in missed]
    return trial
