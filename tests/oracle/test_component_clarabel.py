"""Bounds of every step against Clarabel on 50 random problems, both directions, five steps each."""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from aspca import SparseSubspace, sparse_subspace
from aspca.problems.component import ComponentProblem
from aspca.solvers.component import Effort, Warmth, solve_component

_spec = importlib.util.spec_from_file_location("clarabel_reference", Path(__file__).with_name("clarabel_reference.py"))
reference = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(reference)

STEPS = 5
KINDS = ("gaussian", "low rank", "correlation", "dependent", "blocks")
CASES = [(kind, number) for kind in KINDS for number in range(10)]
EXACT = 1e-6


pytestmark = pytest.mark.usefixtures("one_thread")


class Problem(NamedTuple):
    A: np.ndarray
    alpha: float


def make(kind: str, number: int) -> Problem:
    """A random problem; alpha runs from a fraction of the typical entry of A to about its largest."""
    rng = np.random.default_rng([KINDS.index(kind), number])
    p = (4, 5, 6, 6, 7, 7, 8, 9, 10, 15)[number]
    D = rng.normal(size=(3 * p, p)) @ (np.eye(p) + 0.4 * rng.normal(size=(p, p)))
    if kind == "low rank":
        D = D[: max(2, p // 2)]
    elif kind == "dependent":
        # Rules hold almost exactly: a difference, a sum of two, a multiple.
        D[:, 1] = D[:, 0] + 1e-3 * rng.normal(size=D.shape[0])
        D[:, 3] = D[:, 2] + D[:, 0] + 1e-2 * rng.normal(size=D.shape[0])
        if p > 5:
            D[:, 5] = 3.0 * D[:, 4]
    elif kind == "blocks":
        D = rng.normal(size=(60, p))
        for start in range(0, p, 3):
            group = slice(start, min(start + 3, p))
            D[:, group] += 2.0 * rng.normal(size=(60, 1))
    D = D - D.mean(axis=0)
    A = D.T @ D
    if kind == "correlation":
        scale = 1.0 / np.sqrt(np.diag(A))
        A = A * np.outer(scale, scale)
        A = 0.5 * (A + A.T)
    off = np.abs(A[np.triu_indices(p, 1)])
    level = (0.1, 0.4, 0.7, 0.85, 0.95, 0.1, 0.4, 0.7, 0.9, 0.6)[number]
    alpha = float(np.quantile(off, level)) * (1.0 if number % 2 else 0.5)
    return Problem(A, alpha)


@functools.cache
def solve(kind: str, number: int, forward: bool) -> SparseSubspace:
    problem = make(kind, number)
    p = problem.A.shape[0]
    return sparse_subspace(problem.A, min(STEPS, p), problem.alpha, "F" if forward else "B")


def steps_of(kind: str, number: int, forward: bool):
    """Per step of our own sequence: C, the earlier vectors, the certificate, the size that makes gaps relative."""
    problem, found = make(kind, number), solve(kind, number, forward)
    p = problem.A.shape[0]
    C = -problem.A if forward else problem.A
    for k in range(min(STEPS, p)):
        certificate = found.certificates[k]
        size = max(abs(certificate.primal), problem.alpha, 1e-9 * np.trace(problem.A) / p)
        yield C, found.sequence[:, :k], certificate, size


@pytest.mark.parametrize("forward", [False, True], ids=["backward", "forward"])
@pytest.mark.parametrize(("kind", "number"), CASES, ids=lambda x: str(x).replace(" ", "_"))
def test_our_bounds_enclose_clarabels_value(kind, number, forward):
    problem = make(kind, number)
    for C, V, certificate, size in steps_of(kind, number, forward):
        oracle = reference.solve_in_basis(C, problem.alpha, V)
        # The oracle must deserve its name before it may judge.
        assert oracle.primal(C, problem.alpha) - oracle.value <= EXACT * size
        assert np.linalg.norm(oracle.X @ V) <= 1e-6
        assert abs(np.trace(oracle.X) - 1.0) <= 1e-8

        assert certificate.lower <= oracle.value + EXACT * size
        assert oracle.value <= certificate.primal + EXACT * size
        assert 0.0 <= certificate.primal - certificate.lower <= EXACT * size
        assert certificate.sdp_gap <= EXACT
        assert certificate.primal <= certificate.upper


@pytest.mark.parametrize("forward", [False, True], ids=["backward", "forward"])
@pytest.mark.parametrize(("kind", "number"), CASES, ids=lambda x: str(x).replace(" ", "_"))
def test_splitting_into_blocks_changes_no_value(kind, number, forward):
    if len(solve(kind, number, forward).witness.blocks) == 1:
        return  # nothing was split; that enough problems are is a test below
    problem = make(kind, number)
    effort = Effort(tol=1e-6, max_iter=5000, deadline=np.inf)
    scale = 1e-9 * float(np.trace(problem.A)) / problem.A.shape[0]
    for C, V, certificate, size in steps_of(kind, number, forward):
        whole = solve_component(
            ComponentProblem(C, problem.alpha, V, scale), effort, dominant=False, warmth=Warmth(V[:, :0], ())
        )
        # The solver leaves out the constant alpha.
        primal, lower = whole.primal + problem.alpha, whole.lower + problem.alpha
        assert abs(primal - certificate.primal) <= EXACT * size
        assert abs(lower - certificate.lower) <= EXACT * size
        # Bounds of either must respect the other's: both speak of one number.
        assert lower <= certificate.primal + 1e-9 * size
        assert certificate.lower <= primal + 1e-9 * size


def test_the_problems_are_of_every_sort():
    """Otherwise the tests above could be true for want of cases."""
    blocks, rank_one, many = [], 0, 0
    for kind, number in CASES:
        for forward in (False, True):
            found = solve(kind, number, forward)
            blocks.append(len(found.witness.blocks))
            first = found.certificates[:STEPS]
            rank_one += sum(c.rank_one for c in first)
            many += sum(not c.rank_one for c in first)
    assert sum(n > 1 for n in blocks) >= 30
    assert sum(n == 1 for n in blocks) >= 30
    assert rank_one >= 200
    assert many >= 12


@pytest.mark.parametrize("forward", [False, True], ids=["backward", "forward"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_oracle_solves_the_problem_as_the_paper_writes_it(kind, forward):
    """All three forms agree; with Tr(R X) = 0 as far as that form goes, and only downwards (see the module)."""
    problem = make(kind, 4)
    for C, V, _, size in steps_of(kind, 4, forward):
        value = reference.solve_in_basis(C, problem.alpha, V).value
        for form in (reference.solve_direct, reference.solve_with_cvxpy):
            written = form(C, problem.alpha, V).value
            assert written <= value + EXACT * size
            assert written >= value - (EXACT if V.shape[1] == 0 else 1e-3) * size


def test_bounds_hold_along_the_dominant_sequence_too():
    """The paper's rounding takes other vectors, so later steps are other problems."""
    differ = 0
    for kind in KINDS:
        for number in (5, 6):
            A, alpha = make(kind, number)
            found = sparse_subspace(A, STEPS, alpha, "B", "dominant")
            differ += not np.array_equal(found.sequence, solve(kind, number, False).sequence)
            for k, certificate in enumerate(found.certificates):
                oracle = reference.solve_in_basis(A, alpha, found.sequence[:, :k])
                size = max(abs(certificate.primal), alpha)
                assert certificate.lower <= oracle.value + EXACT * size
                assert oracle.value <= certificate.primal + EXACT * size
                assert certificate.primal - certificate.lower <= EXACT * size
    assert differ >= 3
