"""Tables as users have them, made into numbers: categories, logarithms, dates, truth values, gaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from aspca.estimators.frames import RawColumn, explain_other_columns, read_columns, refuse_odd_shapes, refuse_rounding
from aspca.linalg.arrays import Floats
from aspca.preparation import CATEGORIES, MISSING, ColumnPlan, Preparation
from aspca.preparation.columns import cell_text, plan_categories
from aspca.preparation.feature import TRANSFORMS


class Preprocessor(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """What becomes of the columns of a table before rules are sought; as `ASPCA(preprocessor=...)` rules, values and
    repairs are written in the original columns.

    Numbers and decimals stay as they are, truth values are 0 and 1, dates are days since 1970 (UTC where they name no
    zone).

    Parameters
    ----------
    categorical : "auto", sequence of columns, or mapping of column to {"one-hot", "codes"}, default="auto"
        Columns whose values are categories. "one-hot", which a sequence means, makes a feature of every category that
        was fitted, so that one never seen breaks the rule that the column has one of them; "codes" are the paper's
        integers, 0, 1, ... in sorted order. "auto" is every column of text, as "one-hot". Columns of an array are
        called by their positions.
    transforms : mapping of column to {"log", "log1p", "sqrt", "asinh", "logit"}, or None, default=None
        Columns to take a monotone function of. Rules about logarithms are products: ``cost = price * amount``.
    missing : {"error", "allow"}, default="error"
        Whether values may be missing. If so, mean and covariance are the maximum-likelihood estimates of a Gaussian
        from the values that are there, and a row is judged by the rules whose features are all there.

    Attributes
    ----------
    plan_ : Preparation
        What becomes of each column, frozen.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from aspca import ASPCA, Preprocessor
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"price": rng.lognormal(size=300), "amount": rng.lognormal(size=300)})
    >>> table["cost"] = 1.2 * table.price * table.amount
    >>> logs = Preprocessor(transforms=dict.fromkeys(table.columns, "log"))
    >>> print(ASPCA(n_components=1, preprocessor=logs).fit(table).rules_[0])
    cost = 1.2 * price * amount (exactly, all rows)
    """

    def __init__(
        self,
        *,
        categorical: str | Sequence[Any] | Mapping[Any, str] = "auto",
        transforms: Mapping[Any, str] | None = None,
        missing: str = "error",
    ) -> None:
        self.categorical = categorical
        self.transforms = transforms
        self.missing = missing

    def fit(self, X: Any, y: Any = None) -> Self:
        """Decide what becomes of each column of a table (n, columns), and learn its categories; `y` is ignored."""
        refuse_odd_shapes(X)
        columns = read_columns(X)
        validate_data(self, X, reset=True, skip_check_array=True)
        if self.missing not in MISSING:
            raise ValueError(f"missing must be one of {', '.join(MISSING)}, got {self.missing!r}.")
        asked = self._asked([column.name for column in columns])
        self.plan_ = Preparation(tuple(self._plan(column, asked.get(column.name)) for column in columns), self.missing)
        # What cannot be encoded is refused now rather than later.
        self._encoded(columns)
        return self

    def transform(self, X: Any) -> Floats:
        """The features (n, p) of a table with the columns of the fit; NaN where a value is missing."""
        check_is_fitted(self, "plan_")
        refuse_odd_shapes(X)
        columns = read_columns(X)
        with explain_other_columns(X):
            validate_data(self, X, reset=False, skip_check_array=True)
        return self._encoded(columns)

    def _encoded(self, columns: list[RawColumn]) -> Floats:
        plans = self.plan_.columns
        return self.plan_.encode([_cells(column, plan) for column, plan in zip(columns, plans, strict=True)])

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray[Any, np.dtype[np.object_]]:
        """Names of the features, as in ``price``, ``log(price)``, ``days(sent)``, ``code(hue)`` or ``hue is red``."""
        check_is_fitted(self, "plan_")
        return np.array(self.plan_.names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "allow"
        tags.input_tags.categorical = tags.input_tags.string = True
        return tags

    # ---- what is asked for

    def _asked(self, names: list[str]) -> dict[str, str]:
        """The kind asked for, by column."""
        categorical = {} if isinstance(self.categorical, str) else self.categorical
        if isinstance(self.categorical, str) and self.categorical != "auto":
            raise ValueError(
                f'categorical must be "auto", a list of columns, or a mapping from columns to '
                f"{' or '.join(CATEGORIES)}, got {self.categorical!r}."
            )
        if not isinstance(categorical, Mapping):
            categorical = dict.fromkeys(categorical, "one-hot")
        asked: dict[str, str] = {}
        for option, given, allowed in (
            ("categorical", categorical, CATEGORIES),
            ("transforms", self.transforms or {}, tuple(TRANSFORMS)),
        ):
            for key, kind in given.items():
                name = f"x{key}" if isinstance(key, int | np.integer) and f"x{key}" in names else str(key)
                if name not in names:
                    raise ValueError(f"{option}: there is no column {key!r}; the columns are {', '.join(names[:20])}.")
                if kind not in allowed:
                    raise ValueError(f"{option}: column {key!r} must be one of {', '.join(allowed)}, got {kind!r}.")
                if name in asked:
                    raise ValueError(f"Column {key!r} stands in both categorical and transforms; take one of them.")
                asked[name] = kind
        return asked

    def _plan(self, column: RawColumn, asked: str | None) -> ColumnPlan:
        if asked is None and column.kind == "text":
            if self.categorical != "auto":
                raise ValueError(
                    f"Column {column.name!r} holds text ({_example(column)!r}), but rules are made of numbers: name it "
                    "in categorical, or leave it out."
                )
            asked = "one-hot"
        if asked in CATEGORIES:
            levels = {text for cell in column.cells if (text := cell_text(cell)) is not None}
            # Fewer rows than 20 prove nothing about a column of texts that all differ.
            if len(levels) == len(column.cells) >= 20:
                raise ValueError(
                    f"Every value of column {column.name!r} differs ({_example(column)!r} and so on), so it names rows "
                    "rather than categories; leave it out."
                )
            return plan_categories(column.name, asked, levels)
        if asked is not None and column.kind != "number":
            held = {"boolean": "truth values"}.get(column.kind, f"{column.kind}s")
            raise ValueError(f"transforms: {asked} takes numbers, but column {column.name!r} holds {held}.")
        return ColumnPlan(column.name, asked or column.kind)


def make_fitted_preprocessor(plan: Preparation) -> Preprocessor:
    """A preprocessor that was fitted to give this plan."""
    made = Preprocessor(
        categorical={column.name: column.kind for column in plan.columns if column.categorical},
        transforms={column.name: column.kind for column in plan.columns if column.kind in TRANSFORMS} or None,
        missing=plan.missing,
    )
    made.plan_ = plan
    return made


def _cells(column: RawColumn, plan: ColumnPlan) -> Any:
    if plan.categorical:
        return column.cells
    if isinstance(column.cells, np.ndarray) and column.cells.dtype.kind in "iu":
        refuse_rounding(column.cells, repr(column.name))
    nothing = column.numbers is not None and bool(np.isnan(column.numbers).all())
    if not nothing and (column.numbers is None or (column.kind == "date") != (plan.kind == "date")):
        raise ValueError(
            f"Column {column.name!r} holds {column.kind}s ({_example(column)!r}), but held "
            f"{'dates' if plan.kind == 'date' else 'numbers'} when this was fitted; correct the column."
        )
    return column.numbers


def _example(column: RawColumn) -> str:
    return str(next((cell for cell in column.cells if isinstance(cell, str)), column.cells[0]))[:40]
