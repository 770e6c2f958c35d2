"""How the rules that the user gave stand in the table, in words."""

from __future__ import annotations

import warnings
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from aspca.escaping import for_terminal
from aspca.identities import Identity
from aspca.rules.rule import Rule
from aspca.rules.sentence import off_by

if TYPE_CHECKING:
    from aspca.model.model import Model

# A variance from so many rows is that of unrelated columns within so many of its own deviations.
_DEVIATIONS = 4.0


def remarks_on_given(model: Model) -> tuple[str, ...]:
    """A sentence about each rule that was given: whether it holds in the rows learned from, and in how many."""
    told = [_counted(rule) for rule in model.identities if rule.given]
    told += [_doubt(model, rule) or _kept(rule) for rule in model.relations if rule.given]
    return tuple(sentence for sentence in told if sentence)


def warn_of_given(model: Model) -> None:
    """Warn of each that does not hold, or says nothing; for methods of estimators, whose callers are warned."""
    for rule in model.relations if model.table.given else ():
        if doubt := _doubt(model, rule):
            warnings.warn(doubt, UserWarning, stacklevel=3)


def _doubt(model: Model, rule: Rule) -> str:
    standing = rule.standing
    if standing is None:
        return ""
    text = for_terminal(standing.text.strip())
    if not standing.holds:
        off = off_by(rule, standing.offset / rule.equation.unit)
        # Of one column it says at which side.
        off = off if len(rule.features) == 1 else f"off by {off}"
        share = "" if standing.kept is None else f", {_per_cent(1.0 - standing.kept)} of them by more than its limit"
        return (
            f"The rule you gave, {text}, does not hold in the rows learned from: they are {off} on average{share}. So "
            f"rows are judged by the level that they have, {rule}; correct the rule, or the rows."
        )
    related = len(rule.features) > 1 and int((rule.deviations > 0.0).sum()) > 1
    if related and standing.share >= max(
        1.0 - _DEVIATIONS * sqrt(2.0 / max(model.space.effective_sample_size, 2.0)), 0.5
    ):
        return (
            f"The rule you gave, {text}, says nothing of the rows learned from: its sides differ by as much as those "
            f"of unrelated columns would ({rule})."
        )
    return ""


def _counted(identity: Identity) -> str:
    text, share = for_terminal(str(identity.written).strip()), _per_cent(identity.share)
    return f"The rule you gave, {text}, holds exactly in {share} of the rows learned from."


def _kept(rule: Rule) -> str:
    standing = rule.standing
    if standing is None or standing.kept is None:
        return ""
    text, share = for_terminal(standing.text.strip()), _per_cent(standing.kept)
    return f"The rule you gave, {text}, holds in {share} of the rows learned from."


def _per_cent(share: float) -> str:
    """With as many digits as it takes to tell it from none and from all."""
    if share in (0.0, 1.0):
        return f"{100 * share:.0f} %"
    rest = 100.0 * min(share, 1.0 - share)
    digits = max(0, 1 - int(np.floor(np.log10(rest)))) if rest < 10.0 else 0
    return f"{100 * share:.{min(digits, 6)}f} %"
