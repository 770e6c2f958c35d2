"""Small tables for notebooks: plain HTML, every word of the data escaped, nothing that runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from aspca.escaping import for_html, for_terminal
from aspca.findings.row_text import amount, row_text
from aspca.linalg.ranking import round_for_ranking
from aspca.rules.headings import told_apart
from aspca.rules.rule import AnyRule

if TYPE_CHECKING:
    from aspca.findings.explanation import Explanation

# So many rows and rules are shown, and so many signs of each cell.
_ROWS, _RULES = 10, 12
_LONGEST = 600


def table_html(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; numbers and words are told apart by what they are."""
    head = "".join(f"<th>{_safe(title)}</th>" for title in titles)
    body = "".join(f"<tr>{''.join(f'<td>{_safe(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def paragraph_html(words: object) -> str:
    """A line of text."""
    return f"<p>{_safe(words)}</p>"


def rules_html(rules: Sequence[AnyRule]) -> str:
    """The rules, relations first; of many the first."""
    parts, left = [], _RULES
    for heading, numbers in told_apart(rules):
        shown, left = numbers[:left], max(0, left - len(numbers))
        parts.append(paragraph_html(heading))
        if shown:
            parts.append(table_html(("", "rule"), [(number, rules[number]) for number in shown]))
        if len(shown) < len(numbers):
            parts.append(paragraph_html(f"... and {len(numbers) - len(shown)} more"))
    return "".join(parts)


def explanation_html(why: Explanation) -> str:
    """The rows of highest score, with why."""
    worst = np.argsort(-round_for_ranking(why.scores), kind="stable")[:_ROWS].tolist()
    limit = why.threshold
    rows = [
        (why.index[row], "" if not limit else amount(float(why.scores[row]) / limit), row_text(why, row))
        for row in worst
    ]
    told = paragraph_html(f"{len(why):,} rows explained; the {len(worst)} of highest score:")
    return f"<div>{told}{table_html(('row', 'times the limit', 'why'), rows)}</div>"


def _safe(words: object) -> str:
    text = for_terminal(words)
    return for_html(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")
