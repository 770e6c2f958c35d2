"""Relations are rules if they are tight, short and the same for all rows; all else is correlation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from aspca import ASPCA
from aspca.model.cross_fit import rank_columns
from aspca.model.fit import is_homogeneous


def relations(frame: pd.DataFrame) -> list[str]:
    return [str(rule) for rule in ASPCA().fit(frame).rules_ if rule.kind != "identity"]


def test_a_tight_relation_is_a_rule_and_a_correlation_is_not() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 500))
    tight = pd.DataFrame({"a": a, "b": b, "c": a + b + 0.05 * rng.normal(size=500)})
    assert [text.split(" (")[0] for text in relations(tight)] == ["c = a + b"]
    loose = tight.assign(c=a + b + 1.0 * rng.normal(size=500))
    assert relations(loose) == []


def test_a_line_through_a_curve_is_no_rule() -> None:
    rng = np.random.default_rng(1)
    x = rng.uniform(1.0, 4.0, 500)
    frame = pd.DataFrame({"x": x, "y": x**1.5 + 0.02 * rng.normal(size=500), "z": rng.normal(size=500)})
    assert relations(frame) == []


@pytest.mark.parametrize("spread", ["constant", "grows"])
def test_a_rule_has_the_same_spread_for_all_rows(spread: str) -> None:
    rng = np.random.default_rng(2)
    x = rng.uniform(0.0, 10.0, 800)
    noise = 0.1 * rng.normal(size=800) * (1.0 if spread == "constant" else 0.05 + 0.3 * x)
    frame = pd.DataFrame({"x": x, "y": x + noise, "z": rng.normal(size=800)})
    assert len(relations(frame)) == (1 if spread == "constant" else 0)


def test_no_rule_has_more_than_six_columns() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(2000, 9))
    frame = pd.DataFrame(X, columns=list("abcdefghi"))
    frame["total"] = X.sum(axis=1) + 0.02 * rng.normal(size=2000)
    assert relations(frame) == []
    frame = frame[list("abc")].assign(total=X[:, :3].sum(axis=1) + 0.02 * rng.normal(size=2000))
    assert len(relations(frame)) == 1


def test_independent_residuals_are_homogeneous() -> None:
    rng = np.random.default_rng(4)
    ranks = rank_columns(rng.normal(size=(60, 8)))
    found = [is_homogeneous(rng.standard_t(3, size=60), ranks) for _ in range(100)]
    assert np.mean(found) >= 0.95
