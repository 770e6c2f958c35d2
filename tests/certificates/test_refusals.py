"""What is no claim at all is refused in a sentence; and what is accepted is true, whatever was altered.

Every forgery here has its seal made anew, so that the seal alone catches none of them.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aspca import ASPCA, Certificate, SparseSubspace, TiedSubspaceWarning, sparse_subspace
from aspca.settings import BY_NAME
from aspca.verify.check import check
from aspca.verify.claims import Claims, Multiplier, Witness, probe_vector, seal
from aspca.verify.form import LARGEST_TOL
from aspca.verify.report import Verification
from aspca.verify.status import Status, sentences
from certified import scatter

replace = dataclasses.replace


@functools.cache
def honest() -> tuple[np.ndarray, SparseSubspace]:
    """Two blocks, several steps, one of them with a factor."""
    A = np.zeros((9, 9))
    A[:6, :6], A[6:, 6:] = scatter(12, 6), 0.5 * scatter(13, 3)
    found = sparse_subspace(A, 3, 0.05, "FG", "dominant")
    assert found.verify(A)
    assert any(factor is not None for factor in found.witness.factors)
    return A, found


def resealed(claims: Claims) -> Claims:
    """What a forger does; what cannot be sealed keeps the old seal."""
    try:
        return replace(claims, witness=replace(claims.witness, seal=seal(claims)))
    except Exception:
        return claims


def refusal(A: object, claims: Claims) -> str:
    """The first problem said of claims with a fresh seal: never that of the seal."""
    said = check(A, resealed(claims))
    assert isinstance(said, Verification)
    assert not said, "accepted"
    assert all(isinstance(problem, str) and problem.endswith(".") for problem in said.problems)
    assert "seal" not in said.problems[0]
    return said.problems[0]


# ---- the forgeries of an independent trial


def one_vector(A, alpha, v, lower, blocks, packed, **changes) -> SparseSubspace:
    upper = float(v @ A @ v + alpha * np.abs(v).sum() ** 2)
    gap = max(upper - lower, 0.0) / max(abs(upper), alpha, 1e-9 * np.trace(A) / len(v))
    status = Status.CERTIFIED if gap <= changes.get("tol", 1e-6) else Status.PRECISION
    certificate = Certificate(lower, upper, gap, upper, gap, gap <= changes.get("tol", 1e-6), False, 0, status.value)
    multipliers = tuple(Multiplier(k, 0, u) for k, u in enumerate(packed))
    witness = Witness(blocks, multipliers, (None,), A @ probe_vector(len(v)))
    column = v[:, None]
    found = SparseSubspace(
        1, alpha, "B", "sparse", changes.get("tol", 1e-6), column, np.eye(1), column, (certificate,), witness
    )
    return replace(found, witness=replace(witness, seal=seal(found.claims)))


def test_truth_values_are_no_indices():
    """[False, True] sorts like [0, 1] but selects one feature: a lower bound of 11 was proved where 6 is the truth."""
    A, v = np.diag([0.0, 5.0]), np.array([0.0, 1.0])
    lie = one_vector(A, 6.0, v, 11.0, (np.array([False, True]),), (np.zeros(1),))
    assert not lie.verify(A)
    assert "integers" in str(lie.verify(A))
    truth = one_vector(A, 6.0, np.array([1.0, 0.0]), 6.0, (np.array([0, 1]),), (np.zeros(1),))
    assert truth.verify(A), str(truth.verify(A))


def test_a_status_that_the_bounds_deny():
    A, found = honest()
    for step, (certificate, status) in enumerate(itertools.product(found.certificates, Status)):
        step //= len(Status)
        solved = certificate.sdp_gap <= found.tol
        said = {one.value for one in Status if one.value in sentences(attained=certificate.rank_one, solved=solved)}
        certificates = list(found.certificates)
        certificates[step] = replace(certificate, status=status.value)
        told = replace(found, certificates=tuple(certificates)).claims
        if status.value in said:
            assert check(A, resealed(told))
        else:
            assert "status" in refusal(A, told)
    kinds = {sentences(attained=c.rank_one, solved=c.sdp_gap <= found.tol) for c in found.certificates}
    assert len(kinds) == 2
    told = replace(found.claims, statuses=("all is well",) * 9)
    assert "status" in refusal(A, told)


def test_statuses_follow_from_what_is_closed():
    early = {status.value for status in (Status.ITERATIONS, Status.PRECISION, Status.QUICK, Status.BUDGET)}
    assert sentences(attained=True, solved=True) == sentences(attained=True, solved=False) == {Status.CERTIFIED.value}
    assert sentences(attained=False, solved=True) == {Status.RELAXED.value}
    assert sentences(attained=False, solved=False) == early


def test_rank_one_is_neither_claimed_nor_denied_against_the_bounds():
    A, found = honest()
    for step, certificate in enumerate(found.certificates):
        flipped = list(found.claims.rank_one)
        flipped[step] = not flipped[step]
        if certificate.gap > 10 * found.tol or certificate.gap == 0.0:
            assert "rank one" in refusal(A, replace(found.claims, rank_one=tuple(flipped)))


@pytest.mark.parametrize("tol", [0.9, 0.0100001, 1.0, 0.0, -1e-6, np.nan, np.inf])
def test_a_tolerance_is_bounded(tol):
    A, found = honest()
    assert "`tol`" in refusal(A, replace(found.claims, tol=tol))
    with pytest.raises(ValueError, match="tol must be"):
        sparse_subspace(A, 1, 0.1, tol=tol)
    with pytest.raises(ValueError, match="tol must be"):
        ASPCA(tol=tol).fit(np.eye(5))


def test_the_largest_tolerance_is_the_same_everywhere():
    A, _ = honest()
    assert BY_NAME["tol"].most == LARGEST_TOL
    assert sparse_subspace(A, 2, 0.05, tol=LARGEST_TOL).verify(A)


def test_a_tolerance_of_ninety_per_cent_calls_nothing_solved():
    """Accepted once: a vector far from the best, called the optimum."""
    A = scatter(3, 4)
    v = np.ones(4) / 2.0
    lie = one_vector(A, 0.1, v, 0.0, (np.arange(4),), (np.zeros(6),), tol=0.999)
    assert not lie.verify(A)


def test_an_earlier_vector_is_no_later_optimum():
    """X must be orthogonal to the earlier components: else the best of all steps would be claimed at each."""
    A = scatter(5, 5)
    found = sparse_subspace(A, 3, 0.05, "B")
    first, *others = found.certificates
    floor = 1e-9 * np.trace(A) / 5
    factors = (None, found.sequence[:, :1].copy(), None)
    second = others[0]
    sdp_gap = max(first.upper - second.lower, 0.0) / max(abs(first.upper), found.alpha, floor)
    for status in Status:
        changed = replace(second, primal=first.upper, sdp_gap=sdp_gap, status=status.value)
        lie = replace(
            found,
            certificates=(first, changed, others[1]),
            witness=replace(found.witness, factors=factors),
        )
        assert "not orthogonal to the earlier" in refusal(A, lie.claims)


@pytest.mark.parametrize("share", [0.5, 1e-3, 1e-9, 1e-11])
def test_the_l1_norm_may_not_rise_at_all(share):
    """A rotation by a little, kept in step with the loadings: nothing is wrong with it but its l1 norm."""
    A = np.diag([1.0, 2.0, 3.0])
    found = sparse_subspace(A, 2, 0.1, "BG")
    assert np.abs(found.loadings).sum() == 2.0
    # cos t + sin t grows by t: the l1 norm of two unit vectors by 2 t.
    turn = np.array([[np.cos(share), -np.sin(share)], [np.sin(share), np.cos(share)]])
    rotated = replace(found, rotation=found.rotation @ turn, loadings=found.loadings @ turn)
    assert "raised the l1 norm" in refusal(A, rotated.claims)


def test_an_unrotated_result_has_no_rotation():
    A = np.diag([1.0, 2.0, 3.0])
    found = sparse_subspace(A, 2, 0.1, "B")
    swap = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert "identity" in refusal(A, replace(found, rotation=swap, loadings=found.loadings @ swap).claims)


def test_a_primal_worse_than_the_vector_is_not_the_best_known():
    A = np.diag([1.0, 2.0, 3.0])
    found = sparse_subspace(A, 1, 0.1, "B")
    poor = np.zeros((3, 1))
    poor[1] = 1.0
    witness = replace(found.witness, factors=(poor,))
    (c,) = found.certificates
    gap = (2.1 - c.lower) / 2.1
    lie = replace(found, witness=witness, certificates=(replace(c, primal=2.1, sdp_gap=gap),))
    assert "worse than the vector's own" in refusal(A, lie.claims)


@pytest.mark.parametrize("variant", ["G", "B", "F"])
@pytest.mark.parametrize("size", [1.0, 3.0, 2.0**-800])
def test_gaps_where_nothing_is_left_are_in_units_of_the_typical_variance(variant, size):
    """Directions without variance and without penalty: only the trace says what a large gap would be."""
    D = np.random.default_rng(0).normal(size=(3, 6))
    A = size * D.T @ D
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TiedSubspaceWarning)
        found = sparse_subspace(A, 3, 0.0, variant)
    assert found.verify(A), str(found.verify(A))
    least = min(range(len(found.certificates)), key=lambda k: abs(found.certificates[k].upper))
    c = found.certificates[least]
    floor = 1e-9 * np.trace(A) / 6
    assert abs(c.upper) < floor
    assert c.gap == pytest.approx((c.upper - c.lower) / floor, rel=1e-6)


def test_nothing_at_all_verifies():
    found = sparse_subspace(np.zeros((3, 3)), 1, 0.0, "B")
    assert found.certificates[0].gap == 0.0
    assert found.verify(np.zeros((3, 3))), str(found.verify(np.zeros((3, 3))))


def test_the_vector_itself_may_stand_as_the_factor():
    A = np.diag([1.0, 2.0, 3.0])
    found = sparse_subspace(A, 1, 0.1, "B")
    told = replace(found.claims, witness=replace(found.witness, factors=(found.sequence.copy(),)))
    assert check(A, resealed(told)), str(check(A, resealed(told)))


# ---- what is no claim


class Subclass(np.ndarray):
    """An array that says of itself what it likes."""


class Hostile:
    """Raises whatever is asked of it."""

    def __getattribute__(self, name):
        raise RuntimeError("no")

    def __array__(self, *args, **kwargs):
        raise RuntimeError("no")


def changed_arrays(array: np.ndarray) -> dict[str, object]:
    """An array replaced by what is no such array."""
    return {
        "a list": array.tolist(),
        "None": None,
        "text": "text",
        "a number": 1.0,
        "one dimension more": array[None],
        "one dimension less": array.ravel() if array.ndim == 2 else np.array(3.0),
        "truth values": array != 0,
        "masked": np.ma.masked_array(array, mask=array > 0),
        "a subclass": array.view(Subclass),
        "complex": array.astype(complex),
        "objects": array.astype(object),
        "strings": array.astype(str),
        "half precision": array.astype(np.float16),
        "single precision": array.astype(np.float32),
        "short integers": array.astype(np.int8),
        "unsigned": array.astype(np.uint64) if array.dtype.kind == "i" else array.astype(np.uint8),
        "floats for integers": array.astype(np.float64) if array.dtype.kind == "i" else array.astype(np.int64),
        "another byte order": array.astype(array.dtype.newbyteorder(">")),
        "empty": array[:0],
        "longer": np.concatenate([array, array]),
        "dates": array.astype("datetime64[s]") if array.dtype.kind == "i" else array.astype("timedelta64[s]"),
        "fields": np.zeros(array.shape, dtype=[("a", float)]),
        "hostile": Hostile(),
    }


NOT_FINITE = {"NaN": np.nan, "infinite": np.inf, "minus infinite": -np.inf}
HUGE = {"huge": 1e308, "minus huge": -1e308}


def arrays_of(claims: Claims):
    """Every array of the claims: its name, itself, and the claims with another in its place."""
    for name in ("sequence", "rotation", "loadings", "bounds"):
        yield name, getattr(claims, name), functools.partial(lambda name, x: replace(claims, **{name: x}), name)
    witness = claims.witness

    def told(**changes) -> Claims:
        return replace(claims, witness=replace(witness, **changes))

    yield "fingerprint", witness.fingerprint, lambda x: told(fingerprint=x)
    yield "block", witness.blocks[0], lambda x: told(blocks=(x, *witness.blocks[1:]))
    first = witness.multipliers[0]
    yield (
        "multiplier",
        first.packed,
        lambda x: told(multipliers=(replace(first, packed=x), *witness.multipliers[1:])),
    )
    step = next(k for k, factor in enumerate(witness.factors) if factor is not None)
    yield (
        "factor",
        witness.factors[step],
        lambda x: told(factors=(*witness.factors[:step], x, *witness.factors[step + 1 :])),
    )


ARRAYS = ("sequence", "rotation", "loadings", "bounds", "fingerprint", "block", "multiplier", "factor")


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_arrays_of_another_kind_are_refused(name):
    A, found = honest()
    array, told = next((x, told) for one, x, told in arrays_of(found.claims) if one == name)
    for kind, other in changed_arrays(array).items():
        if kind == "None" and name == "factor":
            continue
        assert refusal(A, told(other)), kind
    if array.dtype.kind == "f":
        for value in (*NOT_FINITE.values(), *HUGE.values()):
            other = array.copy()
            other.flat[0] = value
            refusal(A, told(other))
        for value in NOT_FINITE.values():
            other = array.copy()
            other.flat[-1] = value
            assert "not finite" in refusal(A, told(other))


@pytest.mark.parametrize("name", ARRAYS)
def test_the_same_numbers_in_other_memory_are_the_same_claims(name):
    """Read-only, in Fortran's order, with gaps in memory, backwards: nothing but numbers counts."""
    A, found = honest()
    array, told = next((x, told) for one, x, told in arrays_of(found.claims) if one == name)
    spaced = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), dtype=array.dtype)
    spaced[..., ::2] = array
    fixed = array.copy()
    fixed.flags.writeable = False
    backwards = np.ascontiguousarray(array[::-1])[::-1]
    for same in (np.asfortranarray(array), spaced[..., ::2], fixed, backwards):
        assert check(A, told(same)), "the seal is the same as well"


@pytest.mark.parametrize(
    "blocks",
    [
        (np.array([0, 1, 2, 3, 4, 5, 6, 7, 7]),),
        (np.array([0, 1, 2, 3, 4, 5, 6, 7, -1]),),
        (np.array([0, 1, 2, 3, 4, 5, 6, 7, 9]),),
        (np.array([0, 1, 2, 3, 4, 5, 6, 7, 2**62]),),
        (np.arange(9).reshape(3, 3),),
        (np.arange(9), np.zeros(0, dtype=np.intp)),
        (np.arange(9.0),),
        (np.arange(8),),
        (np.arange(9), np.arange(9)),
        (np.arange(1, 10),),
        [np.arange(9)],
        np.arange(9),
        (),
        None,
    ],
    ids=str,
)
def test_blocks_that_do_not_divide_the_features(blocks):
    A, found = honest()
    assert "blocks" in refusal(A, replace(found.claims, witness=replace(found.witness, blocks=blocks)))


SCALARS = (
    None,
    "1",
    1 + 0j,
    np.nan,
    np.inf,
    -1.0,
    10**5000,
    np.float64(1.0),
    np.array(1.0),
    np.array([1.0]),
    Hostile(),
)


FIELDS = {
    "alpha": (*SCALARS, 1, True),
    "tol": (*SCALARS, 1, True),
    "n_components": (*SCALARS, 0, -3, 3.0, True, 10**9),
    "forward": (*SCALARS, 0, 1),
    "rotated": (*SCALARS, 0, 1),
    "rank_one": (*SCALARS, (), (True,), (1,) * 9, ("True",) * 9, [True] * 9),
    "statuses": (*SCALARS, (), ("",), (1,) * 9, list("abcdefghi")),
    "remarks": (*SCALARS, (1,), ["a"]),
    "witness": (*SCALARS, {}),
}
PARTS = {
    "multipliers": (None, (), (1,), [], ({"block": 0},), (Hostile(),)),
    "factors": (None, (), [None] * 9, (1,) * 9, (None,) * 8, ("",) * 9, (Hostile(),) * 9),
    "seal": (None, 1, b""),
}


@pytest.mark.parametrize("field", FIELDS)
def test_fields_of_another_kind_are_refused(field):
    A, found = honest()
    for other in FIELDS[field]:
        refusal(A, replace(found.claims, **{field: other}))


@pytest.mark.parametrize("field", PARTS)
def test_parts_of_the_witness_of_another_kind_are_refused(field):
    A, found = honest()
    for other in PARTS[field]:
        assert not check(A, replace(found.claims, witness=replace(found.witness, **{field: other})))


@pytest.mark.parametrize("field", ["block", "since"])
def test_multipliers_of_no_block_or_step_are_refused(field):
    A, found = honest()
    first, *others = found.witness.multipliers
    for value in (None, "0", 0.0, True, -1, 99, 10**5000, np.array(0), np.intp(0), Hostile()):
        multipliers = (replace(first, **{field: value}), *others)
        refusal(A, replace(found.claims, witness=replace(found.witness, multipliers=multipliers)))


NO_MATRICES = (
    None,
    "text",
    1.0,
    [[1.0], [1.0, 2.0]],
    np.zeros(9),
    np.zeros((9, 8)),
    np.zeros((8, 8)),
    np.zeros((0, 0)),
    np.zeros((9, 9, 1)),
    np.eye(9, dtype=complex),
    np.eye(9).astype(str),
    np.eye(9).astype(object),
    np.full((9, 9), np.nan),
    np.full((9, 9), np.inf),
    np.full((9, 9), 1e308),
    np.full((9, 9), 5e-324),
    np.ma.masked_array(np.eye(9), mask=np.eye(9) > 0),
    np.ma.masked_array(np.eye(9)),
    np.zeros((9, 9), dtype="datetime64[s]"),
    Hostile(),
    {"a": 1},
    object(),
)


def test_what_is_no_matrix_is_refused():
    _, found = honest()
    for A in NO_MATRICES:
        assert refusal(A, found.claims)
        assert not found.verify(A)


def test_a_lopsided_matrix_is_refused_beside_any_alpha():
    A = scatter(5, 3)
    found = sparse_subspace(A, 1, 1e200, "B")
    assert found.verify(A)
    lopsided = A.copy()
    lopsided[0, 1] += 0.5
    assert "symmetric" in refusal(lopsided, found.claims)
    opposite = np.array([[1e308, 1e308, 0.0], [-1e308, 1e308, 0.0], [0.0, 0.0, 1.0]])
    assert "symmetric" in refusal(opposite, found.claims)


def test_matrices_as_users_have_them_are_taken():
    A, found = honest()
    for same in (A.tolist(), np.asfortranarray(A), A.astype(np.longdouble), A.view(Subclass)):
        assert found.verify(same)
    whole = np.diag([1, 2, 3])
    assert sparse_subspace(whole, 1, 0.1).verify(whole)


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(SparseSubspace)])
def test_results_with_a_field_of_another_kind_are_refused(field):
    A, found = honest()
    for other in (Hostile(), (), "?", 1.5, np.array([["a", "b"]]), (Hostile(),), (1,), object()):
        altered = copy.copy(found)
        object.__setattr__(altered, field, other)
        said = altered.verify(A)
        assert isinstance(said, Verification)
        assert not said


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(Certificate)])
def test_certificates_with_a_field_of_another_kind_are_refused(field):
    A, found = honest()
    for other in (None, "?", np.array([1.0, 2.0]), 1j, Hostile()):
        first = replace(found.certificates[0], **{field: other})
        assert not replace(found, certificates=(first, *found.certificates[1:])).verify(A)


# ---- any alteration is true or refused


def objective(A: np.ndarray, alpha: float, v: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ik,jk->k", A, v, v) + alpha * np.abs(v).sum(axis=0) ** 2


def optimum(A: np.ndarray, alpha: float, V: np.ndarray) -> float:
    """The least objective of three features over unit vectors orthogonal to V, by looking everywhere."""
    left = np.linalg.qr(np.hstack([V, np.eye(3)]))[0][:, V.shape[1] : 3]
    if left.shape[1] == 3:
        # An optimum is an eigenvector, with its own signs, on its support.
        candidates = []
        for size in (1, 2, 3):
            for support in itertools.combinations(range(3), size):
                for signs in itertools.product((-1.0, 1.0), repeat=size):
                    s = np.array(signs)
                    vectors = np.linalg.eigh(A[np.ix_(support, support)] + alpha * np.outer(s, s))[1]
                    whole = np.zeros((3, size))
                    whole[list(support)] = vectors
                    candidates.append(whole)
        return float(objective(A, alpha, np.hstack(candidates)).min())
    if left.shape[1] == 2:
        t = np.linspace(0.0, np.pi, 20001)
        angles = np.concatenate([t, [np.arctan2(-a, b) % np.pi for a, b in left]])
        return float(objective(A, alpha, left @ np.vstack([np.cos(angles), np.sin(angles)])).min())
    return float(objective(A, alpha, left).min())


def truth(A: np.ndarray, claims: Claims) -> None:
    """Everything that claims on three features say, seen with other eyes."""
    C = -A if claims.forward else A
    for basis in (claims.sequence, claims.loadings, claims.rotation):
        assert np.abs(basis.T @ basis - np.eye(basis.shape[1])).max() <= 1e-11
    kept = claims.sequence[:, -claims.n_components :]
    assert np.abs(kept @ claims.rotation - claims.loadings).max() <= 1e-11
    assert np.abs(claims.loadings).sum() <= np.abs(kept).sum() + 1e-11
    for step, (lower, upper, primal, gap, sdp_gap) in enumerate(claims.bounds):
        best = optimum(C, claims.alpha, claims.sequence[:, :step])
        size = max(abs(upper), claims.alpha, 1e-9 * np.trace(A) / 3)
        assert lower <= best + 1e-9 * max(size, np.abs(A).max())
        assert primal <= upper
        v = claims.sequence[:, step : step + 1]
        assert upper == pytest.approx(float(objective(C, claims.alpha, v)[0]), abs=1e-12)
        assert gap == pytest.approx((upper - lower) / size, abs=1e-8)
        assert sdp_gap >= -1e-8
        if claims.rank_one[step]:
            assert upper - best <= 2 * LARGEST_TOL * size
        assert ("attains" in claims.statuses[step]) == claims.rank_one[step]


@functools.cache
def small(seed: int, variant: str) -> tuple[np.ndarray, SparseSubspace]:
    A = scatter(seed, 3)
    return A, sparse_subspace(A, 2, float(np.random.default_rng(seed).choice([0.01, 0.1, 0.4])), variant, "dominant")


NUMBERS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.floats(-2.0, 2.0),
    st.sampled_from([0.0, -0.0, 1.0, 5e-324, 1e-300, 1e300, 1e-12, 1e-6]),
)


@st.composite
def alterations(draw, claims: Claims) -> Claims:
    """Some entries, fields or shapes altered, by a little or by much."""
    for _ in range(draw(st.integers(1, 3))):
        places = list(_all_arrays(claims))
        choice = draw(st.integers(0, len(places) + 4))
        if choice < len(places):
            array, told = places[choice]
            if array.size == 0 or array.dtype not in (np.float64, np.intp):
                # Nothing to alter, or altered to another kind already.
                continue
            other = array.copy()
            index = draw(st.integers(0, array.size - 1))
            how = draw(st.integers(0, 5))
            if array.dtype.kind == "i":
                other.flat[index] = draw(st.integers(-4, 4))
            elif how == 0:
                other.flat[index] = draw(NUMBERS)
            elif how == 1:
                other.flat[index] += draw(st.floats(-1e-3, 1e-3)) * draw(st.sampled_from([1.0, 1e-6, 1e-12]))
            elif how == 2:
                other.flat[index] *= draw(st.floats(-2.0, 2.0))
            elif how == 3:
                other = np.roll(other, 1, axis=draw(st.integers(0, array.ndim - 1)))
            elif how == 4:
                other = other.T.copy() if other.ndim == 2 else other[::-1].copy()
            else:
                other = draw(st.sampled_from([other[:-1], other != 0, other.astype(object), other[None], -other]))
            claims = told(other)
        elif choice == len(places):
            claims = replace(claims, alpha=draw(st.one_of(NUMBERS, st.just(claims.alpha * (1 + 1e-9)))))
        elif choice == len(places) + 1:
            claims = replace(claims, tol=draw(NUMBERS))
        elif choice == len(places) + 2:
            kinds = st.booleans() if draw(st.booleans()) else NUMBERS
            claims = replace(claims, rank_one=tuple(draw(kinds) for _ in claims.rank_one))
        elif choice == len(places) + 3:
            said = st.sampled_from([status.value for status in Status])
            claims = replace(claims, statuses=tuple(draw(said) for _ in claims.statuses))
        else:
            claims = replace(claims, forward=not claims.forward)
        if not isinstance(claims.sequence, np.ndarray):
            break
    return claims


def _all_arrays(claims: Claims):
    for name in ("sequence", "rotation", "loadings", "bounds", "bounds", "bounds"):
        yield getattr(claims, name), functools.partial(lambda name, x: replace(claims, **{name: x}), name)
    witness = claims.witness

    def told(**changes) -> Claims:
        return replace(claims, witness=replace(witness, **changes))

    yield witness.fingerprint, lambda x: told(fingerprint=x)
    for k, block in enumerate(witness.blocks):
        yield block, lambda x, k=k: told(blocks=(*witness.blocks[:k], x, *witness.blocks[k + 1 :]))
    for k, m in enumerate(witness.multipliers):
        yield (
            m.packed,
            lambda x, k=k, m=m: told(
                multipliers=(*witness.multipliers[:k], replace(m, packed=x), *witness.multipliers[k + 1 :])
            ),
        )
    for k, factor in enumerate(witness.factors):
        if factor is not None:
            yield factor, lambda x, k=k: told(factors=(*witness.factors[:k], x, *witness.factors[k + 1 :]))


def an_alteration_is_true_or_refused(data) -> None:
    A, found = small(data.draw(st.integers(0, 7)), data.draw(st.sampled_from(["B", "F", "BG", "FG", "G"])))
    claims = resealed(data.draw(alterations(found.claims)))
    said = check(A, claims)
    assert isinstance(said, Verification)
    if said:
        truth(A, claims)


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@settings(max_examples=120, derandomize=True)
@given(st.data())
def test_an_alteration_is_true_or_refused(data):
    an_alteration_is_true_or_refused(data)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@settings(max_examples=20_000)
@given(st.data())
def test_any_alteration_is_true_or_refused(data):
    an_alteration_is_true_or_refused(data)


@pytest.mark.parametrize("variant", ["B", "F", "BG", "FG", "G"])
def test_the_truth_of_three_features_is_seen(variant):
    """What judges alterations above says yes to what is honest, and no to a bound that is too good."""
    for seed in range(8):
        A, found = small(seed, variant)
        truth(A, found.claims)
        bounds = found.claims.bounds.copy()
        bounds[0, 0] = optimum(-A if found.claims.forward else A, found.claims.alpha, np.zeros((3, 0))) + 1e-6
        with pytest.raises(AssertionError):
            truth(A, replace(found.claims, bounds=bounds))


def test_refusals_speak_in_the_units_of_the_matrix():
    A = np.diag([10.0, 20.0, 40.0])
    found = sparse_subspace(A, 1, 0.5, "B")
    bounds = found.claims.bounds.copy()
    bounds[0, 1] = 12.0
    assert "`upper` is 12, recomputed 10.5" in refusal(A, replace(found.claims, bounds=bounds))
