"""What unrelated columns hold by chance is no rule; what was planted is one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from aspca import ASPCA, Moments
from aspca.moments.accumulator import Rows
from aspca.moments.autocorrelation import LagSums, compute_lag_one_correlation
from aspca.moments.space import ScaledSpace
from aspca.preparation import Feature, Preparation
from aspca.rules.chance import EXCLUDED, bound_chances
from aspca.rules.table import RuleTable, drop_chance_rules, find_rules
from aspca.rules.wording import NO_RELATION, group_by_kind
from aspca.sparse_pca.defaults import count_relations
from zoo import rules_of


def space_of(rows: np.ndarray) -> ScaledSpace:
    moments = Moments.from_array(rows)
    features = Preparation.identity([f"x{j}" for j in range(rows.shape[1])]).features
    pairs = Rows.here(lambda: [rows]).reduce(lambda: LagSums.empty(moments.minimum, moments.maximum))
    return ScaledSpace.of(moments, "maxabs", features, compute_lag_one_correlation(pairs, moments))


def claimed(rows: np.ndarray) -> RuleTable:
    space = space_of(rows)
    return drop_chance_rules(find_rules(space, count_relations(space.covariance)), space)


def relations(table: RuleTable) -> list[tuple[int, ...]]:
    supports = [tuple(np.flatnonzero(column).tolist()) for column in table.loadings.T]
    return [support for support in supports if len(support) > 1]


def chance_of_equality(rows: np.ndarray, first: int = 0, second: int = 1) -> float:
    """Of ``x_first = x_second``, in the columns' own units."""
    space = space_of(rows)
    loading = np.zeros((rows.shape[1], 1))
    loading[first], loading[second] = space.scale[first], -space.scale[second]
    return float(bound_chances(space, loading, np.array([float(np.var(rows[:, first] - rows[:, second])) or 1e-30]))[0])


def autoregression(rng: np.random.Generator, n: int, p: int, r: float) -> np.ndarray:
    rows = rng.normal(size=(n, p))
    for row in range(1, n):
        rows[row] = r * rows[row - 1] + np.sqrt(1.0 - r * r) * rows[row]
    return rows


LAWS: dict[str, Callable[[np.random.Generator, int, int], np.ndarray]] = {
    "gauss": lambda rng, n, p: rng.normal(size=(n, p)),
    "log-normal": lambda rng, n, p: rng.lognormal(size=(n, p)),
    "counts": lambda rng, n, p: rng.poisson(0.5, size=(n, p)).astype(float),
    "coins": lambda rng, n, p: rng.integers(0, 2, size=(n, p)).astype(float),
    "flags": lambda rng, n, p: (rng.random((n, p)) < 0.08).astype(float),
    "slow": lambda rng, n, p: autoregression(rng, n, p, 0.9),
    "walk": lambda rng, n, p: np.cumsum(rng.normal(size=(n, p)), axis=0),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("n", "p"), [(20, 5), (20, 20), (60, 12)])
def test_unrelated_columns_have_no_relation(law: str, n: int, p: int) -> None:
    """At most one draw of twenty claims one: by the promise of 0.95, more would come by in one run of thirteen."""
    draws = [relations(claimed(LAWS[law](np.random.default_rng([seed, n, p]), n, p))) for seed in range(12)]
    assert sum(bool(found) for found in draws) <= 1


@pytest.mark.parametrize("noise", [0.0, 0.001, 0.1])
def test_a_relation_is_claimed_from_three_rows_a_column_on(noise: float) -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(24, 8))
        rows[:, 7] = rows[:, 0] + rows[:, 3] + noise * rng.normal(size=24)
        assert relations(claimed(rows)) == [(0, 3, 7)]


def test_a_loose_pair_among_many_columns_is_claimed() -> None:
    """Where 100 columns of 300 rows have looser directions by chance, the pair itself is what chance does not give."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(300, 100))
    rows[:, 7] = rows[:, 3] + 0.3 * rng.normal(size=300)
    assert relations(claimed(rows)) == [(3, 7)]


def test_flags_that_agree_in_few_rows_are_chance_and_in_many_are_not() -> None:
    for ones, excluded in ((1, False), (2, False), (30, True)):
        rng = np.random.default_rng(0)
        flag = rng.permutation(np.arange(60) < ones)
        others = rng.integers(0, 2, size=(60, 18))
        rows = np.column_stack([flag, flag, others]).astype(float)
        assert (chance_of_equality(rows) <= EXCLUDED) == excluded, ones


def test_one_row_far_out_in_two_columns_relates_nothing() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(100, 6))
    rows[17, :2] = 60.0
    assert chance_of_equality(rows) > EXCLUDED
    rows[:, 1] = rows[:, 0] + 0.1 * rng.normal(size=100)
    assert chance_of_equality(rows) <= EXCLUDED


def test_one_column_with_a_memory_takes_nothing_from_the_others() -> None:
    """A table sorted by a column: what that column is related to is still claimed."""
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(40, 6))
    rows = rows[np.argsort(rows[:, 0])]
    rows[:, 5] = rows[:, 1] + rows[:, 2] + 0.05 * rng.normal(size=40)
    assert relations(claimed(rows)) == [(1, 2, 5)]


def test_slow_columns_that_share_their_quick_motions_are_related() -> None:
    rng = np.random.default_rng(3)
    rows = np.cumsum(rng.normal(size=(300, 6)), axis=0)
    rows[:, 5] = rows[:, 0] + rows[:, 1] + 0.01 * rng.normal(size=300)
    assert relations(claimed(rows)) == [(0, 1, 5)]


def test_the_categories_of_one_column_are_no_chance() -> None:
    rng = np.random.default_rng(0)
    levels = np.eye(3)[rng.integers(0, 3, size=12)]
    moments = Moments.from_array(levels)
    features = tuple(Feature("kind", "level", name, ("a", "b", "c")) for name in "abc")
    space = ScaledSpace.of(moments, "maxabs", features)
    assert bound_chances(space, np.full((3, 1), 3**-0.5), np.array([1e-30])).tolist() == [0.0]


# ---- kinds


def test_a_table_of_noise_has_no_rules_and_says_so() -> None:
    model = ASPCA().fit(np.random.default_rng(0).normal(size=(200, 4)))
    assert model.rules_ == ()
    assert group_by_kind([rule.kind for rule in model.rules_]) == [(NO_RELATION, [])]
    # A number that was asked for is kept.
    assert len(ASPCA(n_components=2).fit(np.random.default_rng(0).normal(size=(200, 4))).rules_) == 2


def test_kinds_are_told_apart() -> None:
    covariance = np.diag([1.0, 1.0, 0.01, 0.0])
    loadings = np.array([[0.8, 0, 0], [-0.6, 0, 0], [0, 1.0, 0], [0, 0, 1.0]])
    rules = rules_of(loadings, np.array([0.0, 0, 2, 7]), np.ones(4), covariance, ("A", "B", "F", "seven"))
    assert [rule.kind for rule in rules] == ["relation", "range", "constant"]
    assert group_by_kind([rule.kind for rule in rules[::-1]]) == [
        ("1 rule that normal rows obey", [2]),
        ("1 column that keeps to a range", [1]),
        ("1 column that never changes", [0]),
    ]
    assert group_by_kind([rule.kind for rule in rules[1:2] * 2]) == [
        (NO_RELATION, []),
        ("2 columns that keep to a range", [0, 1]),
    ]


def test_a_small_term_beside_one_column_is_still_its_range() -> None:
    loadings = np.array([[1e-4], [1.0]])
    (rule,) = rules_of(loadings, np.zeros(2), np.ones(2), np.diag([1.0, 0.01]), ("A", "F"))
    assert str(rule) == "F = 0 (± 0.1)"
    assert rule.kind == "range"
