"""Null spaces and eigenvectors: what they must be, and that rounding does not choose among equals."""

from __future__ import annotations

import numpy as np
import pytest

from aspca.linalg.eigen import choose_basis, find_eigenbasis, find_left_null_space


@pytest.mark.parametrize(
    ("m", "k", "rank"), [(1, 1, 1), (4, 1, 1), (5, 3, 3), (5, 3, 1), (4, 6, 4), (6, 6, 2), (3, 2, 0)]
)
def test_basis(m: int, k: int, rank: int) -> None:
    rng = np.random.default_rng(m * 10 + k)
    rows = rng.normal(size=(m, rank)) @ rng.normal(size=(rank, k))
    basis = find_left_null_space(rows)
    if rank == 0:
        # Nothing to be orthogonal to: all of R^m, which needs no matrix.
        assert basis is None
        return
    assert basis is not None
    assert basis.shape == (m, m - rank)
    assert np.abs(basis.T @ basis - np.eye(m - rank)).max(initial=0.0) <= 1e-14
    assert np.abs(rows.T @ basis).max(initial=0.0) <= 1e-13
    # Together with the rows' span it is everything.
    assert np.linalg.matrix_rank(np.column_stack([basis, rows])) == m


def test_columns_that_live_elsewhere_do_not_blur_the_rank() -> None:
    # Rows cut out of an orthonormal matrix: one column has its weight there, the other only rounding.
    rows = np.array([[0.6, 1e-17], [0.8, -1e-17], [0.0, 3e-17]])
    basis = find_left_null_space(rows)
    assert basis is not None
    assert basis.shape == (3, 2)
    assert np.abs(basis.T @ [0.6, 0.8, 0.0]).max() <= 1e-15


def orthogonal(rng: np.random.Generator, d: int) -> np.ndarray:
    return np.linalg.qr(rng.normal(size=(d, d)))[0]


@pytest.mark.parametrize(("p", "d"), [(1, 1), (4, 1), (5, 2), (8, 5), (6, 6), (30, 12)])
@pytest.mark.parametrize("kind", ["dense", "sparse", "coordinates"])
def test_the_basis_depends_on_the_span_alone(p: int, d: int, kind: str) -> None:
    rng = np.random.default_rng(p * 100 + d)
    span = rng.normal(size=(p, d))
    if kind == "sparse":
        span = span * (rng.uniform(size=(p, d)) < 0.5) + 1e-3 * np.eye(p, d)
    elif kind == "coordinates":
        span = np.eye(p)[:, rng.permutation(p)[:d]]
    span = np.linalg.qr(span)[0]
    basis = choose_basis(span)
    assert np.abs(basis.T @ basis - np.eye(d)).max() <= 1e-14
    assert np.abs(basis @ basis.T - span @ span.T).max() <= 1e-13
    for _ in range(5):
        again = choose_basis(span @ orthogonal(rng, d))
        assert np.abs(again - basis).max() <= 1e-11
    if kind == "coordinates":
        # The features themselves, in order.
        assert np.abs(basis - np.eye(p)[:, np.flatnonzero(np.diag(span @ span.T) > 0.5)]).max() <= 1e-14


def test_equal_claims_to_come_first_are_settled_by_position() -> None:
    # Every feature has the same share of the span: the first is taken, on every rotation of the basis.
    span = np.column_stack([np.ones(4), [1, -1, 1, -1]]) / 2
    for seed in range(10):
        basis = choose_basis(span @ orthogonal(np.random.default_rng(seed), 2))
        assert np.abs(basis[:, 0] - np.array([1, 0, 1, 0]) / np.sqrt(2)).max() <= 1e-14
        assert np.abs(basis[:, 1] - np.array([0, 1, 0, 1]) / np.sqrt(2)).max() <= 1e-14


def test_eigenvectors_of_separate_values_are_the_usual_ones() -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6, 6))
    A = A @ A.T
    found = find_eigenbasis(A)
    assert np.abs(A @ found.vectors - found.vectors * found.values).max() <= 1e-12
    assert (np.diff(found.values) > 0).all()
    assert not found.tied.any()


@pytest.mark.parametrize("noise", [0.0, 1e-15, 1e-14])
def test_tied_values_are_flagged_and_their_basis_survives_rounding(noise: float) -> None:
    rng = np.random.default_rng(1)
    Q = orthogonal(rng, 6)
    values = np.array([0.0, 0.0, 0.0, 1.0, 2.0, 2.0])
    reference = find_eigenbasis(Q * values @ Q.T)
    nudge = rng.normal(size=(6, 6)) * noise
    found = find_eigenbasis(Q * values @ Q.T + nudge + nudge.T)
    assert found.tied.tolist() == [True, True, True, False, True, True]
    # Up to the sign of a vector that is alone, which the sign rule sets later.
    assert np.abs(np.abs(found.vectors) - np.abs(reference.vectors)).max() <= 1e-11
    for cluster in (slice(0, 3), slice(4, 6)):
        assert np.abs(found.vectors[:, cluster] - reference.vectors[:, cluster]).max() <= 1e-11


def test_no_variance_at_all_gives_the_features_in_order() -> None:
    found = find_eigenbasis(np.zeros((4, 4)))
    assert np.abs(found.vectors - np.eye(4)).max() <= 1e-15
    assert found.tied.all()
