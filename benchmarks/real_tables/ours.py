"""What a fitted model makes of a spoiled row, and which identities are among its rules."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from aspca import ASPCA

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
    """The default model, `itself` for rows that it is to judge, as `detect` does; products need no logarithms."""
    with warnings.catch_warnings():
        # What a model says of a table is not what is measured here.
        warnings.simplefilter("ignore")
        return ASPCA(robust="on" if itself else "auto").fit(frame)


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
    blamed = why.names[int(why.feature_contributions[0].argmax())]
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


def _says(table: Table, rule: Any, identity: Identity) -> bool:
    """Whether a rule relates the same columns by coefficients, or exponents of a product, in the same proportion."""
    if set(rule.features) != set(identity.columns):
        return False
    found = _numbers(rule, product=identity.target in table.logs)
    if found is None:
        return False
    ratios = np.array([value / identity.coefficients[name] for name, value in found.items()])
    return bool(np.ptp(ratios) <= _PROPORTIONAL * np.abs(ratios).max())


def _numbers(rule: Any, *, product: bool) -> dict[str, float] | None:
    """Coefficients of a sum by column, or exponents of a product; None where a rule is neither."""
    if rule.kind != "identity":
        return None if product else dict(zip(rule.features, rule.coefficients.tolist(), strict=True))
    formula, names = rule.formula, [feature.name for feature in rule.table]
    left = formula.left.factors[0]
    if product and formula.is_product:
        factors = formula.terms[0].factors
        return {names[left.column]: left.exponent, **{names[one.column]: -one.exponent for one in factors}}
    plain = all(
        len(term.factors) == 1 and term.factors[0][1:3] == ("x", 1.0) for term in (formula.left, *formula.terms)
    )
    if product or not plain:
        return None
    return {names[left.column]: 1.0, **{names[one.factors[0].column]: -one.coefficient for one in formula.terms}}
