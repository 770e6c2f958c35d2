"""`verify` is true for every honest result, whatever the matrix, and shares no code with who made it."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest

from aspca import TiedSubspaceWarning, sparse_subspace
from certified import scatter

VARIANTS = ("F", "B", "FG", "BG", "G")


MATRICES = {
    "gaussian": scatter(1, 6),
    "singular": scatter(2, 7, n=3),
    "constant columns": np.pad(scatter(3, 5), ((0, 2), (0, 2))),
    "duplicated columns": np.kron(np.ones((2, 2)), scatter(4, 4)),
    "correlation": np.corrcoef(np.random.default_rng(5).normal(size=(40, 6)), rowvar=False),
    "identity": np.eye(4),
    "zero": np.zeros((3, 3)),
    "one feature": np.array([[2.0]]),
    "huge": scatter(6, 6) * 2.0**900,
    "tiny": scatter(6, 6) * 2.0**-900,
    "mixed units": scatter(7, 6) * np.outer(10.0 ** np.arange(-3, 3), 10.0 ** np.arange(-3, 3)),
}
# alpha as a multiple of A's largest entry.
ALPHAS = {"zero": 0.0, "small": 0.03, "middle": 0.3, "huge": 1e4}


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", MATRICES)
def test_honest_results_verify(name, variant, alpha):
    A = MATRICES[name]
    p = A.shape[0]
    penalty = ALPHAS[alpha] * (float(np.abs(A).max()) or 1.0)
    for d in sorted({1, (p + 1) // 2, p}):
        for rounding in ("sparse", "dominant") if alpha != "zero" else ("sparse",):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", TiedSubspaceWarning)
                found = sparse_subspace(A, d, penalty, variant, rounding)
            verification = found.verify(A)
            assert verification, f"d={d}, {rounding}: {verification}"
            assert found.loadings.shape == (p, d)


@pytest.mark.parametrize("variant", ["BG", "G"])
def test_breast_cancer_verifies(made, variant):
    """B, F and their roundings are verified beside the other tests of real data."""
    A = made.scatter("breast_cancer")
    found = sparse_subspace(A, 10, 5.0, variant)
    assert found.verify(A), str(found.verify(A))
    assert np.abs(found.loadings).sum() < np.abs(found.kept).sum()


def test_a_rotated_forward_result_verifies(made):
    A = made.scatter("breast_cancer")
    found = sparse_subspace(A, 10, 10.0, "FG")
    assert found.verify(A), str(found.verify(A))


@pytest.mark.parametrize("power", [900, -900])
def test_powers_of_two_change_units_only(power):
    A = scatter(8, 7)
    for variant in VARIANTS:
        plain = sparse_subspace(A, 3, 0.1, variant)
        scaled = sparse_subspace(A * 2.0**power, 3, 0.1 * 2.0**power, variant)
        np.testing.assert_array_equal(plain.loadings, scaled.loadings)
        assert [c.lower * 2.0**power for c in plain.certificates] == [c.lower for c in scaled.certificates]
        assert scaled.verify(A * 2.0**power)
        assert not scaled.verify(A)


# ---- true results at the edge of float64


@pytest.mark.parametrize(("A", "alpha"), [(np.eye(5), 1.0), (scatter(6, 9), 0.4)], ids=["identity", "gaussian"])
def test_cancelling_diagonals_verify(A, alpha):
    found = sparse_subspace(A, 4, alpha, "F")
    assert found.verify(A), str(found.verify(A))


def test_clustered_eigenvalues_without_penalty_verify():
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0]
    A = Q * np.array([1e-11, 3e-11, 6e-11, 0.5, 1.0]) @ Q.T
    A = 0.5 * (A + A.T)
    found = sparse_subspace(A, 3, 0.0, "B")
    assert found.verify(A), str(found.verify(A))


def test_exact_eigenvectors_of_a_singular_matrix_are_called_rank_one():
    A = scatter(2, 30, n=20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TiedSubspaceWarning)
        found = sparse_subspace(A, 10, 0.0, "G")
    assert all(c.rank_one for c in found.certificates)


@pytest.mark.parametrize("alpha", [1e200, 1e300])
def test_an_enormous_alpha_verifies(alpha):
    A = scatter(11, 9)
    found = sparse_subspace(A, 2, alpha, "B")
    assert found.verify(A), str(found.verify(A))


def test_what_the_fit_accepts_as_symmetric_verifies():
    A = scatter(11, 9)
    A[0, 1] += 1e-10
    found = sparse_subspace(A, 2, 0.1, "B")
    assert found.verify(A), str(found.verify(A))


# ---- who verifies shares nothing with who solves


def test_the_verifier_loads_nothing_of_the_solver():
    program = (
        "import sys, aspca.verify.check, aspca.verify.report\n"
        "print('\\n'.join(sorted(name for name in sys.modules if name.startswith(('aspca', 'scipy', 'sklearn')))))"
    )
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert set(loaded) == {
        "aspca",
        "aspca.verify",
        "aspca.verify.check",
        "aspca.verify.claims",
        "aspca.verify.form",
        "aspca.verify.report",
        "aspca.verify.status",
    }


def test_a_verification_speaks_in_sentences():
    A, found = scatter(11, 9), sparse_subspace(scatter(11, 9), 4, 0.04, "B")
    assert str(found.verify(A)).startswith("Verified")
    said = str(found.verify(2.0 * A))
    assert said.startswith("Not verified")
    assert "not the matrix" in said
