"""The sparse rotation: split, try several starts, refine the best, keep the given basis if nothing is lower.

Notation: V (p, d) given basis, Q (d, d) rotation, L = V Q loadings; the objective is ||V Q||_{1,1}.

Splits (columns that share no rows, and blocks that only the projector shows) keep the columns of different blocks
apart. That is optimal in each single plane (two columns with disjoint supports cannot be improved by rotating one
against the other), and the paper's scheme keeps it too, but over all rotations at once it is a restriction, not a
theorem. Counterexample, d = 8: the rows (e_i - e_j) / sqrt(d), i < j, and one row 1 / sqrt(d). The span contains the
unit vector of the last row, yet the matrix has L1 norm d sqrt(d) = 22.63, and the best basis found with that unit
vector as a column 22.85. Hence a block that the given columns do not show is a start among others, while columns that
arrive with disjoint supports stay apart: rules about different features are not mixed for a gain of that size.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from aspca.linalg.arrays import Bools, Floats, Ints, ascending, frozen, sign_of
from aspca.sparse_pca.defaults import find_finest_variance
from aspca.sparse_pca.groups import split_levels
from aspca.sparse_pca.rotation.descent import (
    anneal,
    jacobi,
    localised_rotation,
    make_starts,
    paper_rotation,
    polar,
    spiky_rotation,
)
from aspca.sparse_pca.rotation.vertex import clear_small_entries, descend

# Up to here several starts are refined, and the paper's thousand steps are one more start: a ceiling on the result.
# Beyond, they would cost more than all the rest, and they ended above it wherever both were tried.
_FEW_COLUMNS = 20
# Exact corners invert matrices of order d (d-1) / 2: 1128 at 48 columns, about 0.1 s each.
_MOST_COLUMNS_CORNER = 48
# Beyond this one sweep over all planes costs as much as the descent.
_MOST_COLUMNS_JACOBI = 100
# Entries below this are rounding: V Q is computed to a few 1e-16, and the promise on the subspace is 1e-12.
_ZERO = 5e-14
# Values closer than this (relatively) tie, and the first start wins: BLAS rounding must not choose.
_TIE = 1e-9
# And those of two starts that reached the same minimum.
_SAME_MINIMUM = 1e-6
# The rough search: steps of the descent and of the spiky start, how warm each start is (1 is the paper's first mu), and
# the last smoothing.
_ROUGH_STEPS, _SPIKY_STEPS, _WARMTH, _LAST = 60, 10, (0.3, 1.0, 1.0, 0.3), 3e-3


# The projector of an orthonormal V carries rounding of about 1e-16; rows linked more weakly than this are not linked.
_LINK = 1e-13
# The projector is p x p: beyond this many rows it costs more than the block start is worth.
_MOST_ROWS = 4000


@dataclass(frozen=True)
class RotationResult:
    """A sparse basis of the span of V."""

    rotation: Floats  # (d, d) Q, orthogonal to 1e-13; columns ordered and signed to stay close to the given ones
    loadings: Floats  # (p, d) V Q, with exact zeros

    @property
    def l1(self) -> float:
        """||loadings||_{1,1}, never above ||V||_{1,1}."""
        return float(np.abs(self.loadings).sum())


def sparse_rotation(V: Floats, *, deadline: float = np.inf, quick: bool = False) -> RotationResult:
    """Minimise ||V Q||_{1,1} over the orthogonal Q.

    V (p, d) has orthonormal columns. At the `deadline`, on the clock of time.perf_counter, no start or refinement is
    begun: with one the result depends on the speed of the machine. `quick`: the most promising start alone is
    refined, and the paper's path is none of them.

    The span of V is unchanged and l1 is never above the start's: Q is exactly the identity where nothing is lower. The
    problem is not convex: the result is the best of several local minima. It is the global minimum for d <= 2 and for
    coordinate subspaces. Columns with disjoint supports are not mixed.
    """
    V = np.ascontiguousarray(V, dtype=np.float64)
    d = V.shape[1]
    Q = np.eye(d)
    # The paper's first mu. Taken from the whole V, so that a group follows the path it has in the paper's scheme.
    entry_size = float(np.linalg.norm(V) / np.abs(V).sum())
    for rows, columns in find_column_groups(V):
        Q[np.ix_(columns, columns)] = _rotate_group(V[np.ix_(rows, columns)], entry_size, deadline, quick)
    L = _loadings(V, Q)
    if float(np.abs(L).sum()) > float(np.abs(V).sum()):
        Q, L = np.eye(d), V
    return RotationResult(frozen(Q), frozen(L))


def _loadings(V: Floats, Q: Floats) -> Floats:
    L = V @ Q
    L[np.abs(L) <= _ZERO] = 0.0
    return L


def _value(V: Floats, Q: Floats) -> float:
    return float(np.abs(_loadings(V, Q)).sum())


def _rotate_group(V: Floats, entry_size: float, deadline: float, quick: bool) -> Floats:
    """Q for one connected group."""
    d = V.shape[1]
    start = float(np.abs(V).sum())
    # Each column of an orthonormal basis has L1 norm at least 1, so the value d cannot be beaten.
    if d == 1 or start <= d * (1.0 + 1e-14):
        return np.eye(d)
    units = find_unit_rows(V)
    if len(units) == d:
        return _matched(polar(V[units].T))
    # In one plane the exact rotation is the global minimum.
    candidates = [_rotation_to(V, jacobi(V))] if d == 2 else _find_candidates(V, entry_size, deadline, quick)
    values = [_value(V, Q) for Q in candidates]
    lowest = min(values)
    if lowest >= start * (1.0 - 1e-12):
        return np.eye(d)
    return _matched(next(Q for Q, value in zip(candidates, values, strict=True) if value <= lowest * (1.0 + _TIE)))


def _find_candidates(V: Floats, entry_size: float, deadline: float, quick: bool) -> list[Floats]:
    """Refined rotations in a fixed order."""
    p, d = V.shape
    found = []
    ceiling = np.inf
    blocks = find_hidden_blocks(V)
    if blocks:
        parts = [
            basis @ _rotate_group(_loadings(V[rows], basis), entry_size, deadline, quick) for rows, basis in blocks
        ]
        found.append(polar(np.hstack(parts)))
        ceiling = _value(V, found[0])
    rotations, warmth = make_starts(V)
    # Where even single steps of the descent count beside the eigendecomposition that V comes from.
    if d > 100 and p < 3 * d:
        # From the first start alone, with as many steps as about ten eigendecompositions of p features cost.
        n_steps = int(np.clip(10.0 * (p / d) ** 2, 12.0, 100.0))
        # In single precision: what it is near to is as near, and what rounding adds is taken away at the end.
        start = (V @ rotations[:1]).astype(np.float32)
        (rough,) = anneal(start, 2.0 * entry_size * warmth[:1], n_steps, mu_final=1e-3, momentum=0.7)
        near = [V @ _orthogonal(_orthogonal(V.T @ rough.astype(np.float64)))]
    elif d > _MOST_COLUMNS_CORNER:
        # No corner follows: the descent itself has to get close to one.
        near = list(anneal(V @ rotations, entry_size * warmth, n_steps=300, mu_final=1.5e-4))
    else:
        near = list(anneal(V @ rotations, entry_size * warmth, n_steps=150))
    if d <= _FEW_COLUMNS and not quick and time.perf_counter() < deadline:
        near.append(V @ paper_rotation(V, mu_first=entry_size))
    n_refined = 3 if d <= _FEW_COLUMNS and not quick else 1
    if d <= _MOST_COLUMNS_JACOBI:
        for k in _most_promising(near, n_refined):
            near[k] = jacobi(near[k], max_sweeps=10 if d <= _FEW_COLUMNS else 3, tol=1e-6)
            if time.perf_counter() > deadline:
                break
    for k in _most_promising(near, n_refined):
        # Zeros are for a start that may still win: not for the search across blocks where the blocks alone are lower.
        if time.perf_counter() < deadline and float(np.abs(near[k]).sum()) < ceiling:
            near[k] = _with_exact_zeros(V, near[k])
    return found + [_rotation_to(V, L) for L in near]


def _with_exact_zeros(V: Floats, L: Floats) -> Floats:
    """The corner of a local minimum where its order allows, else as many zeros as are cheap."""
    d = V.shape[1]
    if d > _MOST_COLUMNS_CORNER:
        return clear_small_entries(L)
    return V @ descend(V, _rotation_to(V, L), max_rounds=20 if d <= 24 else 2 if d <= 40 else 1)


def _most_promising(near: list[Floats], count: int) -> list[int]:
    """The lowest values that differ from each other, lowest first."""
    values = [float(np.abs(L).sum()) for L in near]
    chosen: list[int] = []
    for k in sorted(range(len(near)), key=lambda k: (float(f"{values[k]:.9g}"), k)):
        if all(abs(values[k] - values[other]) > _SAME_MINIMUM * values[k] for other in chosen):
            chosen.append(k)
    return chosen[:count]


def _rotation_to(V: Floats, L: Floats) -> Floats:
    """The orthogonal Q with V Q = L, clean of the rounding that L gathered."""
    return _orthogonal(V.T @ L)


def _orthogonal(Q: Floats) -> Floats:
    """Nearer to the polar factor: one of Newton's steps squares an error that is small already."""
    return np.asarray(Q @ (1.5 * np.eye(len(Q)) - 0.5 * (Q.T @ Q)), dtype=np.float64)


def _matched(Q: Floats) -> Floats:
    """Columns of Q permuted and negated so that each is the heir of the column it resembles most."""
    rows, columns = linear_sum_assignment(-(Q**2))
    matched = Q[:, columns[np.argsort(rows)]]
    return np.where(np.diag(matched) < 0.0, -matched, matched)


def rough_rotation(V: Floats, near: Floats) -> Floats:
    """V Q (p, d) near a minimum of ||V Q||_1 over the orthogonal Q, for orthonormal V (p, d).

    For bases that are compared to within degrees: no exact zeros, no corners. A half of the rows has nearly the
    subspace that all of them have, and its sparsest basis is nearly theirs, or another that is as sparse. So the search
    starts from both: the known basis, and those that any search begins with.

    `near` (p, k), k >= d, is a sparse basis of nearly this subspace, or of more. The result is the lowest of what four
    starts lead to; V itself where nothing is lower. Columns with disjoint supports are not mixed.
    """
    loadings = np.array(V)
    entry_size = float(np.linalg.norm(V) / np.abs(V).sum())
    for rows, columns in find_column_groups(V):
        d, group = columns.size, V[np.ix_(rows, columns)]
        # Each column of an orthonormal basis has an L1 norm of at least 1.
        if d == 1 or float(np.abs(group).sum()) <= d * (1.0 + 1e-14):
            continue
        starts = np.stack(
            [_towards(group, near[rows]), localised_rotation(group), spiky_rotation(group, _SPIKY_STEPS), np.eye(d)]
        )
        found = anneal(group @ starts, entry_size * np.array(_WARMTH), _ROUGH_STEPS, mu_final=_LAST)
        values = np.append(np.abs(found).sum(axis=(1, 2)), np.abs(group).sum())
        # What differs in rounding only is the first.
        lowest = int(np.argmax(values <= values.min() * (1.0 + 1e-9)))
        loadings[np.ix_(rows, columns)] = group if lowest == len(found) else found[lowest]
    return loadings


def _towards(V: Floats, near: Floats) -> Floats:
    """The Q whose V Q is nearest to those of the columns of `near` that lie best in the span of V (p, d)."""
    inside = V.T @ near
    best = np.argsort(-np.round(np.linalg.norm(inside, axis=0), 9), kind="stable")[: V.shape[1]]
    return polar(inside[:, np.sort(best)])


# ---- levels of tightness


def rotate_levels(A: Floats, kept: Floats, parts: str, deadline: float, quick: bool) -> tuple[Floats, Floats]:
    """The rotation Q (d, d) and kept Q (p, d), ordered and signed; `parts` is "all" or "levels"."""
    d = kept.shape[1]
    rotation, loadings = np.zeros((d, d)), np.zeros(kept.shape)
    for part in _split_columns(A, kept, parts):
        found = sparse_rotation(kept[:, part], deadline=deadline, quick=quick)
        rotation[np.ix_(part, part)] = found.rotation
        loadings[:, part] = found.loadings
    order = ascending(_variances(A, loadings), loadings, unit=float(np.trace(A)) / A.shape[0])
    rotation, loadings = rotation[:, order], loadings[:, order]
    signs = np.array([sign_of(column) for column in loadings.T])
    return rotation * signs, loadings * signs


def rotate_levels_roughly(A: Floats, kept: Floats, parts: str, near: Floats) -> Floats:
    """The same loadings (p, d) to within degrees, in another order; `near` is such a basis of nearly the same."""
    loadings = np.zeros(kept.shape)
    for part in _split_columns(A, kept, parts):
        loadings[:, part] = rough_rotation(kept[:, part], near)
    return loadings


def _split_columns(A: Floats, kept: Floats, parts: str) -> list[Ints]:
    return [np.arange(kept.shape[1])] if parts == "all" else split_levels(_variances(A, kept), find_finest_variance(A))


def _variances(A: Floats, vectors: Floats) -> Floats:
    return np.asarray(np.einsum("ij,ij->j", vectors, A @ vectors), dtype=np.float64)


# ---- where the search may be split


def find_column_groups(V: Floats) -> list[tuple[Ints, Ints]]:
    """Groups of columns connected through common rows: (rows, columns) of each, in order of the first column."""
    p, d = V.shape
    if np.any(np.all(V != 0.0, axis=1)):
        # One row holds all columns together.
        return [(np.flatnonzero(np.any(V != 0.0, axis=1)), np.arange(d))]
    rows, columns = np.nonzero(V)
    links = coo_array((np.ones(len(rows)), (rows, p + columns)), shape=(p + d, p + d))
    _, label = connected_components(links, directed=False)
    names = dict.fromkeys(label[p:].tolist())
    return [(np.flatnonzero(label[:p] == name), np.flatnonzero(label[p:] == name)) for name in names]


def find_unit_rows(V: Floats) -> Ints:
    """Rows k whose unit vector e_k lies in the span of V, to rounding."""
    rows = np.flatnonzero(np.linalg.norm(V, axis=1) > 1.0 - 1e-12)
    # A norm of 1 - 1e-12 still allows entries of 1e-6 elsewhere; P e_k = e_k is the test that means it.
    image = V @ V[rows].T
    image[rows, np.arange(len(rows))] -= 1.0
    exact: Bools = np.abs(image).max(axis=0, initial=0.0) <= _LINK
    return rows[exact]


def find_hidden_blocks(V: Floats) -> list[tuple[Ints, Floats]]:
    """Blocks of rows on which the span of V decomposes, each with a basis of its part.

    The basis is an orthonormal (d, r) matrix B such that V B spans the part of the span that lives on these rows; the
    ranks r add up to d. Empty when there is one block only, or when rounding blurs the ranks.
    """
    p, d = V.shape
    if p > _MOST_ROWS:
        return []
    linked = np.abs(V @ V.T) > _LINK
    if np.any(np.all(linked, axis=1)):
        return []
    rows, columns = np.nonzero(linked)
    links = coo_array((np.ones(len(rows)), (rows, columns)), shape=(p, p))
    count, label = connected_components(links, directed=False)
    if count < 2:
        return []
    blocks = []
    for name in range(count):
        rows = np.flatnonzero(label == name)
        values, vectors = np.linalg.eigh(V[rows].T @ V[rows])
        inside = values > 0.5
        if np.abs(values - inside).max() > 1e-11:
            return []
        if inside.any():
            blocks.append((rows, np.ascontiguousarray(vectors[:, inside])))
    whole = sum(basis.shape[1] for _, basis in blocks) == d
    return blocks if whole and len(blocks) > 1 else []
