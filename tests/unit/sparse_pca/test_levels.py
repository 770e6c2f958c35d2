"""Rotation within levels of tightness: what is rotated together, what stays the same, and what becomes readable."""

from __future__ import annotations

import numpy as np
import pytest

from aspca import ASPCA, Moments, sparse_subspace
from aspca.linalg.arrays import Floats
from aspca.settings import check_parameters
from aspca.sparse_pca.groups import split_levels
from aspca.sparse_pca.rotation import sparse_rotation
from aspca.sparse_pca.subspace import SparseSubspace

GROUPED = ("FG", "BG", "G")
NAMES = ("price", "amount", "cost", "weight")


def orders(n: int = 600, seed: int = 3) -> Floats:
    """Logarithms of orders: cost = 1.2 price amount within 4 %, and a weight that the others tell only loosely."""
    rng = np.random.default_rng(seed)
    price, other = rng.normal(size=(2, n))
    amount = 0.6 * price + 0.8 * other
    cost = price + amount + np.log(1.2) + 0.04 * rng.normal(size=n)
    weight = amount - 0.3 * price + 0.4 * rng.normal(size=n)
    return np.column_stack([price, amount, cost, weight])


def of_two_levels(seed: int, p: int = 9, d: int = 6) -> Floats:
    """A covariance with two directions below what counts, far apart, four loose ones, and the rest looser still."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(p, p)))[0]
    values = np.r_[[1e-9, 2e-4], [0.1, 0.15, 0.2, 0.25], rng.uniform(1.0, 3.0, size=p - d)]
    A = (basis * values) @ basis.T
    return np.asarray(0.5 * (A + A.T))


def connected(variances: Floats, floor: float) -> list[list[int]]:
    """The slow twin of `split_levels`: which directions hang together through steps of at most tenfold."""
    counted = np.maximum(variances, floor)
    level = list(range(counted.size))
    for _ in level:
        for i in range(counted.size):
            for j in range(counted.size):
                between = ((counted > min(counted[i], counted[j])) & (counted < max(counted[i], counted[j]))).any()
                if not between and max(counted[i], counted[j]) <= 10.0 * min(counted[i], counted[j]):
                    level[i] = level[j] = min(level[i], level[j])
    groups = [[i for i, of in enumerate(level) if of == name] for name in sorted(set(level))]
    return sorted(groups, key=lambda group: counted[group].min())


# ---- levels


@pytest.mark.parametrize("seed", range(20))
def test_levels_are_what_hangs_together(seed: int) -> None:
    rng = np.random.default_rng(seed)
    variances = 10.0 ** rng.uniform(-6, 1, size=rng.integers(1, 12))
    variances[rng.random(variances.size) < 0.2] = 0.0
    floor = float(10.0 ** rng.uniform(-5, -2))
    assert [level.tolist() for level in split_levels(variances, floor)] == connected(variances, floor)


def test_levels_at_the_edges() -> None:
    as_lists = [level.tolist() for level in split_levels(np.array([50.0, 1.0, 5.0, 1001.0, 500.0]), 0.0)]
    # 1 to 5, to 50, to 500, to 1001: no step is more than tenfold, however far the ends are apart.
    assert as_lists == [[0, 1, 2, 3, 4]]
    assert [level.tolist() for level in split_levels(np.array([10.0, 1.0]), 0.0)] == [[0, 1]]
    assert [level.tolist() for level in split_levels(np.array([10.1, 1.0]), 0.0)] == [[1], [0]]
    # Exact directions, of which rounding may have made anything, are one level; so is a table that does not vary.
    assert [level.tolist() for level in split_levels(np.array([0.5, 1e-30, -1e-18, 0.0]), 1e-3)] == [[1, 2, 3], [0]]
    assert [level.tolist() for level in split_levels(np.zeros(3), 0.0)] == [[0, 1, 2]]


# ---- the rotation


def blocks_of(result: SparseSubspace, A: Floats) -> list[list[int]]:
    """Levels of the sequence's vectors, from A itself; 5e-4 of a typical variance is the least that counts."""
    variances = np.diag(result.kept.T @ A @ result.kept)
    diagonal = np.diag(A)
    return connected(variances, 5e-4 * float(diagonal[diagonal > 0].mean()))


@pytest.mark.parametrize("variant", GROUPED)
@pytest.mark.parametrize("seed", range(4))
def test_each_level_is_rotated_by_itself(variant: str, seed: int) -> None:
    A = of_two_levels(seed)
    result = sparse_subspace(A, 6, 1e-4, variant, rotation="levels")
    blocks = blocks_of(result, A)
    assert [len(block) for block in blocks] == [2, 4]
    # Every column of Q lives on one level, and is what the level's own rotation gives.
    found = []
    for block in blocks:
        inside = result.rotation[block]
        columns = np.flatnonzero(np.abs(inside).max(axis=0) > 0)
        assert columns.size == len(block)
        assert (np.delete(result.rotation[:, columns], block, axis=0) == 0).all()
        alone = sparse_rotation(result.kept[:, block]).loadings
        off = np.abs(np.abs(alone.T @ result.loadings[:, columns]) - 1.0).min(axis=1)
        assert off.max() <= 1e-12
        found += columns.tolist()
    assert sorted(found) == list(range(6))
    assert np.abs(result.loadings.T @ result.loadings - np.eye(6)).max() <= 1e-12
    assert np.abs(result.kept @ result.rotation - result.loadings).max() <= 1e-12
    assert result.verify(A)
    # A rotated basis ascends in variance, so no tight rule stands behind a loose one.
    variances = np.diag(result.loadings.T @ A @ result.loadings)
    assert (np.diff(variances) >= -1e-12).all()


@pytest.mark.parametrize("variant", ["F", "B", *GROUPED])
def test_the_sequence_and_the_span_do_not_depend_on_it(variant: str) -> None:
    A = of_two_levels(5)
    levels, everything = (sparse_subspace(A, 6, 1e-4, variant, rotation=word) for word in ("levels", "all"))
    assert np.array_equal(levels.sequence, everything.sequence)
    assert levels.certificates == everything.certificates
    projector = everything.loadings @ everything.loadings.T
    assert np.abs(levels.loadings @ levels.loadings.T - projector).max() <= 1e-13
    assert np.array_equal(levels.loadings, everything.loadings) == (variant not in GROUPED)
    # Free to mix, the rotation is at least as sparse in the l1 norm; within levels never less so than the sequence.
    assert np.abs(everything.loadings).sum() <= np.abs(levels.loadings).sum() + 1e-9
    assert np.abs(levels.loadings).sum() <= np.abs(levels.kept).sum() + 1e-12


def test_the_paper_rotates_all() -> None:
    A = of_two_levels(3)
    asked = sparse_subspace(A, 6, 1e-4, "BG", rotation="all")
    assert np.array_equal(sparse_subspace(A, 6, 1e-4, "BG").loadings, asked.loadings)
    assert np.abs(asked.loadings).sum() == pytest.approx(sparse_rotation(asked.kept).l1, rel=1e-13)
    assert ASPCA.paper().get_params()["rotation"] == "all"


def test_a_word_that_is_not_known() -> None:
    with pytest.raises(ValueError, match=r"rotation must be one of levels, all, got 'none'\."):
        sparse_subspace(np.eye(3), 1, 0.1, rotation="none")
    with pytest.raises(ValueError, match=r"rotation must be one of levels, all, got 'none'\."):
        check_parameters(ASPCA(rotation="none").get_params())


# ---- what a reader gets


def fitted(**parameters: object) -> ASPCA:
    moments = Moments.from_array(orders())
    return ASPCA(n_components=2, **parameters).fit_moments(moments, feature_names=list(NAMES))  # type: ignore[arg-type]


@pytest.mark.parametrize("variant", GROUPED)
def test_scores_are_those_of_the_whole_rotation(variant: str) -> None:
    X = orders(seed=4)
    levels, everything = (fitted(variant=variant, score="spe", rotation=word) for word in ("levels", "all"))
    assert not np.allclose(levels.components_, everything.components_)
    ours, theirs = -levels.score_samples(X), -everything.score_samples(X)
    assert np.abs(ours - theirs).max() <= 1e-9 * theirs.max()
    assert levels.threshold_ == pytest.approx(everything.threshold_, rel=1e-9)


def test_a_tight_component_is_not_hidden_in_loose_ones() -> None:
    levels, everything = (fitted(score="spe", rotation=word) for word in ("levels", "all"))
    assert ASPCA().get_params()["rotation"] == "levels"
    lowest = np.linalg.eigvalsh(levels.covariance_)[0]
    # The rule that was planted, and nothing else in it; of the mixed ones even the tighter is far looser.
    assert levels.rules_[0].features == ("price", "amount", "cost")
    assert levels.explained_variance_[0] <= 1.01 * lowest
    assert everything.explained_variance_[0] >= 30.0 * lowest
    # An order whose cost is 40 % too high breaks that rule; the mixed ones both hold.
    row = orders(seed=4)[:1]
    row[0, 2] += np.log(1.4)
    why, mixed = levels.explain(row), everything.explain(row)
    assert why.scores == pytest.approx(mixed.scores, rel=1e-9)
    assert why.broken.tolist() == [[True, False]]
    assert not mixed.broken.any()
