"""Typical slips of the pen: a lost sign, a shifted point, two digits swapped, one digit changed."""

from __future__ import annotations

import numpy as np

# Shorter numbers differ in one digit by chance.
_LEAST_DIGITS = 3


def is_slip(old: float, new: float) -> bool:
    """Whether one number is the other with such a slip (as in R's deducorrect)."""
    if old == 0.0 or new == 0.0 or not (np.isfinite(old) and np.isfinite(new)):
        return False
    with np.errstate(all="ignore"):
        ratio = float(np.log10(abs(old / new)))
    if not np.isfinite(ratio):
        return False
    if abs(old + new) <= 1e-6 * abs(new) or (abs(ratio) > 0.5 and abs(ratio - round(ratio)) < 1e-4):
        return True
    a, b = f"{old:.12g}", f"{new:.12g}"
    if len(a) != len(b):
        return False
    differing = [k for k in range(len(a)) if a[k] != b[k]]
    if len(differing) == 1:
        return len(a) > _LEAST_DIGITS
    if len(differing) != 2 or differing[1] != differing[0] + 1:
        return False
    i, j = differing
    return a[i] == b[j] and a[j] == b[i]
