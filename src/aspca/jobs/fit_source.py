"""`aspca.fit_source`: a fitted `ASPCA` of a table wherever it is, read in batches."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from aspca.jobs.detection import Learning
from aspca.jobs.errors import RequestError
from aspca.jobs.progress import Silent
from aspca.jobs.python_errors import in_one_sentence
from aspca.jobs.requests import OPTIONS, Output, in_python, request_of
from aspca.judging.given_text import warn_of_given
from aspca.judging.model import Model

if TYPE_CHECKING:
    from aspca.estimators.aspca import ASPCA

# What belongs to judging and to what is written, and `by`, which makes several models.
_NOT_HERE = (*(field.name for field in fields(Output)), "by")
FIT_OPTIONS: dict[str, Any] = {name: default for name, default in OPTIONS.items() if name not in _NOT_HERE}


@in_one_sentence(in_python)
def fit_source(source: Any, **options: Any) -> ASPCA:
    """Learn the rules of a table wherever it is: what ``aspca fit`` does, as a fitted estimator.

    The same model as `ASPCA.fit` of its rows, but read in batches: the table may be larger than memory.

    Parameters
    ----------
    source : path, list of paths, address, or a table of any library
        Files, globs, folders of Parquet files; ``postgresql://...``, ``duckdb:///file``, ``sqlite:///file``; data
        frames (pandas, polars eager and lazy, Dask, Spark, and what else narwhals knows), arrays and memory maps,
        tables, datasets and streams of pyarrow, whatever has an Arrow C stream, relations of DuckDB.
    calibrate : the same, or None
        Normal rows kept out of the fit, for ``limit="conformal"``.
    id, time, label, ignore, ignore_text, categorical, log, transform, date, number, allow_missing
        What columns are, as in `aspca.detect`; those of `id`, `time` and `label` are no features.
    preset, and all parameters of `ASPCA`
        By name: ``n_components``, ``alpha``, ``limit``, ``level``, ``robust``, ...
    delimiter, encoding, decimal, thousands, missing, date_order, header, table, query, engine, spark_master
        How to read the source; which table of a file or database, or a SELECT whose rows are the table; which engine
        (``"dask"``, ``"spark"``) is to read Parquet files, and where Spark runs.

    Returns
    -------
    ASPCA
        It scores, explains and is saved like any other. ``feature_names_in_`` are the columns that are features; what
        was decided without being asked stands in ``model_.reading``.

    Raises
    ------
    JobError
        What was asked for, or the table, cannot be used: one sentence.

    Examples
    --------
    >>> import numpy as np
    >>> import aspca
    >>> a = np.random.default_rng(0).normal(size=200)
    >>> print(aspca.fit_source(np.column_stack([a, 2 * a])).rules_[0])
    x1 = 2 x0 (exact)
    """
    for name in options:
        if name in _NOT_HERE:
            cure = "use aspca.PerCategory, or fit each part" if name == "by" else "aspca.detect has it"
            raise RequestError(f"fit_source has no option {name!r}, since it makes one model and no more; {cure}.")
    request = request_of(source, **options)
    with ExitStack() as stack:
        learning = Learning.of(request, stack, Silent())
        model = replace(learning.model(), reading=tuple(learning.remarks))
        columns = [column.name for column in learning.source.columns]
    # scikit-learn is for those who want an estimator.
    from aspca.estimators.stored import estimator_of

    warn_of_given(model)
    return estimator_of(model, "none" if _is_nameless(request.source, columns, model) else "table")


def _is_nameless(source: Any, columns: Sequence[str], model: Model) -> bool:
    """Whether rows will come without names: an array, of which no column was left out."""
    array = isinstance(source, np.ndarray) or (isinstance(source, list | tuple) and not isinstance(source[0], str))
    return array and [column.name for column in model.preparation.columns] == list(columns)


def _signature() -> inspect.Signature:
    """Every option by name, for `help` and for editors."""
    plain = list(inspect.signature(fit_source).parameters.values())[:1]
    named = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=FIT_OPTIONS[name]) for name in FIT_OPTIONS]
    return inspect.Signature([*plain, *named], return_annotation="ASPCA")


fit_source.__signature__ = _signature()  # type: ignore[attr-defined]  # a function may have one
