"""What a fit of many columns takes, as a formula: for p columns, and k rows that tails are learned from,

    MATRICES x 8 p^2 + TABLES x 8 k p + SMALL

bytes beside the rows, whatever their number. Twenty-two matrices: the model's own three, eigenvectors for each of five
folds, a precision with what makes it, rules and what they are found from. Eleven tables: the rows sampled, the same
without wrong cells and standardised, which cells are masked, residuals, and p-values of cells by themselves and given
the others, twice while outlying ones are taken out.
`benchmarks/wide.py` measures the same from outside.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from aspca import ASPCA
from aspca.identities.finding import SAMPLE
from aspca.model.constants import SAMPLE_ROWS, SAMPLE_VALUES

MATRICES, TABLES, SMALL = 22, 11, 8 * 2**20


def sums(n: int, p: int) -> np.ndarray:
    """The first 30 % of the columns are sums and differences of three of the others, and noise."""
    rng = np.random.default_rng(p)
    X = rng.normal(size=(n, p))
    many = int(0.3 * p)
    for j in range(many):
        X[:, j] = X[:, many + rng.choice(p - many, 3, replace=False)] @ rng.choice([-1.0, 1.0], 3)
    X[:, :many] += 0.05 * rng.normal(size=(n, many))
    return X


def flags(n: int, p: int) -> np.ndarray:
    """Flags in groups of four that mostly go together: many rules, of which many hold exactly."""
    rng = np.random.default_rng(p)
    groups = rng.random((n, -(-p // 4))) < 0.02
    X = np.repeat(groups, 4, axis=1)[:, :p]
    X[:, ::3] &= rng.random(X[:, ::3].shape) < 0.9
    return X.astype(np.float64)


def peak_of_a_fit(X: np.ndarray) -> tuple[int, ASPCA]:
    """Bytes allocated at once during a default fit, beside the rows."""
    ASPCA().fit(X[:200, :5])
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        model = ASPCA().fit(X)
        return tracemalloc.get_traced_memory()[1] - before, model
    finally:
        tracemalloc.stop()


def formula(n: int, p: int) -> int:
    judged = min(n, max(min(SAMPLE_ROWS, SAMPLE_VALUES // p), SAMPLE))
    return MATRICES * 8 * p**2 + TABLES * 8 * judged * p + SMALL


@pytest.mark.parametrize(
    ("rows", "n", "p"),
    [
        (sums, 1500, 600),
        (flags, 1500, 600),
        pytest.param(sums, 6000, 2000, marks=pytest.mark.long),
        pytest.param(flags, 6000, 2000, marks=pytest.mark.long),
    ],
)
def test_a_fit_of_many_columns(rows: Callable[[int, int], np.ndarray], n: int, p: int) -> None:
    peak, model = peak_of_a_fit(rows(n, p))
    # There is something to hold.
    assert len(model.rules_) >= 0.25 * p
    assert peak <= formula(n, p), f"{peak / (8 * p**2):.1f} of {formula(n, p) / (8 * p**2):.1f} matrices"
