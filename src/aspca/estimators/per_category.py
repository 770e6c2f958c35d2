"""One model per category: where what is normal differs from one kind of row to another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from aspca.estimators.aspca import ASPCA
from aspca.estimators.frames import (
    explain_other_columns,
    get_frame,
    get_row_labels,
    read_columns,
    refuse_odd_shapes,
    refuse_odd_tables,
    to_array,
)
from aspca.findings.explanation import Explanation
from aspca.linalg.arrays import Floats, Ints
from aspca.preparation.columns import CellError, cell_text
from aspca.rules.rule import AnyRule


class PerCategory(OutlierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A model of its own for each category of a column: rules, scales and limits may all differ.

    Scores are in multiples of the limit of a row's own category, so that rows of all categories can be ranked together.

    Parameters
    ----------
    by : str or int
        The column of categories, by name, or by position in an array. It takes no part in the rules.
    estimator : ASPCA or None, default=None
        What to fit to each category; None is ``ASPCA()``.

    Attributes
    ----------
    models_ : dict of str to ASPCA
        Fitted, by category, in sorted order.
    rules_ : dict of str to tuple of Rule
    offset_ : float
        -1: a row is an anomaly above its category's limit.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from aspca import PerCategory
    >>> rng = np.random.default_rng(0)
    >>> site = np.repeat(["east", "west"], 200)
    >>> table = pd.DataFrame({"site": site, "flow": rng.normal(size=400)})
    >>> table["power"] = np.where(site == "east", 2.0, 3.0) * table.flow
    >>> for category, rules in PerCategory("site").fit(table).rules_.items():
    ...     print(category, *rules)
    east power = 2 flow (exactly, all rows)
    west power = 3 flow (exactly, all rows)
    """

    def __init__(self, by: str | int = 0, estimator: ASPCA | None = None) -> None:
        self.by = by
        self.estimator = estimator

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit a model to the rows of each category, of which there must be at least two; `y` is ignored."""
        template = ASPCA() if self.estimator is None else self.estimator
        if not isinstance(template, ASPCA):
            raise TypeError(f"estimator must be None or an ASPCA, got {type(template).__name__}.")
        models = {}
        for category, rows, part in self._parts(X, reset=True):
            if rows.size < 2:
                raise ValueError(
                    f"Category {category!r} of column {self.by!r} has 1 row (row {rows[0]}), but a model needs at "
                    "least 2: add rows, leave it out, or join it with another category."
                )
            try:
                with _rows_of_whole(rows):
                    models[category] = clone(template).fit(part)
            except ValueError as error:
                raise ValueError(f"Category {category!r} of column {self.by!r}: {error}") from error
        self.models_: dict[str, ASPCA] = models
        self.offset_ = -1.0
        return self

    @property
    def rules_(self) -> dict[str, tuple[AnyRule, ...]]:
        return {category: model.rules_ for category, model in self.models_.items()}

    def score_samples(self, X: Any) -> Floats:
        """Minus the score (n,), in multiples of the limit of each row's category."""
        return self._in_limits(X, ASPCA.score_samples)

    def decision_function(self, X: Any) -> Floats:
        """Negative for anomalies (n,), by the verdict of each row's own model: `score_samples` minus `offset_`."""
        return self._in_limits(X, ASPCA.decision_function)

    def _in_limits(self, X: Any, judge: Callable[[ASPCA, Any], Floats]) -> Floats:
        """What each row's own model says of it (n,), in multiples of that model's limit."""
        check_is_fitted(self, "models_")
        values = np.empty(len(X))
        for category, rows, part in self._parts(X):
            model = self._model(category, rows)
            limit = model.model_.threshold
            # A limit of zero, where nothing varies at all, has no multiples.
            with _rows_of_whole(rows):
                values[rows] = judge(model, part) / (limit if limit > 0.0 else 1.0)
        return values

    def predict(self, X: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
        """+1 for normal rows, -1 for anomalies (n,)."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def explain(self, X: Any) -> dict[str, Explanation]:
        """The explanation of the rows of each category, by category; rows are called as in the whole table."""
        check_is_fitted(self, "models_")
        labels = get_row_labels(X, len(X))
        found = {}
        for category, rows, part in self._parts(X):
            with _rows_of_whole(rows):
                why = self._model(category, rows).explain(part)
            found[category] = replace(why, index=[labels[row] for row in rows])
        return found

    def _model(self, category: str, rows: Ints) -> ASPCA:
        if category not in self.models_:
            known = ", ".join(repr(one) for one in self.models_)
            raise ValueError(
                f"Row {rows[0]} has the category {category!r} in column {self.by!r}, for which there is no model "
                f"(there are {known}): leave such rows out, or fit again with some."
            )
        return self.models_[category]

    def _parts(self, X: Any, *, reset: bool = False) -> Iterator[tuple[str, Ints, Any]]:
        """Categories in sorted order, the rows of each, and these rows without the column of categories."""
        refuse_odd_shapes(X)
        cells = [cell_text(cell) for cell in _column(X, self.by)]
        if not cells:
            raise ValueError("Found array with 0 sample(s), while a minimum of 1 is required.")
        with explain_other_columns(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
        if None in cells:
            raise ValueError(
                f"Column {self.by!r} has no category in row {cells.index(None)} ({cells.count(None)} rows lack one); "
                "fill them, or leave out their rows."
            )
        # What is wrong with a cell names its row in the whole table, so before that is taken apart.
        whole = _without(X, self.by, np.arange(len(cells)))
        if getattr(self.estimator, "preprocessor", None) is None:
            refuse_odd_tables(whole)
        else:
            read_columns(whole)
        categories = np.array(cells, dtype=object)
        for category in sorted(set(cells)):  # type: ignore[type-var]  # None was refused
            rows = np.flatnonzero(categories == category)
            yield str(category), rows, _without(X, self.by, rows)


@contextmanager
def _rows_of_whole(rows: Ints) -> Iterator[None]:
    """A cell that a column's kind is not defined for is named by its row in the whole table, of which `rows` are."""
    try:
        yield
    except CellError as error:
        raise CellError(int(rows[error.row]), error.told) from None


def _column(X: Any, by: str | int) -> list[object]:
    frame = get_frame(X)
    if frame is not None:
        if by not in frame.columns:
            names = ", ".join([str(name) for name in frame.columns][:20])
            raise ValueError(f"by: there is no column {by!r}; the columns are {names}.")
        return list(np.asarray(frame.get_column(by).to_native()).tolist())
    table = to_array(X)
    if not isinstance(by, int | np.integer) or not -table.shape[1] <= by < table.shape[1]:
        raise ValueError(f"by must be a position from 0 to {table.shape[1] - 1} for an array, got {by!r}.")
    return list(table[:, by].tolist())


def _without(X: Any, by: str | int, rows: Ints) -> Any:
    """These rows of a table, without a column."""
    frame = get_frame(X)
    if frame is not None:
        others = [position for position, name in enumerate(frame.columns) if name != by]
        return frame[rows.tolist(), others].to_native()
    rest = np.delete(np.asarray(X)[rows], int(by), axis=1)
    # What was beside texts in one array is numbers again.
    try:
        return rest.astype(np.float64)
    except (ValueError, TypeError):
        return rest
