"""What is wrong in the rows learned from neither hides itself nor bends the rules."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from aspca import ASPCA, detect
from aspca.paper.datasets import load_synthetic


def sums(n: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(100.0, 20.0, n), rng.normal(50.0, 10.0, n)
    return pd.DataFrame({"a": a, "b": b, "total": a + b + rng.normal(size=n), "other": rng.normal(size=n)})


@pytest.mark.parametrize("share", [0.01, 0.04, 0.06])
@pytest.mark.parametrize("n", [400, 2000])
def test_rows_off_one_relation_do_not_hide_each_other(n: int, share: float) -> None:
    table = sums(n)
    wrong = np.random.default_rng(1).permutation(n)[: round(share * n)]
    table.loc[wrong, "total"] += 17.0
    errors = ASPCA().fit(table).explain(table).errors
    assert errors[wrong].mean() > 0.95
    assert errors.sum() - errors[wrong].sum() <= 0.002 * n


@pytest.mark.parametrize("share", [0.01, 0.05, 0.1])
def test_gross_rows_leave_the_rules_as_they_are(share: float) -> None:
    table = sums(1500)
    rng = np.random.default_rng(2)
    wrong = rng.permutation(1500)[: round(share * 1500)]
    spread = table.std().to_numpy()
    table.iloc[wrong] = table.mean().to_numpy() + 10.0 * spread * rng.normal(size=(wrong.size, table.shape[1]))
    model = ASPCA().fit(table)
    (rule,) = model.rules_
    assert rule.features == ("a", "b", "total")
    coefficients = np.array(rule.coefficients) / rule.coefficients[-1]
    assert np.allclose(coefficients, [-1.0, -1.0, 1.0], atol=0.05)
    assert set(model.model_.excluded.rows) >= set(wrong[:10])


def test_sums_of_skewed_columns_are_found_and_accuse_hardly_anybody() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.lognormal(size=1000), rng.lognormal(size=1000)
    table = pd.DataFrame({"a": a, "b": b, "total": a + b + 0.02 * rng.normal(size=1000)})
    model = ASPCA().fit(table)
    assert [str(rule).split(" (")[0] for rule in model.rules_] == ["total = a + b"]
    assert model.explain(table).errors.sum() <= 1


def test_what_is_named_breaks_no_relation_that_holds() -> None:
    data = load_synthetic()
    found = detect(pd.DataFrame(data.data, columns=data.feature_names))
    # In rows 500 to 504 A = B is broken, and D = A + C is kept: A is right.
    named = {finding.row: finding.text for finding in found.findings}
    assert all(": B is " in named[row] for row in range(500, 505))


def test_twenty_rows_are_searched() -> None:
    assert ASPCA().fit(np.random.default_rng([4, 20, 5]).normal(size=(20, 5))).rules_ == ()
