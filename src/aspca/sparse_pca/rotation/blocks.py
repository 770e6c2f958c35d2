"""Where the search may be split: columns that share no rows, and blocks that only the projector shows.

Both splits keep the columns of different blocks apart. That is optimal in each single plane (two columns with disjoint
supports cannot be improved by rotating one against the other), and the paper's scheme keeps it too, but over all
rotations at once it is a restriction, not a theorem. Counterexample, d = 8: the rows (e_i - e_j) / sqrt(d), i < j, and
one row 1 / sqrt(d). The span contains the unit vector of the last row, yet the matrix has L1 norm d sqrt(d) = 22.63,
and the best basis found with that unit vector as a column 22.85. Hence a block that the given columns do not show
is a start among others, while columns that arrive with disjoint supports stay apart: rules about different features
are not mixed for a gain of that size.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from aspca.linalg.arrays import Bools, Floats, Ints

# The projector of an orthonormal V carries rounding of about 1e-16; rows linked more weakly than this are not linked.
_LINK = 1e-13
# The projector is p x p: beyond this many rows it costs more than the block start is worth.
_MOST_ROWS = 4000


def column_groups(V: Floats) -> list[tuple[Ints, Ints]]:
    """Groups of columns connected through common rows: (rows, columns) of each, in order of the first column."""
    p, d = V.shape
    if np.any(np.all(V != 0.0, axis=1)):
        # One row holds all columns together.
        return [(np.flatnonzero(np.any(V != 0.0, axis=1)), np.arange(d))]
    rows, columns = np.nonzero(V)
    links = coo_array((np.ones(len(rows)), (rows, p + columns)), shape=(p + d, p + d))
    _, label = connected_components(links, directed=False)
    groups = []
    for name in dict.fromkeys(label[p:].tolist()):
        groups.append((np.flatnonzero(label[:p] == name), np.flatnonzero(label[p:] == name)))
    return groups


def unit_rows(V: Floats) -> Ints:
    """Rows k whose unit vector e_k lies in the span of V, to rounding."""
    rows = np.flatnonzero(np.linalg.norm(V, axis=1) > 1.0 - 1e-12)
    # A norm of 1 - 1e-12 still allows entries of 1e-6 elsewhere; P e_k = e_k is the test that means it.
    image = V @ V[rows].T
    image[rows, np.arange(len(rows))] -= 1.0
    exact: Bools = np.abs(image).max(axis=0, initial=0.0) <= _LINK
    return rows[exact]


def hidden_blocks(V: Floats) -> list[tuple[Ints, Floats]]:
    """Blocks of rows on which the span of V decomposes, each with a basis of its part.

    Returns
    -------
    list of (rows, basis)
        rows of the block and an orthonormal (d, r) matrix B such that V B spans the part of the span that lives
        on these rows; the ranks r add up to d. Empty when there is one block only, or when rounding blurs the ranks.
    """
    p, d = V.shape
    if p > _MOST_ROWS:
        return []
    linked = np.abs(V @ V.T) > _LINK
    if np.any(np.all(linked, axis=1)):
        return []
    rows, columns = np.nonzero(linked)
    links = coo_array((np.ones(len(rows)), (rows, columns)), shape=(p, p))
    count, label = connected_components(links, directed=False)
    if count < 2:
        return []
    blocks = []
    for name in range(count):
        rows = np.flatnonzero(label == name)
        values, vectors = np.linalg.eigh(V[rows].T @ V[rows])
        inside = values > 0.5
        if np.abs(values - inside).max() > 1e-11:
            return []
        if inside.any():
            blocks.append((rows, np.ascontiguousarray(vectors[:, inside])))
    whole = sum(basis.shape[1] for _, basis in blocks) == d
    return blocks if whole and len(blocks) > 1 else []
