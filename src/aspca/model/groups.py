"""Anomalies of a kind: rows grouped by their signature, near-duplicates of a signature merged.

Merging rule: signatures are taken by falling number of rows. One that is held by fewer than `smallest` rows joins the
largest group whose signature differs from it in one entry (one rule more, one less, or one at the other side). What
finds no such group joins the one with the longest signature that it contains, or else stays by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aspca.linalg.arrays import Floats, Ints
from aspca.model.explanation import Explanation


@dataclass(frozen=True, eq=False)
class Group:
    """Anomalies with one signature, or nearly.

    Attributes
    ----------
    signature : str
        As in ``Explanation.signatures``; empty: no single rule stands out in these rows.
    rows : ndarray of shape (k,)
        Positions among the explained rows, ascending.
    typical : int
        The member whose split of the score is nearest to the group's.
    shares : ndarray of shape (d,)
        The rules' parts of the group's score; sums to one.
    labels : mapping of label to count
        Empty where no labels were given.
    """

    signature: str
    rows: Ints
    typical: int
    shares: Floats
    labels: dict[object, int]

    @property
    def count(self) -> int:
        return int(self.rows.size)


def groups_of(
    explanation: Explanation, labels: Sequence[object] | None = None, smallest: int | None = None
) -> tuple[Group, ...]:
    """The anomalies of an explanation in groups, largest first.

    Parameters
    ----------
    labels : sequence of n or None
        Counted per group; never used to group.
    smallest : int or None
        Signatures of fewer rows are merged into a near one; None is one in fifty anomalies. 1 merges nothing.
    """
    if labels is not None and len(labels) != len(explanation.values):
        raise ValueError(f"labels has {len(labels)} entries, but {len(explanation.values)} rows were explained.")
    found = np.flatnonzero(explanation.anomalies)
    if smallest is None:
        smallest = max(1, found.size // 50)
    members: dict[str, list[int]] = {}
    for row in found:
        members.setdefault(explanation.signatures[row], []).append(int(row))
    merged = _merged(members, smallest)
    groups = [
        _group(explanation, signature, np.array(rows, dtype=np.intp), labels) for signature, rows in merged.items()
    ]
    return tuple(sorted(groups, key=lambda group: (-group.count, group.signature)))


def _merged(members: dict[str, list[int]], smallest: int) -> dict[str, list[int]]:
    order = sorted(members, key=lambda signature: (-len(members[signature]), signature))
    kept = {signature: list(members[signature]) for signature in order if len(members[signature]) >= smallest}
    for signature in order:
        if signature in kept and len(members[signature]) >= smallest:
            continue
        mine = _entries(signature)
        near = [other for other in kept if _differences(mine, _entries(other)) == 1]
        inside = [other for other in kept if other and _entries(other).items() <= mine.items()]
        if near:
            kept[max(near, key=lambda other: (len(kept[other]), other))] += members[signature]
        elif inside:
            kept[max(inside, key=lambda other: (len(_entries(other)), len(kept[other]), other))] += members[signature]
        else:
            kept[signature] = list(members[signature])
    return {signature: sorted(rows) for signature, rows in kept.items()}


def _entries(signature: str) -> dict[int, str]:
    return {int(entry[:-1]): entry[-1] for entry in signature.split()}


def _differences(one: dict[int, str], other: dict[int, str]) -> int:
    return sum(one.get(rule) != other.get(rule) for rule in one.keys() | other.keys())


def _group(explanation: Explanation, signature: str, rows: Ints, labels: Sequence[object] | None) -> Group:
    total = explanation.rule_contributions[rows].sum(axis=0)
    shares = total / total.sum() if total.sum() > 0 else total
    typical = int(rows[int(np.argmin(((explanation.shares[rows] - shares) ** 2).sum(axis=1)))])
    counted = {} if labels is None else dict(Counter(labels[row] for row in rows).most_common())
    return Group(signature, rows, typical, np.asarray(shares, dtype=np.float64), counted)
