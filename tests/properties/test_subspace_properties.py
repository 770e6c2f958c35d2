"""What holds for every matrix: bounds, orthonormality, and that order, signs, units and blocks do not matter.

A step is compared vector by vector only where its own witness proves that there is nothing else to find: with U the
witness's multiplier, every feasible vector of objective at most `upper` lies within an angle of
sqrt((upper - l1) / (l2 - l1)) of the bottom eigenvector of C + U, l1 < l2 being its two lowest eigenvalues. Up to the
first step where that angle is not small, and at that step too, the convex problem's value must agree.
"""

from __future__ import annotations

import itertools
import warnings
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aspca import SparseSubspace, TiedSubspaceWarning, sparse_subspace, sparse_subspace_path
from aspca.solvers.blocks import split

MANY = settings(max_examples=40, deadline=None, derandomize=True)
SOME = settings(MANY, max_examples=20)
SEEDS = st.integers(0, 2**32 - 1)
KINDS = ("gaussian", "rules", "low rank", "correlation", "whole", "duplicates", "blocks")
# Small enough that a vector is known to 1e-3, large enough that most steps qualify.
SURE = 1e-4
compared: Counter[str] = Counter()


pytestmark = pytest.mark.usefixtures("one_thread")


@st.composite
def problems(draw, kinds: tuple[str, ...] = KINDS, most: int = 7, least_alpha: float = 0.0):
    """A (p, p), alpha: from no penalty to one above everything."""
    kind = draw(st.sampled_from(kinds))
    p = draw(st.integers(2, most))
    rng = np.random.default_rng(draw(SEEDS))
    D = rng.normal(size=(3 * p, p)) @ (np.eye(p) + 0.4 * rng.normal(size=(p, p)))
    if kind == "rules":
        D[:, 0] = D[:, 1:].sum(axis=1) + 0.01 * rng.normal(size=3 * p)
        D[:, -1] = D[:, p // 2] + 0.01 * rng.normal(size=3 * p)
    elif kind == "low rank":
        D = D[: 1 + p // 2]
    elif kind == "whole":
        D = np.round(D)
    elif kind == "duplicates":
        D[:, p // 2 :] = D[:, : p - p // 2]
    A = D.T @ D / len(D)
    if kind == "correlation":
        A = A / np.sqrt(np.outer(np.diag(A), np.diag(A)))
    elif kind == "blocks":
        home = rng.integers(0, 3, size=p)
        A = A * (home[:, None] == home)
    shares = [share for share in (0.0, 1e-3, 1e-2, 0.05, 0.2, 0.6, 2.0) if share >= least_alpha]
    return A, float(np.abs(A).max() * draw(st.sampled_from(shares)))


variants = st.sampled_from(["F", "B", "FG", "BG", "G"])
directions = st.sampled_from(["F", "B"])


def levels(result: SparseSubspace, A: np.ndarray) -> list[np.ndarray]:
    """Per step, the eigenvalues of C + U on what is left, block by block, from the witness: ascending."""
    C = -A if result.variant in ("F", "FG") else A
    blocks, found = result.witness.blocks, [[] for _ in result.witness.blocks]
    current: dict[int, np.ndarray] = {}
    out = []
    for step, v in enumerate(result.sequence.T):
        for one in result.witness.multipliers:
            if one.since == step:
                U = np.zeros((blocks[one.block].size,) * 2)
                U[np.triu_indices(len(U), 1)] = one.packed
                current[one.block] = U + U.T + result.claims.alpha * np.eye(len(U))
        values = []
        for index, block in enumerate(blocks):
            if len(found[index]) == block.size:
                continue
            M = C[np.ix_(block, block)] + current[index]
            if found[index]:
                rest = np.linalg.qr(np.column_stack(found[index]), mode="complete")[0][:, len(found[index]) :]
                M = rest.T @ M @ rest
            values.extend(np.linalg.eigvalsh(M))
        out.append(np.sort(values))
        home = next(index for index, block in enumerate(blocks) if v[block].any())
        found[home].append(v[blocks[home]])
    return out


def sure_steps(result: SparseSubspace, A: np.ndarray) -> int:
    """How many steps from the first on are proved to have one answer only."""
    for step, (values, proof) in enumerate(zip(levels(result, A), result.certificates, strict=True)):
        margin = values[1] - values[0] if values.size > 1 else np.inf
        if not proof.rank_one or proof.tie or max(proof.upper - values[0], 0.0) > SURE**2 * margin:
            return step
    return result.sequence.shape[1]


def assert_same_steps(name: str, one: SparseSubspace, other: SparseSubspace, A: np.ndarray, move) -> None:
    """`move` takes a vector of `one` to its place in `other`; A belongs to `one`."""
    sure = sure_steps(one, A)
    for step in range(min(sure + 1, one.sequence.shape[1])):
        mine, theirs = one.certificates[step], other.certificates[step]
        slack = 2e-6 * max(abs(mine.primal), one.claims.alpha, 1e-9 * np.trace(A) / len(A)) + 1e-12 * np.abs(A).max()
        assert mine.lower <= theirs.primal + slack
        assert theirs.lower <= mine.primal + slack
        compared[f"{name}: values"] += 1
        if step == sure:
            break
        v, w = move(one.sequence[:, step]), other.sequence[:, step]
        # Its sign hangs on its largest entry, of which there may be two.
        assert min(np.abs(v - w).max(), np.abs(v + w).max()) <= 10 * SURE
        for x, y in ((v, w), (w, v)):
            assert (y[np.abs(x) > 100 * SURE] != 0).all()
        compared[f"{name}: vectors"] += 1


# ---- invariants of every result


@MANY
@given(problems(), variants, st.sampled_from(["sparse", "dominant"]), st.data())
def test_bounds_are_ordered_and_verified_and_the_basis_is_orthonormal(problem, variant, rounding, data) -> None:
    A, alpha = problem
    d = data.draw(st.integers(1, len(A)))
    with warnings.catch_warnings():
        if variant == "G":
            warnings.simplefilter("ignore", TiedSubspaceWarning)
        result = sparse_subspace(A, d, alpha, variant, rounding)
    verification = result.verify(A)
    assert verification, str(verification)
    for proof in result.certificates:
        assert proof.lower <= proof.primal <= proof.upper
        assert proof.rank_one or proof.gap > 1e-6
        if proof.rank_one:
            # Within the tolerance, or no further off than rounding.
            size = max(abs(proof.upper), result.claims.alpha, 1e-9 * np.trace(A) / len(A))
            rounding = 1e-12 if result.claims.alpha > 0 else 1e-10
            assert proof.upper - proof.lower <= 1e-6 * size + rounding * len(A) * max(np.abs(A).max(), alpha)
        assert 0.0 <= proof.sdp_gap <= proof.gap
    for V in (result.sequence, result.loadings):
        assert np.abs(V.T @ V - np.eye(V.shape[1])).max() <= 1e-12
        for column in V.T:
            largest = np.abs(column).max()
            leading = column[np.argmax(np.abs(column) >= (1 - 1e-9) * largest)]
            assert leading > 0
    kept = result.sequence[:, -d:]
    assert np.abs(kept @ kept.T - result.loadings @ result.loadings.T).max() <= 1e-12
    assert np.abs(result.loadings).sum() <= np.abs(kept).sum() * (1 + 1e-12)
    # Each bound is about the objective, recomputed here from the vector.
    C = -A if variant in ("F", "FG") else A
    weight = 0.0 if variant == "G" else alpha
    for v, proof in zip(result.sequence.T, result.certificates, strict=True):
        value = v @ C @ v + weight * np.abs(v).sum() ** 2
        assert abs(value - proof.upper) <= 1e-12 * max(np.abs(A).max(), alpha) * len(A)


def near_ties(width: float) -> np.ndarray:
    """Eigenvalues 0, width, 2 width and 1 in a dense, fixed basis."""
    Q = np.linalg.qr(np.random.default_rng(5).normal(size=(4, 4)))[0]
    return Q * [0.0, width, 2 * width, 1.0] @ Q.T


HARD = {
    "one feature, cancelled by its penalty": ([[1.0]], 1.0),
    "the penalty cancels the diagonal": (np.eye(3) + 0.5 * np.ones((3, 3)), 1.5),
    "no variance": (np.zeros((3, 3)), 1.0),
    "no variance, no penalty": (np.zeros((3, 3)), 0.0),
    "a penalty beyond all measure": (np.diag([1.0, 2.0]), 1e200),
    "a penalty of next to nothing": (np.diag([1.0, 2.0]) + 0.5, 1e-300),
    "rank one, a small penalty": (np.outer([2, -1, 2, 2, 1], [2, -1, 2, 2, 1]), 1e-8),
    "rank one, a small penalty, six features": (np.outer([1, 1, -1, -2, 1, 1], [1, 1, -1, -2, 1, 1]), 1e-8),
    "eigenvalues that tie to 1e-13": (near_ties(1e-13), 0.0),
    "eigenvalues that tie to 1e-12": (near_ties(1e-12), 0.0),
    "eigenvalues that tie to 3e-11": (near_ties(3e-11), 0.0),
    "a singular matrix": (np.ones((6, 6)) + np.diag([0, 0, 0, 1.0, 2.0, 3.0]), 0.0),
    "Hilbert's matrix": (1.0 / (1 + np.add.outer(np.arange(6), np.arange(6))), 1e-6),
}


@pytest.mark.parametrize("rounding", ["sparse", "dominant"])
@pytest.mark.parametrize("variant", ["F", "B", "FG", "BG"])
@pytest.mark.parametrize("name", HARD)
def test_hard_cases_are_verified(name, variant, rounding) -> None:
    A, alpha = np.array(HARD[name][0], dtype=float), HARD[name][1]
    for d in {1, len(A)}:
        result = sparse_subspace(A, d, alpha, variant, rounding)
        verification = result.verify(A)
        assert verification, str(verification)
        for proof in result.certificates:
            assert proof.lower <= proof.primal <= proof.upper
            # What the flag says, the sentence says.
            assert proof.rank_one == ("attains the optimum" in proof.status)
            if alpha == 0.0:
                # An eigenvector attains the optimum, always.
                assert proof.rank_one


@MANY
@given(problems(least_alpha=1e-2), directions)
def test_zeros_are_exact(problem, variant) -> None:
    A, alpha = problem
    result = sparse_subspace(A, len(A), alpha, variant)
    size = np.abs(result.sequence)
    assert ((size == 0.0) | (size > 1e-10)).all()
    compared["zeros"] += int((size == 0.0).sum())


@MANY
@given(problems(), directions, st.sampled_from(["sparse", "dominant"]))
def test_values_ascend(problem, variant, rounding) -> None:
    """A further constraint cannot lower an optimum: no step's value is below what was proved for the step before."""
    A, alpha = problem
    proofs = sparse_subspace(A, len(A), alpha, variant, rounding).certificates
    for before, after in itertools.pairwise(proofs):
        slack = 1e-12 * max(np.abs(A).max(), alpha) * len(A)
        assert after.primal >= before.lower - slack
        assert after.upper >= before.lower - slack


@SOME
@given(problems(), st.sampled_from(["sparse", "dominant"]), st.data())
def test_asking_for_more_steps_leaves_the_first_ones_alone(problem, rounding, data) -> None:
    A, alpha = problem
    d = data.draw(st.integers(1, len(A) - 1))
    few, all_ = (sparse_subspace(A, many, alpha, "B", rounding) for many in (d, len(A)))
    assert few.sequence.tolist() == all_.sequence[:, :d].tolist()
    assert few.certificates == all_.certificates[:d]


# ---- what must not matter


@MANY
@given(problems(), directions, SEEDS)
def test_the_order_of_features_does_not_matter(problem, variant, seed) -> None:
    A, alpha = problem
    order = np.random.default_rng(seed).permutation(len(A))
    plain = sparse_subspace(A, len(A), alpha, variant)
    moved = sparse_subspace(A[np.ix_(order, order)], len(A), alpha, variant)
    assert_same_steps("order", plain, moved, A, lambda v: v[order])


@MANY
@given(problems(), directions, SEEDS)
def test_the_signs_of_features_do_not_matter(problem, variant, seed) -> None:
    A, alpha = problem
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], len(A))
    plain = sparse_subspace(A, len(A), alpha, variant)
    flipped = sparse_subspace(A * np.outer(signs, signs), len(A), alpha, variant)
    assert_same_steps("signs", plain, flipped, A, lambda v: v * signs)


@SOME
@given(problems(), variants, st.integers(-300, 300))
def test_a_common_factor_of_two_scales_the_bounds_and_leaves_the_vectors_exactly(problem, variant, power) -> None:
    A, alpha = problem
    if variant == "G":
        variant = "BG"
    factor = 2.0**power
    d = (len(A) + 1) // 2
    plain = sparse_subspace(A, d, alpha, variant)
    scaled = sparse_subspace(A * factor, d, alpha * factor, variant)
    assert scaled.sequence.tolist() == plain.sequence.tolist()
    assert scaled.loadings.tolist() == plain.loadings.tolist()
    for mine, theirs in zip(plain.certificates, scaled.certificates, strict=True):
        assert (theirs.lower, theirs.upper, theirs.primal) == (
            mine.lower * factor,
            mine.upper * factor,
            mine.primal * factor,
        )
        assert (theirs.gap, theirs.rank_one, theirs.tie) == (mine.gap, mine.rank_one, mine.tie)


@SOME
@given(problems(), directions, st.floats(1e-6, 1e6))
def test_a_common_factor_scales_the_bounds_and_leaves_the_vectors(problem, variant, factor) -> None:
    A, alpha = problem
    plain = sparse_subspace(A, len(A), alpha, variant)
    scaled = sparse_subspace(A * factor, len(A), alpha * factor, variant)
    for step in range(min(sure_steps(plain, A) + 1, len(A))):
        mine, theirs = plain.certificates[step], scaled.certificates[step]
        slack = 2e-6 * max(abs(mine.primal), alpha, 1e-9 * np.trace(A) / len(A)) + 1e-12 * np.abs(A).max()
        assert abs(theirs.primal / factor - mine.primal) <= slack
        assert abs(theirs.lower / factor - mine.lower) <= slack
    for step in range(sure_steps(plain, A)):
        v, w = plain.sequence[:, step], scaled.sequence[:, step]
        assert min(np.abs(v - w).max(), np.abs(v + w).max()) <= 10 * SURE
        compared["factor: vectors"] += 1


# ---- structure


@SOME
@given(problems(kinds=("gaussian", "rules", "correlation")), problems(most=4), directions, SEEDS)
def test_unconnected_blocks_give_the_union_of_their_sequences(one, other, variant, seed) -> None:
    (A, alpha), (B, _) = one, other
    B = B * (np.trace(A) / len(A)) / max(np.trace(B) / len(B), 1e-300)
    p = len(A) + len(B)
    whole = np.zeros((p, p))
    whole[: len(A), : len(A)], whole[len(A) :, len(A) :] = A, B
    order = np.random.default_rng(seed).permutation(p)
    together = sparse_subspace(whole[np.ix_(order, order)], p, alpha, variant)
    parts = [sparse_subspace(M, len(M), alpha, variant) for M in (A, B)]
    size = max(np.abs(whole).max(), alpha)
    heads = [0, 0]
    for step in range(p):
        open_ = [k for k in (0, 1) if heads[k] < parts[k].sequence.shape[1]]
        lowest = min(open_, key=lambda k: parts[k].certificates[heads[k]].upper)
        expected = parts[lowest].certificates[heads[lowest]]
        found = together.certificates[step]
        if not expected.rank_one or expected.tie or found.tie:
            # From here on the order may differ; the step's own convex value may not.
            lowest_lower = min(parts[k].certificates[heads[k]].lower for k in open_)
            assert found.primal >= lowest_lower - 1e-6 * size
            break
        assert abs(found.upper - expected.upper) <= 1e-6 * size
        # Each vector lives in one block, and leaves the other exactly alone.
        home = {bool(j < len(A)) for j in order[np.flatnonzero(together.sequence[:, step])]}
        assert home == {lowest == 0}
        heads[lowest] += 1
        compared["blocks"] += 1


@MANY
@given(problems(), st.floats(0.0, 1.5), st.floats(0.0, 1.5))
def test_a_larger_penalty_only_splits_blocks(problem, one, other) -> None:
    A, _ = problem
    size = np.abs(A).max()
    coarse = split(A, size * min(one, other))
    for block in split(A, size * max(one, other)):
        assert any(set(block) <= set(larger) for larger in coarse)


@SOME
@given(problems(least_alpha=1e-3), st.sampled_from(["B", "BG"]), st.data())
def test_a_constant_feature_is_one_more_rule_and_changes_no_other(problem, variant, data) -> None:
    A, alpha = problem
    p = len(A)
    d = data.draw(st.integers(1, p))
    place = data.draw(st.integers(0, p))
    rest = np.delete(np.arange(p + 1), place)
    wider = np.zeros((p + 1, p + 1))
    wider[np.ix_(rest, rest)] = A
    plain, more = sparse_subspace(A, d, alpha, variant), sparse_subspace(wider, d + 1, alpha, variant)
    projector = more.loadings @ more.loadings.T
    unit = np.eye(p + 1)[place]
    assert (unit == more.loadings.T).all(axis=1).sum() == 1
    assert projector[place].tolist() == unit.tolist()
    if sure_steps(plain, A) == d:
        assert np.abs(projector[np.ix_(rest, rest)] - plain.loadings @ plain.loadings.T).max() <= 1e-9
        compared["constant"] += 1


@SOME
@given(problems(least_alpha=1e-3), directions)
def test_a_path_of_penalties_finds_what_single_solves_find(problem, variant) -> None:
    A, alpha = problem
    alphas = [alpha, 3 * alpha, alpha / 3]
    for penalty, warm in zip(alphas, sparse_subspace_path(A, len(A), alphas, variant, proof="full"), strict=True):
        assert warm.alpha == penalty
        assert warm.verify(A)
        assert_same_steps("path", sparse_subspace(A, len(A), penalty, variant), warm, A, lambda v: v)


@SOME
@given(problems(least_alpha=1e-3), directions)
def test_both_roundings_agree_while_the_optimum_is_rank_one(problem, variant) -> None:
    A, alpha = problem
    sparse, dominant = (sparse_subspace(A, len(A), alpha, variant, rounding) for rounding in ("sparse", "dominant"))
    assert_same_steps("rounding", sparse, dominant, A, lambda v: v)


def test_enough_was_compared() -> None:
    """The conditions above are met most of the time: none of these tests is empty."""
    if not compared:
        pytest.skip("run with the tests above, which count what they compare")
    for name in ("order", "signs", "factor", "path", "rounding"):
        assert compared[f"{name}: vectors"] >= 40, compared
    assert compared["blocks"] >= 40, compared
    assert compared["constant"] >= 5, compared
    assert compared["zeros"] >= 100, compared
