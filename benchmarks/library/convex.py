"""The peers of one component's convex problem, each in its strongest form, to the same gap.

Clarabel and SCS are called directly, on the dual in a basis N of what earlier components leave:

    largest s with N'(C + U)N - s I psd, |U_ij| <= alpha (i != j)

which has an interior and, of all forms tried, is solved fastest. Only their own clock is charged, not the assembly of
their data. A tolerance is not a gap: so it starts loose and is tightened, a decade at a time, until the point returned
is good enough; only that last run is charged, and where no tolerance gets there, the nearest one. Good enough is

    gap     what their U and X prove, once clipped into the box and onto the cone: the same gap as ours is asked to have
    value   their value lies within the gap of the certified one, which a loose tolerance may hit without proving it

CVXPY as its users write the problem stands beside them, by its value: it is charged its whole call.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from aspca.linalg.arrays import Floats

TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
DIRECT = ("Clarabel", "SCS")
# A peer that takes longer is charged this: the ratio is a lower bound then.
SECONDS = 60.0


@dataclass(frozen=True)
class Answer:
    """What a peer returned: its clock, its value, and what its point proves (lower, upper), once made feasible."""

    seconds: float
    value: float
    bounds: tuple[float, float] = (-np.inf, np.inf)


@dataclass(frozen=True)
class PeerRun:
    """What a peer took, at which of its tolerances, and how far it was off then: in value, or between its bounds."""

    solver: str
    seconds: float
    tolerance: float
    off: float


def solve(
    solver: str, C: Floats, alpha: float, V: Floats, value: float, gap: float, criteria: tuple[str, ...]
) -> dict[str, PeerRun]:
    """Minimise <C, X> + alpha ||X||_1 over psd X of trace one with XV = 0; `value` is the certified optimum."""
    once = _cvxpy(C, alpha, V) if solver == "CVXPY" else _direct(solver, C, alpha, V)
    runs: dict[str, PeerRun] = {}
    for tolerance in TOLERANCES:
        answer = once(tolerance)
        lower, upper = answer.bounds
        size = max(abs(value), alpha)
        off = {"value": abs(answer.value - value) / size, "gap": (upper - lower) / size}
        for criterion in criteria:
            if criterion not in runs or (off[criterion] < runs[criterion].off and runs[criterion].off > gap):
                runs[criterion] = PeerRun(solver, answer.seconds, tolerance, off[criterion])
        if all(run.off <= gap for run in runs.values()) or answer.seconds >= SECONDS:
            break
    return runs


def _direct(solver: str, C: Floats, alpha: float, V: Floats):
    p = C.shape[0]
    N = scipy.linalg.null_space(V.T) if V.shape[1] else None
    m = p if N is None else N.shape[1]
    left = C if N is None else N.T @ C @ N
    # Tolerances are absolute around one: bring the largest coefficient of what is left there.
    unit = float(max(np.abs(left).max(), alpha)) or 1.0
    i, j = np.triu_indices(p, 1)
    cols, rows = np.tril_indices(m)
    weight = np.where(rows == cols, 1.0, np.sqrt(2.0))
    if N is None:
        at = np.empty((p, p), dtype=np.intp)
        at[rows, cols] = at[cols, rows] = np.arange(rows.size)
        pencil = sp.csc_array((np.full(i.size, np.sqrt(2.0)), (at[i, j], np.arange(i.size))), shape=(rows.size, i.size))
    else:
        pencil = sp.csc_array((N[i][:, rows] * N[j][:, cols] + N[j][:, rows] * N[i][:, cols]).T * weight[:, None])
    identity = sp.csc_array(np.where(rows == cols, 1.0, 0.0)[:, None])
    box = sp.eye_array(i.size)
    none = sp.csc_array((i.size, 1))
    A = sp.csc_matrix(sp.vstack([sp.hstack([box, none]), sp.hstack([-box, none]), sp.hstack([-pencil, identity])]))
    shifted = (left + alpha * np.eye(m))[rows, cols] * weight / unit
    b = np.r_[np.full(2 * i.size, alpha / unit), shifted]
    q = np.r_[np.zeros(i.size), -1.0]

    def bounds(x: Floats, z: Floats) -> tuple[float, float]:
        """The dual bound of U in the box, the value of X on the cone and of trace one."""
        U = np.zeros((p, p))
        U[i, j] = np.clip(unit * x[:-1], -alpha, alpha)
        reduced = U + U.T + alpha * np.eye(p) + C
        lower = float(np.linalg.eigvalsh(reduced if N is None else N.T @ reduced @ N)[0])
        Y = np.zeros((m, m))
        Y[rows, cols] = Y[cols, rows] = z / weight
        w, E = np.linalg.eigh(Y)
        w = np.maximum(w, 0.0)
        factor = (E if N is None else N @ E) * np.sqrt(w / max(float(w.sum()), 1e-300))
        X = factor @ factor.T
        return lower, float(np.vdot(C, X)) + alpha * float(np.abs(X).sum())

    def clarabel_once(tolerance: float) -> Answer:
        import clarabel

        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_threads, settings.time_limit = False, 1, SECONDS
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
        cones = [clarabel.NonnegativeConeT(2 * i.size), clarabel.PSDTriangleConeT(m)]
        P = sp.csc_matrix((q.size, q.size))
        solution = clarabel.DefaultSolver(P, q, A, b, cones, settings).solve()
        found = bounds(np.asarray(solution.x), np.asarray(solution.z)[2 * i.size :])
        return Answer(float(solution.solve_time), -float(solution.obj_val) * unit, found)

    def scs_once(tolerance: float) -> Answer:
        import scs

        # SCS stacks the lower triangle, column by column: of a symmetric matrix the upper one, row by row.
        order = np.lexsort((cols, rows))
        whole = np.r_[np.arange(2 * i.size), 2 * i.size + order]
        data = {"A": sp.csc_matrix(A[whole]), "b": b[whole], "c": q}
        solver_ = scs.SCS(
            data,
            {"l": 2 * i.size, "s": [m]},
            verbose=False,
            eps_abs=tolerance,
            eps_rel=tolerance,
            max_iters=200_000,
            time_limit_secs=SECONDS,
        )
        solution = solver_.solve()
        info = solution["info"]
        z = np.empty(rows.size)
        z[order] = solution["y"][2 * i.size :]
        seconds = (float(info["setup_time"]) + float(info["solve_time"])) / 1e3
        return Answer(seconds, -float(info["pobj"]) * unit, bounds(solution["x"], z))

    return clarabel_once if solver == "Clarabel" else scs_once


def _cvxpy(C: Floats, alpha: float, V: Floats):
    import cvxpy as cp

    def once(tolerance: float) -> Answer:
        start = time.perf_counter()
        p = C.shape[0]
        X = cp.Variable((p, p), PSD=True)
        constraints = [cp.trace(X) == 1]
        if V.shape[1]:
            constraints.append(cp.trace((V @ V.T) @ X) == 0)
        problem = cp.Problem(cp.Minimize(cp.trace(C @ X) + alpha * cp.sum(cp.abs(X))), constraints)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # CVXPY warns of inaccurate solutions
            try:
                problem.solve(
                    solver="CLARABEL", tol_gap_abs=tolerance, tol_gap_rel=tolerance, tol_feas=tolerance, max_threads=1
                )
            except cp.SolverError:
                return Answer(time.perf_counter() - start, float("inf"))
        value = float("inf") if problem.value is None else float(problem.value)
        return Answer(time.perf_counter() - start, value)

    return once
