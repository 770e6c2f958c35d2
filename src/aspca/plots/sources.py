"""What may be handed to a plot: a fitted detector with rows, or an explanation of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from aspca.estimators.aspca import ASPCA
from aspca.estimators.pipelines import explain
from aspca.findings.explanation import Explanation
from aspca.linalg.arrays import Bools


def explanation_of(source: Any, X: Any, plot: str) -> Explanation:
    """The explanation given, or that of rows X (n, p) by the model given."""
    if isinstance(source, Explanation):
        if X is not None:
            raise ValueError(f"{plot} got an explanation and rows; an explanation has its own rows, so leave X out.")
        return source
    if not isinstance(find_detector(source), ASPCA):
        raise TypeError(f"{plot} takes a fitted ASPCA and rows, or an aspca.Explanation, got {type(source).__name__}.")
    if X is None:
        raise ValueError(f"{plot} got a model without rows to explain; pass them as X, or pass model.explain(X).")
    return explain(source, X)


def model_of(source: Any, plot: str) -> Any:
    """The model of a fitted ASPCA."""
    if not isinstance(source, ASPCA):
        raise TypeError(f"{plot} takes a fitted ASPCA, got {type(source).__name__}.")
    return source.model_


def find_detector(estimator: Any) -> Any:
    """The detector itself, where it is the end of a scikit-learn pipeline."""
    return estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator


def judge_rows(estimator: Any, X: Any) -> tuple[float | None, Bools | None]:
    """A fitted detector's threshold of the score, and which rows X (n, p) it calls anomalies; None while unknown."""
    detector = find_detector(estimator)
    offset = getattr(detector, "offset_", None)
    threshold = -float(offset) if offset is not None and np.isfinite(offset) else None
    if not hasattr(estimator, "predict"):
        return threshold, None
    if isinstance(detector, ASPCA):
        model = detector.model_
        # Where a limit that decides waits for rows, there is no verdict on any row, such as the mean.
        if model.judge(model.space.mean[None, :]).anomalies is None:
            return threshold, None
    return threshold, np.asarray(np.asarray(estimator.predict(X)) == -1)


def check_count(value: int, name: str) -> int:
    """A number of things to show: at least one."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < 1:
        raise ValueError(f"{name} must be a whole number, at least 1, got {value!r}.")
    return int(value)
