"""What an estimator takes in: tables made into rows of numbers, by its preprocessor if it has one."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from aspca.estimators.frames import explain_other_columns, get_frame, refuse_odd_tables
from aspca.estimators.preprocessor import Preprocessor
from aspca.moments.accumulator import Rows
from aspca.moments.blocks import slice_rows
from aspca.moments.validation import check_weights, make_value_error, values_allowed
from aspca.preparation import Preparation
from aspca.preparation.lifting import add_transforms


class TableInput:
    """Mixin: `_rows` checks a table and makes it into features; for estimators with `preprocessor` and `lift`."""

    preprocessor: Preprocessor | None
    lift: str | None
    # What becomes of the columns where they are lifted, and there is no preprocessor to say it.
    _lifted: Preparation | None = None
    n_features_in_: int
    _named_by_hand: bool

    def _rows_to_judge(self, X: Any) -> Any:
        check_is_fitted(self, "model_")
        return self._rows(X, reset=False, least=1)

    def _rows(self, X: Any, *, reset: bool, least: int, sample_weight: Any = None) -> Any:
        if reset:
            self._named_by_hand, self._lifted = False, None
        with explain_other_columns(X):
            if self.preprocessor is not None:
                return self._prepared(X, reset, least, sample_weight)
            refuse_odd_tables(X)
            if not reset and self._named_by_hand and get_frame(X) is None:
                return self._nameless_rows(X)
            finite = {"ensure_all_finite": False, "ensure_min_samples": least, "accept_sparse": False}
            rows = validate_data(self, X, reset=reset, dtype="numeric", **finite)
        if reset and self.lift is None:
            return rows
        rows = self._allowed(rows, self._names())
        if reset:
            self._lifted = _lifted(self._preparation, rows, sample_weight)
        return rows if self._lifted is None else self._lifted.encode(list(rows.T))

    def _prepared(self, X: Any, reset: bool, least: int, sample_weight: Any) -> Any:
        if reset:
            if not isinstance(self.preprocessor, Preprocessor):
                raise TypeError(f"preprocessor must be None or an aspca.Preprocessor, got {self.preprocessor!r}.")
            self.preprocessor_ = clone(self.preprocessor).fit(X)
            if self.lift is not None:
                plan = self.preprocessor_.plan_
                self.preprocessor_.plan_ = _lifted(plan, self.preprocessor_.transform(X), sample_weight)
        rows = self.preprocessor_.transform(X)
        validate_data(self, X, reset=reset, skip_check_array=True)
        if len(rows) < least:
            raise ValueError(f"Found array with {len(rows)} sample(s), while a minimum of {least} is required.")
        return rows if reset else self._allowed(rows, self._feature_names())

    def _nameless_rows(self, X: Any) -> Any:
        """Rows without names for a model whose names were handed to fit_moments: their order is taken on trust."""
        X = check_array(X, dtype="numeric", ensure_all_finite=False)
        if X.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {X.shape[1]} features, but ASPCA is expecting {self.n_features_in_} features.")
        return self._allowed(X, self._names())

    def _allowed(self, X: Any, names: tuple[str, ...] | None) -> Any:
        """Moments check the rows they take in; rows to be scored are checked here."""
        if X.dtype.kind != "f":
            return X
        # Where values may be missing, zero stands in for them.
        given = np.nan_to_num(X, nan=0.0, posinf=np.inf, neginf=-np.inf) if self._allows_gaps else X
        if not values_allowed(given.min(axis=0), given.max(axis=0)):
            raise make_value_error([given.T], names)
        return X

    @property
    def _preparation(self) -> Preparation:
        """What becomes of the columns."""
        if self.preprocessor is not None:
            plan: Preparation = self.preprocessor_.plan_
            return plan
        return self._lifted or Preparation.identity(self._names() or (f"x{j}" for j in range(self.n_features_in_)))

    @property
    def _allows_gaps(self) -> bool:
        return self.preprocessor is not None and self.preprocessor_.plan_.missing == "allow"

    def _names(self) -> tuple[str, ...] | None:
        """The columns' names, if they have any."""
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else tuple(str(name) for name in names)

    def _feature_names(self) -> tuple[str, ...] | None:
        """The features' names, if they have any."""
        plain = self.preprocessor is None and self._lifted is None
        return self._names() if plain else self._preparation.names


def rows_in_parts(X: Any) -> Rows:
    """Rows (n, p) in parts, as fits take them."""
    slices = list(slice_rows(*X.shape))
    return Rows.here(lambda: (np.asarray(X[rows], dtype=np.float64) for rows in slices))


def _lifted(preparation: Preparation, rows: Any, sample_weight: Any) -> Preparation:
    weights = None if sample_weight is None else check_weights(sample_weight, len(rows))
    return add_transforms(preparation, np.asarray(rows, dtype=np.float64), weights)
