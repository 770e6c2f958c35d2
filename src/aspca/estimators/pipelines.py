"""Explanations of pipelines that end in a model, in the columns and units of what goes in."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from aspca.escaping import quoted
from aspca.estimators.aspca import ASPCA
from aspca.estimators.frames import (
    explain_other_columns,
    get_library,
    get_row_labels,
    read_columns,
    refuse_nameless,
    refuse_odd_shapes,
)
from aspca.estimators.preprocessor import Preprocessor
from aspca.findings.explanation import Explanation
from aspca.linalg.arrays import Bools, Floats, frozen
from aspca.model.model import Model
from aspca.moments.blocks import CONTINUOUS
from aspca.moments.space import ScaledSpace
from aspca.preparation.feature import Feature
from aspca.rules.table import shorten_numbers

# Functions of scikit-learn's FunctionTransformer that rules are written in.
_FUNCTIONS = {None: "number", np.log: "log", np.log1p: "log1p", np.sqrt: "sqrt", np.arcsinh: "asinh"}
# A value that the steps change by more than this, relatively, was not there: an imputer put it in.
_SAME = 1e-6


@dataclass(frozen=True)
class _Column:
    """A column on its way to the model: ``slope`` (above zero) times `feature`, plus `offset`."""

    feature: Feature
    source: int | None = None  # the position of the table's column that `feature` is as it stands
    made_by: str | None = None  # the step whose own units it is in
    slope: float = 1.0
    offset: float = 0.0

    @property
    def untouched(self) -> bool:
        return self.source is not None and self.slope == 1.0 and self.offset == 0.0


def explain(estimator: Any, X: Any) -> Explanation:
    """Why rows (n, p) score what they score by a fitted ASPCA, or by a pipeline of scikit-learn that ends in one.

    Rules, values and what would be normal are told in the columns and units of X, as far as the steps before the model
    only scale, impute or choose columns, also inside a ColumnTransformer. What another step makes, such as the
    directions of a PCA, is called by its `get_feature_names_out`, and a warning says so. A value that an imputer filled
    in is told as missing.

    Parameters
    ----------
    estimator : fitted ASPCA or Pipeline
    X : (n, p) rows
        What goes into the pipeline.

    Returns
    -------
    Explanation
        Its scores are those of ``estimator.score_samples(X)``.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> import aspca
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"flow": rng.normal(50.0, 5.0, size=300)})
    >>> table["power"] = 3.0 * table.flow + rng.normal(size=300)
    >>> pipeline = make_pipeline(StandardScaler(), aspca.ASPCA()).fit(table)
    >>> print(*aspca.explain(pipeline, table).rules)
    power = 3 flow (± 0.97)
    """
    if isinstance(estimator, ASPCA):
        return estimator.explain(X)
    if not isinstance(estimator, Pipeline) or not isinstance(estimator.steps[-1][1], ASPCA):
        raise TypeError(
            f"explain takes a fitted ASPCA, or a pipeline that ends in one, got {type(estimator).__name__}; "
            "PerCategory has its own explain(X)."
        )
    *steps, (_, model) = estimator.steps
    check_is_fitted(model, "model_")
    refuse_odd_shapes(X)
    names = getattr(estimator, "feature_names_in_", None)
    refuse_nameless(X, None if names is None else tuple(map(str, names)))
    given = {column.name: column.numbers for column in read_columns(X)}
    columns = [_Column(Feature(name), j) for j, name in enumerate(given if names is None else map(str, names))]
    sources = [given.get(one.feature.column) for one in columns]
    rows = X
    for label, step in steps:
        if step is not None and step != "passthrough":
            with explain_other_columns(X):
                rows = step.transform(rows)
            columns = _follow(label, step, columns) or _make(label, step, columns, rows.shape[1])
    made = [quoted(one.feature.name) for one in columns if one.made_by is not None]
    if made:
        step = next(one.made_by for one in columns if one.made_by is not None)
        more = f" and {len(made) - 3} more" if len(made) > 3 else ""
        warnings.warn(
            f"The step {step!r} does more than scale, impute or choose columns: {', '.join(made[:3])}{more} are told "
            "as that step makes them, not in the columns and units of X.",
            UserWarning,
            stacklevel=2,
        )
    return _in_terms_of(columns, model, rows, sources, get_row_labels(X, len(rows)), get_library(X))


def _follow(label: str, step: Any, columns: list[_Column]) -> list[_Column] | None:
    """The columns that a step makes of others; None where it does more than scale, impute or choose them."""
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return columns
    if isinstance(step, Pipeline):
        found: list[_Column] | None = columns
        for name, inner in step.steps:
            found = None if found is None else _follow(name, inner, found)
        return found
    if isinstance(step, SelectorMixin):
        return [columns[j] for j in step.get_support(indices=True)]
    if isinstance(step, ColumnTransformer):
        return _follow_parts(label, step, columns)
    if type(step) in (SimpleImputer, KNNImputer):
        return _follow_imputer(step, columns)
    untouched = all(one.untouched for one in columns)
    if isinstance(step, Preprocessor) and untouched:
        places = {one.feature.column: one.source for one in columns}
        features = step.plan_.features
        return [_Column(one, places.get(one.column) if one.kind == "number" else None) for one in features]
    if type(step) is FunctionTransformer:
        kind = _FUNCTIONS.get(step.func)
        if kind == "number":
            return columns
        return [_Column(Feature(one.feature.column, kind)) for one in columns] if kind and untouched else None
    # What a step multiplies columns by, and then adds.
    ones, zeros = np.ones(len(columns)), np.zeros(len(columns))
    if type(step) is MinMaxScaler and not step.clip:
        slopes, offsets = step.scale_, step.min_
    elif type(step) is MaxAbsScaler:
        slopes, offsets = ones / step.scale_, zeros
    elif type(step) in (StandardScaler, RobustScaler):
        centre = step.center_ if type(step) is RobustScaler else step.mean_ if step.with_mean else None
        slopes = ones if step.scale_ is None else ones / step.scale_
        offsets = zeros if centre is None else -centre * slopes
    else:
        return None
    return [
        replace(one, slope=one.slope * slope, offset=one.offset * slope + offset)
        for one, slope, offset in zip(columns, slopes.tolist(), offsets.tolist(), strict=True)
    ]


def _follow_parts(label: str, step: ColumnTransformer, columns: list[_Column]) -> list[_Column]:
    names = _names_out(label, step, max(place.stop for place in step.output_indices_.values()))
    found = [_Column(Feature(name), made_by=label) for name in names]
    known = list(map(str, getattr(step, "feature_names_in_", ())))
    for name, inner, chosen in step.transformers_:
        place = step.output_indices_[name]
        if place.stop > place.start:
            parts = _follow(name, inner, [columns[j] for j in _positions(chosen, known, len(columns))])
            found[place] = found[place] if parts is None else parts
    # A column that goes two ways is itself once; the other keeps the name that the step gives it.
    seen: set[int] = set()
    for k, one in enumerate(found):
        if one.source in seen:
            found[k] = _Column(Feature(names[k]), made_by=label)
        elif one.source is not None:
            seen.add(one.source)
    return found


def _positions(chosen: Any, names: list[str], p: int) -> list[int]:
    """Positions of columns as a ColumnTransformer has them: names, positions, a mask or a slice of either."""
    if isinstance(chosen, slice) and isinstance(chosen.start or chosen.stop, str):
        first = 0 if chosen.start is None else names.index(chosen.start)
        last = p if chosen.stop is None else names.index(chosen.stop) + 1
        return list(range(first, last))
    if isinstance(chosen, slice):
        return list(range(p))[chosen]
    several: list[Any] = [chosen] if isinstance(chosen, str | int) else list(chosen)
    if all(isinstance(one, str) for one in several):
        return [names.index(one) for one in several]
    return [int(j) for j in np.arange(p)[np.asarray(several)]]


def _follow_imputer(step: Any, columns: list[_Column]) -> list[_Column]:
    """What is filled in has its column's units; columns without any value go, and such that mark gaps may be added."""
    named = hasattr(step, "feature_names_in_")
    tokens = [str(name) for name in (step.feature_names_in_ if named else [f"x{j}" for j in range(len(columns))])]
    known = dict(zip(tokens, columns, strict=True))
    found = []
    for name in map(str, step.get_feature_names_out(None if named else tokens)):
        if name in known:
            found.append(known[name])
            continue
        # A name that ends in one of the columns', by what that column is called here.
        token = next((token for token in tokens if name.endswith(f"_{token}")), None)
        shown = name if token is None else name.removesuffix(token) + known[token].feature.name
        found.append(_Column(Feature(shown)))
    return found


def _make(label: str, step: Any, columns: list[_Column], width: int) -> list[_Column]:
    """Features that a step makes in its own units, by the names it gives them."""
    taken = [one.feature.name for one in columns]
    names = _names_out(label, step, width, None if hasattr(step, "feature_names_in_") else taken)
    return [_Column(Feature(f"{label}({name})" if name in taken else name), made_by=label) for name in names]


def _names_out(label: str, step: Any, width: int, inputs: list[str] | None = None) -> list[str]:
    try:
        names = [str(name) for name in step.get_feature_names_out(inputs)]
    except (AttributeError, ValueError):
        names = []
    return names if len(names) == width and len(set(names)) == width else [f"{label}{k}" for k in range(width)]


def _in_terms_of(
    columns: list[_Column],
    model: ASPCA,
    rows: Any,
    sources: list[Floats | None],
    index: Sequence[object],
    library: str,
) -> Explanation:
    """The explanation of rows that went through the steps, in other terms: what judges is as it was."""
    own = model.model_
    if own.preparation.lifted:
        raise ValueError(
            "The model at the end of the pipeline lifts the columns that it gets, and a square of a scaled column is "
            "none of X: ask the model itself, by pipeline[-1].explain(pipeline[:-1].transform(X))."
        )
    if any(feature.kind != "number" for feature in own.space.features) or len(own.space.features) != len(columns):
        raise ValueError(
            "The model at the end of the pipeline prepares columns itself; put its Preprocessor first in the pipeline, "
            "as a step of its own, so that rules can be told in the columns of X."
        )
    seen = np.asarray(model._rows(rows, reset=False, least=1), dtype=np.float64)
    slopes, offsets = np.array([one.slope for one in columns]), np.array([one.offset for one in columns])
    space = _change_units(own, slopes, offsets, [one.feature for one in columns])
    values = (seen - offsets) / slopes
    filled: Bools = np.zeros(values.shape, dtype=np.bool_)
    for k, one in enumerate(columns):
        given = None if one.source is None else sources[one.source]
        if given is not None:
            filled[:, k] = ~np.isclose(given, values[:, k], rtol=_SAME, atol=_SAME * space.scale[k], equal_nan=True)
            # As it stands in the table, without the rounding of the way there and back.
            values[:, k] = np.where(filled[:, k], values[:, k], given)
        if one.feature.kind in ("boolean", "code", "level"):
            # Whole numbers, whatever the way there and back makes of them.
            values[:, k] = np.rint(values[:, k])
    table = own.table
    if table.exact.any() and space.known_covariance is not None:
        # A total of scaled columns has long numbers, which are short again in its own units.
        table, _ = shorten_numbers(table, space)
    exact = tuple(one.change_units(slopes, offsets, space.features, values) for one in own.identities)
    quantiles = own.identities.quantiles
    if quantiles is not None:
        quantiles = (quantiles - offsets[:, None]) / slopes[:, None]
    identities = replace(own.identities, identities=exact, quantiles=quantiles)
    evidence = None if own.evidence is None else own.evidence.seen_in(slopes, offsets)
    translated = replace(own, space=space, table=table, moments=None, identities=identities, evidence=evidence)
    return Explanation(translated, values, own.judge(seen), index, library, filled if filled.any() else None)


def _change_units(model: Model, slopes: Floats, offsets: Floats, features: list[Feature]) -> ScaledSpace:
    """The space of features t of which its own are ``slopes * t + offsets``: scaled rows are the same in both."""
    space, minimum = model.space, None if model.moments is None else model.moments.minimum
    names = [feature.name for feature in features]
    largest = (space.largest + np.abs(offsets)) / slopes
    same = (slopes == 1.0) & (offsets == 0.0)
    positive = False if minimum is None else (minimum - offsets) / slopes >= -_SAME * _SAME * largest
    return replace(
        space,
        # Each by a name of its own.
        features=tuple(
            feature if names.count(feature.name) == 1 else replace(feature, column=f"{feature.column} [{k}]")
            for k, feature in enumerate(features)
        ),
        centre=frozen((space.centre - offsets) / slopes),
        residual=frozen(space.residual / slopes),
        scale=frozen(space.scale / slopes),
        largest=largest,
        nonnegative=np.where(same, space.nonnegative, positive),
        decimals=np.where(same, space.decimals, CONTINUOUS),
    )
