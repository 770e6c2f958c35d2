"""What other numbers of rules and other alphas would give, for a table from a file."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from aspca.jobs.detection import Learning
from aspca.jobs.errors import JobError
from aspca.jobs.labels import truth_of
from aspca.jobs.preparing import refuse_values
from aspca.jobs.tables import prepared

if TYPE_CHECKING:
    from aspca.estimators.selection import Selection


def selected(
    learning: Learning, parameters: dict[str, Any], n_resamples: int, time_budget: float | None = None
) -> Selection:
    """`aspca.select` of a table, which is held in memory for it."""
    # The only job that needs scikit-learn.
    from aspca.estimators.aspca import ASPCA
    from aspca.estimators.preprocessor import Preprocessor
    from aspca.estimators.selection import select

    table, watcher, label = learning.table, learning.watcher, learning.roles.label
    plan = learning.plan(table)
    watcher.stage("Reading", table.count())
    parts = []
    gaps = plan.missing == "allow"
    for batch in prepared(table, plan).batches(plan.names):
        refuse_values(table, batch, plan.names, gaps=gaps)
        parts.append(batch.values)
        watcher.advance(len(batch.values))
    if sum(map(len, parts)) < 2:
        raise JobError(f"{table.description} has fewer than 2 rows, so nothing can be learned from it; add rows.")
    labels = None if label is None else truth_of(table, label)[0]
    watcher.stage("Fitting", unit="")
    told = 0

    def progress(done: int, most: int) -> None:
        nonlocal told
        if not told:
            watcher.stage("Trying numbers of rules and alphas", most, "fits")
        watcher.advance(done - told)
        told = done

    # By now all columns are numbers; only gaps are left to be prepared for.
    estimator = ASPCA(**parameters, preprocessor=Preprocessor(missing="allow") if gaps else None)
    return select(
        np.concatenate(parts),
        labels,
        estimator=estimator,
        n_resamples=n_resamples,
        time_budget=time_budget,
        callback=progress,
    )


def curves_of(selection: Selection) -> list[dict[str, Any]]:
    """One line per choice; `curve` says which curve it belongs to, `chosen` whether it is what auto chooses."""
    curves = (("components", selection.over_components), ("alpha", selection.over_alphas))
    return [
        {"curve": curve, "chosen": choice == selection.chosen, **asdict(choice)}
        for curve, choices in curves
        for choice in choices
    ]
