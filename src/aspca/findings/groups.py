"""Anomalies of a kind: rows grouped by their signature, near-duplicates of a signature merged.

A signature names the rules at which a row is low or high, as in ``2L 5H``. Merging rule: signatures are taken by
falling number of rows. One that is held by fewer than `smallest` rows joins the largest group whose signature differs
from it in one entry (one rule more, one less, or one at the other side). What finds no such group joins the one with
the longest signature that it contains, or else stays by itself. Rows in which no single rule stands out are a group of
their own, which takes in no others and is merged into none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from aspca.findings.explained import ExplainedRows
from aspca.findings.rendering import make_frame
from aspca.linalg.arrays import Floats, Ints, round_for_ranking
from aspca.model.judgement import Judgement
from aspca.rules.wording import counted

if TYPE_CHECKING:
    from aspca.model.model import Model


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
        title = f"{counted(len(self), 'group')} of {counted(found, 'anomaly')}"
        return "\n  ".join([title, *(group.text for group in self.groups[:10])])

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
        names = ("signature", "count", "typical", "text")
        columns = {name: [getattr(group, name) for group in self.groups] for name in names}
        for kind in self.kinds:
            # A label may be called "count": it must not replace that column.
            name = str(kind) if str(kind) not in columns else f"label {kind}"
            columns[name] = [group.labels.get(kind, 0) for group in self.groups]
        return make_frame(columns, self.library)


def group_anomalies(why: ExplainedRows, labels: Sequence[object] | None = None, smallest: int | None = None) -> Groups:
    """The anomalies of an explanation in groups, largest first; see `Explanation.groups`."""
    if labels is not None and len(labels) != len(why):
        raise ValueError(f"labels has {len(labels)} entries, but {len(why)} rows were explained.")
    found = np.flatnonzero(why.anomalies)
    members: dict[str, list[int]] = {}
    for row, signature in zip(found.tolist(), make_signatures(why.model, why.judgement.take(found)), strict=True):
        members.setdefault(signature, []).append(row)
    homes = merge_signatures(
        {signature: len(rows) for signature, rows in members.items()},
        max(1, found.size // 50) if smallest is None else smallest,
    )
    merged: dict[str, list[int]] = {}
    for signature, home in homes.items():
        merged.setdefault(home, []).extend(members[signature])
    groups = [_make_group(why, signature, np.array(sorted(rows)), labels) for signature, rows in merged.items()]
    groups.sort(key=lambda group: (-group.count, group.signature))
    kinds: Counter[object] = Counter()
    for group in groups:
        kinds.update(group.labels)
    return Groups(tuple(groups), tuple(kind for kind, _ in kinds.most_common()), why.library)


def _make_group(why: ExplainedRows, signature: str, rows: Ints, labels: Sequence[object] | None) -> Group:
    shares = sum_rule_shares(why, rows)
    typical = int(rows[int(np.argmin(np.round(((why.shares[rows] - shares) ** 2).sum(axis=1), 12)))])
    counts = {} if labels is None else dict(Counter(labels[row] for row in rows).most_common())
    text = f"{rows.size} row{'s' if rows.size > 1 else ''} {_describe(why, signature, shares)}"
    return Group(signature, rows, typical, shares, counts, text)


def sum_rule_shares(why: ExplainedRows, rows: Ints) -> Floats:
    """The rules' parts of the score of these rows together (m,)."""
    score = float(why.scores[rows].sum())
    total = why.rule_contributions[rows].sum(axis=0)
    return np.asarray(total / score if score > 0.0 else total, dtype=np.float64)


def main_rule(shares: Floats) -> tuple[int | None, float]:
    """What most of a score is due to, by the rules' parts of it: a rule's number and its share; or what lies outside of
    them."""
    inside = float(shares.sum())
    if inside < 0.5:
        return None, 1.0 - inside
    top = int(np.argmax(round_for_ranking(shares)))
    return top, float(shares[top])


def _describe(why: ExplainedRows, signature: str, shares: Floats) -> str:
    if not signature:
        rule, share = main_rule(shares)
        if rule is None:
            return f"that keep their rules, but stand out; {100 * share:.0f} % of the score lies outside."
        largest = f"{why.rules[rule]}, {100 * share:.0f} % of the score"
        return f"in which no single rule stands out; the largest part is {largest}."
    sides = [
        f"{'low' if side == 'L' else 'high'} in {why.rules[rule]}, {100 * shares[rule]:.0f} % of the score"
        for rule, side in parse_signature(signature).items()
    ]
    return f"{'; '.join(sides)}."


# ---- signatures


def make_signatures(model: Model, judgement: Judgement) -> tuple[str, ...]:
    """One for each judged row; empty where no single rule stands out. See `Explanation.signatures`."""
    if model.thresholds.total is None:
        raise ValueError("Signatures need a threshold, which this model does not have yet: call calibrate(X) first.")
    if not len(judgement):
        return ()
    if model.evidence is not None:
        above = np.nan_to_num(judgement.deviations, nan=0.0) > 0.0
        low, high = judgement.broken & ~above, judgement.broken & above
    else:
        weighted = np.nan_to_num(judgement.deviations) * model.component_weights
        edge = float(np.sqrt(0.5 * model.thresholds.total.value))
        low, high = weighted <= -edge, weighted >= edge
    # Few patterns occur, in many rows: each is put into words once.
    _, first, kind = np.unique(
        np.packbits(np.hstack([low, high]), axis=1), axis=0, return_index=True, return_inverse=True
    )
    words = [
        " ".join(f"{rule}{'L' if low[row, rule] else 'H'}" for rule in np.flatnonzero(low[row] | high[row]))
        for row in first
    ]
    return tuple(words[k] for k in kind.ravel())


def parse_signature(signature: str) -> dict[int, str]:
    """The side, L or H, by rule."""
    return {int(entry[:-1]): entry[-1] for entry in signature.split()}


def merge_signatures(counts: Mapping[str, int], smallest: int) -> dict[str, str]:
    """Of signatures that so many rows have, the one that each is merged into: itself, or a near one."""
    order = sorted(counts, key=lambda signature: (-counts[signature], signature))
    entries = {signature: parse_signature(signature) for signature in order}
    homes = {one: one for one in order if one == "" or counts[one] >= smallest}
    sizes = {one: counts[one] for one in homes}
    for signature in order:
        if signature in homes:
            continue
        mine = entries[signature]
        near, inside = [], []
        for other in filter(None, sizes):
            others = entries[other]
            if sum(mine.get(rule) != others.get(rule) for rule in mine.keys() | others.keys()) == 1:
                near.append(other)
            if others.items() <= mine.items():
                inside.append(other)
        home = signature
        if near:
            home = max(near, key=lambda other: (sizes[other], other))
        elif inside:
            home = max(inside, key=lambda other: (len(entries[other]), sizes[other], other))
        homes[signature] = home
        sizes[home] = sizes.get(home, 0) + counts[signature]
    return homes
