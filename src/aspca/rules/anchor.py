"""The tight directions of a covariance in place of a subspace's own, where the subspace means them.

A sparse solver trades a little variance for sparsity: what holds exactly lies beside its subspace, by an angle far
below what a rule may leave it by, and no vector of the subspace itself shows it.

Notation: V (p, d) an orthonormal basis of the subspace, C the covariance.
"""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats

# The cosine of the largest angle between a direction and the subspace that means it: a sine of 0.1.
_COSINE = 0.995
# The subspace's own directions are as good if they vary by no more than this factor more.
_LOOSER = 1.5


def anchored(V: Floats, C: Floats, ends: list[int], values: Floats, directions: Floats) -> Floats:
    """An orthonormal basis (p, d) of the span of V with its tight part replaced by the covariance's.

    Parameters
    ----------
    ends : list of int
        Where levels of tightness end. Of each in turn what the subspace means is taken, until that is not all of it.
    values, directions : ndarray of shape (d,) and (p, d)
        The lowest eigenvalues of C, none below what rounding leaves open, and their eigenvectors.

    Returns
    -------
    ndarray
        V itself where no level of it is tighter in the covariance.
    """
    own = np.linalg.eigvalsh(V.T @ C @ V)
    parts: list[Floats] = []
    begin = 0
    for end in ends:
        level = directions[:, begin:end]
        _, cosines, turned = np.linalg.svd(V.T @ level)
        meant = int((cosines >= _COSINE).sum())
        parts.append(level @ turned[:meant].T)
        if meant < end - begin:
            break
        begin = end
    tight = np.column_stack([V[:, :0], *parts])
    if tight.shape[1] == 0 or not any(own[end - 1] > _LOOSER * values[end - 1] for end in ends):
        return V
    rest = np.linalg.svd(V - tight @ (tight.T @ V), full_matrices=False)[0]
    return np.column_stack([tight, rest[:, : V.shape[1] - tight.shape[1]]])
