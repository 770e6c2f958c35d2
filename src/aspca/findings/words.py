"""Rows in words: whether they are anomalies, which rules they break, what would be normal; rules that were given."""

from __future__ import annotations

import warnings
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from aspca.escaping import for_terminal, name_text
from aspca.findings.explained import ExplainedRows
from aspca.findings.reasons import (
    ALSO,
    AT_MOST,
    MOSTLY,
    TOLD,
    find_needed_values,
    find_wrong_cells,
    make_cell,
    rank_rules,
    select_outlying_columns,
)
from aspca.findings.values import Value, format_values, value_text
from aspca.identities import Identity
from aspca.linalg.arrays import round_for_ranking
from aspca.rules.rule import Rule

if TYPE_CHECKING:
    from aspca.model.model import Model

# How sure errors are, by the p-value of the least likely violation (CORE 1: one row of 37,349, by 100 tolerances).
_BY_P_VALUE, _LEAST_CONFIDENCE = (("certain", 1e-5), ("very likely", 1e-3)), "likely"
# The same by the score: beyond the threshold of errors one in ten may be none, beyond ten times it one in a hundred.
_BY_SCORE = (("certain", 100.0), ("very likely", 10.0))


def describe_row(why: ExplainedRows, row: int) -> str:
    """A few sentences about a row: first the cells that are not what their columns hold, if there are some."""
    sentences = [f"{str(cell)[0].upper()}{str(cell)[1:]}." for cell in why.bad_cells(row)]
    also = why.threshold is not None and (why.scores[row] > why.threshold or why.broken[row].any())
    return " ".join([*sentences, *([_describe_verdict(why, row)] if not sentences or also else [])])


def _describe_verdict(why: ExplainedRows, row: int) -> str:
    score, anomalies = float(why.scores[row]), why.judgement.anomalies
    flagged = anomalies is not None and bool(anomalies[row])
    broken = [rule for rule in rank_rules(why, row) if why.broken[row, rule]]
    sentences = [_state_verdict(why, row, flagged) + _by_fewer_rules(why, row)]
    if not flagged and not broken and anomalies is not None and why.threshold is not None:
        return sentences[0]
    # Those that make up most of its score.
    reached = np.cumsum(why.shares[row, broken])
    told = min(int(np.searchsorted(reached, TOLD)) + 1, AT_MOST)
    sentences += [_describe_violation(why, row, rule) for rule in broken[:told]]
    if others := [str(why.rules[rule]) for rule in sorted(broken[told:])]:
        more = [f"{len(others) - AT_MOST} more"] if len(others) > AT_MOST else []
        sentences.append(f"It also breaks {_join([*others[:AT_MOST], *more])}.")
    if not broken and (not why.rules or why.outside[row] >= MOSTLY * score > 0.0):
        keeps = "It keeps its rules, but stands out" if why.rules else "It stands out"
        return " ".join([*sentences, f"{keeps}: {_unusual(why, row)}."])
    if not broken:
        sentences.append(_describe_sum(why, row, flagged))
    if why.outside[row] > ALSO * score and row not in why.repairs:
        share = f"{100 * why.outside[row] / score:.0f} % of the score"
        sentences.append(f"Outside its rules it stands out too, {share}: {_unusual(why, row)}.")
    return " ".join(sentences)


def _state_verdict(why: ExplainedRows, row: int, flagged: bool) -> str:
    name = f"Row {for_terminal(why.index[row])}"
    score, threshold, p_values = float(why.scores[row]), why.threshold, why.p_values
    if why.judgement.anomalies is None or threshold is None:
        return f"{name} has a score of {amount(score)}."
    if p_values is None and not flagged:
        if why.broken[row].any():
            return f"{name} keeps within the overall limit (score {amount(score)}), but breaks a rule."
        return f"{name} is normal: score {amount(score)}, limit {amount(threshold)}."
    if p_values is None and row not in why.repairs:
        if score > threshold:
            times = amount(score / max(threshold, 1e-300))
            return f"{name} is an anomaly: score {amount(score)}, {times} times the limit."
        return f"{name} is an anomaly: it breaks a rule (score {amount(score)}, limit {amount(threshold)})."
    p = 0.0 if p_values is None else float(p_values[row])
    if not flagged:
        return f"{name} is normal: p = {amount(p, 2)}."
    if p_values is not None and not why.errors[row]:
        wrong = f" Perhaps {describe_wrong_cells(why, row)}." if row in why.repairs else ""
        return f"{name} is unusual: p = {amount(p, 2)}, one row in {amount(1.0 / p, 2)} is as far out.{wrong}"
    wrong = describe_wrong_cells(why, row) or f"p = {amount(p, 2)}"
    return f"{name} is an error ({rate_confidence(why, row)}): {wrong}."


def rate_confidence(why: ExplainedRows, row: int) -> str:
    """How sure it is that a row is wrong, in words: by how far its score is beyond that of the least sure error."""
    error = why.model.thresholds.error
    if error is not None:
        times = float(why.scores[row]) / max(error, 1e-300)
        return next((word for word, least in _BY_SCORE if times >= least), _LEAST_CONFIDENCE)
    p_values = [
        float(identity.p_values(why.judgement.deviations[[row], k])[0])
        for k, identity in enumerate(why.model.identities)
        if identity.accuses
    ]
    least = min(p_values, default=1.0)
    return next((word for word, most in _BY_P_VALUE if least <= most), _LEAST_CONFIDENCE)


def describe_wrong_cells(why: ExplainedRows, row: int) -> str:
    """Which cells of a row are wrong, and what they should be, as a clause; what is as likely is named as well."""
    options = find_wrong_cells(why, row)
    if row not in why.repairs:
        return "".join(_would_fit(*cell) for cells in options for cell in cells)
    if not options[0]:
        columns = _join([name_text(cells[0][0]) for cells in options[1:]])
        return f"no change of one or two cells among {columns} satisfies the rules it violates"
    columns_named = {column for cells in options for column, _, _ in cells}
    if len(columns_named) == 1 and why.original.features[why.repairs[row].cells[0]].kind == "level":
        return f"{name_text(columns_named.pop())} is none of the values that were seen before"
    told = [" and ".join(_should_be(*cell) for cell in cells) for cells in options[: AT_MOST + 1]]
    return told[0] if len(told) == 1 else f"either {', or '.join(told)}"


def _would_fit(column: str, now: Value, wanted: Value) -> str:
    texts = format_values(now, wanted)
    return f"{name_text(column)} is {texts[0]}, about {texts[1]} would fit"


def _should_be(column: str, now: Value, wanted: Value) -> str:
    texts = format_values(now, wanted)
    return f"{name_text(column)} should be {texts[1]} (not {texts[0]})"


def _describe_violation(why: ExplainedRows, row: int, number: int) -> str:
    rule, deviation = why.rules[number], float(why.deviations[row, number])
    off = rule.breach(deviation)
    if isinstance(rule, Identity):
        return f"It violates {rule}: {off}."
    if rule.has_spread and abs(deviation) < 1e6 * rule.spread:
        off += f", {amount(abs(deviation) / rule.spread, 2)} times its spread"
    verb = "leaves the range" if rule.kind == "range" else "breaks the rule"
    sentence = f"It {verb} {rule}: {off}, {100 * why.shares[row, number]:.0f} % of the score."
    needed = find_needed_values(why, row, number)
    options = [
        f"{name_text(column)} {value_text(wanted)} (not {value_text(now)})"
        for column, (now, wanted) in needed.items()
        if wanted is not None
    ]
    # More than four columns are no advice.
    return f"{sentence} It would hold with {' or '.join(options)}." if options and len(needed) <= 4 else sentence


def _describe_sum(why: ExplainedRows, row: int, flagged: bool) -> str:
    """What an anomaly is that keeps each of its rules; of a row without a verdict what it is off most."""
    # Deviations and not shares: where normal rows that are off one rule are off another too, a row that is not off the
    # other has a large part of its score from there. What never varied has no spread.
    spreads = np.abs(why.judgement.deviations[row]) / np.maximum(why.model.rule_spreads, 1e-150)
    shares = np.where(np.isnan(spreads), 0.0, why.shares[row])
    most = np.argsort(-round_for_ranking(shares), kind="stable")[:2].tolist()
    most = [k for k in most if k == most[0] or shares[k] >= 0.5 * ALSO]
    times = [f" by {spreads[k]:.2g} times its spread" if why.rules[k].has_spread else "" for k in most]
    off = _join([f"off {why.rules[k]}{by}" for k, by in zip(most, times, strict=True)])
    if not flagged:
        return f"It is {off}."
    return f"No rule is broken by itself, but {'small deviations add up' if len(most) > 1 else 'nearly'}: it is {off}."


def _unusual(why: ExplainedRows, row: int) -> str:
    """The columns that stand out, with what was to be expected."""
    return ", ".join(make_cell(why, row, j).text for j in select_outlying_columns(why, row))


def _by_fewer_rules(why: ExplainedRows, row: int) -> str:
    known = ~np.isnan(why.judgement.deviations[row])
    if known.all():
        return ""
    missing = why.original.distinct(np.flatnonzero(np.isnan(why.values[row])).tolist()).tolist()
    names = _join([name_text(why.original.features[j].column) for j in missing])
    verb = "is" if len(missing) == 1 else "are"
    return f" It was judged by {known.sum()} of {len(why.rules)} rules, since {names} {verb} missing."


def amount(value: float, digits: int = 3) -> str:
    """To so many digits, and without an exponent where it is neither huge nor tiny."""
    return f"{value:,.0f}" if 10**digits <= value < 1e7 else f"{value:.{digits}g}"


def _join(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


# ---- rules that the user gave


def describe_given(model: Model) -> tuple[str, ...]:
    """A sentence about each rule that was given: whether it holds in the rows learned from, and in how many."""
    told = [_holds(str(one.written), "holds exactly in", one.share) for one in model.identities if one.given]
    for rule in model.relations:
        standing = rule.standing
        kept = None if standing is None else standing.kept
        if rule.given and standing is not None:
            told.append(_find_fault(model, rule) or ("" if kept is None else _holds(standing.text, "holds in", kept)))
    return tuple(sentence for sentence in told if sentence)


def warn_of_given(model: Model) -> None:
    """Warn of each that does not hold, or says nothing; for methods of estimators, whose callers are warned."""
    for rule in model.relations if model.table.given else ():
        if fault := _find_fault(model, rule):
            warnings.warn(fault, UserWarning, stacklevel=3)


def _find_fault(model: Model, rule: Rule) -> str:
    standing = rule.standing
    if standing is None:
        return ""
    text = for_terminal(standing.text.strip())
    if not standing.holds:
        off = rule.off_by(standing.offset / rule.equation.unit)
        # Of one column it says at which side.
        off = off if len(rule.features) == 1 else f"off by {off}"
        share = "" if standing.kept is None else f", {_per_cent(1.0 - standing.kept)} of them by more than its limit"
        return (
            f"The rule you gave, {text}, does not hold in the rows learned from: they are {off} on average{share}. So "
            f"rows are judged by the level that they have, {rule}; correct the rule, or the rows."
        )
    related = len(rule.features) > 1 and int((rule.deviations > 0.0).sum()) > 1
    # A variance from so many rows is that of unrelated columns within four of its own deviations.
    if related and standing.share >= max(1.0 - 4.0 * sqrt(2.0 / max(model.space.effective_sample_size, 2.0)), 0.5):
        return (
            f"The rule you gave, {text}, says nothing of the rows learned from: its sides differ by as much as those "
            f"of unrelated columns would ({rule})."
        )
    return ""


def _holds(text: str, holds_in: str, share: float) -> str:
    return f"The rule you gave, {for_terminal(text.strip())}, {holds_in} {_per_cent(share)} of the rows learned from."


def _per_cent(share: float) -> str:
    """With as many digits as it takes to tell it from none and from all."""
    if share in (0.0, 1.0):
        return f"{100 * share:.0f} %"
    rest = 100.0 * min(share, 1.0 - share)
    digits = max(0, 1 - int(np.floor(np.log10(rest)))) if rest < 10.0 else 0
    return f"{100 * share:.{min(digits, 6)}f} %"
