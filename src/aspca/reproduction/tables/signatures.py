"""Table 7: KDD99's flagged rows grouped by which components they are low or high on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aspca.linalg.arrays import Bools
from aspca.reproduction.comparison import Comparison, Tolerance, claimed, compared
from aspca.reproduction.matching import Matched
from aspca.reproduction.published import rows_of, source_of
from aspca.reproduction.results import Table
from aspca.reproduction.study import Study
from aspca.reproduction.tables.components import in_the_papers_order

# A group speaks for its type if it is one of the largest.
_LARGEST = 3
# A component carries the features with at least such a loading.
_CARRIED = 0.3
# Of counts, as a share of the type.
_ROOM = 0.03
# Of how many false alarms a group has with them.
_GROUP = Tolerance(relative=0.15)
# So near to the threshold the third digit of a loading decides.
_NEAR = 0.02

# Components by the paper's numbers, each with L or H.
Signature = tuple[str, ...]


@dataclass(frozen=True)
class SignatureGroup:
    """Flagged rows that are low or high on the same components.

    Attributes
    ----------
    signature : tuple of str
        ``2L`` is low on the paper's component 2.
    in_type, in_group : int
        How many are of the type looked at, and how many in all, false alarms included.
    """

    signature: Signature
    in_type: int
    in_group: int

    def __str__(self) -> str:
        return f"{self.in_type}/{self.in_group} {' '.join(self.signature)}"


def signatures(study: Study) -> Table:
    """For each type of attack its counts, its groups, and whether these carry the features that the paper names."""
    order = in_the_papers_order(study)
    flagged_kinds = np.array(study.data.kinds)[study.flagged]
    keys = _keys(study, order, np.sqrt(study.threshold) / 2.0)
    found: list[Comparison] = []
    notes = []
    for kind, row in rows_of("signatures").items():
        groups = _groups(keys, flagged_kinds == kind)
        found += _counted(study, kind, row)
        found += _grouped(study, kind, row, groups)
        found.append(_carrying(study, order, kind, row, groups[:_LARGEST]))
        notes.append(f"{kind}: our largest groups are {'; '.join(map(str, groups[:_LARGEST]))}.{_near(study, kind)}")
    return Table("Signatures", tuple(found), (_limits(study, order, flagged_kinds), *notes))


def _keys(study: Study, order: Matched, far: float) -> list[Signature]:
    """On which components each flagged row is at least so far out."""
    projections = study.rows[study.flagged] @ order.loadings
    labels = order.labels
    return [
        tuple(f"{labels[j]}{'H' if row[j] > 0 else 'L'}" for j in np.flatnonzero(np.abs(row) >= far))
        for row in projections
    ]


def _groups(keys: Sequence[Signature], of_kind: Bools) -> list[SignatureGroup]:
    """Groups that the type is part of, by how much of it is in them; a signature without entries says nothing."""
    everyone = Counter(keys)
    own = Counter(key for key, is_one in zip(keys, of_kind, strict=True) if is_one and key)
    return [SignatureGroup(key, count, everyone[key]) for key, count in own.most_common()]


def _nearest(printed: Sequence[str], groups: Sequence[SignatureGroup]) -> SignatureGroup:
    """The group of that signature, or else the one with most entries in common; of several the largest."""
    wanted = set(printed)
    return max(groups, key=lambda one: (wanted == {*one.signature}, len(wanted & {*one.signature}), one.in_type))


def _counted(study: Study, kind: str, row: Mapping[str, Any]) -> list[Comparison]:
    of_kind = np.array(study.data.kinds) == kind
    place, source = ("signatures", study.name, kind), source_of("signatures")
    ours = int((study.flagged & of_kind).sum())
    return [
        compared((*place, "total"), source, row["total"], int(of_kind.sum())),
        compared((*place, "detected"), source, row["detected"], ours, _room(row)),
    ]


def _grouped(study: Study, kind: str, row: Mapping[str, Any], groups: Sequence[SignatureGroup]) -> list[Comparison]:
    """Each printed group beside the one of ours that is most like it."""
    found = []
    for printed in row["groups"]:
        ours = _nearest(printed["signature"], groups)
        name = f"{kind} {' '.join(printed['signature'])}"
        place, source = ("signatures", study.name, name), source_of("signatures")
        found += [
            compared((*place, "in type"), source, printed["in type"], ours.in_type, _room(row)),
            compared((*place, "in group"), source, printed["in group"], ours.in_group, _GROUP),
        ]
    return found


def _room(row: Mapping[str, Any]) -> Tolerance:
    return Tolerance(absolute=float(round(_ROOM * int(row["total"]))))


def _carrying(
    study: Study, order: Matched, kind: str, row: Mapping[str, Any], groups: Sequence[SignatureGroup]
) -> Comparison:
    named = set(row["named"])
    best = max(groups, key=lambda group: len(named & _carried(study, order, group.signature)))
    mains = np.abs(order.loadings).argmax(axis=0)
    words = [f"{entry} {study.names[mains[order.labels.index(entry[:-1])]]}" for entry in best.signature]
    return claimed(
        ("signatures", study.name, kind, "features"),
        source_of("signatures"),
        ", ".join(row["named"]),
        ", ".join(words),
        named <= _carried(study, order, best.signature),
        f"among the {_LARGEST} largest groups one carries them",
    )


def _carried(study: Study, order: Matched, signature: Signature) -> set[str]:
    columns = [order.labels.index(entry[:-1]) for entry in signature]
    return {study.names[j] for j in np.flatnonzero((np.abs(order.loadings[:, columns]) >= _CARRIED).any(axis=1))}


def _near(study: Study, kind: str) -> str:
    """Said where the threshold runs through many alike."""
    scores = study.fit().scores[np.array(study.data.kinds) == kind]
    close = int((np.abs(scores / study.threshold - 1.0) < _NEAR).sum())
    return (
        f" {close} of {scores.size} score within {_NEAR:.0%} of the threshold." if close > _ROOM * scores.size else ""
    )


def _limits(study: Study, order: Matched, flagged_kinds: Any) -> str:
    """How many of the printed groups have the printed number of the type, by two readings of what is far out."""
    exact = {}
    for far in (np.sqrt(study.threshold / 2.0), np.sqrt(study.threshold) / 2.0):
        keys = _keys(study, order, float(far))
        pairs = [
            (int(printed["in type"]), _nearest(printed["signature"], _groups(keys, flagged_kinds == kind)).in_type)
            for kind, row in rows_of("signatures").items()
            for printed in row["groups"]
        ]
        exact[far] = f"{sum(paper == ours for paper, ours in pairs)} of {len(pairs)}"
    as_printed, as_used = exact.values()
    return (
        "Low and high are beyond half the root of the threshold: the text has the root of half the threshold, which "
        f"gives {as_printed} groups the printed number of their type, where half the root gives {as_used}. Groups "
        "count false alarms, too."
    )
