"""Rows as the baselines take them: the same tables, and the same refusals, as `ASPCA`."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import validate_data

from aspca.estimators.tables import refuse_odd_tables
from aspca.moments.validation import value_error, values_allowed


def checked_rows(estimator: Any, X: Any, *, reset: bool, least: int = 1) -> Any:
    """Rows (n, p), n >= `least`, finite and within the range that moments allow; names are kept or compared."""
    refuse_odd_tables(X)
    rows = validate_data(estimator, X, reset=reset, dtype="numeric", ensure_all_finite=False, ensure_min_samples=least)
    if rows.dtype.kind == "f" and not values_allowed(rows.min(axis=0), rows.max(axis=0)):
        raise value_error([rows.T], given_names(estimator))
    return rows


def given_names(estimator: Any) -> tuple[str, ...] | None:
    """Column names of the table fitted to, if it had any."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else tuple(str(name) for name in names)


def shown_names(estimator: Any) -> tuple[str, ...]:
    """Column names, or x0, x1, ... where the table had none."""
    return given_names(estimator) or tuple(f"x{j}" for j in range(estimator.n_features_in_))
