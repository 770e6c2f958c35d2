"""A rotation near one that is known, for bases that are compared to within degrees: no exact zeros, no corners.

A half of the rows has nearly the subspace that all of them have, and its sparsest basis is nearly theirs, or another
that is as sparse. So the search starts from both: the known basis, and those that any search begins with.
"""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats
from aspca.sparse_pca.rotation.blocks import column_groups
from aspca.sparse_pca.rotation.descent import anneal, localised_rotation, polar, spiky_rotation

# Steps of the descent, how warm each start is (1 is the paper's first mu), and the last smoothing.
_STEPS, _WARMTH, _LAST = 60, (0.3, 1.0, 1.0, 0.3), 3e-3
_SPIKY_STEPS = 10


def rough_rotation(V: Floats, near: Floats) -> Floats:
    """V Q (p, d) near a minimum of ||V Q||_1 over the orthogonal Q, for orthonormal V (p, d).

    Parameters
    ----------
    near : ndarray of shape (p, k), k >= d
        A sparse basis of nearly this subspace, or of more.

    Returns
    -------
    The lowest of what four starts lead to; V itself where nothing is lower. Columns with disjoint supports are not
    mixed.
    """
    loadings = np.array(V)
    entry_size = float(np.linalg.norm(V) / np.abs(V).sum())
    for rows, columns in column_groups(V):
        d, group = columns.size, V[np.ix_(rows, columns)]
        # Each column of an orthonormal basis has an L1 norm of at least 1.
        if d == 1 or float(np.abs(group).sum()) <= d * (1.0 + 1e-14):
            continue
        starts = np.stack(
            [_towards(group, near[rows]), localised_rotation(group), spiky_rotation(group, _SPIKY_STEPS), np.eye(d)]
        )
        found = anneal(group @ starts, entry_size * np.array(_WARMTH), _STEPS, mu_final=_LAST)
        values = np.append(np.abs(found).sum(axis=(1, 2)), np.abs(group).sum())
        # What differs in rounding only is the first.
        lowest = int(np.argmax(values <= values.min() * (1.0 + 1e-9)))
        loadings[np.ix_(rows, columns)] = group if lowest == len(found) else found[lowest]
    return loadings


def _towards(V: Floats, near: Floats) -> Floats:
    """The Q whose V Q is nearest to those of the columns of `near` that lie best in the span of V (p, d)."""
    inside = V.T @ near
    best = np.argsort(-np.round(np.linalg.norm(inside, axis=0), 9), kind="stable")[: V.shape[1]]
    return polar(inside[:, np.sort(best)])
