"""Exact splitting: features that no entry above alpha connects never share a component.

If |A_ij| <= alpha across two groups, pinching X to its diagonal blocks keeps it feasible and never raises
<C,X> + alpha ||X||_1, since C_ij X_ij + alpha |X_ij| >= 0; the value is then linear in the blocks' weights, so one
block suffices. Each earlier component lives in one block, hence so does the next: the whole sequence separates.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from aspca.linalg.arrays import Floats, Ints


def split(A: Floats, alpha: float) -> list[Ints]:
    """Connected groups of the graph {|A_ij| > alpha}, each ascending, ordered by first feature."""
    linked = csr_array((np.abs(A) > alpha).astype(np.int8))
    count, label = connected_components(linked, directed=False)
    order = np.argsort(label, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(label, minlength=count))[:-1])
    return sorted(groups, key=lambda group: int(group[0]))
