"""The codec alone: what is written is read bit for bit, and plain values of any other type are refused by field."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from aspca.linalg.arrays import Bools, Floats, Ints
from aspca.model_file.codec import Bounds, Reader, to_plain
from aspca.model_file.json_text import ModelFileError, to_canonical

ANY = {"least": -np.inf, "most": np.inf, "gaps": True}


class Pair(NamedTuple):
    name: str
    size: float | None = None


@dataclass(frozen=True, eq=False)
class Held:
    kind: Literal["one", "other"]
    matrix: Floats
    counts: Ints
    flags: Bools
    pairs: tuple[Pair, ...]
    either: int | str | bool
    left_out: object = None


BOUNDS = {
    Held: {
        "matrix": Bounds(("n", "m"), **ANY),
        "counts": Bounds(("k",), least=-5, most="two"),
        "flags": Bounds(("k",)),
        "pairs": Bounds(("n",)),
    },
    Pair: {"size": Bounds(least=-np.inf, most=np.inf)},
}
OMITTED = {Held: {"left_out": "as it was"}}


def read(content: Any, rows: int = 2) -> Held:
    # A matrix that is sparse has as many rows as another field says.
    reader = Reader("file", "try again", BOUNDS, {}, OMITTED, {}, {"n": rows, "two": 2})
    found: Held = reader.read_object(Held, content, "")
    return found


def held(matrix: np.ndarray, either: int | str | bool = 3) -> Held:
    pairs = tuple(Pair(f"\u2028{j}", None if j % 2 else -np.inf) for j in range(len(matrix)))
    return Held("one", matrix, np.array([-5, 0]), np.array([True, False]), pairs, either)


sizes = hnp.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=5)
numbers = st.one_of(st.sampled_from([0.0, -0.0, np.nan, np.inf, -np.inf]), st.floats())


@given(hnp.arrays(np.float64, sizes, elements=numbers), st.booleans(), st.sampled_from([3, "auto", True]))
def test_what_is_written_is_read_bit_for_bit(matrix: np.ndarray, symmetric: bool, either: int | str | bool) -> None:
    if symmetric and matrix.size:
        n = min(matrix.shape)
        matrix = np.where(np.tri(n, dtype=bool), matrix[:n, :n], matrix[:n, :n].T)
    if not len(matrix):
        matrix = np.zeros((0, 0))
    content = json.loads(to_canonical(to_plain(held(matrix, either), OMITTED)))
    found = read(content, len(matrix))
    # One NaN is as good as another.
    assert np.array_equal(found.matrix, matrix, equal_nan=True)
    assert np.array_equal(np.signbit(found.matrix) | np.isnan(matrix), np.signbit(matrix) | np.isnan(matrix))
    assert found.matrix.flags.c_contiguous
    assert not found.matrix.flags.writeable
    assert (found.pairs, found.either, type(found.either)) == (held(matrix).pairs, either, type(either))
    assert (found.counts.tolist(), found.flags.tolist(), found.left_out) == ([-5, 0], [True, False], "as it was")
    assert to_plain(found, OMITTED) == content


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("kind", "none", "kind is 'none', but must be one of one, other"),
        ("matrix", [[1.0, 2.0], [3.0, 4.0, 5.0]], "matrix[1] is a list of 3, but must be a list of 2"),
        ("matrix", [[1.0], [None]], "matrix[1][0] is null, but must be a number"),
        ("matrix", [{"index": [0, 2], "value": [1.0, 1.0]}], "matrix[0].index[1] is 2, but must be a whole number"),
        ("matrix", [{"index": [1, 0], "value": [1.0, 1.0]}], "matrix[0].index is a list in another order, but must be"),
        ("matrix", 3.0, "matrix is 3.0, but must be a list"),
        ("counts", [-6, 0], "counts[0] is -6, but must be a whole number from -5 to 1"),
        ("counts", [0, 2], "counts[1] is 2, but must be a whole number from -5 to 1"),
        ("counts", [0, 1.0], "counts[1] is 1.0, but must be a whole number"),
        ("counts", [0, True], "counts[1] is true, but must be a whole number"),
        ("flags", [True, 0], "flags[1] is 0, but must be true or false"),
        ("flags", [True], "flags is a list of 1, but must be a list of 2"),
        ("pairs", [], "pairs is a list of 0, but must be a list of 2"),
        ("either", 0.5, "either is 0.5, but must be a whole number"),
        ("either", None, "either is null, but must be a whole number"),
        ("left_out", None, "the key 'left_out' in the file is not known"),
    ],
)
def test_anything_else_is_refused(name: str, value: Any, said: str) -> None:
    content = to_plain(held(np.arange(4.0).reshape(2, 2) + 1.0), OMITTED)
    assert np.array_equal(read(content).matrix, [[1.0, 2.0], [3.0, 4.0]])
    content[name] = value
    with pytest.raises(ModelFileError) as caught:
        read(content)
    assert said in str(caught.value)
    assert str(caught.value).endswith("; try again.")
