"""Explanations as the columns of a table, as a data frame, and as small tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from aspca.escaping import for_html, for_terminal
from aspca.findings.explained import ExplainedRows
from aspca.findings.reasons import MOSTLY
from aspca.findings.values import Value
from aspca.findings.words import amount, describe_row
from aspca.linalg.arrays import Bools, Floats, Ints, round_for_ranking
from aspca.rules.rule import AnyRule
from aspca.rules.wording import group_by_kind


def make_lines(why: ExplainedRows) -> dict[str, Any]:
    """The columns of `Explanation.to_frame`, without a data-frame library.

    First a line for each cell that was not what its column holds; then by row, for each of its rules a line for each
    feature, or, where no rule is the reason, one for the column that stands out most.
    """
    bad = [(position, cell) for position in range(len(why)) for cell in why.bad_cells(position)]
    rows, rules, features = _judged_lines(why)
    rows = np.concatenate([np.array([position for position, _ in bad], dtype=np.intp), rows])
    rules = np.concatenate([np.full(len(bad), -1), rules])
    features = np.concatenate([np.full(len(bad), -1), features])
    unread, of_rule = features < 0, rules >= 0

    def of_rules(numbers: npt.NDArray[Any], otherwise: float | bool) -> npt.NDArray[Any]:
        found = np.full(rows.size, otherwise)
        found[of_rule] = numbers[rows[of_rule], rules[of_rule]]
        return found

    columns = [feature.column for feature in why.original.features]
    cells = [(cell.column or "", str(cell)) for _, cell in bad]
    texts = [*map(str, why.rules), "outside the rules"]
    outside = np.divide(why.outside, why.scores, out=np.zeros(len(why)), where=why.scores > 0)
    verdicts = why.verdicts
    return {
        "row": [why.index[row] for row in rows.tolist()],
        "score": why.scores[rows],
        "anomaly": [None] * rows.size if why.judgement.anomalies is None else why.anomalies[rows],
        **({} if why.p_values is None else {"verdict": [verdicts[row] for row in rows.tolist()]}),
        **({} if why.p_values is None else {"p_value": why.p_values[rows]}),
        **({"share_of_rules": why.share_of_rules[rows]} if why.model.allows_gaps else {}),
        "outside": np.where(unread, 0.0, outside[rows]),
        "rule": rules,
        "text": [*(text for _, text in cells), *(texts[rule] for rule in rules[len(bad) :].tolist())],
        "broken": of_rules(why.broken, False) | unread,
        "share": of_rules(why.shares, 0.0),
        "deviation": of_rules(why.deviations, np.nan),
        "multiple": of_rules(why.multiples, np.nan),
        "feature": [*(column for column, _ in cells), *(columns[j] for j in features[len(bad) :].tolist())],
        "value": _values(why, rows, features),
        "needed": _needed_values(why, rows, rules, features),
    }


def _judged_lines(why: ExplainedRows) -> tuple[Ints, Ints, Ints]:
    """Rows, rules (-1: none) and features of the lines, by row, within a row the worst rule first."""
    lawful, normal = _mostly_outside(why)
    listed = why.broken & ~lawful[:, None]
    # Of a row that breaks none the largest; one that is normal but for a cell that could not be read has none to tell.
    silent = np.flatnonzero(~listed.any(axis=1) & ~normal & ~lawful)
    if silent.size:
        listed[silent, round_for_ranking(why.rule_contributions[silent]).argmax(axis=1)] = True
    rows, rules = np.nonzero(listed)
    # Ties as they are numbered.
    order = np.lexsort((rules, -round_for_ranking(why.rule_contributions[rows, rules]), rows))
    rows, rules = rows[order], rules[order]
    used = {rule: why.shown_features(rule) for rule in np.unique(rules).tolist()}
    sizes = np.array([used[rule].size for rule in rules.tolist()], dtype=np.intp)
    alone = np.flatnonzero(lawful)
    # Split only where there is somebody to ask.
    parts = why.feature_contributions[alone] if alone.size else np.zeros((0, 1))
    rows = np.concatenate([np.repeat(rows, sizes), alone])
    features = np.concatenate([*(used[rule] for rule in rules.tolist()), round_for_ranking(parts).argmax(axis=1)])
    rules = np.concatenate([np.repeat(rules, sizes), np.full(alone.size, -1)])
    order = np.argsort(rows, kind="stable")
    return rows[order], rules[order], features[order].astype(np.intp)


def _mostly_outside(why: ExplainedRows) -> tuple[Bools, Bools]:
    """Which rows (n,) keep their rules, and owe most of their score to what lies outside of them; and which are normal
    but for a cell that could not be read."""
    normal = why.judgement.has_bad_cells & (why.scores <= (why.threshold or 0.0))
    if not why.rules:
        return np.ones(len(why), dtype=np.bool_), normal
    if why.model.evidence is None:
        return np.zeros(len(why), dtype=np.bool_), normal
    return ~why.broken.any(axis=1) & (why.outside >= MOSTLY * why.scores) & ~normal, normal


def _values(why: ExplainedRows, rows: Ints, features: Ints) -> list[Value] | Floats:
    """The cells of lines; NaN or None where they are missing."""
    if not why.original.plain:
        places = zip(rows.tolist(), features.tolist(), strict=True)
        return [None if j < 0 else why.original.value(row, j) for row, j in places]
    missing = features < 0 if why.filled is None else (features < 0) | why.filled[rows, features]
    return np.where(missing, np.nan, why.values[rows, features])


def _needed_values(why: ExplainedRows, rows: Ints, rules: Ints, features: Ints) -> list[Value] | Floats:
    """What cells would have to be for the rules of their lines to hold, rule by rule and feature by feature."""
    plain, first = why.original.plain, why.model.n_identities
    found: Any = np.full(rows.size, np.nan) if plain else [None] * rows.size
    for line in np.flatnonzero((rules >= 0) & (rules < first)).tolist():
        value = why.needed_value(int(rows[line]), int(rules[line]), int(features[line]))
        found[line] = np.nan if plain and value is None else value
    some = np.flatnonzero(rules >= first)
    order = some[np.lexsort((features[some], rules[some]))]
    edges = np.flatnonzero(np.diff(rules[order]) | np.diff(features[order])) + 1
    for those in np.split(order, edges) if order.size else ():
        rule, j = int(rules[those[0]]), int(features[those[0]])
        values, deviations = why.values[rows[those], j], why.judgement.deviations[rows[those], rule]
        wanted = why.proposals.wanted(rule - first, j, values, deviations)
        if plain:
            found[those] = wanted
            continue
        for line, value in zip(those.tolist(), wanted.tolist(), strict=True):
            found[line] = why.proposals.original(j, value, rule - first)
    return cast("list[Value] | Floats", found)


def make_frame(columns: Mapping[str, Sequence[Any]], library: Any) -> Any:
    """A table with these columns, of `library`: pandas, polars or pyarrow, imported only then."""
    if find_spec(library) is None:
        raise ModuleNotFoundError(f"A data frame needs {library}, which is not installed: pip install {library}.")
    # Here, so that judging rows needs numpy only.
    import narwhals.stable.v2 as nw

    made = {name: column if library == "pandas" else _of_one_type(column) for name, column in columns.items()}
    return nw.from_dict(made, backend=library).to_native()


def _of_one_type(column: Sequence[Any]) -> Sequence[Any]:
    """As texts, where numbers and texts stand in one column: only pandas takes both."""
    if not isinstance(column, list) or len({isinstance(cell, str) for cell in column if cell is not None}) < 2:
        return column
    return [None if cell is None else str(cell) for cell in column]


# ---- notebooks: plain HTML, every word of the data escaped, nothing that runs


def table_html(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table."""
    head = "".join(f"<th>{_escape(title)}</th>" for title in titles)
    body = "".join(f"<tr>{''.join(f'<td>{_escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def paragraph_html(words: object) -> str:
    """A line of text."""
    return f"<p>{_escape(words)}</p>"


def rules_html(rules: Sequence[AnyRule]) -> str:
    """The rules, relations first; of many the first twelve."""
    parts, left = [], 12
    for heading, numbers in group_by_kind([rule.kind for rule in rules]):
        shown, left = numbers[:left], max(0, left - len(numbers))
        parts.append(paragraph_html(heading))
        if shown:
            parts.append(table_html(("", "rule"), [(number, rules[number]) for number in shown]))
        if len(shown) < len(numbers):
            parts.append(paragraph_html(f"... and {len(numbers) - len(shown)} more"))
    return "".join(parts)


def render_explanation(why: ExplainedRows) -> str:
    """The ten rows of highest score, with why."""
    worst = np.argsort(-round_for_ranking(why.scores), kind="stable")[:10].tolist()
    limit = why.threshold
    rows = [
        (why.index[row], "" if not limit else amount(float(why.scores[row]) / limit), describe_row(why, row))
        for row in worst
    ]
    told = paragraph_html(f"{len(why):,} rows explained; the {len(worst)} of highest score:")
    return f"<div>{told}{table_html(('row', 'times the limit', 'why'), rows)}</div>"


def _escape(words: object) -> str:
    text = for_terminal(words)
    return for_html(text if len(text) <= 600 else f"{text[:600]}…")
