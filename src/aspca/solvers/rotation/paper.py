"""The paper's alternating scheme for the rotation: the reference that the search is measured against.

Notation: V (p, d) start, X (d, d) rotation, C = V X the sparse loadings, mu the weight of the L1 norm (the
paper's equation for the global sparsity optimisation).
"""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats


def paper_rotation(V: Floats, n_steps: int = 1000, mu_final: float = 1e-4, mu_first: float | None = None) -> Floats:
    """Orthogonal X from the alternating minimisation of ||V - C X'|| + mu ||C||_{1,1}.

    The paper writes an unsquared Frobenius norm but cites the sparse PCA of 2006 for the alternation, which
    squares it. Read here as ``1/2 ||V - C X'||_F^2 + mu ||C||_{1,1}``: the step for C is then a soft threshold
    at exactly mu, the step for X a Procrustes problem (SVD of V'C). mu starts at the paper's
    ``||V||_F / ||V||_{1,1}`` and falls geometrically to `mu_final`.

    Parameters
    ----------
    V : ndarray of shape (p, d)
        Orthonormal columns.
    n_steps : int
        Alternations, one for each value of mu.
    mu_final : float
        The last mu, > 0.
    mu_first : float or None
        The first mu; None is the paper's.

    Returns
    -------
    ndarray of shape (d, d)
        X; the rotated loadings are V @ X. No guarantee: the result is not a local minimum of ||V X||_{1,1},
        carries no exact zeros, and can even lie above the start.
    """
    X = np.eye(V.shape[1])
    if mu_first is None:
        mu_first = float(np.linalg.norm(V) / np.abs(V).sum())
    for mu in np.geomspace(mu_first, mu_final, n_steps):
        L = V @ X
        C = np.sign(L) * np.maximum(np.abs(L) - mu, 0.0)
        left, _, right = np.linalg.svd(V.T @ C)
        X = left @ right
    return X
