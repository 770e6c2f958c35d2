"""Ranks that do not hang on rounding: another BLAS, or another order of sums, changes last digits and nothing else."""

from __future__ import annotations

import numpy as np

from aspca.linalg.arrays import Floats

# About nine digits. What is equal but for rounding agrees in ten and more; what is told of a row has at most four.
_BITS = 30


def round_for_ranking(values: Floats) -> Floats:
    """Values as they are to be ranked, of any shape: equal where they differ by no more than rounding.

    Ranked by a stable sort, or by the first of the largest, equals stay in their order.
    """
    mantissas, exponents = np.frexp(values)
    return np.asarray(np.ldexp(np.rint(np.ldexp(mantissas, _BITS)), exponents - _BITS))
