"""Table 7: KDD99's anomalies grouped by which components they are low or high on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from aspca.linalg.arrays import Bools
from aspca.reproduction.comparison import EQUAL, Comparison, Tolerance, claimed, compared
from aspca.reproduction.matching import Matched
from aspca.reproduction.published import rows_of, source_of
from aspca.reproduction.results import Table
from aspca.reproduction.study import Study
from aspca.reproduction.tables.components import in_the_papers_order

# A group speaks for its type if it is one of the largest.
_LARGEST = 3
# A component carries the features with at least such a loading.
_CARRIED = 0.3
# Of the counts of detected records, as a share of the type.
_ROOM = 0.03

Signature = tuple[tuple[int, bool], ...]


@dataclass(frozen=True)
class SignatureGroup:
    """Flagged rows that are low or high on the same components.

    Attributes
    ----------
    signature : tuple of (column, whether high)
    in_type, in_group : int
        How many are of the type looked at, and how many in all.
    """

    signature: Signature
    in_type: int
    in_group: int


def signatures(study: Study) -> Table:
    """For each type of attack the group, one of its three largest, that carries the features the paper names."""
    paper = rows_of("signatures")
    order = in_the_papers_order(study)
    kinds = np.array(study.data.kinds)
    keys = _keys(study, order)
    source = source_of("signatures")
    found: list[Comparison] = []
    notes = []
    for kind, row in paper.items():
        place = ("signatures", study.name, kind)
        of_kind = kinds == kind
        detected = int((study.flagged & of_kind).sum())
        room = Tolerance(absolute=float(round(_ROOM * int(row["total"]))))
        found.append(compared((*place, "total"), source, row["total"], int(of_kind.sum()), EQUAL))
        found.append(compared((*place, "detected"), source, row["detected"], detected, room))
        groups = _groups(keys, of_kind[study.flagged])[:_LARGEST]
        best = max(groups, key=lambda group: len(set(row["named"]) & _carried(study, order, group.signature)))
        carried = _carried(study, order, best.signature)
        found.append(
            claimed(
                (*place, "features"),
                source,
                ", ".join(row["named"]),
                ", ".join(_words(study, order, best.signature)),
                set(row["named"]) <= carried,
                f"among the {_LARGEST} largest groups one carries them",
            )
        )
        notes.append(_beside(kind, row, groups, order))
    return Table("Signatures", tuple(found), tuple(notes))


def _keys(study: Study, order: Matched) -> list[Signature]:
    """Where each flagged row, false alarms included, is low or high."""
    projections = study.rows[study.flagged] @ order.loadings
    far = np.sqrt(study.threshold / 2.0)
    return [tuple((int(j), bool(row[j] > 0)) for j in np.flatnonzero(np.abs(row) >= far)) for row in projections]


def _groups(keys: Sequence[Signature], of_kind: Bools) -> list[SignatureGroup]:
    """Groups that the type is part of, by how much of it is in them; a signature without entries says nothing."""
    everyone = Counter(keys)
    own = Counter(key for key, is_one in zip(keys, of_kind, strict=True) if is_one and key)
    return [SignatureGroup(key, count, everyone[key]) for key, count in own.most_common()]


def _carried(study: Study, order: Matched, signature: Signature) -> set[str]:
    columns = [column for column, _ in signature]
    return {study.names[j] for j in np.flatnonzero((np.abs(order.loadings[:, columns]) >= _CARRIED).any(axis=1))}


def _words(study: Study, order: Matched, signature: Signature) -> list[str]:
    """``8H (count)`` for each entry."""
    mains = np.abs(order.loadings).argmax(axis=0)
    return [f"{order.labels[column]}{'H' if high else 'L'} {study.names[mains[column]]}" for column, high in signature]


def _beside(kind: str, row: Mapping[str, list[dict[str, object]]], groups: list[SignatureGroup], order: Matched) -> str:
    paper = "; ".join(f"{one['in type']}/{one['in group']} {_listed(one['signature'])}" for one in row["groups"])
    ours = "; ".join(f"{one.in_type}/{one.in_group} {_short(order, one.signature)}" for one in groups)
    return f"{kind}, in type/in group: paper {paper}; our largest {ours}."


def _listed(signature: object) -> str:
    return " ".join(map(str, signature)) if isinstance(signature, list) else ""


def _short(order: Matched, signature: Signature) -> str:
    return " ".join(f"{order.labels[column]}{'H' if high else 'L'}" for column, high in signature)
