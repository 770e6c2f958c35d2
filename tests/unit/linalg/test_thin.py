"""Products with rules of a few terms, beside dense ones."""

from __future__ import annotations

import numpy as np
import pytest

from aspca.linalg.arrays import Floats
from aspca.linalg.small import form_of, is_thin, thinned
from aspca.subspace.space import unresolved_variances


def _problem(share: float) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(300, 300))
    return A @ A.T, rng.normal(size=(300, 90)) * (rng.random((300, 90)) < share)


@pytest.mark.parametrize(("share", "thin"), [(0.02, True), (0.5, False)])
def test_forms_are_those_of_dense_products(share: float, thin: bool) -> None:
    C, V = _problem(share)
    assert is_thin(V) == thin
    found = form_of(C, V)
    assert np.array_equal(found, found.T)
    np.testing.assert_allclose(found, V.T @ C @ V, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(C @ thinned(V), C @ V, rtol=1e-10, atol=1e-9)
    size = np.abs(V)
    dense = 4.0 * 300 * np.finfo(np.float64).eps * np.diag(size.T @ np.abs(C) @ size)
    np.testing.assert_allclose(unresolved_variances(V, C), dense, rtol=1e-12)


def test_small_matrices_stay_as_they_are() -> None:
    assert not is_thin(np.eye(100))
    assert not is_thin(np.eye(400)[:, :3])
