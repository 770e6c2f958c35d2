"""What a fitted model makes of a spoiled row, and which identities are among its rules."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from aspca import ASPCA, Preprocessor

from .spoiling import Case
from .table import Floats, Identity, Table

# Coefficients of a rule are the identity's if their ratios agree within this.
_PROPORTIONAL = 0.01


@dataclass(frozen=True)
class Verdict:
    """One case: `first` among all rows of the table; `value` is None where no single cell would make it right."""

    flagged: bool
    first: bool
    rank: int
    listed: bool
    top_rule: bool
    any_rule: bool
    column: bool
    value: bool | None
    text: str


def fitted(table: Table, frame: pd.DataFrame, *, itself: bool = False) -> ASPCA:
    """The default model, `itself` for rows that it is to judge, as `detect` does; logarithms for products."""
    transforms = dict.fromkeys(table.logs, "log")
    with warnings.catch_warnings():
        # What a model says of a table is not what is measured here.
        warnings.simplefilter("ignore")
        preprocessor = Preprocessor(transforms=transforms) if transforms else None
        return ASPCA(robust="on" if itself else "auto", preprocessor=preprocessor).fit(frame)


def rule_of(table: Table, identity: Identity, rules: tuple[Any, ...]) -> Any | None:
    """The first of the rules that says what the identity says."""
    return next((rule for rule in rules if _says(table, rule, identity)), None)


def scores(model: ASPCA, frame: pd.DataFrame) -> Floats:
    return -np.asarray(model.score_samples(frame), dtype=np.float64)


def verdict(table: Table, case: Case, model: ASPCA, others: Floats) -> Verdict:
    """`others` (n,) are the scores of the table's rows, the spoiled one left out."""
    row = case.spoiled_row(table)
    score = float(scores(model, row)[0])
    rank = 1 + int((others >= score).sum())
    why = model.explain(row)
    identity = table.identities[case.identity]
    top = int(why.rule_contributions[0].argmax())
    broken = [int(k) for k in np.flatnonzero(why.broken[0])]
    blamed = _column(table, why.names[int(why.feature_contributions[0].argmax())])
    # A cell may break several identities: each of them is a right reason.
    concerned = [one for one in table.identities if set(one.columns) & set(case.changes)]
    told = dict.fromkeys([top, *broken])
    return Verdict(
        flagged=bool(np.asarray(model.predict(row))[0] == -1),
        first=rank == 1,
        rank=rank,
        listed=rule_of(table, identity, model.rules_) is not None,
        top_rule=any(_says(table, why.rules[top], one) for one in concerned),
        any_rule=any(_says(table, why.rules[k], identity) for k in broken),
        column=blamed in case.changes,
        value=_value(table, case, why, list(told)) if len(case.changes) == 1 else None,
        text=str(why[0].text),
    )


def _value(table: Table, case: Case, why: Any, rules: list[int]) -> bool:
    """Whether one of the rules that are told proposes the original value of the spoiled cell, to its resolution."""
    (column,) = case.changes
    original = float(table.frame[column].iloc[case.row])
    allowed = table.resolution(table.identities[case.identity], column, original)
    proposals = [why[0].needed(rule).get(column) for rule in rules]
    return any(proposal is not None and abs(float(proposal) - original) <= allowed for proposal in proposals)


def _column(table: Table, feature: str) -> str:
    """The column a feature is made of."""
    return {f"log({name})": name for name in table.logs}.get(feature, feature)


def _features(table: Table, rule: Any) -> set[str]:
    return {_column(table, name) for name in rule.features}


def _says(table: Table, rule: Any, identity: Identity) -> bool:
    if _features(table, rule) != set(identity.columns):
        return False
    found = zip(rule.features, rule.coefficients, strict=True)
    ratios = np.array([value / identity.coefficients[_column(table, name)] for name, value in found])
    return bool(np.ptp(ratios) <= _PROPORTIONAL * np.abs(ratios).max())
