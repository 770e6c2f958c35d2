"""Whatever the basis: the span stays, the L1 norm never rises, signs and zero rows do not matter."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from aspca.sparse_pca.rotation import sparse_rotation

MANY = settings(max_examples=25, deadline=None, derandomize=True)
SOME = settings(MANY, max_examples=10)


@st.composite
def bases(draw):
    """Orthonormal, often with zeros, repeated rows, hidden unit vectors, tiny entries or a square shape."""
    p = draw(st.integers(1, 12))
    d = draw(st.integers(1, min(p, 6)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    B = rng.standard_normal((p, d))
    B *= rng.uniform(size=(p, d)) < draw(st.sampled_from([0.3, 0.6, 1.0]))
    if draw(st.booleans()):
        B = np.round(B)
    if draw(st.booleans()):
        B[p // 2 :] = B[: p - p // 2]
    B *= draw(st.sampled_from([1.0, 1e-3, 1e3])) ** np.arange(d)
    V = np.linalg.svd(B + 1e-9 * rng.standard_normal((p, d)) * draw(st.booleans()), full_matrices=False)[0]
    if draw(st.booleans()):
        V = V @ np.linalg.qr(rng.standard_normal((d, d)))[0]
    return V


@MANY
@given(bases())
def test_invariants(V):
    result = sparse_rotation(V)
    d = V.shape[1]
    Q, L = result.rotation, result.loadings
    assert np.abs(Q.T @ Q - np.eye(d)).max() <= 1e-13
    assert np.abs(L - V @ Q).max() <= 1e-12
    assert np.abs(L @ L.T - V @ V.T).max() <= 1e-12
    assert result.l1 == np.abs(L).sum() <= np.abs(V).sum()
    # A lower bound that needs no solver: a unit vector has L1 norm at least 1.
    assert result.l1 >= d * (1.0 - 1e-12)


@SOME
@given(bases(), st.integers(0, 2**32 - 1))
def test_signs_of_features_and_columns_and_zero_rows_do_not_matter(V, seed):
    rng = np.random.default_rng(seed)
    p, d = V.shape
    flipped = V * rng.choice([-1.0, 1.0], (p, 1))
    padded = np.zeros((2 * p, d))
    padded[::2] = flipped
    l1 = sparse_rotation(V).l1
    assert abs(sparse_rotation(padded).l1 - l1) <= 1e-8 * l1
    assert abs(sparse_rotation(V * rng.choice([-1.0, 1.0], d)).l1 - l1) <= 1e-2 * l1


@MANY
@given(bases())
def test_a_second_run_does_not_fall_below_by_much_and_never_rises(V):
    first = sparse_rotation(V)
    second = sparse_rotation(first.loadings)
    assert 0.97 * first.l1 <= second.l1 <= first.l1
