"""What other numbers of rules and other alphas would give, for a table from a file."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from aspca.jobs.columns import Roles, refuse_values
from aspca.jobs.errors import JobError
from aspca.jobs.labels import truth_of
from aspca.jobs.prepared_table import prepared
from aspca.jobs.progress import Progress
from aspca.jobs.table import Table, cells_beside
from aspca.preparation import Preparation

if TYPE_CHECKING:
    from aspca.estimators.selection import Selection


def selected(
    table: Table,
    roles: Roles,
    plan: Preparation | None,
    parameters: dict[str, Any],
    n_resamples: int,
    progress: Progress,
) -> Selection:
    """`aspca.select` of a table, which is held in memory for it; returns its `Selection`."""
    # The only job that needs scikit-learn.
    from aspca.estimators.aspca import ASPCA
    from aspca.estimators.preprocessor import Preprocessor
    from aspca.estimators.selection import select

    progress.stage("Reading", table.count())
    parts = []
    gaps = plan is not None and plan.missing == "allow"
    names = roles.features if plan is None else plan.names
    for batch in prepared(table, plan).batches(names):
        refuse_values(table, batch, names, gaps=gaps)
        parts.append(batch.values)
        progress.advance(len(batch.values))
    if sum(map(len, parts)) < 2:
        raise JobError(f"{table.description} has fewer than 2 rows, so nothing can be learned from it; add rows.")
    labels = None if roles.label is None else truth_of(cells_beside(table, roles.label), roles.label)[0]
    progress.stage("Trying numbers of rules and alphas", unit="")
    # By now all columns are numbers; only gaps are left to be prepared for.
    estimator = ASPCA(**parameters, preprocessor=Preprocessor(missing="allow") if gaps else None)
    return select(np.concatenate(parts), labels, estimator=estimator, n_resamples=n_resamples)


def curves_of(selection: Selection) -> list[dict[str, Any]]:
    """One line per choice; `curve` says which curve it belongs to, `chosen` whether it is what auto chooses."""
    curves = (("components", selection.over_components), ("alpha", selection.over_alphas))
    return [
        {"curve": curve, "chosen": one == selection.chosen, **asdict(one)}
        for curve, choices in curves
        for one in choices
    ]
