"""Starts, descents, corners and cleared entries: what each of them promises."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import hadamard
from scipy.optimize import linprog

from aspca.sparse_pca.rotation import paper_rotation
from aspca.sparse_pca.rotation.descent import anneal, choose_spread_rows, localised_rotation, make_starts, polar
from aspca.sparse_pca.rotation.vertex import (
    clear_small_entries,
    descend,
    find_best_step,
    find_nearest_corner,
    make_skew_space,
)
from matrices import integer_null_space, orthonormal

SHAPES = [(5, 3), (9, 8), (20, 6), (30, 10)]


def annealed(V):
    return anneal(V[None], np.array([np.linalg.norm(V) / np.abs(V).sum()]), n_steps=150)[0]


def same_span(A, B):
    return float(np.abs(A @ A.T - B @ B.T).max())


def largest_fall(L, radius):
    """By how much ||L + L Omega||_1 can fall within |Omega_ij| <= radius: the plain linear program."""
    p, d = L.shape
    n = d * (d - 1) // 2
    J = make_skew_space(d).entry_changes(L, np.arange(p * d))
    eye, flat = np.eye(p * d), L.ravel()
    result = linprog(
        np.concatenate([np.zeros(n), np.ones(p * d)]),
        A_ub=np.block([[J, -eye], [-J, -eye]]),
        b_ub=np.concatenate([-flat, flat]),
        bounds=[(-radius, radius)] * n + [(0.0, None)] * (p * d),
    )
    return float(np.abs(L).sum() - result.fun)


@pytest.mark.parametrize(
    "V",
    [*(orthonormal(100 * p + d, p, d) for p, d in SHAPES), integer_null_space()],
    ids=lambda V: f"{V.shape[0]}x{V.shape[1]}",
)
def test_the_descent_ends_at_a_local_minimum_with_a_corner_of_exact_zeros(V):
    d = V.shape[1]
    near = annealed(V)
    Q = descend(V, polar(V.T @ near), max_rounds=60)
    L = V @ Q
    np.testing.assert_allclose(Q.T @ Q, np.eye(d), atol=1e-13)
    assert np.abs(L).sum() <= np.abs(near).sum()
    assert np.sum(np.abs(L) < 1e-14) >= d * (d - 1) // 2
    assert largest_fall(L, 1e-3) <= 1e-8 * np.abs(L).sum()
    # No random small rotation is lower either: the linear model did not talk itself into it.
    rng = np.random.default_rng(0)
    for _ in range(50):
        G = rng.standard_normal((d, d)) * 1e-4
        assert np.abs(L @ polar(np.eye(d) + G - G.T)).sum() >= np.abs(L).sum() * (1.0 - 1e-8)


@pytest.mark.parametrize(("p", "d"), SHAPES)
def test_the_descent_never_rises_from_anywhere(p, d):
    V = orthonormal(100 * p + d, p, d)
    assert np.abs(V @ descend(V, np.eye(d))).sum() <= np.abs(V).sum() * (1.0 + 1e-9)


@pytest.mark.parametrize("radius", [1e-1, 1e-4])
def test_the_nearest_corner_is_independent_and_within_reach(radius):
    L = annealed(orthonormal(3010, 30, 10))
    corner = find_nearest_corner(L, radius)
    assert np.linalg.cond(corner.rows) < 1e6
    held = corner.held
    np.testing.assert_array_equal(corner.rows[held], make_skew_space(10).entry_changes(L, corner.entries[held]))
    move = np.linalg.solve(corner.rows, np.where(held, -L.ravel()[corner.entries], 0.0))
    assert np.linalg.norm(move) <= radius * (1.0 + 1e-9)
    assert held.any()


def test_the_best_step_is_the_lowest_kink():
    rng = np.random.default_rng(4)
    for _ in range(50):
        L, change = rng.standard_normal(12), rng.standard_normal(12)
        L[:2] = 0.0
        step, entry = find_best_step(L, change, 1.0)
        tried = np.append(-L / change, [0.0, 1.0])
        values = [np.abs(L + t * change).sum() for t in tried[(tried >= 0.0) & (tried <= 1.0)]]
        assert np.abs(L + step * change).sum() == pytest.approx(min(values), abs=1e-12)
        assert entry == -1 or abs(L[entry] + step * change[entry]) < 1e-14


@pytest.mark.parametrize(("p", "d"), [(120, 60), (80, 60), (300, 50)])
def test_cleared_entries_are_zero_and_the_norm_does_not_rise(p, d):
    V = orthonormal(100 * p + d, p, d)
    near = annealed(V @ localised_rotation(V))
    L = clear_small_entries(near)
    assert np.abs(L).sum() <= np.abs(near).sum()
    assert same_span(L, V) < 1e-12
    assert np.sum(np.abs(L) <= 1e-14) >= 0.08 * d * (d - 1) / 2


def test_what_cannot_be_cleared_stays_as_it_is():
    # All entries are of one size: none is small.
    V = hadamard(64)[:, :48] / 8.0
    np.testing.assert_array_equal(clear_small_entries(V), V)


def test_annealing_finds_planted_columns_from_every_start():
    sparse = np.kron(np.eye(4), np.full((4, 1), 0.5))
    V = sparse @ polar(np.random.default_rng(5).standard_normal((4, 4)))
    rotations, warmth = make_starts(V)
    assert len(rotations) == len(warmth) > 5
    for L in anneal(V @ rotations, 0.5 * warmth, n_steps=150):
        np.testing.assert_allclose(L.T @ L, np.eye(4), atol=1e-13)
        assert same_span(L, V) < 1e-13
        assert np.abs(L).sum() == pytest.approx(8.0, rel=1e-2)


def test_tied_rows_are_taken_in_order():
    # Every row twice, the second blurred by rounding: BLAS must not choose between the two.
    V = np.linalg.qr(np.repeat(orthonormal(603, 6, 3), 2, axis=0))[0]
    V[1::2] *= 1.0 + 1e-15
    rows = choose_spread_rows(V)
    assert len(set(rows // 2)) == 3
    assert np.all(rows % 2 == 0)


def test_one_step_is_soft_threshold_then_procrustes():
    V = orthonormal(0, 7, 3)
    mu = np.linalg.norm(V) / np.abs(V).sum()
    C = np.array([[max(v - mu, 0.0) + min(v + mu, 0.0) for v in row] for row in V])
    X = paper_rotation(V, n_steps=1)
    # X minimises ||V - C X'||_F among orthogonal matrices: no nearby rotation is better.
    rng = np.random.default_rng(1)
    for _ in range(100):
        other = np.linalg.qr(X + 0.1 * rng.standard_normal((3, 3)))[0]
        other = other * np.sign(np.sum(other * X, axis=0))
        assert np.linalg.norm(V - C @ X.T) <= np.linalg.norm(V - C @ other.T) + 1e-14
