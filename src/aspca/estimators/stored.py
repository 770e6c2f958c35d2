"""`save` and `load`: a fitted `ASPCA` in a file."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from aspca.estimators.aspca import ASPCA
from aspca.estimators.preprocessor import make_fitted_preprocessor
from aspca.model.model import Model
from aspca.model_file.model_file import PathLike, read_contents, write_model
from aspca.settings import Settings


def save(model: ASPCA, path: PathLike, *, private: bool = False, moments: bool = True) -> None:
    """Save a fitted model as ``model.json``: text, exact, with a checksum, and nothing in it that could run.

    A crash or a full disk leaves an older file of that name as it was.

    Parameters
    ----------
    model : ASPCA
        Fitted.
    path : str or path-like
    private : bool, default=False
        Leave out what belongs to single rows: minima, maxima, quantiles of columns but in coarse steps, and the scores
        of calibration rows. Limits and rules stay the same; scores and p-values are
        coarser, on small tables by a third and more. With ``scaling="maxabs"`` the scale of a
        column is its largest distance from the mean, which is needed to score and gives that one value away; use
        ``"standard"`` where that matters.
    moments : bool, default=True
        Keep the scatter of the features, which `partial_fit` and `t2` need: by far the largest part
        of the file for wide tables.

    See Also
    --------
    aspca.load
    """
    if not isinstance(model, ASPCA):
        raise TypeError(
            f"save takes a fitted ASPCA, got {type(model).__name__}"
            f"{'; save each of its models_ by itself' if hasattr(model, 'models_') else ''}."
        )
    check_is_fitted(model, "model_")
    fitted = _parameters(model.model_.settings)
    given = model.get_params(deep=False)
    changed = [name for name, value in fitted.items() if not _same(given[name], value)]
    if (model.preprocessor is None) != model.model_.preparation.unlifted.plain:
        changed.append("preprocessor")
    if changed:
        raise ValueError(
            f"The parameters {', '.join(changed)} were changed after the fit, so they do not describe this model: fit "
            "again before saving, or set them back."
        )
    naming = "none" if model._names() is None else "given" if model._named_by_hand else "table"
    write_model(model.model_, path, private=private, moments=moments, naming=naming)


def load(path: PathLike) -> ASPCA:
    """A fitted model from a file of `save`: the same parameters, scores, limits, rules and explanations.

    The file is checked field by field, and nothing in it is run. It holds the certificates of the subspace but not
    their proof, so `subspace_.verify` cannot say yes.

    Raises
    ------
    ModelFileError
        A `ValueError`, in one sentence: the file, the field at fault, what is allowed and what to do.
    OSError
        The file cannot be opened.
    """
    contents = read_contents(path)
    return make_estimator(contents.model(), contents.naming)


def make_estimator(model: Model, naming: str) -> ASPCA:
    """The fitted estimator of a model, as if it had been fitted to the rows itself.

    `naming` says whose the columns' names are: a "table"'s, "given" by hand, or "none".
    """
    estimator = ASPCA(**_parameters(model.settings))
    plan = model.preparation
    columns = tuple(column.name for column in plan.columns)
    estimators: list[Any] = [estimator]
    if not plan.unlifted.plain:
        estimator.preprocessor_ = make_fitted_preprocessor(plan)
        estimator.preprocessor = clone(estimator.preprocessor_)
        estimators.append(estimator.preprocessor_)
    for one in estimators:
        one.n_features_in_ = len(columns)
        if naming != "none":
            one.feature_names_in_ = np.array(columns, dtype=object)
    estimator._lifted = plan if plan.lifted and estimator.preprocessor is None else None
    estimator._named_by_hand = naming == "given"
    estimator._take(model)
    return estimator


def _parameters(settings: Settings) -> dict[str, Any]:
    """The constructor's parameters that settings were made from."""
    return {**vars(settings), "rules": list(settings.rules) or None}


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, list | tuple) or isinstance(other, list | tuple):
        return list(one or ()) == list(other or ())
    # numpy does not compare numbers with texts without a word.
    return isinstance(one, str) == isinstance(other, str) and bool(one == other)
