"""Where the search for sparse vectors starts: cheap guesses, each a vector to hand to the active set."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.linalg.eigen import lowest_pairs
from aspca.linalg.small import above_diagonal
from aspca.sparse_pca.problem import ComponentProblem


def pair_starts(problem: ComponentProblem, limit: int) -> Iterator[Floats]:
    """The best two-feature vectors by value, made orthogonal to the earlier components.

    For the backward direction (rules like A - B = 0) the best pair nearly always grows into the optimum. The
    best vector on {i, j} with sign product sigma is the bottom eigenvector of a 2 x 2 matrix in closed form.
    """
    alpha, p = problem.alpha, problem.p
    if p < 2:
        return
    # What earlier components took must not look good again.
    C = problem.C + problem.size * (problem.V @ problem.V.T) if problem.V.size else problem.C
    i, j = above_diagonal(p)
    d = np.diag(C) + alpha
    mean, half = 0.5 * (d[i] + d[j]), 0.5 * (d[i] - d[j])
    # Signs that contradict the off-diagonal entry give a vector that leaves the pair at once.
    value = np.full((2, i.size), np.inf)
    for row, sigma in enumerate((1.0, -1.0)):
        off = C[i, j] + alpha * sigma
        usable = off * sigma < 0
        value[row, usable] = (mean - np.hypot(half, off))[usable]
    taken = np.argsort(value, axis=None, kind="stable")[:limit]
    for flat in taken:
        row, pair = divmod(int(flat), i.size)
        if not np.isfinite(value[row, pair]):
            return
        x = np.zeros(p)
        x[i[pair]] = 1.0
        x[j[pair]] = (1.0, -1.0)[row]
        yield from _if_mostly_free(problem, x)


def unit_starts(problem: ComponentProblem, limit: int) -> Iterator[Floats]:
    """The features of lowest objective alone, made orthogonal to the earlier components."""
    for j in np.argsort(np.diag(problem.C), kind="stable")[:limit]:
        x = np.zeros(problem.p)
        x[j] = 1.0
        yield from _if_mostly_free(problem, x)


def warm_starts(problem: ComponentProblem, vectors: Floats, limit: int) -> Iterator[Floats]:
    """Of a neighbouring problem's vectors (p, k), those of lowest objective that the earlier components left free."""
    free = vectors - problem.V @ (problem.V.T @ vectors)
    length = np.linalg.norm(free, axis=0)
    free = free[:, length > 0.9] / length[length > 0.9]
    values = [problem.objective(f) for f in free.T]
    for k in np.argsort(values, kind="stable")[:limit]:
        yield free[:, k]


def _if_mostly_free(problem: ComponentProblem, x: Floats) -> Iterator[Floats]:
    """x made orthogonal to V; not where V takes most of it, which would leave a long vector and a long descent."""
    taken = problem.V.T @ x
    if taken @ taken <= 0.5 * (x @ x):
        yield x - problem.V @ taken


def cut_at_steepest_fall(f: Floats) -> Floats:
    """f (at least two entries) cut where its sorted entries fall most steeply.

    No single threshold will do: true supports hold loadings of 2e-4 beside others of 0.9.
    """
    size = np.sort(np.abs(f))[::-1]
    return largest_entries(f, 1 + int(np.argmax(size[:-1] / np.maximum(size[1:], 1e-300))))


def largest_entries(f: Floats, many: int) -> Floats:
    """f with all but its largest entries set to zero."""
    cut = np.zeros_like(f)
    kept = np.argsort(-np.abs(f), kind="stable")[:many]
    cut[kept] = f[kept]
    return cut


def reweighted(problem: ComponentProblem, f: Floats, rounds: int) -> Floats | None:
    """A few rounds of majorisation from f: ||v||_1^2 <= ||f||_1 sum v_i^2 / |f_i|, with equality at v = f.

    Each round is one bottom eigenvector on f's support and never raises the objective; entries on their way to zero
    shrink together, which keeps orthogonality to dense earlier components where cutting entries would lose it. None
    where no vector on that support is orthogonal to them.
    """
    S = np.flatnonzero(f)
    basis = problem.basis_on(S)
    if basis is None:
        basis = np.eye(S.size)
    if basis.shape[1] == 0:
        return None
    C, part = problem.C[S[:, None], S], f[S]
    for floor in np.geomspace(1e-2, 1e-9, rounds):
        # A floor that falls slowly lets entries come back that started too small.
        size = np.maximum(np.abs(part), floor * np.abs(part).max())
        m = C + np.diag(problem.alpha * size.sum() / size)
        part = basis @ lowest_pairs(basis.T @ m @ basis, 1)[1][:, 0]
    v = np.zeros_like(f)
    v[S] = part
    return v
