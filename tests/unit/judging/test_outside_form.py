"""Distances outside the rules, by a factor in a sparse basis, beside those of directions from eigenvectors."""

from __future__ import annotations

import numpy as np
import pytest

import aspca.judging.outside
from aspca.judging.metric import score_weights
from aspca.judging.outside import outside_directions, unresolved_outside
from aspca.judging.outside_form import OutsideForm
from aspca.linalg.arrays import Bools, Floats
from aspca.subspace.space import unresolved_variances

P, M = 300, 80


def _table(seed: int, *, exact: int = 0) -> tuple[Floats, Floats, Floats, Bools]:
    """Rows, their covariance, and rules of four terms that share features; the first hold exactly."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(500, P)) * rng.uniform(0.1, 10.0, P)
    rules = np.zeros((P, M))
    for k in range(M):
        terms = M + rng.choice(P - M, 3, replace=False)
        rules[k, k], rules[terms, k] = 1.0, -rng.uniform(0.5, 2.0, 3)
        X[:, k] = -X[:, terms] @ rules[terms, k] + (0.0 if k < exact else 0.1) * rng.normal(size=500)
    X -= X.mean(axis=0)
    return X, np.cov(X.T, bias=True), rules / np.linalg.norm(rules, axis=0), np.arange(M) < exact


def _weights(C: Floats, rules: Floats, *, symmetric: bool) -> Floats:
    inside = rules.T @ C @ rules
    unresolved = unresolved_variances(rules, C)
    variances = np.maximum(np.diag(inside), unresolved)
    return score_weights("complete", inside, variances, unresolved, symmetric=symmetric)


@pytest.mark.parametrize("exact", [0, 5])
@pytest.mark.parametrize("blur", [0.0, 0.6])
def test_distances_are_those_of_directions(exact: int, blur: float, monkeypatch: pytest.MonkeyPatch) -> None:
    X, C, rules, held = _table(exact, exact=exact)
    monkeypatch.setattr(aspca.judging.outside, "LARGE", 10**9)
    weights = _weights(C, rules, symmetric=True)
    N = outside_directions(C, rules, weights, held, still=True, blur=blur)
    slow = np.square(X @ N).sum(axis=1)
    form = None
    # Any root of the rules' correlation will do, and the pivots of another form.
    for symmetric in (True, False):
        root = _weights(C, rules, symmetric=symmetric)
        form = OutsideForm.of(C, rules, root, held, blur=blur, unresolved=unresolved_outside(C), like=form)
        assert form is not None
        assert form.rank == P - M
        found = form.squares(X, (X @ rules)[:, ~held])
        np.testing.assert_allclose(found, slow, rtol=1e-8)
        np.testing.assert_allclose(np.square(X @ form.directions()).sum(axis=1), slow, rtol=1e-8)


def test_no_form_where_something_outside_hardly_varies() -> None:
    X, _, rules, held = _table(1)
    X[:, P - 1] = X[:, P - 2]
    C = np.cov(X.T, bias=True)
    weights = _weights(C, rules, symmetric=True)
    assert OutsideForm.of(C, rules, weights, held, blur=0.0, unresolved=unresolved_outside(C)) is None


def test_no_form_of_rules_that_depend_on_each_other() -> None:
    _, C, rules, held = _table(2)
    rules[:, 1] = rules[:, 0]
    weights = np.eye(M)
    assert OutsideForm.of(C, rules, weights, held, blur=0.5, unresolved=unresolved_outside(C)) is None


def test_any_root_gives_the_same_score() -> None:
    X, C, rules, _ = _table(3)
    first, second = (np.square(X @ rules @ _weights(C, rules, symmetric=one)).sum(axis=1) for one in (True, False))
    np.testing.assert_allclose(first, second, rtol=1e-10)
    # Rules that say nearly the same have a floor, which no triangle knows of.
    rules[:, 1] = rules[:, 0] + 1e-9 * rules[:, 2]
    assert np.array_equal(_weights(C, rules, symmetric=True), _weights(C, rules, symmetric=False))
