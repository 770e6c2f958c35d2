"""Sparse vectors: where the search starts, and an active-set descent that never raises the objective.

For a fixed support S and signs s the objective is a quadratic form, so its minimiser orthogonal to the
earlier components is the bottom eigenvector u of C_SS + alpha ss' on null(V_S'): exact zeros and exact
orthogonality by construction. On the way from v to u the form only falls, so the descent walks until the first
entry reaches zero, drops it, and goes on; at u itself, features that violate the optimality condition
|b_j| <= alpha ||v||_1 enter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.linalg.eigen import find_lowest_pairs
from aspca.linalg.small import length, list_above_diagonal
from aspca.sparse_pca.problem import ComponentProblem

# An entry this small beside the largest is a rounding remnant: true supports hold loadings down to 1e-4.
_ZERO = 1e-11
_MAX_ROUNDS = 200
# Above this many entries, dropping them one by one costs more than it is worth.
_LARGE_SUPPORT = 10
# Eigenvalues this close (relative to the largest) are one.
_TIED = 1e-11
# Values this close (relative to themselves or alpha) are one.
_SAME = 1e-13


@dataclass(frozen=True)
class Candidate:
    """A feasible sparse vector and its objective."""

    v: Floats
    value: float

    @property
    def support(self) -> Ints:
        return np.flatnonzero(self.v)


def active_set(problem: ComponentProblem, start: Floats) -> Candidate | None:
    """Descend from the support and signs of `start`; None if no feasible vector lives on that support."""
    v = find_feasible(problem, start)
    if v is None:
        return None
    value = problem.objective(v)
    for _ in range(_MAX_ROUNDS):
        v, value = _minimise_on_face(problem, v, value)
        grown = _grow(problem, v, value)
        if grown is None or grown[1] >= value - _SAME * max(abs(value), problem.alpha):
            break
        v, value = grown
    return Candidate(v, value)


def stationarity(problem: ComponentProblem, v: Floats, value: float) -> Floats:
    """b_j = (Vw)_j - (Cv)_j: the product U_j. v that optimality asks for off the support.

    w solves V_S w = (C_SS + alpha ss' - value) v_S; what V_S leaves free is chosen to keep b small off the
    support, where |b_j| <= alpha ||v||_1 is what is asked: since V'V = I, the best of it is that of V'Cv.
    """
    Cv = problem.C @ v
    V = problem.V
    if V.shape[1] == 0:
        return -Cv
    on = np.flatnonzero(v)
    part, rows = v[on], V[on]
    rhs = Cv[on] + problem.alpha * (np.abs(part).sum() * np.sign(part) - part) - value * part
    free = V.T @ Cv
    u, sv, wt = np.linalg.svd(rows, full_matrices=False)
    rank = int((sv > 1e-10).sum())
    w = free + ((rhs - rows @ free) @ u[:, :rank] / sv[:rank]) @ wt[:rank]
    return np.asarray(V @ w - Cv, dtype=np.float64)


def find_feasible(problem: ComponentProblem, start: Floats) -> Floats | None:
    """The unit vector on the start's support, orthogonal to V, nearest to it."""
    S = np.flatnonzero(np.abs(start) > _ZERO * np.abs(start).max(initial=0.0))
    if S.size == 0:
        return None
    part = start[S]
    part = part / length(part)
    basis = problem.basis_on(S)
    if basis is not None:
        part = basis @ (basis.T @ part)
    norm = length(part)
    if norm < 1e-8:
        return None
    v = np.zeros(problem.p)
    v[S] = part / norm
    return _without_remnants(problem, v)


def trimmed(problem: ComponentProblem, f: Floats) -> Floats:
    """f (orthogonal to V) without its entries below 1e-6 of the largest, as a unit vector.

    Unless cutting them turns it: beside dense earlier components a small entry may be what keeps f orthogonal.
    """
    f = f / length(f)
    for cut in (1e-6, 1e-8, 1e-10):
        v = find_feasible(problem, np.where(np.abs(f) > cut * np.abs(f).max(), f, 0.0))
        if v is not None and abs(float(v @ f)) > 1.0 - 1e-9:
            return v
    v = f - problem.V @ (problem.V.T @ f)
    return np.asarray(v / length(v), dtype=np.float64)


def _without_remnants(problem: ComponentProblem, v: Floats) -> Floats:
    """Entries that are zero but for rounding become zero, at no cost in orthogonality."""
    small = (v != 0) & (np.abs(v) <= _ZERO * np.abs(v).max())
    if not small.any():
        return v
    kept = np.where(small, 0.0, v)
    S = np.flatnonzero(kept)
    basis = problem.basis_on(S)
    if basis is not None:
        kept[S] = basis @ (basis.T @ kept[S])
    norm = length(kept)
    # Where nothing is left, the small entries are what makes v orthogonal: they stay.
    return v if norm < 0.5 else kept / norm


def _minimiser(problem: ComponentProblem, S: Ints, s: Floats, here: Floats) -> Floats | None:
    """Minimiser of v'Cv + alpha (s'v)^2 over unit v on S orthogonal to V: of several, the nearest to `here`."""
    m = problem.C[S[:, None], S] + (problem.alpha * s)[:, None] * s
    basis = problem.basis_on(S)
    if basis is not None:
        if basis.shape[1] == 0:
            return None
        m, here = basis.T @ m @ basis, basis.T @ here
    values, vectors = find_lowest_pairs(m, 2)
    same = values[0] + _TIED * max(length(m), problem.alpha)
    if values[-1] <= same:
        values, vectors = np.linalg.eigh(m)
    # Eigenvectors of one eigenvalue are arbitrary, and would bring rounding to bear on which support is found.
    tied = int(np.searchsorted(values, same, "right"))
    share = vectors[:, :tied].T @ here
    norm = length(share)
    if norm < 1e-6:
        # Nothing of `here` among the minimisers: by position then, first come first.
        share, norm = vectors[0, :tied], length(vectors[0, :tied])
        if norm < 1e-6:
            share, norm = np.eye(tied)[0], 1.0
    u = vectors[:, :tied] @ (share / norm)
    u = u if basis is None else basis @ u
    return np.asarray(u / length(u), dtype=np.float64)


def _minimise_on_face(problem: ComponentProblem, v: Floats, value: float) -> tuple[Floats, float]:
    """Minimise over the orthant face of v, dropping entries as they reach zero."""
    for _ in range(problem.p + 1):
        S = np.flatnonzero(v)
        s = np.sign(v[S])
        u = _minimiser(problem, S, s, v[S])
        if u is None:
            break
        here = v[S]
        u = u if u @ here >= 0 else -u
        flipped = u * s <= _ZERO * np.abs(u).max()
        if not flipped.any():
            full = np.zeros(problem.p)
            full[S] = u
            reached = problem.objective(full)
            # The minimiser also where rounding puts it a little above: the value is flat there, and hides how far v is.
            better = reached <= value + _SAME * max(abs(value), problem.alpha)
            return (full, reached) if better else (v, value)
        bulk = _drop_all(problem, S, u, flipped)
        if bulk is not None and bulk[1] < value:
            v, value = bulk
            continue
        v = _walk(problem, v, S, here, u, flipped)
        value = problem.objective(v)
    return v, value


def _drop_all(problem: ComponentProblem, S: Ints, u: Floats, flipped: Bools) -> tuple[Floats, float] | None:
    """The bold step: all flipped entries leave at once."""
    if flipped.all():
        return None
    bold = np.zeros(problem.p)
    bold[S[~flipped]] = u[~flipped]
    v = find_feasible(problem, bold)
    return None if v is None else (v, problem.objective(v))


def _walk(problem: ComponentProblem, v: Floats, S: Ints, here: Floats, u: Floats, flipped: Bools) -> Floats:
    """The safe step: towards u until the first entry is zero; on a large support a few more, if that is no worse."""
    t = np.full(S.size, np.inf)
    # An entry that is zero to rounding at u, on the right side of it, is reached at u itself.
    t[flipped] = 1.0
    crossing = flipped & (u * here <= 0)
    t[crossing] = here[crossing] / (here[crossing] - u[crossing])
    order = np.argsort(t, kind="stable")
    several = 1 + int(flipped.sum()) // 4 if S.size > _LARGE_SUPPORT else 1
    for leaving in sorted({several, 1}, reverse=True):
        gone = order[:leaving]
        moved = np.zeros(problem.p)
        moved[S] = here + t[gone[-1]] * (u - here)
        moved[S[gone]] = 0.0
        # Entries may have been a little off zero: what their leaving costs in orthogonality is taken back.
        left = find_feasible(problem, moved)
        if left is not None and (leaving == 1 or problem.objective(left) <= problem.objective(v)):
            return left
    return v


def _grow(problem: ComponentProblem, v: Floats, value: float) -> tuple[Floats, float] | None:
    """Let the worst violators of optimality in; None where there is none or nothing is gained."""
    b = stationarity(problem, v, value)
    bound = problem.alpha * float(np.abs(v).sum()) * (1 + 1e-9)
    excess = np.where(v == 0, np.abs(b) - bound, -1.0)
    order = np.argsort(-excess, kind="stable")
    size = int(np.count_nonzero(v))
    # One at a time finds the sparser vectors; on a large support that would take too long.
    counts = (1 + size // 8, 1) if size > _LARGE_SUPPORT else (1, 1 + size // 8)
    for many in dict.fromkeys(counts):
        wanted = order[:many]
        wanted = wanted[excess[wanted] > 0]
        if wanted.size == 0:
            return None
        S = np.union1d(np.flatnonzero(v), wanted)
        s = np.sign(v)
        s[wanted] = np.where(b[wanted] >= 0, 1.0, -1.0)
        u = _minimiser(problem, S, s[S], v[S])
        if u is None:
            continue
        u = u if u @ v[S] >= 0 else -u
        full = np.zeros(problem.p)
        full[S] = np.where(u * s[S] > 0, u, 0.0)
        entered = find_feasible(problem, full)
        if entered is not None:
            result = _minimise_on_face(problem, entered, problem.objective(entered))
            if result[1] < value:
                return result
    return None


# ---- starts: cheap guesses, each a vector to hand to the active set


def make_pair_starts(problem: ComponentProblem, limit: int) -> Iterator[Floats]:
    """The best two-feature vectors by value, made orthogonal to the earlier components.

    For the backward direction (rules like A - B = 0) the best pair nearly always grows into the optimum. The
    best vector on {i, j} with sign product sigma is the bottom eigenvector of a 2 x 2 matrix in closed form.
    """
    alpha, p = problem.alpha, problem.p
    if p < 2:
        return
    # What earlier components took must not look good again.
    C = problem.C + problem.size * (problem.V @ problem.V.T) if problem.V.size else problem.C
    i, j = list_above_diagonal(p)
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


def make_unit_starts(problem: ComponentProblem, limit: int) -> Iterator[Floats]:
    """The features of lowest objective alone, made orthogonal to the earlier components."""
    for j in np.argsort(np.diag(problem.C), kind="stable")[:limit]:
        x = np.zeros(problem.p)
        x[j] = 1.0
        yield from _if_mostly_free(problem, x)


def make_warm_starts(problem: ComponentProblem, vectors: Floats, limit: int) -> Iterator[Floats]:
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
    return keep_largest(f, 1 + int(np.argmax(size[:-1] / np.maximum(size[1:], 1e-300))))


def keep_largest(f: Floats, many: int) -> Floats:
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
        part = basis @ find_lowest_pairs(basis.T @ m @ basis, 1)[1][:, 0]
    v = np.zeros_like(f)
    v[S] = part
    return v
