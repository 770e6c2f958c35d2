"""The identities that are declared in `real_tables`, as relations."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from real_tables import Identity, Table, catalogue

from .loading import NumericTable, simplify_names
from .relation import Relation


def load_declared() -> Iterator[tuple[NumericTable, list[Relation]]]:
    """Every table of the catalogue that is installed, with its relations; products where it takes logarithms."""
    for table in catalogue():
        if table.available:
            frame = table.frame
            names = simplify_names([str(name) for name in frame.columns])
            relations = [make_relation(table, identity) for identity in table.identities]
            yield NumericTable(f"declared/{table.name}", frame.to_numpy(dtype=np.float64), names), relations


def make_relation(table: Table, identity: Identity) -> Relation:
    """Solved for its first column."""
    positions = tuple(int(table.frame.columns.get_loc(name)) for name in identity.columns)
    first, *others = identity.coefficients.values()
    factors = tuple(-value / first for value in others)
    product = identity.target in table.logs
    constant = (identity.constant or 0.0) / first
    relation = Relation(
        positions, ("identity",) * len(others), factors, float(np.exp(constant) if product else constant), product
    )
    if identity.constant is not None:
        return relation
    values = table.frame[identity.target].to_numpy(dtype=np.float64)
    predicted = relation.predict(table.frame.to_numpy(dtype=np.float64))[0]
    free = np.median(values / predicted) if product else np.median(values - predicted)
    return Relation(positions, relation.functions, factors, float(free), product)
