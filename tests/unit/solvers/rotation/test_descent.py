"""Annealing, reweighted steps, snapping and linear programs: what each of them promises."""

import numpy as np
import pytest

from aspca.solvers.rotation.anneal import anneal, polar, quick_polar
from aspca.solvers.rotation.corner import snap
from aspca.solvers.rotation.polish import best_small_rotation, polish
from aspca.solvers.rotation.reweight import sharpen
from aspca.solvers.rotation.starts import make_starts, spiky_rotation

SHAPES = [(5, 3), (9, 8), (20, 6), (30, 10)]


def orthonormal(p, d):
    return np.linalg.qr(np.random.default_rng(100 * p + d).standard_normal((p, d)))[0]


def same_span(A, B):
    return float(np.abs(A @ A.T - B @ B.T).max())


@pytest.mark.parametrize(("p", "d"), SHAPES)
def test_sharpen_never_rises_and_keeps_the_span(p, d):
    V = orthonormal(p, d)
    L = sharpen(V)
    assert np.abs(L).sum() <= np.abs(V).sum()
    assert same_span(L, V) < 1e-12


@pytest.mark.parametrize(("p", "d"), SHAPES)
def test_polish_ends_at_a_local_minimum_with_a_corner_of_zeros(p, d):
    V = orthonormal(p, d)
    L = polish(sharpen(V), max_programs=60)
    assert same_span(L, V) < 1e-12
    skew, fall = best_small_rotation(L, 1e-3)
    assert fall <= 1e-8 * np.abs(L).sum()
    assert np.abs(skew).max() <= 1e-3 + 1e-12
    zeros = V @ snap(V, polar(V.T @ L))
    assert np.sum(np.abs(zeros) < 1e-14) >= d * (d - 1) // 2
    # No random small rotation is lower either: the linear program did not talk itself into it.
    rng = np.random.default_rng(0)
    for _ in range(50):
        G = rng.standard_normal((d, d)) * 1e-4
        assert np.abs(L @ polar(np.eye(d) + G - G.T)).sum() >= np.abs(L).sum() * (1.0 - 1e-8)


def test_the_program_predicts_its_fall():
    L = orthonormal(12, 4)
    skew, fall = best_small_rotation(L, 0.05)
    assert np.abs(L).sum() - np.abs(L + L @ skew).sum() == pytest.approx(fall, rel=1e-9)


def test_snap_restores_blurred_zeros_exactly():
    rng = np.random.default_rng(3)
    sparse = np.linalg.qr(np.kron(np.eye(3), np.ones((4, 1))) + np.eye(12, 3, k=-1))[0]
    sparse[np.abs(sparse) < 1e-12] = 0.0
    G = 1e-7 * rng.standard_normal((3, 3))
    blurred = polar(np.eye(3) + G - G.T)
    snapped = sparse @ snap(sparse, blurred, slack=1e-5)
    assert np.sum(np.abs(snapped) < 1e-14) >= np.sum(sparse == 0.0) - 3
    assert np.sum(np.abs(snapped) < 1e-14) > np.sum(np.abs(sparse @ blurred) < 1e-14)


def test_annealing_finds_planted_columns_from_every_start():
    sparse = np.kron(np.eye(4), np.full((4, 1), 0.5))
    V = sparse @ polar(np.random.default_rng(5).standard_normal((4, 4)))
    starts = make_starts(V, 3, 0.5)
    assert len(starts.rotations) == len(starts.momentum) == len(starts.mu_first) == 6
    for Q in anneal(V, starts.rotations, starts.momentum, starts.mu_first):
        np.testing.assert_allclose(Q.T @ Q, np.eye(4), atol=1e-13)
        assert np.abs(V @ Q).sum() == pytest.approx(8.0, rel=1e-2)


def test_spiky_rotation_raises_the_fourth_moment():
    V = orthonormal(20, 6)
    assert np.sum((V @ spiky_rotation(V)) ** 4) > np.sum(V**4)


def test_starts_are_the_same_every_time():
    V = orthonormal(20, 6)
    np.testing.assert_array_equal(make_starts(V, 4, 0.5).rotations, make_starts(V, 4, 0.5).rotations)


@pytest.mark.parametrize("spread", [0.1, 0.5, 5.0])
@pytest.mark.parametrize("d", [4, 24, 40])
def test_quick_polar_equals_polar(d, spread):
    M = np.eye(d) + spread * np.random.default_rng(d).standard_normal((3, d, d)) / np.sqrt(d)
    np.testing.assert_allclose(quick_polar(M), polar(M), atol=1e-9)
