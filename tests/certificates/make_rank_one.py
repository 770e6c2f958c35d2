"""Which steps of the real data have a rank-one optimum: settled once by Clarabel, stored in `rank_one.json`.

    python tests/certificates/make_rank_one.py            # all cases, about five minutes on one core
    python tests/certificates/make_rank_one.py breast_cancer-B-1-sparse ...   # these only, the others stay

Run it again when the tests say that our sequence is no longer the stored one (they then say "regenerate"), and read
the difference: values may move by rounding, kinds may not without a reason.

For each step the convex problem is solved over all features (our splitting into blocks is not used), along our own
sequence: V = the vectors that we took before. Stored per step:

support    the features of our vector
upper      our vector's objective, recomputed here from A; `support` and `upper` recognise the sequence
value      Clarabel's optimum of the convex problem
tol        its tolerance, relative to alpha or what the earlier vectors leave of A: 1e-11, or 1e-10 or 1e-9 where
           that is not reached
share      the largest eigenvalue of Clarabel's X, of trace one
kind       "rank one" : share >= 1 - 1e-6. When this was made, the shares fell into two groups: 297 steps within 7e-7
                        of one, all others further than 4e-6 from it; nothing between
           "tie"      : the share is lower, but our vector attains the optimum to 1e-7: the solutions are many, an
                        interior-point method ends in their middle, and our vector is one of the extreme ones
           "not rank one" : neither

A step is borderline where another choice of these constants might change its kind; such steps are printed.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

from aspca import SparseSubspace, sparse_subspace
from aspca.paper.datasets import load_breast_cancer, load_kdd99

STORE = Path(__file__).with_name("rank_one.json")
RANK_ONE_SHARE = 1 - 1e-6
ATTAINED = 1e-7


class Case(NamedTuple):
    """A fit on real data."""

    data: str
    variant: str
    alpha: float
    rounding: str

    def __str__(self) -> str:
        return f"{self.data}-{self.variant}-{self.alpha:g}-{self.rounding}"


N_COMPONENTS = {"breast_cancer": 10, "kdd99": 35}
CASES = [
    *(
        Case("breast_cancer", variant, alpha, rounding)
        for alpha in (1.0, 5.0, 10.0)
        for variant in "BF"
        for rounding in ("sparse", "dominant")
    ),
    *(Case("kdd99", variant, 100.0, rounding) for variant in "BF" for rounding in ("sparse", "dominant")),
]


@functools.cache
def scatter(data: str) -> np.ndarray:
    """The paper's A = D'D: columns centred, then divided by their largest absolute value."""
    X = (load_breast_cancer if data == "breast_cancer" else load_kdd99)().data
    D = X - X.mean(axis=0)
    largest = np.abs(D).max(axis=0)
    D = D / np.where(largest > 0, largest, 1.0)
    return D.T @ D


@functools.cache
def fit(case: Case) -> SparseSubspace:
    return sparse_subspace(scatter(case.data), N_COMPONENTS[case.data], case.alpha, case.variant, case.rounding)


def minimised(case: Case) -> np.ndarray:
    """C: A, or -A for the forward direction."""
    A = scatter(case.data)
    return -A if case.variant == "F" else A


def size_of(case: Case, value: float) -> float:
    """What makes a difference of values relative, as in the certificates."""
    A = scatter(case.data)
    return max(abs(value), case.alpha, 1e-9 * float(np.trace(A)) / A.shape[0])


def recognised(case: Case, found: SparseSubspace) -> list[dict]:
    """What tells one sequence from another: supports and objectives."""
    C = minimised(case)
    return [
        {
            "support": np.flatnonzero(v).tolist(),
            "upper": float(v @ C @ v + case.alpha * np.abs(v).sum() ** 2),
        }
        for v in found.sequence.T
    ]


def stale(case: Case, found: SparseSubspace, stored: list[dict], drift: float = 1e-6) -> str | None:
    """Why what is stored does not speak of this sequence, as a sentence; None where it does."""
    regenerate = f"regenerate it with `python tests/certificates/make_rank_one.py {case}` and read the difference."
    now = recognised(case, found)
    if len(stored) != len(now):
        return f"rank_one.json has {len(stored)} steps of {case}, our sequence {len(now)}: {regenerate}"
    for k, (old, new) in enumerate(zip(stored, now, strict=True)):
        near = abs(old["upper"] - new["upper"]) <= drift * size_of(case, new["upper"])
        if old["support"] != new["support"] or not near:
            return (
                f"From step {k} on our sequence is not the one that rank_one.json speaks of (objective "
                f"{new['upper']:.9g}, stored {old['upper']:.9g}): {regenerate}"
            )
        kind = kind_of(case, old["upper"], old["value"], old["share"])
        if old["kind"] != kind:
            return f"rank_one.json calls step {k} {old['kind']}, by its numbers it is {kind}: {regenerate}"
    return None


def kind_of(case: Case, upper: float, value: float, share: float) -> str:
    if share >= RANK_ONE_SHARE:
        return "rank one"
    return "tie" if upper - value <= ATTAINED * size_of(case, upper) else "not rank one"


def settle(case: Case) -> list[dict]:
    oracle = _reference()
    found, C = fit(case), minimised(case)
    steps = recognised(case, found)
    for k, step in enumerate(steps):
        answer, step["tol"] = _answer(oracle, C, case.alpha, found.sequence[:, :k])
        step["value"], step["share"] = answer.value, answer.top_share
        step["kind"] = kind_of(case, step["upper"], answer.value, answer.top_share)
        distance = (step["upper"] - answer.value) / size_of(case, step["upper"])
        own_gap = (answer.primal(C, case.alpha) - answer.value) / size_of(case, step["upper"])
        borderline = 1e-7 < 1 - answer.top_share < 1e-5 or 1e-8 < abs(distance) < 1e-6 or abs(own_gap) > 1e-7
        print(
            f"{case} step {k:2d}: {step['kind']:12s} 1-share {1 - answer.top_share:8.1e} vector {distance:9.2e} "
            f"Clarabel's own gap {own_gap:8.1e} ours {found.certificates[k].gap:8.1e}"
            f" {'BORDERLINE' if borderline else ''}",
            flush=True,
        )
    return steps


def _answer(oracle, C: np.ndarray, alpha: float, V: np.ndarray):
    """Clarabel's answer and the tightest tolerance that it reaches: now and then the last digit is out of its reach."""
    for tol in (1e-11, 1e-10):
        try:
            return oracle.solve_in_basis(C, alpha, V, tol=tol), tol
        except RuntimeError as refusal:
            print(f"  at {tol:g}: {refusal}")
    return oracle.solve_in_basis(C, alpha, V, tol=1e-9), 1e-9


def _reference():
    path = Path(__file__).parent.parent / "oracle" / "clarabel_reference.py"
    spec = importlib.util.spec_from_file_location("clarabel_reference", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(names: list[str]) -> None:
    unknown = set(names) - {str(case) for case in CASES}
    if unknown:
        sys.exit(f"There is no case {', '.join(sorted(unknown))}; cases are {', '.join(map(str, CASES))}.")
    stored = json.loads(STORE.read_text()) if STORE.exists() else {}
    for case in CASES:
        if names and str(case) not in names:
            continue
        stored[str(case)] = settle(case)
        kept = {str(c): stored[str(c)] for c in CASES if str(c) in stored}
        lines = [
            f" {json.dumps(name)}: [\n  " + ",\n  ".join(json.dumps(step) for step in steps) + "\n ]"
            for name, steps in kept.items()
        ]
        STORE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
