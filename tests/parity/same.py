"""What it means that two fits are the same, and what moments really are."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np

from aspca import ASPCA, Preprocessor
from aspca.identities import Identity
from aspca.identities.localize import apply_repairs, localize
from aspca.moments import Moments
from aspca.pipeline.passes import read_features
from aspca.pipeline.sources import open_table
from aspca.tables.request import ReadOptions
from parity.table import parity_rows

TOLERANCE = 1e-12
SCORES = 1e-9


def two_pass(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean (p,) and scatter (p, p) of rows without gaps by NumPy's two passes, in extended precision."""
    wide = rows.astype(np.longdouble)
    mean = wide.mean(axis=0)
    centred = wide - mean
    return mean, centred.T @ centred


def fitted_to(rows: np.ndarray, *, gaps: bool = False, **parameters: Any) -> ASPCA:
    """The reference: `ASPCA.fit` of the array."""
    return ASPCA(**parameters, preprocessor=Preprocessor(missing="allow") if gaps else None).fit(rows)


@cache
def reference(gaps: bool, robust: str) -> ASPCA:
    """The reference of the table that all sources hold."""
    return fitted_to(parity_rows(gaps=gaps), gaps=gaps, robust=robust)


def assert_same_moments(moments: Moments, mean: np.ndarray, scatter: np.ndarray, within: float = TOLERANCE) -> None:
    """Entrywise, relative to the spread of the two columns."""
    spread = np.sqrt(np.diagonal(scatter).astype(float))
    # A constant has none; its scatter must be none as well.
    scale = np.outer(spread, spread)
    assert np.all(np.abs(moments.scatter - scatter) <= within * scale)
    assert np.all(np.abs(moments.mean - mean) <= within * spread + np.spacing(np.abs(mean).astype(float)))


def assert_learned_from(model: ASPCA, rows: np.ndarray) -> None:
    """The moments of the free columns are those of these rows without gaps, their wrong cells repaired."""
    identities = model.model_.identities
    free = np.setdiff1d(np.arange(rows.shape[1]), identities.determined)
    mean, scatter = two_pass(apply_repairs(rows, localize(identities, rows))[:, free])
    assert_same_moments(model.moments_.only(free), mean, scatter)


def assert_same_model(model: ASPCA, reference: ASPCA, names: Any, within: float = SCORES) -> None:
    """The same rules in the same order and with the same signs, of the same moments, with the same limits."""
    # What is missing is estimated step by step, until a step changes little.
    estimated = model.model_.allows_gaps and within > SCORES
    expected = reference.moments_
    assert_same_moments(model.moments_, expected.mean, expected.scatter, 1e-11 if estimated else TOLERANCE)
    assert model.n_components_ == reference.n_components_
    assert [str(rule) for rule in model.rules_] == [_renamed(str(rule), names) for rule in reference.rules_]
    for one, other in zip(model.rules_, reference.rules_, strict=True):
        if isinstance(other, Identity):
            assert_same_identity(one, other)
            continue
        np.testing.assert_allclose(
            one.coefficients, other.coefficients, rtol=0, atol=1e-9 * np.abs(other.coefficients).max()
        )
    assert model.model_.identities.determined == reference.model_.identities.determined
    assert abs(model.threshold_ - reference.threshold_) <= within * reference.threshold_


def assert_same_identity(one: Identity, other: Identity) -> None:
    """The same formula to the last digit, and the same rows that satisfy and violate it."""
    assert one.formula == other.formula
    assert one.resolutions == other.resolutions
    told = "n_kept", "n_broken", "tier", "strict", "exceptions", "accuses"
    assert [getattr(one, name) for name in told] == [getattr(other, name) for name in told]


def assert_same_scores(
    model: ASPCA, source: Any, reference: ASPCA, rows: np.ndarray, within: float = SCORES, **reading: Any
) -> None:
    """The same scores and verdicts of all rows, read from the source by the model that was learned from it."""
    expected = reference.model_.judge(rows)
    scores, verdicts = judged_at(model, source, **reading)
    limit = reference.threshold_
    # A score of many limits has no more digits than one of a few.
    assert np.all(np.abs(scores - expected.scores) <= within * np.maximum(limit, expected.scores))
    assert np.array_equal(verdicts, expected.anomalies)


def judged_at(model: ASPCA, source: Any, **reading: Any) -> tuple[np.ndarray, np.ndarray]:
    """Scores and verdicts of the rows of a source, in the batches that it gives."""
    plan = model.model_.preparation
    with open_table(source, ReadOptions(**reading), "the table") as table:
        assert set(plan.types) <= {column.name for column in table.columns}
        found = [model.model_.judge(batch.values) for batch in read_features(table, plan)]
    return np.concatenate([one.scores for one in found]), np.concatenate([one.anomalies for one in found])


def _renamed(rule: str, names: Any) -> str:
    """A rule of x0, x1, ... in the names of the table."""
    return re.sub(r"\bx(\d+)\b", lambda match: names[int(match[1])], rule)
