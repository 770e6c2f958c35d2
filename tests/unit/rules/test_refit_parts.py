"""A refit on a vector's own features is the refit on all of them."""

from __future__ import annotations

import numpy as np

from aspca.rules.refit import Refit


def test_features_that_a_vector_has_not_do_not_matter() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 40))
    X[:, 0] = X[:, 10] + X[:, 20] - 0.5 * X[:, 30] + 0.1 * rng.normal(size=300)
    R = np.corrcoef(X.T)
    weights = X.std(axis=0)
    basis = np.linalg.eigh(np.cov(X.T))[1][:, :1]
    z = np.zeros(40)
    # One term is noise.
    z[[0, 5, 10, 20, 30]] = [1.0, 0.04, -0.6, -0.6, 0.3]
    for bases in ((), (basis,)):
        whole, part = Refit(R, weights, bases, 300.0), Refit(R, weights, bases, 300.0)
        slow, quick = whole._without_noise(z, 0), part.without_noise(z, 0)
        assert slow is not None
        assert quick is not None
        assert np.flatnonzero(quick).tolist() == [0, 10, 20, 30]
        np.testing.assert_allclose(quick, slow, rtol=1e-10)
        # From another of its features: the rule that is known.
        again = part.without_noise(z, 10)
        assert again is not None
        assert np.array_equal(again, quick)
        assert part._on(np.array([0, 10])).n_features == 40
