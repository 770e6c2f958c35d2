"""Each single falsehood alone makes `verify` false.

Two guards are tested apart. The *seal* notices any change at all; the *mathematics* must catch, with the seal made
anew by the forger, whatever makes a claim false. What leaves every claim true is caught by the seal alone:

* a vector of the sequence that F does not keep, negated (its subspace and its objective are the same);
* a column negated in the sequence, the rotation's row and so on, consistently;
* an entry of a multiplier moved inside the box where the bound does not depend on it (features off the support);
* a factor's columns permuted, negated or rotated: X is the same;
* two blocks of one feature each, exchanged: their multipliers are empty;
* `rank_one` denied where it is true, and a larger `tol`: weaker claims;
* a gap changed by less than 1e-9, a bound by less than its rounding error.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest

from aspca import SparseSubspace, sparse_subspace
from aspca.verify.claims import Multiplier, probe_vector, seal
from certified import resealed, scatter

replace = dataclasses.replace


def with_entry(array: np.ndarray, index, value: float) -> np.ndarray:
    changed = array.copy()
    changed[index] = value
    return changed


def with_certificate(found: SparseSubspace, step: int, **changes) -> SparseSubspace:
    """One certificate altered; gaps follow the bounds unless they are what is altered."""
    c = replace(found.certificates[step], **changes)
    return replace(found, certificates=(*found.certificates[:step], c, *found.certificates[step + 1 :]))


def consistent(found: SparseSubspace, A: np.ndarray, step: int, **changes) -> SparseSubspace:
    """One bound altered, and the quotients that follow from it recomputed: no contradiction inside the certificate."""
    c = replace(found.certificates[step], **changes)
    alpha = 0.0 if found.variant == "G" else found.alpha
    floor = 1e-9 * np.trace(A) / A.shape[0]
    gap = max(c.upper - c.lower, 0.0) / max(abs(c.upper), alpha, floor)
    sdp_gap = max(c.primal - c.lower, 0.0) / max(abs(c.primal), alpha, floor)
    return with_certificate(found, step, **changes, gap=gap, sdp_gap=sdp_gap, rank_one=gap <= found.tol)


A0 = scatter(11, 9)
# A large block, a small one and features alone, so that there is something of everything to alter.
A1 = np.zeros((12, 12))
A1[:6, :6], A1[6:9, 6:9], A1[9:, 9:] = scatter(12, 6), 0.5 * scatter(13, 3), np.diag([0.3, 0.2, 0.9])
NAMES = ("dense F dominant", "dense B", "dense BG", "dense G", "blocks F", "blocks FG", "blocks BG", "blocks G")
results = pytest.mark.parametrize("name", NAMES)


@functools.cache
def result(name: str) -> tuple[np.ndarray, SparseSubspace]:
    shape, variant, *rounding = name.split()
    A, d, alpha = (A0, 4, 0.04) if shape == "dense" else (A1, 5, 0.05)
    return A, sparse_subspace(A, d, alpha, variant, *rounding)


def test_the_results_to_be_altered_are_of_every_sort():
    found = [result(name)[1] for name in NAMES]
    assert all(f.verify(result(name)[0]) for f, name in zip(found, NAMES, strict=True))
    assert sum(any(x is not None for x in f.witness.factors) for f in found) >= 3
    assert sum(len(f.witness.blocks) > 3 for f in found) >= 3
    assert sum(len(f.witness.blocks) == 1 for f in found) >= 3
    assert sum(not np.array_equal(f.rotation, np.eye(f.n_components)) for f in found) >= 4


def refused(A: np.ndarray, altered: SparseSubspace) -> None:
    """Caught by the mathematics, with the seal made anew; and by the seal, whatever the mathematics says."""
    assert not resealed(altered).verify(A), "a false claim passes once the seal is made anew"
    assert not altered.verify(A)
    assert seal(altered.claims) != altered.witness.seal


@results
def test_an_altered_loading(name):
    A, found = result(name)
    L = found.loadings
    for i, j in np.ndindex(L.shape):
        for by in (1e-6, -1e-6):
            refused(A, replace(found, loadings=with_entry(L, (i, j), L[i, j] + by)))
        if L[i, j] != 0:
            refused(A, replace(found, loadings=with_entry(L, (i, j), -L[i, j])))
            refused(A, replace(found, loadings=with_entry(L, (i, j), 0.0)))


@results
def test_exchanged_or_negated_columns(name):
    A, found = result(name)
    d = found.n_components
    for j in range(d):
        signs = with_entry(np.ones(d), j, -1.0)
        refused(A, replace(found, loadings=found.loadings * signs))
        refused(A, replace(found, rotation=found.rotation * signs))
        for k in range(j):
            order = np.arange(d)
            order[[j, k]] = k, j
            refused(A, replace(found, loadings=found.loadings[:, order]))
            refused(A, replace(found, rotation=found.rotation[:, order]))
            refused(A, replace(found, rotation=found.rotation[order]))


@results
def test_an_altered_sequence(name):
    A, found = result(name)
    p, steps = found.sequence.shape
    for i, j in np.ndindex(p, steps):
        refused(A, replace(found, sequence=with_entry(found.sequence, (i, j), found.sequence[i, j] + 1e-6)))
    for j in range(steps - 1):
        order = np.arange(steps)
        order[[j, j + 1]] = j + 1, j
        certificates = tuple(found.certificates[k] for k in order)
        # Vectors exchanged with their certificates: what was optimal in one place is not in the other, unless they tie.
        first, second = found.certificates[j], found.certificates[j + 1]
        altered = replace(found, sequence=found.sequence[:, order])
        assert not altered.verify(A)
        if abs(first.upper - second.upper) > 1e-9:
            assert not resealed(altered).verify(A)
            assert not resealed(replace(altered, certificates=certificates)).verify(A)


@results
def test_an_altered_rotation(name):
    A, found = result(name)
    d = found.n_components
    for i, j in np.ndindex(d, d):
        refused(A, replace(found, rotation=with_entry(found.rotation, (i, j), found.rotation[i, j] + 1e-6)))
    if not np.allclose(found.rotation, found.rotation.T):
        refused(A, replace(found, rotation=found.rotation.T))


def test_a_rotation_that_raises_the_l1_norm():
    A, found = result("dense B")
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    rotated = replace(found, rotation=Q, loadings=found.sequence @ Q)
    assert any("l1 norm" in problem for problem in resealed(rotated).verify(A).problems)


@results
@pytest.mark.parametrize("field", ["lower", "upper", "primal", "gap", "sdp_gap"])
@pytest.mark.parametrize("by", [1e-6, -1e-6, 0.1, np.nan])
def test_an_altered_bound(name, field, by):
    A, found = result(name)
    for step, c in enumerate(found.certificates):
        size = max(abs(c.upper), found.alpha) if field in ("lower", "upper", "primal") else 1.0
        value = getattr(c, field) + by * size
        refused(A, with_certificate(found, step, **{field: value}))
        if field in ("lower", "upper", "primal"):
            altered = consistent(found, A, step, **{field: value})
            refused(A, altered)


@results
def test_rank_one_claimed_where_it_is_not(name):
    A, found = result(name)
    for step, c in enumerate(found.certificates):
        altered = with_certificate(found, step, rank_one=not c.rank_one)
        assert not altered.verify(A)
        if not c.rank_one:
            refused(A, altered)


@results
def test_an_altered_multiplier(name):
    """Out of the box: always caught. Inside: caught, or the claim is still proved, and then only the seal minds."""
    A, found = result(name)
    alpha = 0.0 if found.variant == "G" else found.alpha
    outside = max(float(np.nextafter(alpha, np.inf)), 1e-300)
    rng = np.random.default_rng(0)
    caught = kept = 0
    for index, m in enumerate(found.witness.multipliers):
        for entry, u in enumerate(m.packed):
            altered = _with_multiplier(found, index, replace(m, packed=with_entry(m.packed, entry, u + outside)))
            assert seal(altered.claims) != altered.witness.seal
        for entry in rng.permutation(m.packed.size)[:3]:
            u = m.packed[entry]
            for value in (outside, -outside, np.nan, -u, 0.99 * u, np.nextafter(u, 0.0)):
                if value == u:
                    continue
                altered = _with_multiplier(found, index, replace(m, packed=with_entry(m.packed, entry, value)))
                assert not altered.verify(A)
                again = bool(resealed(altered).verify(A))
                assert not again or abs(value) <= alpha
                caught, kept = caught + (not again), kept + again
    assert caught > kept
    assert kept > 0 or alpha == 0.0


def test_what_a_multiplier_proves_is_what_may_be_claimed():
    """An altered multiplier that still verifies does prove the bound: seen by an eigenvalue computed here."""
    A, found = result("dense B")
    (first, *_), p = found.witness.multipliers, A.shape[0]
    assert found.witness.blocks[0].size == p
    lower = found.certificates[0].lower
    verdicts = []
    for entry in range(first.packed.size):
        for share in (0.9, 0.5, -1.0):
            packed = with_entry(first.packed, entry, share * first.packed[entry])
            U = np.zeros((p, p))
            U[np.triu_indices(p, 1)] = packed
            proved = np.linalg.eigvalsh(A + U + U.T + found.alpha * np.eye(p))[0]
            step = replace(first, packed=packed)
            said = resealed(_with_multiplier(found, 0, step)).verify(A).problems
            verdicts.append(not any(problem.startswith("Step 0: the lower") for problem in said))
            assert verdicts[-1] == (lower <= proved)
    assert 0 < sum(verdicts) < len(verdicts)


def _with_multiplier(found: SparseSubspace, index: int, *new: Multiplier) -> SparseSubspace:
    m = found.witness.multipliers
    return replace(found, witness=replace(found.witness, multipliers=(*m[:index], *new, *m[index + 1 :])))


@results
def test_a_multiplier_lost_or_misplaced(name):
    A, found = result(name)
    caught = 0
    for index, m in enumerate(found.witness.multipliers):
        for new in (
            (),
            (replace(m, since=m.since + 1),),
            (replace(m, block=m.block + 1),),
            (replace(m, block=-1),),
            (replace(m, packed=m.packed[:-1]),) if m.packed.size else (),
            (replace(m, packed=np.r_[m.packed, 0.0]),),
        ):
            altered = _with_multiplier(found, index, *new)
            assert not altered.verify(A)
            caught += not resealed(altered).verify(A)
    assert caught > 0


@results
def test_an_altered_factor(name):
    A, found = result(name)
    for step, factor in enumerate(found.witness.factors):
        if factor is None:
            # A better X than there is cannot be claimed with a factor that is not one.
            made_up = np.random.default_rng(step).normal(size=(A.shape[0], 2))
            refused(A, _with_factor(found, step, made_up / np.linalg.norm(made_up)))
            continue
        for i, j in np.ndindex(factor.shape):
            if abs(factor[i, j]) > 1e-3:
                refused(A, _with_factor(found, step, with_entry(factor, (i, j), factor[i, j] + 1e-6)))
        refused(A, _with_factor(found, step, None))
        refused(A, _with_factor(found, step, 1.001 * factor))
        refused(A, _with_factor(found, step, factor[:, :-1]))
        refused(A, _with_factor(found, step, factor * np.nan))
        # X itself is unchanged by a sign, so only the seal can mind.
        negated = _with_factor(found, step, -factor)
        assert not negated.verify(A)
        assert resealed(negated).verify(A)


def _with_factor(found: SparseSubspace, step: int, factor: np.ndarray | None) -> SparseSubspace:
    f = found.witness.factors
    return replace(found, witness=replace(found.witness, factors=(*f[:step], factor, *f[step + 1 :])))


@results
def test_altered_blocks(name):
    A, found = result(name)
    blocks = found.witness.blocks

    def altered(*new: np.ndarray) -> SparseSubspace:
        return replace(found, witness=replace(found.witness, blocks=tuple(new)))

    refused(A, altered(*blocks[:-1]))
    refused(A, altered(*blocks, blocks[0][:1]))
    refused(A, altered(blocks[0] - A.shape[0], *blocks[1:]))
    if blocks[0].size > 1:
        # One feature leaves its block, alone or for another.
        refused(A, altered(blocks[0][1:], *blocks[1:], blocks[0][:1]))
        if len(blocks) > 1:
            refused(A, altered(blocks[0][1:], np.r_[blocks[1], blocks[0][:1]], *blocks[2:]))
            refused(A, altered(np.r_[blocks[0], blocks[1]], *blocks[2:]))
            refused(A, altered(blocks[1], blocks[0], *blocks[2:]))
        if found.variant != "G":
            refused(A, altered(blocks[0][::-1], *blocks[1:]))


@results
def test_other_altered_claims(name):
    A, found = result(name)
    if found.variant != "G":
        refused(A, replace(found, alpha=found.alpha * (1 + 1e-6)))
        refused(A, replace(found, alpha=found.alpha * (1 - 1e-6)))
    refused(A, replace(found, n_components=found.n_components - 1))
    refused(A, replace(found, variant="B" if found.variant in ("F", "FG") else "F"))
    # What is within rounding is within any tolerance: these leave every claim true, and the seal notices.
    assert not replace(found, tol=1e-300).verify(A)
    assert not replace(found, tol=found.tol * 2).verify(A)
    fingerprint = found.witness.fingerprint
    for i in range(fingerprint.size):
        changed = with_entry(fingerprint, i, fingerprint[i] + 1e-9)
        refused(A, replace(found, witness=replace(found.witness, fingerprint=changed)))


@results
def test_another_matrix(name):
    A, found = result(name)
    p = A.shape[0]
    for i in range(p):
        for j in range(i + 1):
            for by in (1e-6, -1e-6):
                B = A.copy()
                B[i, j] = B[j, i] = A[i, j] * (1 + by) if A[i, j] else by
                assert not found.verify(B)
    for B in (2.0 * A, 0.5 * A, A * (1 + 1e-6), A + 1e-6 * np.eye(p), -A, np.zeros_like(A), A[::-1, ::-1]):
        assert not found.verify(B)
    assert not found.verify(scatter(99, p))
    assert not found.verify(scatter(99, p + 1))
    assert not found.verify(A * np.nan)
    lopsided = A.copy()
    lopsided[0, 1] += 1e-9
    assert not found.verify(lopsided)


@results
def test_another_matrix_with_the_same_fingerprint(name):
    """The fingerprint is a convenience; that the claims hold for *this* matrix is recomputed."""
    A, found = result(name)
    p = A.shape[0]
    probe = probe_vector(p)
    rng = np.random.default_rng(0)
    for _ in range(5):
        w = rng.normal(size=p)
        w -= probe * (w @ probe) / (probe @ probe)
        E = 1e-5 * np.outer(w, w) / (w @ w)
        E = 0.5 * (E + E.T)
        assert np.abs(E @ probe).max() < 1e-17
        assert not found.verify(A + E)
        assert not any("not the matrix" in problem for problem in found.verify(A + E).problems)


# ---- numbers that are none


@pytest.mark.parametrize("field", ["upper", "primal", "gap", "sdp_gap"])
def test_infinite_bounds_are_refused(field):
    A, found = result("dense F dominant")
    step = [c.rank_one for c in found.certificates].index(False)
    refused(A, with_certificate(found, step, **{field: np.inf}))


def test_a_fingerprint_of_nan_is_refused():
    A, found = result("dense F dominant")
    nothing = np.full_like(found.witness.fingerprint, np.nan)
    refused(A, replace(found, witness=replace(found.witness, fingerprint=nothing)))
