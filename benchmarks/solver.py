"""Our solver beside CVXPY + Clarabel on the same subproblems, in one run, on one thread.

    python benchmarks/solver.py            # Breast-Cancer, and KDD99 where its file is found

For each step of our backward sequence the peer solves the very same problem (the same earlier components), in its
fastest, direct form (Tr(RX) = 0), at tolerances of 1e-4. Our side is timed as a whole sequence, with certificates and
witness, at the default tolerance of 1e-6. Printed are ratios; the machine's own seconds mean little.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import time
import warnings

import cvxpy as cp
import numpy as np

from aspca import Moments, sparse_subspace
from aspca.datasets.breast_cancer import load_breast_cancer
from aspca.datasets.kdd99 import load_kdd99
from aspca.model.scaling import column_scale, scaled_covariance

PEER_TOLERANCE = 1e-4


def peer_seconds(A: np.ndarray, alpha: float, V: np.ndarray) -> float:
    """Clarabel's own solve time: CVXPY's compilation is left out."""
    p = A.shape[0]
    X = cp.Variable((p, p), PSD=True)
    constraints = [cp.trace(X) == 1]
    if V.shape[1]:
        constraints.append(cp.trace((V @ V.T) @ X) == 0)
    problem = cp.Problem(cp.Minimize(cp.trace(A @ X) + alpha * cp.sum(cp.abs(X))), constraints)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # CVXPY warns of inaccurate solutions at this tolerance
        problem.solve(
            solver="CLARABEL", tol_gap_abs=PEER_TOLERANCE, tol_gap_rel=PEER_TOLERANCE, tol_feas=PEER_TOLERANCE
        )
    return float(problem.solver_stats.solve_time)


def row(name: str, X: np.ndarray, n_components: int, lam: float) -> None:
    moments = Moments.from_array(X)
    A = scaled_covariance(moments, column_scale(moments, "maxabs")) * X.shape[0]
    # Once each, after a first solve that neither side is charged for.
    sparse_subspace(A, 1, lam, "B")
    peer_seconds(A, lam, np.zeros((A.shape[0], 0)))
    start = time.perf_counter()
    result = sparse_subspace(A, n_components, lam, "B")
    ours = time.perf_counter() - start
    peer = sum(peer_seconds(A, lam, result.sequence[:, :k]) for k in range(n_components))
    worst = max(c.sdp_gap for c in result.certificates)
    rank_one = sum(c.rank_one for c in result.certificates)
    print(
        f"{name:<14} lambda {lam:>4g}  d {n_components:>3}  peer/ours {peer / ours:6.1f}x"
        f"  largest sdp_gap {worst:.0e}  rank one {rank_one}/{n_components}",
        flush=True,
    )


def main() -> None:
    cancer = load_breast_cancer().data
    row("Breast-Cancer", cancer, 10, 5.0)
    row("Breast-Cancer", cancer, 10, 1.0)
    try:
        row("KDD99", load_kdd99().data, 35, 100.0)
    except FileNotFoundError as error:
        print(f"KDD99 left out: {error}")


if __name__ == "__main__":
    main()
