"""One model, whatever the order and the parts that rows come in: bit for bit, or as near as makes no difference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
import pytest

from aspca import ASPCA
from aspca.model.fit_rows import learn_model
from aspca.model.model import Model
from aspca.moments import IncompleteMoments, Moments
from aspca.moments.accumulator import Blocks, MomentsAccumulator, Rows, numbered
from aspca.preparation import ColumnPlan, Preparation
from aspca.rules.user_rules import parse_formulas
from aspca.settings import DEFAULTS, Settings
from aspca.tables.serialization import deserialize, serialize


def in_parts(parts: Sequence[np.ndarray]) -> Rows:
    """Each part on a machine of its own: tasks are sent as engines send them, and what is found comes back as bytes."""
    starts = np.cumsum([0, *(len(part) for part in parts)])

    def over(task: Callable[[Blocks], Any], merge: Callable[[Any, Any], Any]) -> Any:
        sent = cloudpickle.dumps(task)
        found = [
            deserialize(serialize(cloudpickle.loads(sent)(numbered([part], int(start)))))
            for part, start in zip(parts, starts, strict=False)
        ]
        return deserialize(serialize(reduce(merge, found)))

    return Rows(over, elsewhere=True)


def table(n: int = 4000) -> np.ndarray:
    """An offset of 1e8, a constant, a near double, an exact total, a sum with noise, and gross cells."""
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(n, 9))
    rows[:, 1] += 1e8
    rows[:, 2] = 7.0
    rows[:, 3] = rows[:, 0] + 1e-4 * rng.normal(size=n)
    rows[:, 4:6] = np.round(rng.gamma(2.0, 10.0, size=(n, 2)), 2)
    rows[:, 6] = np.round(rows[:, 4] + rows[:, 5], 2)
    rows[:, 8] = rows[:, 7] + rows[:, 0] + 0.05 * rows[:, 8]
    gross = rng.random(rows.shape) < 0.005
    return np.where(gross, rows + 50.0 * rows.std(axis=0) * rng.normal(size=rows.shape), rows)


def fitted(rows: Rows, n: int, p: int, *, robust: bool, gaps: bool, rules: Sequence[str] = ()) -> Model:
    settings = Settings.of({**DEFAULTS, "robust": "on" if robust else "off", "rules": list(rules) or None})
    names = [f"x{j}" for j in range(p)]
    plan = (
        Preparation(tuple(ColumnPlan(name, "number") for name in names), "allow")
        if gaps
        else Preparation.identity(names)
    )
    if gaps:
        known: Any = rows.reduce(lambda: MomentsAccumulator(IncompleteMoments.empty(p))).moments
    else:
        known = rows.reduce(lambda: MomentsAccumulator(Moments.empty(p))).moments
    if isinstance(known, Moments):
        known = known.rounded()
    return learn_model(rows, known, settings, plan, parse_formulas(settings.rules, plan.features))


cloudpickle = pytest.importorskip("cloudpickle", reason="it comes with the extra dask")


@pytest.mark.parametrize(
    ("robust", "gaps", "rules"),
    [(False, False, ()), (True, False, ()), (True, True, ()), (False, True, ()), (True, False, ("x6 = x4 + x5",))],
)
def test_order_and_parts_do_not_matter(robust: bool, gaps: bool, rules: Sequence[str]) -> None:
    X = table()
    if gaps:
        X[np.random.default_rng(2).random(X.shape) < 0.02] = np.nan
    n, p = X.shape
    whole = fitted(in_parts([X]), n, p, robust=robust, gaps=gaps, rules=rules)
    limit, judged = whole.threshold, whole.judge(X)
    assert judged.anomalies is not None
    for seed in range(2):
        rng = np.random.default_rng(seed)
        order = rng.permutation(n)
        parts = np.split(X[order], np.sort(rng.integers(0, n, 9)))
        other = fitted(in_parts(parts), n, p, robust=robust, gaps=gaps, rules=rules)
        again = other.judge(X)
        assert [str(rule) for rule in other.rules] == [str(rule) for rule in whole.rules]
        # What is exact is found, counted, and judged by bit for bit.
        assert {"x4", "x5", "x6"} in [set(rule.features) for rule in other.identities]
        assert [(one.n_kept, one.n_broken) for one in other.identities] == [
            (one.n_kept, one.n_broken) for one in whole.identities
        ]
        k = other.n_identities
        assert np.array_equal(again.deviations[:, :k], judged.deviations[:, :k], equal_nan=True)
        assert np.array_equal(np.sign(other.table.loadings), np.sign(whole.table.loadings))
        assert abs(other.threshold - limit) <= 1e-12 * limit
        assert (np.abs(again.scores - judged.scores) <= 1e-12 * np.maximum(limit, judged.scores)).all()
        assert np.array_equal(again.anomalies, judged.anomalies)
        assert robust == (whole.excluded is not None)
        if robust:
            assert whole.excluded.cells.any()
            assert whole.excluded.cells.tolist() == other.excluded.cells.tolist()
        if not gaps:
            assert np.array_equal(other.moments.scatter, whole.moments.scatter)


def test_the_estimator_is_the_same_model() -> None:
    X = table(1500)
    for robust in (False, True):
        model = ASPCA(robust="on" if robust else "off").fit(X).model_
        parted = fitted(in_parts(np.array_split(X, 5)), *X.shape, robust=robust, gaps=False)
        assert parted.threshold == pytest.approx(model.threshold, rel=1e-12)
        assert np.array_equal(parted.moments.scatter, model.moments.scatter)
        assert [str(rule) for rule in parted.rules] == [str(rule) for rule in model.rules]
        assert np.array_equal(parted.judge(X).anomalies, model.judge(X).anomalies)


@pytest.mark.parametrize("seed", range(3))
def test_moments_are_the_exact_ones_rounded(seed: int) -> None:
    from fractions import Fraction

    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(500, 3)) * [1.0, 1e-3, 1e5] + [0.0, 1e8 if seed == 0 else 5.0, 0.0]
    rows[::100] *= 30.0
    columns = [[Fraction(value) for value in column] for column in rows.T.tolist()]
    means = [sum(column) / len(column) for column in columns]
    seen = [[value - mean for value in column] for column, mean in zip(columns, means, strict=True)]
    exact = [[float(sum(a * b for a, b in zip(one, other, strict=True))) for other in seen] for one in seen]
    parts = reduce(Moments.merge, [Moments.from_array(part) for part in np.array_split(rng.permutation(rows), 7)])
    for found in (Moments.from_array(rows), parts):
        assert np.array_equal(found.scatter, np.array(exact))
