"""Roots of rising functions: where they change sign, to rounding, in few steps."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from aspca.judging.quantiles import find_root

PLACES = st.floats(1e-12, 1.0)
SHAPES = {
    "line": lambda x, root: x - root,
    "tail": lambda x, root: math.exp(-20.0 * root) - math.exp(-20.0 * x),
    "logarithm": lambda x, root: math.log((1.0 + 9.0 * x) / (1.0 + 9.0 * root)),
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
    # As far as the function tells: a tail has few digits left where it is flat.
    assert abs(found / high - place) <= (1e-6 if shape == "tail" else 1e-14)
    assert taken <= 45


def test_what_never_reaches_zero_ends_at_the_end() -> None:
    assert find_root(lambda x: x - 9.0, 3.0) == 3.0
    assert find_root(lambda x: -1.0, 0.0) == 0.0
