"""An explanation as the columns of a table: one line per row, rule and feature of the rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from aspca.findings.proposals import Value
from aspca.linalg.arrays import Bools, Ints
from aspca.linalg.ranking import round_for_ranking

if TYPE_CHECKING:
    from aspca.findings.explanation import Explanation


def lines_of(why: Explanation) -> dict[str, Any]:
    """The columns of `to_frame`, without a data-frame library; first what was not what its column holds."""
    bad = [(position, cell) for position in range(len(why)) for cell in why.bad_cells(position)]
    outside = _mostly_outside(why)
    judged = _merged(_judged_lines(why, ~outside), _without_rules(why, np.flatnonzero(outside)))
    if not bad:
        return judged
    rows = np.array([position for position, _ in bad], dtype=np.intp)
    cells = [cell for _, cell in bad]
    nothing = np.full(rows.size, np.nan)
    first: dict[str, Any] = {
        "row": [why.index[row] for row in rows.tolist()],
        "score": why.scores[rows],
        "anomaly": why.anomalies[rows] if why.judgement.anomalies is not None else [None] * rows.size,
        **_graded(why, rows),
        "share_of_rules": why.share_of_rules[rows],
        "outside": np.zeros(rows.size),
        "rule": np.full(rows.size, -1),
        "text": [str(cell) for cell in cells],
        "broken": np.ones(rows.size, dtype=np.bool_),
        "share": np.zeros(rows.size),
        "deviation": nothing,
        "multiple": nothing,
        "feature": [cell.column or "" for cell in cells],
        "value": _column(why, [None] * rows.size),
        "needed": _column(why, [None] * rows.size),
    }
    return {name: _joined(first[name], column) for name, column in judged.items()}


def _graded(why: Explanation, rows: Ints) -> dict[str, Any]:
    """The verdicts on rows and their p-values, where they have any."""
    if why.judgement.p_values is None:
        return {}
    verdicts = why.verdicts
    return {"verdict": [verdicts[row] for row in rows.tolist()], "p_value": why.judgement.p_values[rows]}


def _joined(first: Any, rest: Any) -> Any:
    if isinstance(first, np.ndarray) and isinstance(rest, np.ndarray):
        return np.concatenate([first, rest])
    return [*first, *rest]


def _mostly_outside(why: Explanation) -> Bools:
    """Which rows (n,) keep their rules, and owe most of their score to what lies outside of them."""
    if not why.rules:
        return np.ones(len(why), dtype=np.bool_)
    if why.model.evidence is None:
        return np.zeros(len(why), dtype=np.bool_)
    normal = why.judgement.has_bad_cells & (why.scores <= (why.threshold or 0.0))
    return ~why.broken.any(axis=1) & (why.outside >= 0.5 * why.scores) & ~normal


def _merged(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """The lines of both, by the position of their rows."""
    places = np.concatenate([one.pop("place"), other.pop("place")])
    order = np.argsort(places, kind="stable").tolist()
    merged: dict[str, Any] = {}
    for name, column in one.items():
        both = _joined(column, other[name])
        merged[name] = both[order] if isinstance(both, np.ndarray) else [both[k] for k in order]
    return merged


def _judged_lines(why: Explanation, chosen: Bools) -> dict[str, Any]:
    """The lines of the chosen rows (n,) by rule."""
    listed = why.broken & chosen[:, None] if why.rules else np.zeros((len(why), 0), dtype=np.bool_)
    if why.rules:
        # A row that is normal but for a cell that could not be read has no rule to tell of.
        normal = why.judgement.has_bad_cells & (why.scores <= (why.threshold or 0.0))
        silent = np.flatnonzero(~listed.any(axis=1) & ~normal & chosen)
        listed[silent, round_for_ranking(why.rule_contributions[silent]).argmax(axis=1)] = True
    rows, rules = np.nonzero(listed)
    # Within a row the worst rule first; ties as they are numbered.
    order = np.lexsort((rules, -round_for_ranking(why.rule_contributions[rows, rules]), rows))
    rows, rules = rows[order], rules[order]
    used = [why.shown_features(rule) for rule in range(len(why.rules))]
    sizes = np.array([features.size for features in used], dtype=np.intp)[rules]
    features = np.concatenate([used[rule] for rule in rules]) if rules.size else np.empty(0, dtype=np.intp)
    rows, rules = np.repeat(rows, sizes), np.repeat(rules, sizes)
    texts = [str(rule) for rule in why.rules]
    columns = [feature.column for feature in why.original.features]
    partly = {"share_of_rules": why.share_of_rules[rows]} if why.model.allows_gaps else {}
    outside = np.divide(why.outside, why.scores, out=np.zeros(len(why)), where=why.scores > 0)
    return {
        "place": rows,
        "row": [why.index[row] for row in rows.tolist()],
        "score": why.scores[rows],
        "anomaly": [None] * rows.size if why.judgement.anomalies is None else why.anomalies[rows],
        **_graded(why, rows),
        **partly,
        "outside": outside[rows],
        "rule": rules,
        "text": [texts[rule] for rule in rules.tolist()],
        "broken": why.broken[rows, rules],
        "share": why.shares[rows, rules],
        "deviation": why.deviations[rows, rules],
        "multiple": why.multiples[rows, rules],
        "feature": [columns[feature] for feature in features.tolist()],
        **(_plain_cells if why.original.plain else _cells)(why, rows, rules, features),
    }


def _cells(why: Explanation, rows: Ints, rules: Ints, features: Ints) -> dict[str, Any]:
    """What cells are and would have to be, one by one."""
    cells = list(zip(rows.tolist(), rules.tolist(), features.tolist(), strict=True))
    return {
        "value": [why.original.value(row, j) for row, _, j in cells],
        "needed": [why.needed_value(row, rule, j) for row, rule, j in cells],
    }


def _plain_cells(why: Explanation, rows: Ints, rules: Ints, features: Ints) -> dict[str, Any]:
    """The same, all at once, where every feature is a column as it is."""
    values, deviations = why.values[rows, features], why.judgement.deviations[rows, rules]
    missing = np.isnan(values) if why.filled is None else why.filled[rows, features]
    relations = rules - why.model.n_identities
    some = np.flatnonzero(relations >= 0)
    needed = np.full(rows.size, np.nan)
    needed[some] = why.proposals.wanted_by_all(relations[some], features[some], values[some], deviations[some])
    for line in np.flatnonzero(relations < 0).tolist():
        wanted = why.needed_value(int(rows[line]), int(rules[line]), int(features[line]))
        needed[line] = np.nan if wanted is None else wanted
    return {"value": np.where(missing, np.nan, values), "needed": needed}


def _without_rules(why: Explanation, rows: Ints) -> dict[str, Any]:
    """The same where no rule is the reason: a line for each row, and the column that stands out most."""
    # Split only where there is somebody to ask.
    blame = why.feature_contributions[rows] if rows.size else np.zeros((0, len(why.names)))
    features = round_for_ranking(blame).argmax(axis=1).tolist()
    nothing = np.full(rows.size, np.nan)
    partly = {"share_of_rules": why.share_of_rules[rows]} if why.model.allows_gaps else {}
    cells = list(zip(rows.tolist(), features, strict=True))
    scores = why.scores[rows]
    return {
        "place": rows,
        "row": [why.index[row] for row in rows.tolist()],
        "score": scores,
        "anomaly": [None] * rows.size if why.judgement.anomalies is None else why.anomalies[rows],
        **_graded(why, rows),
        **partly,
        "outside": np.divide(why.outside[rows], scores, out=np.zeros(rows.size), where=scores > 0.0),
        "rule": np.full(rows.size, -1),
        "text": ["outside the rules"] * rows.size,
        "broken": np.zeros(rows.size, dtype=np.bool_),
        "share": np.zeros(rows.size),
        "deviation": nothing,
        "multiple": nothing,
        "feature": [why.original.features[j].column for _, j in cells],
        "value": _column(why, [why.original.value(row, j) for row, j in cells]),
        "needed": _column(why, [None] * rows.size),
    }


def _column(why: Explanation, values: list[Value]) -> Any:
    if not why.original.plain:
        return values
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
