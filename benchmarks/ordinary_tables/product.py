"""The library as its users call it: `ASPCA().fit`, `explain`, and nothing that is not public."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import pandas as pd

import aspca

from .verdicts import Bools, Verdicts

NAME = "ASPCA"


@dataclass(frozen=True, eq=False)
class Judged:
    """The verdicts on the rows of a table, the model they come from, and the explanation that has their texts."""

    verdicts: Verdicts
    model: aspca.ASPCA
    why: aspca.Explanation


def judge(frame: pd.DataFrame, learned_from: pd.DataFrame | None = None) -> Judged:
    """Fits the rows of `learned_from`, or those of `frame` themselves, and judges the rows of `frame`."""
    learned_from = frame if learned_from is None else learned_from
    gaps = bool(frame.isna().to_numpy().any() or learned_from.isna().to_numpy().any())
    model = aspca.ASPCA(preprocessor=aspca.Preprocessor(missing="allow")) if gaps else aspca.ASPCA()
    start = time.perf_counter()
    model.fit(learned_from)
    fitted = time.perf_counter()
    why = model.explain(frame)
    contributions = np.asarray(why.feature_contributions)
    if contributions.shape != frame.shape:
        raise ValueError(f"contributions are {contributions.shape}, the table is {frame.shape}")
    judged = time.perf_counter()
    verdicts = Verdicts(
        np.asarray(why.scores),
        find_errors(why),
        np.asarray(why.anomalies),
        contributions,
        fitted - start,
        judged - fitted,
    )
    return Judged(verdicts, model, why)


def find_errors(why: aspca.Explanation) -> Bools:
    """The rows classified as error; every anomaly where the library has one class only."""
    return np.asarray(getattr(why, "errors", why.anomalies))
