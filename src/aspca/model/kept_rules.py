"""How many of the rows that were learned from keep each of the rules that were given."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from aspca.linalg.arrays import Floats, Ints
from aspca.model.model import Model
from aspca.moments.rows import Rows, Travelling


def with_kept_shares(model: Model, rows: Rows, weights: Floats | None = None) -> Model:
    """The same model, with the share of rows, which weights (n,) may count, that keep each rule that was given."""
    given = model.table.given
    if not given:
        return model
    limits = np.sqrt(model.thresholds.rules[: len(given)])
    # How far a row is off what was written, where that is not what it is judged by.
    off = np.array(
        [0.0 if rule.holds else rule.off(model.space.plain) / rule.loading(model.space)[1] for rule in given]
    )
    found = rows.gather(lambda: _Keeping(model, limits, off, weights, np.zeros(off.size), np.zeros(off.size)))
    return replace(model, kept=found.kept / np.where(found.known > 0.0, found.known, 1.0))


@dataclass(eq=False)
class _Keeping(Travelling):
    """How many rows keep each rule (g,), of those of which that is known (g,)."""

    stays = (
        "model",
        "limits",
        "off",
        "weights",
    )

    model: Model
    limits: Floats
    off: Floats
    weights: Floats | None
    kept: Floats
    known: Floats

    def add(self, rows: Floats, numbers: Ints) -> None:
        first = self.model.n_identities
        deviations = self.model.judge(rows).deviations[:, first : first + len(self.off)] + self.off
        counts = np.ones(len(rows)) if self.weights is None else self.weights[numbers]
        self.kept = self.kept + counts @ (np.abs(deviations) <= self.limits)
        self.known = self.known + counts @ ~np.isnan(deviations)

    def merge(self, later: _Keeping) -> None:
        self.kept, self.known = self.kept + later.kept, self.known + later.known
