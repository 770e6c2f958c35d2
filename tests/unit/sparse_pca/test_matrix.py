"""The matrix that is handed over, checked and scaled; and a table in its place, as the matrix of its columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from aspca import sparse_subspace, sparse_subspace_path
from aspca.sparse_pca.matrix import scale_matrix


def with_lowest(lowest: float, p: int, seed: int) -> np.ndarray:
    """A symmetric matrix of largest entry one whose smallest eigenvalue is `lowest`, as far as float64 goes."""
    rng = np.random.default_rng(seed)
    q = np.linalg.qr(rng.normal(size=(p, p)))[0]
    values = np.concatenate(([0.0], rng.uniform(0.5, 1.0, size=p - 1)))
    A = (q * values) @ q.T
    A = A / np.abs(A).max()
    A = A + lowest * np.outer(q[:, 0], q[:, 0])
    return 0.5 * (A + A.T)


@pytest.mark.parametrize("p", [1, 2, 127, 128, 129, 300])
@pytest.mark.parametrize("scale", [1.0, 1e-280, 3e280])
def test_it_is_the_mean_with_the_transpose_times_a_power_of_two(p: int, scale: float) -> None:
    rng = np.random.default_rng(p)
    G = rng.normal(size=(p + 1, p))
    A = (G.T @ G) * (scale / p)
    A *= 1.0 + 1e-10 * rng.uniform(size=(p, p))
    before = A.copy()
    found = scale_matrix(A)
    assert np.array_equal(A, before)
    assert np.array_equal(found.values, (0.5 * A + 0.5 * A.T) * found.unit)
    assert np.array_equal(found.values, found.values.T)
    assert np.frexp(found.unit)[0] == 0.5
    assert found.largest == np.abs(A).max()
    assert 0.4 < np.abs(found.values).max() <= 1.0


def test_its_layout_and_type_do_not_matter() -> None:
    rng = np.random.default_rng(0)
    G = rng.integers(-9, 9, size=(200, 150))
    A = G.T @ G
    plain = scale_matrix(A.astype(np.float64))
    wide = np.zeros((300, 300))
    wide[::2, ::2] = A
    for other in (A, A.astype(np.float64, order="F"), A.astype(np.longdouble), wide[::2, ::2], A.tolist()):
        found = scale_matrix(other)
        assert np.array_equal(found.values, plain.values)
        assert found.unit == plain.unit
        assert found.values.flags.c_contiguous
    frozen = A.astype(np.float64)
    frozen.flags.writeable = False
    assert not np.shares_memory(scale_matrix(frozen).values, frozen)


@pytest.mark.parametrize("p", [2, 20, 150])
def test_eigenvalues_may_be_negative_by_rounding_only(p: int) -> None:
    for seed in range(3):
        for allowed in (0.0, -1e-12, -0.9e-8 * p):
            A = with_lowest(allowed, p, seed)
            assert np.array_equal(scale_matrix(A).values, A * scale_matrix(A).unit)
        for refused in (-1.2e-8 * p, -1e-3, -0.5):
            A = with_lowest(refused, p, seed)
            lowest = np.linalg.eigvalsh(A)[0]
            with pytest.raises(ValueError, match=f"positive semidefinite.*{lowest:.2g}"[:-1]):
                scale_matrix(A)


def test_an_entry_that_is_not_finite_is_named() -> None:
    for bad in (np.nan, np.inf, -np.inf):
        A = np.eye(200)
        A[150, 3] = A[199, 0] = bad
        with pytest.raises(ValueError, match=rf"entry \(150, 3\) is {bad}"):
            scale_matrix(A)


def test_asymmetry_beyond_rounding_is_refused() -> None:
    A = np.eye(300)
    A[290, 5] = 0.9e-8
    scale_matrix(A)
    A[290, 5] = 1.1e-8
    with pytest.raises(ValueError, match="symmetric"):
        scale_matrix(A)


NAMES = ("wage", "log(wage)", "wage^2", "tenure", "tenure^2", "tenursq", "tenursq^2", "lwage", "lwage^2")


@pytest.fixture(scope="module")
def wages() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    tenure = rng.integers(0, 31, 300).astype(float)
    wage = np.exp(1.2 + 0.02 * tenure + 0.5 * rng.normal(size=300))
    return pd.DataFrame({"wage": wage, "tenure": tenure, "tenursq": tenure**2, "lwage": np.log(wage)})


def lifted_by_hand(table: pd.DataFrame) -> np.ndarray:
    """The standardized lifted columns, of the rows alone."""
    columns = {f"{name}^2": table[name] ** 2 for name in table} | {name: table[name] for name in table}
    columns["log(wage)"] = np.log(table["wage"])
    rows = np.column_stack([columns[name] for name in NAMES])
    return (rows - rows.mean(axis=0)) / rows.std(axis=0)


@pytest.mark.parametrize("variant", ["B", "F", "BG", "FG", "G"])
def test_the_certificate_holds_for_the_lifted_covariance(variant: str, wages: pd.DataFrame) -> None:
    found = sparse_subspace(wages, 2, 0.05, variant, lift="auto")
    assert found.lifted_names == NAMES
    A = found.lifted_covariance
    assert A is not None
    assert not A.flags.writeable
    assert found.verify(A)
    assert not found.verify(1.001 * A)
    Z = lifted_by_hand(wages)
    assert np.abs(A - Z.T @ Z / len(Z)).max() < 1e-12
    # A component's variance is that of what it says about each row.
    variances = np.einsum("ij,ij->j", found.loadings, A @ found.loadings)
    assert np.abs((Z @ found.loadings).var(axis=0) - variances).max() < 1e-12


def test_components_say_what_no_linear_one_can(wages: pd.DataFrame) -> None:
    found = sparse_subspace(wages, 2, 0.05, lift="auto")
    said = [{NAMES[j]: round(float(v[j]) ** 2, 9) for j in np.flatnonzero(v)} for v in found.loadings.T]
    assert said == [{"log(wage)": 0.5, "lwage": 0.5}, {"tenure^2": 0.5, "tenursq": 0.5}]
    assert np.abs(lifted_by_hand(wages) @ found.loadings).max() < 1e-12
    # 2 alpha is what two features of equal weight cost: nothing is left for the variance.
    for step in found.certificates:
        assert step.rank_one
        assert abs(step.upper - 2 * 0.05) < 1e-12
        assert step.upper - step.lower < 1e-6 * step.upper
    # No direction of the columns themselves has a variance below the least eigenvalue.
    Z = ((wages - wages.mean()) / wages.std(ddof=0)).to_numpy()
    assert np.linalg.eigvalsh(Z.T @ Z / len(Z))[0] > 0.02


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, np.asarray, lambda t: t.to_numpy().tolist()])
def test_any_table_gives_the_same(kind: Any, wages: pd.DataFrame) -> None:
    given = kind(wages.to_dict("list")) if kind is pl.DataFrame else kind(wages)
    found = sparse_subspace(given, 2, 0.05, lift="auto")
    assert np.array_equal(found.loadings, sparse_subspace(wages, 2, 0.05, lift="auto").loadings)
    assert found.lifted_names is not None
    assert (found.lifted_names == NAMES) == hasattr(given, "columns")
    assert found.lifted_names[:3] in (NAMES[:3], ("x0", "log(x0)", "x0^2"))


def test_paths_and_completed_proofs_keep_their_names(wages: pd.DataFrame) -> None:
    for found in sparse_subspace_path(wages, 3, [0.02, 0.2], lift="auto"):
        A = found.lifted_covariance
        assert A is not None
        whole = found.certify(A)
        assert whole.lifted_names == NAMES
        assert whole.lifted_covariance is A
        assert whole.verify(A)


def test_a_constant_column_has_no_variance() -> None:
    table = np.column_stack([np.arange(1.0, 40.0), np.full(39, 7.0)])
    found = sparse_subspace(table, 1, 0.01, lift="auto")
    assert found.lifted_names == ("x0", "log(x0)", "x0^2", "x1")
    assert np.array_equal(found.loadings[:, 0], [0.0, 0.0, 0.0, 1.0])


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (np.arange(9.0), r"^With lift, A must be a table of numbers .* got shape \(9,\)"),
        (np.ones((1, 3)), r"^With lift, A must be a table of numbers with at least two rows"),
        (np.ones((3, 0)), r"^With lift, A must be a table"),
        (np.array([["a", "b"], ["c", "d"]]), r"^With lift, A must be a table of numbers"),
        (np.array([[1.0, np.nan], [2.0, 3.0]]), r"NaN|missing|finite"),
        (pd.DataFrame({"a": [1.0, np.inf, 2.0]}), r"'a'"),
    ],
)
def test_what_is_no_table_is_refused(table: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        sparse_subspace(table, 1, 0.1, lift="auto")


def test_other_words_are_refused() -> None:
    with pytest.raises(ValueError, match=r'^lift must be None or "auto", got \'kernel\'\.$'):
        sparse_subspace(np.eye(3), 1, 0.1, lift="kernel")
