"""Each check of `sparse_pca.verify` from both sides: what is just allowed is accepted, what is just beyond is refused.

The claims are made by hand, on matrices of three or four features where every number is known on paper; no solver has
a part in them. Every one has its seal made anew, so that the seal alone refuses none.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from aspca.sparse_pca.verify.check import check
from aspca.sparse_pca.verify.claims import Claims, Multiplier, Status, Witness, probe_vector, seal

replace = dataclasses.replace
EPS = 2.0**-52
TOL = 2.0**-20
A = np.diag([1.0, 2.0, 4.0])
E = np.eye(3)
WHOLE = (np.arange(3),)
ALONE = tuple(np.array([i]) for i in range(3))
# Rounding of a bound on a block of three features at alpha = 0.5: 16 m eps (|C| + m alpha).
SLACK = 48 * EPS * (np.sqrt(21.0) + 1.5)


def gap(value: float, lower: float, alpha: float, A: np.ndarray) -> float:
    size = max(abs(value), alpha, 1e-9 * np.trace(A) / len(A))
    return max(value - lower, 0.0) / size if size else 0.0


def claim(
    A: np.ndarray, vectors: np.ndarray, lower: list[float], alpha=0.5, blocks=WHOLE, packed=None, factors=None, tol=TOL
) -> Claims:
    """What an honest finder of these vectors would say, the lower bounds being told."""
    p, steps = vectors.shape
    factors = factors or (None,) * steps
    if packed is None:
        packed = [np.zeros(b.size * (b.size - 1) // 2) for b in blocks]
    bounds = []
    for v, low, factor in zip(vectors.T, lower, factors, strict=True):
        upper = float(v @ A @ v + alpha * np.abs(v).sum() ** 2)
        X = np.outer(v, v) if factor is None else factor @ factor.T
        primal = upper if factor is None else float((A * X).sum() + alpha * np.abs(X).sum())
        bounds.append((low, upper, primal, gap(upper, low, alpha, A), gap(primal, low, alpha, A)))
    attained = tuple(row[3] <= tol for row in bounds)
    statuses = tuple(
        (Status.CERTIFIED if yes else Status.RELAXED if row[4] <= tol else Status.BUDGET).value
        for yes, row in zip(attained, bounds, strict=True)
    )
    witness = Witness(
        tuple(blocks), tuple(Multiplier(k, 0, u) for k, u in enumerate(packed)), factors, A @ probe_vector(p)
    )
    return Claims(
        forward=False,
        rotated=False,
        alpha=alpha,
        n_components=steps,
        tol=tol,
        sequence=vectors,
        rotation=np.eye(steps),
        loadings=vectors.copy(),
        bounds=np.array(bounds),
        rank_one=attained,
        statuses=statuses,
        witness=witness,
    )


HONEST = claim(A, E[:, :2], [1.5, 2.5])


def verdict(claims: Claims, matrix: np.ndarray = A) -> tuple[str, ...]:
    return check(matrix, replace(claims, witness=replace(claims.witness, seal=seal(claims)))).problems


def accepted(claims: Claims, matrix: np.ndarray = A) -> None:
    assert verdict(claims, matrix) == ()


def refused(said: str, claims: Claims, matrix: np.ndarray = A) -> None:
    problems = verdict(claims, matrix)
    assert any(said in problem for problem in problems), problems


def bounded(claims: Claims, step: int = 0, **values: float) -> Claims:
    """Some bounds of a step told otherwise."""
    bounds = claims.bounds.copy()
    for name, value in values.items():
        bounds[step, ("lower", "upper", "primal", "gap", "sdp_gap").index(name)] = value
    return replace(claims, bounds=bounds)


def witnessed(claims: Claims, **changes: object) -> Claims:
    return replace(claims, witness=replace(claims.witness, **changes))


def called(claims: Claims, rank_one: bool, status: Status) -> Claims:
    return replace(claims, rank_one=(rank_one,), statuses=(status.value,))


# ---- the matrix


def test_one_value_that_is_not_finite_is_named():
    matrix = A.copy()
    matrix[2, 2] = np.inf
    refused("not finite", HONEST, matrix)


@pytest.mark.parametrize("power", [-1030, -900, -1, 0, 900, 1020])
@pytest.mark.parametrize("alpha", [0.5, 0.0])
def test_any_unit_is_as_good(power, alpha):
    """Claims in units of 2**power are the same claims, also where squares of entries are out of range."""
    claims = claim(A, E[:, :2], [1.0 + alpha, 2.0 + alpha], alpha)
    size = 2.0 ** float(power)
    claims = replace(claims, alpha=alpha * size, bounds=claims.bounds * [size, size, size, 1.0, 1.0])
    claims = witnessed(claims, fingerprint=claims.witness.fingerprint * size)
    accepted(claims, A * size)
    worse = bounded(claims, upper=claims.bounds[0, 1] * (1 + 1e-9), primal=claims.bounds[0, 1] * (1 + 1e-9))
    refused("`upper`", worse, A * size)
    above = bounded(claims, lower=claims.bounds[0, 0] * (1 + 1e-12))
    refused("above what the witness proves", above, A * size)


def test_a_matrix_may_be_lopsided_by_a_hundred_millionth_of_its_largest_entry():
    for share, sort in ((0.98, accepted), (1.02, lambda *told: refused("not symmetric", *told))):
        matrix = A.copy()
        matrix[0, 1] = share * 1e-8 * 4.0
        claims = claim(A, E[:, :2], [1.5, 2.5], blocks=ALONE)
        sort(witnessed(claims, fingerprint=0.5 * (matrix + matrix.T) @ probe_vector(3)), matrix)


def test_a_fingerprint_may_differ_by_a_rounding_of_the_largest_row():
    for entry in range(3):
        for share in (0.98, -0.98, 1.02, -1.02):
            fingerprint = HONEST.witness.fingerprint.copy()
            fingerprint[entry] += share * 1e-11 * 4.0
            claims = witnessed(HONEST, fingerprint=fingerprint)
            if abs(share) < 1:
                accepted(claims)
            else:
                refused("not the matrix", claims)


# ---- bases


@pytest.mark.parametrize("lean", [1e-12, np.nextafter(1e-12, 1.0), -np.nextafter(1e-12, 1.0)])
def test_bases_may_lean_by_a_trillionth(lean):
    leaning = E[:, :2].copy()
    leaning[0, 1] = lean
    turn = np.array([[1.0, lean], [0.0, 1.0]])
    wrong = {
        "`sequence` are orthonormal": claim(A, leaning, [1.5, 2.5]),
        "`rotation` are orthonormal": replace(HONEST, rotation=turn, loadings=leaning, rotated=True),
        "`loadings` are orthonormal": replace(HONEST, loadings=leaning),
        "differ from the rotated sequence": replace(HONEST, loadings=leaning),
    }
    for said, claims in wrong.items():
        if lean == 1e-12:
            accepted(claims)
        else:
            refused(said, claims)


def test_the_l1_norm_may_rise_by_rounding_alone():
    """By a trillionth, as float64 has it: 4504 units of the last place, and no unit more."""
    for last, fine in ((4, True), (5, False)):
        loadings = E[:, :2] * (1.0 + last * EPS)
        loadings[1, 0] = loadings[0, 1] = 4500 * EPS
        loadings[0, 1] *= -1.0
        claims = replace(HONEST, loadings=loadings, rotated=True)
        if fine:
            accepted(claims)
        else:
            refused("raised the l1 norm", claims)


def test_a_rotation_that_changes_nothing_is_a_rotation():
    accepted(replace(HONEST, rotated=True))
    swap = np.array([[0.0, 1.0], [1.0, 0.0]])
    swapped = replace(HONEST, rotation=swap, loadings=HONEST.loadings @ swap)
    accepted(replace(swapped, rotated=True))
    refused("not the identity", swapped)


# ---- bounds


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_an_upper_bound_may_be_off_by_its_rounding(side):
    for share in (0.98, 1.02):
        upper = 1.5 + side * share * SLACK
        claims = bounded(HONEST, upper=upper, primal=upper)
        if share < 1:
            accepted(claims)
        else:
            refused("`upper`", claims)


def test_a_lower_bound_may_be_too_low_by_twice_its_rounding_and_never_too_high():
    accepted(HONEST)
    accepted(bounded(HONEST, lower=1.5 - 1.96 * SLACK))
    refused("`lower`", bounded(HONEST, lower=1.5 - 2.04 * SLACK))
    refused("above what the witness proves", bounded(HONEST, lower=np.nextafter(1.5, 2.0)))


def test_rounding_is_that_of_the_largest_block_that_is_left():
    """Alone, a feature's rounding is 16 eps (|C| + alpha): of 4.5 while the last feature is there, of 8 alpha never."""
    claims = claim(A, E[:, :2], [1.5, 2.5], blocks=ALONE)
    slack = 16 * EPS * 4.5
    for step, lower in ((0, 1.5), (1, 2.5)):
        accepted(bounded(claims, step, lower=lower - 1.9 * slack))
        refused("`lower`", bounded(claims, step, lower=lower - 2.1 * slack))


@pytest.mark.parametrize("name", ["gap", "sdp_gap"])
def test_a_gap_may_be_off_by_a_billionth(name):
    apart = claim(A, E[:, 1:2], [1.5])
    for claims, true in ((HONEST, 0.0), (apart, 0.4)):
        for share in (0.98, -0.98, 1.02, -1.02):
            told = bounded(claims, **{name: true + share * 1e-9})
            if abs(share) < 1:
                accepted(told)
            else:
                refused(f"`{name}`", told)


def test_a_vector_below_its_lower_bound_by_rounding_has_no_gap():
    accepted(bounded(HONEST, upper=1.5 - SLACK / 2, primal=1.5 - SLACK / 2, gap=0.0, sdp_gap=0.0))


def test_what_exceeds_the_box_across_blocks_is_charged():
    """|C| = 3/4 where 1/2 is covered, twice: the bound falls by the norm of both excesses."""
    matrix = np.array([[1.0, 0.75, 0.0], [0.75, 1.0, -0.5], [0.0, -0.5, 4.0]])
    lower = 1.5 - np.sqrt(2.0) / 4.0
    accepted(claim(matrix, E[:, :1], [lower - 1e-15], blocks=ALONE), matrix)
    refused("above what the witness proves", claim(matrix, E[:, :1], [lower + 1e-15], blocks=ALONE), matrix)
    refused("`lower`", claim(matrix, E[:, :1], [lower - 1e-13], blocks=ALONE), matrix)


# ---- multipliers


def test_a_multiplier_is_in_force_from_its_step_on():
    """With the first C + U is diagonal; the second, needlessly, couples the last two features."""
    matrix = np.array([[1.0, 0.25, 0.0], [0.25, 1.0, 0.0], [0.0, 0.0, 4.0]])
    later = 3.0 - np.sqrt(2.5)
    claims = claim(matrix, E[:, :2], [1.5, later - 1e-15])
    one = Multiplier(0, 0, np.array([-0.25, 0.0, 0.0]))
    two = Multiplier(0, 1, np.array([-0.25, 0.0, 0.5]))
    accepted(witnessed(claims, multipliers=(one, two)), matrix)
    accepted(witnessed(claims, multipliers=(two, one)), matrix)
    refused("Step 0: `lower`", witnessed(claims, multipliers=(replace(two, since=0),)), matrix)
    refused("Step 1: `lower`", witnessed(claims, multipliers=(one,)), matrix)
    refused("Step 0 has no multiplier", witnessed(claims, multipliers=(two,)), matrix)
    # There is no step 2, and what is never in force is no part of a proof.
    refused("names step 2", witnessed(claims, multipliers=(one, two, replace(two, since=2))), matrix)
    refused("names step -1", witnessed(claims, multipliers=(one, two, replace(one, since=-1))), matrix)


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_the_box_includes_its_border(side):
    """Of the last two features of diag(1, 4, 4), whose least eigenvalue with U is 4 all the same."""
    matrix = np.diag([1.0, 4.0, 4.0])
    for u, fine in ((0.5, True), (np.nextafter(0.5, 1.0), False)):
        claims = claim(matrix, E[:, :1], [1.5], packed=[np.array([0.0, 0.0, side * u])])
        if fine:
            accepted(claims, matrix)
        else:
            refused("leaves the box", claims, matrix)


def test_a_vector_lives_in_one_block():
    v = np.array([[0.6], [0.8], [0.0]])
    refused("spans 2 blocks", claim(A, v, [1.5], blocks=ALONE))


# ---- the kind of a step


def test_rank_one_within_the_tolerance_of_the_vectors_own_value():
    """The lower bound is exactly one tolerance of 4 below the vector's 4."""
    matrix = np.diag([3.5 - 4 * TOL, 3.5, 8.0])
    claims = claim(matrix, E[:, 1:2], [4.0 - 4 * TOL])
    accepted(called(claims, True, Status.CERTIFIED), matrix)
    refused("not called rank one", called(claims, False, Status.RELAXED), matrix)
    matrix = np.diag([3.5 - 4.0001 * TOL, 3.5, 8.0])
    claims = claim(matrix, E[:, 1:2], [4.0 - 4.0001 * TOL])
    refused("called rank one", called(claims, True, Status.CERTIFIED), matrix)
    accepted(called(claims, False, Status.BUDGET), matrix)


@pytest.mark.parametrize("apart", [4.0, 4.0001])
def test_solved_within_the_tolerance_of_the_best_known(apart):
    """The vector is poor, 8.5; the best X, of the second feature alone, is worth 4."""
    matrix = np.diag([3.5 - apart * TOL, 3.5, 8.0])
    claims = claim(matrix, E[:, 2:], [4.0 - apart * TOL], factors=(E[:, 1:2],))
    for status, fine in ((Status.RELAXED, apart == 4.0), (Status.BUDGET, apart > 4.0), (Status.CERTIFIED, False)):
        if fine:
            accepted(called(claims, False, status), matrix)
        else:
            refused("status", called(claims, False, status), matrix)


@pytest.mark.parametrize("alpha", [0.5, 0.0])
@pytest.mark.parametrize("share", [0.9998, 1.0002])
def test_within_what_is_blurred_a_step_may_be_called_either(alpha, share):
    """Twice the rounding; without a penalty also 1e-10 of the matrix, within which eigenvalues count as one."""
    size = np.sqrt(1.0 + 1.0 + 2.0**20)
    blurred = 2 * 48 * EPS * (size + 3 * alpha) + (1e-10 * size if alpha == 0 else 0.0)
    matrix = np.diag([1.0, 1.0 + share * blurred, 1024.0])
    claims = claim(matrix, E[:, 1:2], [1.0 + alpha], alpha, tol=1e-300)
    accepted(called(claims, False, Status.PRECISION), matrix)
    if share < 1:
        accepted(called(claims, True, Status.CERTIFIED), matrix)
        accepted(called(claims, False, Status.RELAXED), matrix)
    else:
        refused("called rank one", called(claims, True, Status.CERTIFIED), matrix)
        refused("status", called(claims, False, Status.RELAXED), matrix)


def test_of_nothing_everything_is_exact():
    """No slack is left where matrix and penalty are zero: bounds, box, X and kind are what they are."""
    zero = np.zeros((3, 3))
    claims = claim(zero, E[:, :1], [0.0], 0.0)
    accepted(claims, zero)
    accepted(witnessed(claims, factors=(E[:, 1:2],)), zero)
    refused("not called rank one", called(claims, False, Status.RELAXED), zero)
    refused("`upper`", bounded(claims, upper=5e-324, primal=5e-324), zero)
    refused("leaves the box", witnessed(claims, multipliers=(Multiplier(0, 0, np.full(3, 5e-324)),)), zero)


# ---- X


@pytest.mark.parametrize("share", [0.98, -0.98, 1.02, -1.02])
def test_x_has_trace_one_to_a_trillionth(share):
    factor = E[:, :1] * np.sqrt(1.0 + share * 1e-12)
    claims = claim(A, E[:, 2:], [1.5], factors=(factor,))
    if abs(share) < 1:
        accepted(claims)
    else:
        refused("trace one", claims)


def test_x_is_orthogonal_to_each_earlier_vector():
    for lean, fine in ((1e-11, True), (np.nextafter(1e-11, 1.0), False)):
        factor = np.array([[lean], [1.0], [0.0]])
        claims = claim(A, E[:, [0, 2]], [1.5, 2.5], factors=(None, factor))
        if fine:
            accepted(claims)
        else:
            refused("not orthogonal to the earlier", claims)
    matrix = np.diag([1.0, 2.0, 4.0, 8.0])
    for row in (0, 1):
        factor = np.zeros((4, 2))
        factor[2, 0], factor[row, 1] = 0.8, 0.6
        claims = claim(
            matrix, np.eye(4)[:, [0, 1, 3]], [1.5, 2.5, 4.5], blocks=(np.arange(4),), factors=(None, None, factor)
        )
        refused("not orthogonal to the earlier", claims, matrix)


def test_the_value_of_x_may_be_off_by_its_rounding():
    claims = claim(A, E[:, 2:], [1.5], factors=(E[:, :1],))
    for share in (0.98, -0.98, 1.02, -1.02):
        told = bounded(claims, primal=1.5 + share * SLACK)
        if abs(share) < 1:
            accepted(told)
        else:
            refused("`primal`", told)
    itself = claim(A, E[:, :1], [1.5], factors=(E[:, :1],))
    accepted(itself)
    refused("worse than the vector's own", bounded(itself, primal=np.nextafter(1.5, 2.0)))
    refused("no factor", bounded(HONEST, primal=np.nextafter(1.5, 1.0)))
