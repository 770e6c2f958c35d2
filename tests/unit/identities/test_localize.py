"""Which cell is wrong: against a slow, obvious twin, and where logic alone decides."""

from __future__ import annotations

import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from aspca.identities import Identities, find_identities
from aspca.identities.localize import apply_repairs, localize

sys.path.insert(0, str(Path(__file__).parent))
from tables import NAMES, corrupted, everyday


def twin(found: Identities, row: np.ndarray) -> set[tuple[int, ...]]:
    """All smallest sets of at most two cells whose change satisfies what is violated and violates nothing else."""

    def satisfied(x: np.ndarray) -> list[bool]:
        return [not abs(float(one.multiples(x[None])[0])) > 1.0 for one in found]

    before = satisfied(row)
    violated = [one for one, good in zip(found, before, strict=True) if not good and one.accuses]
    if not violated:
        return set()
    columns = sorted({j for one in violated for j in one.columns})
    for size in (1, 2):
        sets = set()
        for cells in combinations(columns, size):
            changed = row.copy()
            for j in cells:
                sources = [o for o in violated if j in o.columns and not (set(cells) - {j}) & set(o.columns)]
                values = [float(o.solve(row[None], j)[0]) for o in sources]
                changed[j] = values[0] if values else np.nan
            if np.isfinite(changed[list(cells)]).all() and all(
                good
                for good, one in zip(satisfied(changed), found, strict=True)
                if one.accuses or before[found.identities.index(one)]
            ):
                sets.add(cells)
        if sets:
            return sets
    return set()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_cells_are_among_those_of_the_twin(seed: int) -> None:
    X, _ = corrupted(everyday(500, seed), 0.05, seed + 10)
    found = find_identities(X, NAMES)
    repairs = {repair.row: repair for repair in localize(found, X)}
    for row in range(len(X)):
        possible = twin(found, X[row])
        if row not in repairs:
            assert not possible
            continue
        repair = repairs[row]
        named = {repair.cells, *(cells for cells, _ in repair.ties)} if repair.cells else set()
        assert named <= possible
        assert bool(named) == bool(possible)


def test_cells_and_values_of_wrong_rows() -> None:
    clean = everyday(800, 4)
    X, where = corrupted(clean, 0.03, 5)
    found = find_identities(X, NAMES)
    repairs = localize(found, X)
    assert {repair.row for repair in repairs} <= set(where)
    right = [r for r in repairs if r.cells == (where[r.row],)]
    assert len(right) >= 0.85 * len(repairs)
    for repair in right:
        (column,), (value,) = repair.cells, repair.values
        # A percentage with one decimal tells its parts to about as many digits.
        rounded = NAMES[column] in ("totelg", "totpart")
        assert value == pytest.approx(clean[repair.row, column], rel=0.005 if rounded else 1e-9, abs=1e-12)
    mended = apply_repairs(X, repairs)
    assert localize(found, mended) == [] or all(not r.cells for r in localize(found, mended))


def test_where_two_identities_meet_logic_decides() -> None:
    """The cell that two violated identities share is wrong, however plausible it looks."""
    rng = np.random.default_rng(0)
    a, b = np.round(rng.gamma(3.0, 10.0, 400), 2), np.round(rng.gamma(3.0, 10.0, 400), 2)
    X = np.column_stack([a, b, a + b, 2.0 * a])
    found = find_identities(X, ["a", "b", "total", "twice"])
    X[9, 0] += 1.37
    (repair,) = localize(found, X)
    assert (repair.row, repair.cells, repair.ties) == (9, (0,), [])
    assert repair.values[0] == pytest.approx(a[9])


def test_ties_are_ties() -> None:
    """Of two columns that are equal, nothing tells which of two usual values is wrong."""
    rng = np.random.default_rng(1)
    a = np.round(rng.normal(50.0, 10.0, 600), 1)
    X = np.column_stack([a, a, rng.normal(size=600)])
    found = find_identities(X, ["a", "b", "c"])
    X[3, 0], X[3, 1] = 50.3, 48.9
    (repair,) = localize(found, X)
    assert {repair.cells, *(cells for cells, _ in repair.ties)} == {(0,), (1,)}


def test_a_row_is_judged_alone_as_in_any_company() -> None:
    X, _ = corrupted(everyday(400, 6), 0.05, 7)
    found = find_identities(X, NAMES)
    together = {repair.row: (repair.cells, repair.values, repair.ties) for repair in localize(found, X)}
    for row, expected in together.items():
        (alone,) = localize(found, X[row : row + 1])
        assert (alone.cells, alone.values, alone.ties) == expected
