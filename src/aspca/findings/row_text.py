"""A row in words: whether it is an anomaly, which rules it breaks, what would be normal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from aspca.escaping import for_terminal, name_text
from aspca.findings.original_values import value_text
from aspca.findings.proposals import Value
from aspca.findings.short_reasons import in_column
from aspca.findings.standing_out import unusual_columns
from aspca.identities import Identity
from aspca.identities.wording import number_text
from aspca.linalg.arrays import Ints
from aspca.linalg.ranking import round_for_ranking
from aspca.rules.sentence import breach_of, has_spread

if TYPE_CHECKING:
    from aspca.findings.explanation import Explanation

# A sentence names rules until this share of the score is told, at most so many.
_TOLD = 0.8
_AT_MOST = 3
# And says what each feature would have to be, if there are no more than these.
_FEATURES_TOLD = 4
# What lies outside the rules is told beside broken rules from this share of the score on.
_WORTH_TELLING = 0.2
# How sure errors are, by the p-value of the least likely violation (CORE 1: one row of 37,349, by 100 tolerances).
_CONFIDENCE, _LEAST_CONFIDENCE = (("certain", 1e-5), ("very likely", 1e-3)), "likely"
# The same by the score: beyond the threshold of errors one in ten may be none, beyond ten times it one in a hundred.
_BY_SCORE = (("certain", 100.0), ("very likely", 10.0))


def row_text(why: Explanation, row: int) -> str:
    """A few sentences about a row: first the cells that are not what their columns hold, if there are some."""
    cells = why.bad_cells(row)
    if not cells:
        return _judged_text(why, row)
    sentences = [f"{str(cell)[0].upper()}{str(cell)[1:]}." for cell in cells]
    also = why.threshold is not None and (why.scores[row] > why.threshold or _broken(why, row).size)
    return " ".join([*sentences, *([_judged_text(why, row)] if also else [])])


def _judged_text(why: Explanation, row: int) -> str:
    score, threshold = float(why.scores[row]), why.threshold
    name = f"Row {for_terminal(why.index[row])}"
    broken = _broken(why, row)
    flagged = why.judgement.anomalies is not None and bool(why.judgement.anomalies[row])
    if why.judgement.anomalies is None or threshold is None:
        opening = f"{name} has a score of {amount(score)}."
    elif why.judgement.p_values is not None:
        opening = _graded(why, row, name)
        if not flagged and not broken.size:
            return f"{opening}{_by_fewer_rules(why, row)}"
    elif flagged and row in why.repairs:
        opening = f"{name} is an error ({confidence_of(why, row)}): {wrong_cells_text(why, row)}."
    elif flagged and score > threshold:
        opening = (
            f"{name} is an anomaly: score {amount(score)}, {amount(score / max(threshold, 1e-300))} times the limit."
        )
    elif flagged:
        opening = f"{name} is an anomaly: it breaks a rule (score {amount(score)}, limit {amount(threshold)})."
    elif broken.size:
        opening = f"{name} keeps within the overall limit (score {amount(score)}), but breaks a rule."
    else:
        return f"{name} is normal: score {amount(score)}, limit {amount(threshold)}.{_by_fewer_rules(why, row)}"
    sentences = [opening + _by_fewer_rules(why, row)]
    sentences += [_about(why, row, int(rule)) for rule in broken]
    sentences += _also(why, row, broken)
    if not broken.size and (not why.rules or why.outside[row] >= 0.5 * score > 0.0):
        keeps = "It keeps its rules, but stands out" if why.rules else "It stands out"
        return " ".join([*sentences, f"{keeps}: {_unusual(why, row)}."])
    if not broken.size:
        sentences.append(_no_rule_broken(why, row, flagged))
    if why.outside[row] > _WORTH_TELLING * score and row not in why.repairs:
        share = 100 * why.outside[row] / score
        sentences.append(f"Outside its rules it stands out too, {share:.0f} % of the score: {_unusual(why, row)}.")
    return " ".join(sentences)


def _graded(why: Explanation, row: int, name: str) -> str:
    """The verdict on a row by its p-value."""
    p = float(np.asarray(why.judgement.p_values)[row])
    if not why.anomalies[row]:
        return f"{name} is normal: p = {amount(p, 2)}."
    if not why.errors[row]:
        wrong = f" Perhaps {wrong_cells_text(why, row)}." if row in why.repairs else ""
        return f"{name} is unusual: p = {amount(p, 2)}, one row in {amount(1.0 / p, 2)} is as far out.{wrong}"
    sure = confidence_of(why, row)
    if row in why.repairs:
        return f"{name} is an error ({sure}): {wrong_cells_text(why, row)}."
    if row in why.likely_wrong:
        return f"{name} is an error ({sure}): {likely_wrong_text(why, row)}."
    return f"{name} is an error ({sure}): p = {amount(p, 2)}."


def likely_wrong_text(why: Explanation, row: int) -> str:
    """Which cell of an error is most likely wrong, and what would fit."""
    feature, value = why.likely_wrong[row]
    origin = why.original.features[feature]
    now, wanted = told_apart_texts(why.original.value(row, feature), in_column(origin, value))
    return f"{name_text(origin.column)} is {now}, about {wanted} would fit"


def confidence_of(why: Explanation, row: int) -> str:
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
    return next((word for word, most in _CONFIDENCE if least <= most), _LEAST_CONFIDENCE)


def wrong_cells_text(why: Explanation, row: int) -> str:
    """Which cells of a row are wrong, and what they should be; what is as likely is named as well."""
    repair = why.repairs[row]
    if not repair.cells:
        columns = [name_text(why.original.features[cells[0]].column) for cells, _ in repair.ties]
        return f"no change of one or two cells among {_joined(columns)} satisfies the rules it violates"
    options = [(repair.cells, repair.values), *repair.ties]
    features = [why.original.features[j] for cells, _ in options for j in cells]
    if len({feature.column for feature in features}) == 1 and features[0].kind == "level":
        return f"{name_text(features[0].column)} is none of the values that were seen before"
    told = [_should_be(why, row, cells, values) for cells, values in options[: _AT_MOST + 1]]
    return told[0] if len(told) == 1 else f"either {', or '.join(told)}"


def told_apart_texts(now: Value, wanted: Value) -> tuple[str, str]:
    """Two values, with as many digits as it takes to tell them apart."""
    texts = value_text(now), value_text(wanted)
    if isinstance(now, float) and isinstance(wanted, float) and now != wanted:
        short = [text.removesuffix("…") for text in texts]
        if short[0].startswith(short[1]) or short[1].startswith(short[0]):
            return number_text(now), number_text(wanted)
    return texts


def _should_be(why: Explanation, row: int, cells: Sequence[int], values: Sequence[float]) -> str:
    parts = []
    for j, value in zip(cells, values, strict=True):
        origin = why.original.features[j]
        now, wanted = told_apart_texts(why.original.value(row, j), in_column(origin, value))
        parts.append(f"{name_text(origin.column)} should be {wanted} (not {now})")
    return " and ".join(parts)


def amount(value: float, digits: int = 3) -> str:
    """To so many digits, and without an exponent where it is neither huge nor tiny."""
    return f"{value:,.0f}" if 10**digits <= value < 1e7 else f"{value:.{digits}g}"


def _broken(why: Explanation, row: int) -> Ints:
    """The rules that a row breaks, those that make up most of its score first, and no more than are worth telling."""
    order = np.argsort(-round_for_ranking(why.rule_contributions[row]), kind="stable")
    order = np.asarray(order[why.judgement.broken[row, order]])
    reached = np.cumsum(why.shares[row, order])
    return np.asarray(order[: min(int(np.searchsorted(reached, _TOLD)) + 1, _AT_MOST)], dtype=np.intp)


def _also(why: Explanation, row: int, told: Ints) -> list[str]:
    """The other rules that the row breaks, in one sentence."""
    others = [int(k) for k in np.flatnonzero(why.judgement.broken[row]) if k not in told]
    if not others:
        return []
    named = [str(why.rules[k]) for k in others[:_AT_MOST]]
    more = [f"{len(others) - len(named)} more"] if len(others) > len(named) else []
    return [f"It also breaks {_joined([*named, *more])}."]


def _joined(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _no_rule_broken(why: Explanation, row: int, flagged: bool) -> str:
    """What an anomaly is that keeps each of its rules; of a row without a verdict what it is off most."""
    # Deviations and not shares: where normal rows that are off one rule are off another too, a row that is not off the
    # other has a large part of its score from there.
    # What never varied has no spread.
    spreads = np.abs(why.judgement.deviations[row]) / np.maximum(why.model.rule_spreads, 1e-150)
    shares = np.where(np.isnan(spreads), 0.0, why.shares[row])
    most = np.argsort(-round_for_ranking(shares), kind="stable")[:2].tolist()
    most = [k for k in most if k == most[0] or shares[k] >= 0.5 * _WORTH_TELLING]
    times = [f" by {spreads[k]:.2g} times its spread" if has_spread(why.rules[k]) else "" for k in most]
    off = _joined([f"off {why.rules[k]}{by}" for k, by in zip(most, times, strict=True)])
    if not flagged:
        return f"It is {off}."
    return f"No rule is broken by itself, but {'small deviations add up' if len(most) > 1 else 'nearly'}: it is {off}."


def _unusual(why: Explanation, row: int) -> str:
    """The columns that stand out, with what was to be expected."""
    return ", ".join(one.text for one in unusual_columns(why, row))


def _by_fewer_rules(why: Explanation, row: int) -> str:
    known = ~np.isnan(why.judgement.deviations[row])
    if known.all():
        return ""
    missing = np.flatnonzero(np.isnan(why.values[row]))
    columns = [why.original.features[j].column for j in why.original.distinct(missing)]
    names = _joined([name_text(column) for column in columns])
    verb = "is" if len(columns) == 1 else "are"
    return f" It was judged by {known.sum()} of {len(why.rules)} rules, since {names} {verb} missing."


def _about(why: Explanation, row: int, rule: int) -> str:
    told = why.rules[rule]
    deviation = float(why.deviations[row, rule])
    off = breach_of(told, deviation)
    if isinstance(told, Identity):
        return f"It violates {told}: {off}."
    if has_spread(told) and abs(deviation) < 1e6 * told.spread:
        off += f", {amount(abs(deviation) / told.spread, 2)} times its spread"
    verb = "leaves the range" if told.kind == "range" else "breaks the rule"
    sentence = f"It {verb} {told}: {off}, {100 * why.shares[row, rule]:.0f} % of the score."
    shown = why.shown_features(rule)
    needed = why.needed_at(row, rule)
    columns = [(j, why.original.features[j].column) for j in shown.tolist()]
    options = [
        f"{name_text(column)} {value_text(wanted)} (not {value_text(why.original.value(row, j))})"
        for j, column in columns
        if (wanted := needed[column]) is not None
    ]
    if options and shown.size <= _FEATURES_TOLD:
        sentence += f" It would hold with {' or '.join(options)}."
    return sentence
