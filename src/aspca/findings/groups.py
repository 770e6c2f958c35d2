"""Anomalies of a kind: rows grouped by their signature, near-duplicates of a signature merged.

Merging rule: signatures are taken by falling number of rows. One that is held by fewer than `smallest` rows joins the
largest group whose signature differs from it in one entry (one rule more, one less, or one at the other side). What
finds no such group joins the one with the longest signature that it contains, or else stays by itself. Rows in which no
single rule stands out are a group of their own, which takes in no others and is merged into none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from aspca.findings.frames import frame
from aspca.linalg.arrays import Floats, Ints
from aspca.linalg.ranking import round_for_ranking
from aspca.rules.sentence import counted

if TYPE_CHECKING:
    from aspca.findings.explanation import Explanation

# So many groups are told where they are printed.
_SHOWN = 10


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
        The rules' parts of the group's score; what they leave to one lies outside of them.
    labels : mapping of label to count
        Empty where no labels were given.
    text : str
        What its rows have in common, as a sentence.
    """

    signature: str
    rows: Ints
    typical: int
    shares: Floats
    labels: dict[object, int]
    text: str

    @property
    def count(self) -> int:
        return int(self.rows.size)


@dataclass(frozen=True, eq=False, repr=False)
class Groups(Sequence[Group]):
    """Groups of anomalies, largest first.

    Attributes
    ----------
    groups : tuple of Group
    kinds : tuple
        The labels that anomalies carry, most frequent first; empty where none were given.
    library : str
        What tables are made of.
    """

    groups: tuple[Group, ...]
    kinds: tuple[object, ...]
    library: str

    def __len__(self) -> int:
        return len(self.groups)

    def __repr__(self) -> str:
        found = sum(group.count for group in self.groups)
        return f"{counted(len(self), 'group')} of {counted(found, 'anomaly')}" + "".join(
            f"\n  {group.text}" for group in self.groups[:_SHOWN]
        )

    @overload
    def __getitem__(self, position: int) -> Group: ...
    @overload
    def __getitem__(self, position: slice) -> tuple[Group, ...]: ...
    def __getitem__(self, position: int | slice) -> Group | tuple[Group, ...]:
        return self.groups[position]

    @property
    def text(self) -> str:
        """One line per group."""
        return "\n".join(group.text for group in self.groups) or "No anomalies."

    def to_frame(self) -> Any:
        """One line per group: signature, count, typical row, text; with labels, the cross-table: a column for each."""
        columns: dict[str, list[Any]] = {
            "signature": [group.signature for group in self.groups],
            "count": [group.count for group in self.groups],
            "typical": [group.typical for group in self.groups],
            "text": [group.text for group in self.groups],
        }
        for kind in self.kinds:
            # A label may be called "count": it must not replace that column.
            name = str(kind) if str(kind) not in columns else f"label {kind}"
            columns[name] = [group.labels.get(kind, 0) for group in self.groups]
        return frame(columns, self.library)


def groups_of(explanation: Explanation, labels: Sequence[object] | None = None, smallest: int | None = None) -> Groups:
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
    groups.sort(key=lambda group: (-group.count, group.signature))
    kinds: Counter[object] = Counter()
    for group in groups:
        kinds.update(group.labels)
    return Groups(tuple(groups), tuple(kind for kind, _ in kinds.most_common()), explanation.library)


def homes_of(counts: Mapping[str, int], smallest: int) -> dict[str, str]:
    """Of signatures that so many rows have, the one that each is merged into: itself, or a near one."""
    order = sorted(counts, key=lambda signature: (-counts[signature], signature))
    homes = {one: one for one in order if one == "" or counts[one] >= smallest}
    sizes = {one: counts[one] for one in homes}
    for signature in order:
        if signature in homes:
            continue
        mine = entries_of(signature)
        near = [other for other in sizes if other and _differences(mine, entries_of(other)) == 1]
        inside = [other for other in sizes if other and entries_of(other).items() <= mine.items()]
        home = signature
        if near:
            home = max(near, key=lambda other: (sizes[other], other))
        elif inside:
            home = max(inside, key=lambda other: (len(entries_of(other)), sizes[other], other))
        homes[signature] = home
        sizes[home] = sizes.get(home, 0) + counts[signature]
    return homes


def _merged(members: dict[str, list[int]], smallest: int) -> dict[str, list[int]]:
    merged: dict[str, list[int]] = {}
    for signature, home in homes_of({one: len(rows) for one, rows in members.items()}, smallest).items():
        merged.setdefault(home, []).extend(members[signature])
    return {signature: sorted(rows) for signature, rows in merged.items()}


def entries_of(signature: str) -> dict[int, str]:
    """The side, L or H, by rule."""
    return {int(entry[:-1]): entry[-1] for entry in signature.split()}


def _differences(one: dict[int, str], other: dict[int, str]) -> int:
    return sum(one.get(rule) != other.get(rule) for rule in one.keys() | other.keys())


def _group(explanation: Explanation, signature: str, rows: Ints, labels: Sequence[object] | None) -> Group:
    shares = shares_of(explanation, rows)
    typical = int(rows[int(np.argmin(np.round(((explanation.shares[rows] - shares) ** 2).sum(axis=1), 12)))])
    counted = {} if labels is None else dict(Counter(labels[row] for row in rows).most_common())
    text = f"{rows.size} row{'s' if rows.size > 1 else ''} {_in_words(explanation, signature, shares)}"
    return Group(signature, rows, typical, shares, counted, text)


def shares_of(explanation: Explanation, rows: Ints) -> Floats:
    """The rules' parts of the score of these rows together (m,)."""
    score = float(explanation.scores[rows].sum())
    total = explanation.rule_contributions[rows].sum(axis=0)
    return np.asarray(total / score if score > 0.0 else total, dtype=np.float64)


def _in_words(explanation: Explanation, signature: str, shares: Floats) -> str:
    def share(rule: int) -> str:
        return f"{100 * shares[rule]:.0f} % of the score"

    if not signature:
        if shares.sum() < 0.5:
            return (
                f"that keep their rules, but stand out; {100 * (1.0 - shares.sum()):.0f} % of the score lies outside."
            )
        top = int(np.argmax(round_for_ranking(shares)))
        return f"in which no single rule stands out; the largest part is {explanation.rules[top]}, {share(top)}."
    words = {"L": "low", "H": "high"}
    sides = [
        f"{words[side]} in {explanation.rules[rule]}, {share(rule)}" for rule, side in entries_of(signature).items()
    ]
    return f"{'; '.join(sides)}."
