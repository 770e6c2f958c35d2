"""Lifted components do not depend on the order of columns, of rows, or on units."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from aspca import SparseSubspace, sparse_subspace
from aspca.estimators.aspca import ASPCA

SOME = settings(max_examples=15, deadline=None, derandomize=True)


@st.composite
def tables(draw: st.DrawFn) -> pd.DataFrame:
    """Two relations that only lifted columns can say, and columns of noise.

    Zeros among `base` keep its logarithm, and so a third relation that would tie with the others, away.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, noise = draw(st.integers(60, 150)), draw(st.integers(0, 3))
    base = np.append(0.0, rng.gamma(2.0, size=n - 1))
    grown = rng.lognormal(sigma=0.6, size=n)
    columns = {"base": base, "squared": base**2, "grown": grown, "logged": np.log(grown)}
    return pd.DataFrame(columns | {f"noise{k}": rng.normal(size=n) for k in range(noise)})


def named(found: SparseSubspace) -> list[dict[str, float]]:
    """Each component by names, the first of them positive, in the order of the names."""
    assert found.lifted_names is not None
    said = []
    for v in found.loadings.T:
        entries = sorted((found.lifted_names[j], float(v[j])) for j in np.flatnonzero(v))
        said.append({name: value * np.sign(entries[0][1]) for name, value in entries})
    return sorted(said, key=lambda one: sorted(one))


def assert_same(one: SparseSubspace, other: SparseSubspace) -> None:
    for left, right in zip(named(one), named(other), strict=True):
        assert list(left) == list(right)
        assert np.allclose(list(left.values()), list(right.values()), atol=1e-6)


@SOME
@given(tables(), st.data(), st.sampled_from(["B", "BG"]))
def test_columns_in_another_order_permute_the_components(
    table: pd.DataFrame, data: st.DataObject, variant: str
) -> None:
    order = data.draw(st.permutations(list(table.columns)))
    one, other = (sparse_subspace(rows, 2, 0.03, variant, lift="auto") for rows in (table, table[order]))
    assert one.verify(one.lifted_covariance)
    assert other.verify(other.lifted_covariance)
    assert_same(one, other)
    assert [list(said) for said in named(one)] == [["base^2", "squared"], ["log(grown)", "logged"]]


@SOME
@given(tables(), st.data())
def test_rows_in_another_order_and_other_units_change_nothing(table: pd.DataFrame, data: st.DataObject) -> None:
    """A unit moves a logarithm and multiplies a square: both are standardized away."""
    units = data.draw(st.lists(st.floats(1e-3, 1e3), min_size=table.shape[1], max_size=table.shape[1]))
    rows = table.sample(frac=1.0, random_state=0) * units
    assert_same(sparse_subspace(table, 2, 0.03, lift="auto"), sparse_subspace(rows, 2, 0.03, lift="auto"))


@SOME
@given(tables(), st.data())
def test_the_model_judges_by_names_and_not_by_places(table: pd.DataFrame, data: st.DataObject) -> None:
    order = data.draw(st.permutations(list(table.columns)))
    one, other = (ASPCA.paper(n_components=2, lift="auto").fit(rows) for rows in (table, table[order]))
    bad = table.copy()
    bad.loc[3, "squared"] += 1.0
    assert np.allclose(one.score_samples(bad), other.score_samples(bad[order]), atol=1e-9)
    assert one.predict(bad)[3] == other.predict(bad[order])[3] == -1
