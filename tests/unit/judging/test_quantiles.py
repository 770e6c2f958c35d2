"""Roots of rising functions, smooth or not: where they change sign, to rounding, in few steps."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from aspca.judging.quantiles import find_root

PLACES = st.floats(1e-12, 1.0)
SHAPES = {
    "line": lambda x, root: x - root,
    "step": lambda x, root: -1.0 if x < root else 1.0,
    "flat before": lambda x, root: max(x - root, 0.0) - 1e-300 * (x < root),
    "steep": lambda x, root: math.tanh(1e3 * (x - root)),
    "cube": lambda x, root: (x - root) ** 3,
}


@given(PLACES, st.floats(1e-150, 1e150), st.sampled_from(sorted(SHAPES)))
def test_it_is_where_the_sign_changes(place: float, high: float, shape: str) -> None:
    taken = 0

    def rising(x: float) -> float:
        nonlocal taken
        taken += 1
        return SHAPES[shape](x / high, place)

    found = find_root(rising, high)
    assert 0.0 <= found <= high
    assert rising(found) >= 0.0
    assert abs(found / high - place) <= (1e-15 if shape in ("line", "step", "steep") else 1e-4)
    # Halving takes 52 and the two ends.
    assert taken <= 58


def test_what_never_reaches_zero_ends_at_the_end() -> None:
    assert find_root(lambda x: x - 9.0, 3.0) == 3.0
    assert find_root(lambda x: -1.0, 0.0) == 0.0
