"""The figures of a table: as it is, its fresh half, and with wrong cells."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from identity_tables.corruption import make_rng

from . import product
from .corruption import WrongCell, corrupt
from .loading import Floats, OrdinaryTable
from .peers import PEERS, judge_by
from .verdicts import Bools, Verdicts, find_in_first

LEVELS = {"1 %": 0.01, "10 %": 0.1}
HALVED_TABLES, FEWEST_HALVED_ROWS = 40, 200
_SHOWN_RULES = 3

Figures = dict[str, Any]


@dataclass
class Results:
    """One line per figure of a table; `cells` has one per wrong cell and method, `failures` what was raised."""

    untouched: list[Figures] = field(default_factory=list)
    halves: list[Figures] = field(default_factory=list)
    corrupted: list[Figures] = field(default_factory=list)
    cells: list[Figures] = field(default_factory=list)
    failures: list[Figures] = field(default_factory=list)
    not_corrupted: list[str] = field(default_factory=list)

    def fail(self, table: str, step: str, method: str, error: Exception) -> None:
        words = f"{type(error).__name__}: {error}"
        self.failures.append({"table": table, "step": step, "method": method, "error": words})
        print(f"  {table}, {step}, {method} failed: {words}", file=sys.stderr, flush=True)


def measure_untouched(table: OrdinaryTable, peers: Sequence[str], seed: int, results: Results) -> None:
    """The share of the rows of each class, and what a reader needs to see why."""
    try:
        judged = product.judge(table.frame)
    except Exception as error:
        results.fail(table.name, "as it is", product.NAME, error)
        return
    verdicts = judged.verdicts
    results.untouched.append(
        _describe(table, product.NAME, verdicts)
        | {
            "rules": [str(rule) for rule in judged.model.rules_[:_SHOWN_RULES]],
            "n_rules": len(judged.model.rules_),
            "columns of errors": _count_columns(table, verdicts, verdicts.errors),
            "columns of unusual": _count_columns(table, verdicts, verdicts.unusual),
        }
    )
    for peer, found in _judge_by_peers(table.X, peers, seed, results, table.name, "as it is"):
        results.untouched.append(_describe(table, peer, found))


def measure_half(table: OrdinaryTable, seed: int, results: Results) -> None:
    """A random half is learned from, the other half judged."""
    order = make_rng(seed, table.name, "half").permutation(len(table.frame))
    middle = len(order) // 2
    known = table.frame.iloc[np.sort(order[:middle])].dropna(axis=1, how="all").reset_index(drop=True)
    fresh = table.frame.iloc[np.sort(order[middle:])][known.columns].reset_index(drop=True)
    try:
        results.halves.append(_describe(table, product.NAME, product.judge(fresh, known).verdicts))
    except Exception as error:
        results.fail(table.name, "fresh half", product.NAME, error)


def measure_corrupted(
    table: OrdinaryTable, peers: Sequence[str], seed: int, results: Results, levels: Sequence[str] = tuple(LEVELS)
) -> None:
    """Are wrong cells among the first rows, called errors, and named?"""
    for level in levels:
        share = LEVELS[level]
        spoiled, wrong = corrupt(table.X, share, make_rng(seed, table.name, level))
        if not wrong:
            results.not_corrupted.append(table.name)
            return
        step = f"{level} corrupted"
        try:
            ours = product.judge(pd.DataFrame(spoiled, columns=table.frame.columns)).verdicts
        except Exception as error:
            results.fail(table.name, step, product.NAME, error)
            continue
        found = [(product.NAME, ours), *_judge_by_peers(spoiled, peers, seed, results, table.name, step)]
        for method, verdicts in found:
            _add_corrupted(results, table.name, level, method, verdicts, wrong, ours.errors)


def _add_corrupted(
    results: Results,
    table: str,
    level: str,
    method: str,
    verdicts: Verdicts,
    wrong: list[WrongCell],
    errors: Bools,
) -> None:
    """One line for the table and one per wrong cell; `errors` are the rows that the library calls errors."""
    rows, columns = [cell.row for cell in wrong], [cell.column for cell in wrong]
    first = find_in_first(verdicts.scores, len(wrong))[rows]
    named = verdicts.name_columns()
    right = np.full(len(wrong), np.nan) if named is None else (named[rows] == columns).astype(np.float64)
    for cell, chance, is_right in zip(wrong, first.tolist(), right.tolist(), strict=True):
        results.cells.append(
            {
                "table": table,
                "level": level,
                "method": method,
                "kind": cell.kind,
                "weight": 1.0 / len(wrong),
                "first": chance,
                "flagged": float(verdicts.errors[cell.row]),
                "right": is_right,
                "error": bool(errors[cell.row]),
            }
        )
    results.corrupted.append(
        {
            "table": table,
            "level": level,
            "method": method,
            "rows": len(verdicts.scores),
            "corrupted": len(wrong),
            "first k": float(first.mean()),
            "flagged": int(verdicts.errors.sum()),
            "hits": int(verdicts.errors[rows].sum()),
            "right column": None if named is None else float(right.mean()),
            "fit seconds": verdicts.fit_seconds,
            "judge seconds": verdicts.judge_seconds,
        }
    )


def _judge_by_peers(
    X: Floats, peers: Sequence[str], seed: int, results: Results, table: str, step: str
) -> list[tuple[str, Verdicts]]:
    found = []
    for peer in PEERS:
        if peer in peers:
            try:
                found.append((peer, judge_by(peer, X, seed)))
            except Exception as error:
                results.fail(table, step, peer, error)
    return found


def _describe(table: OrdinaryTable, method: str, verdicts: Verdicts) -> Figures:
    return {
        "table": table.name,
        "method": method,
        "rows": len(verdicts.scores),
        "columns": table.frame.shape[1],
        "errors": float(verdicts.errors.mean()),
        "unusual": float(verdicts.unusual.mean()),
        "fit seconds": verdicts.fit_seconds,
        "judge seconds": verdicts.judge_seconds,
    }


def _count_columns(table: OrdinaryTable, verdicts: Verdicts, rows: Bools) -> dict[str, int]:
    """How often each column is the one named in these rows, the most frequent ones first."""
    named = verdicts.name_columns()
    names = [*table.frame.columns, "none"]
    return dict(Counter(names[j] for j in named[rows].tolist()).most_common(5)) if named is not None else {}
