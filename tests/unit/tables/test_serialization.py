"""What a pass found comes back from bytes as it was; nothing but numbers, texts and classes of the package does."""

from __future__ import annotations

import json
import math
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from aspca.moments.accumulator import CompositeAccumulator
from aspca.moments.moments import Moments
from aspca.tables.errors import JobError, RequestError, SourceError, UndefinedError
from aspca.tables.parts import Outcome
from aspca.tables.serialization import SerializationError, deserialize, serialize

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.integers(-(2**40), 2**80)
)
KINDS = arrays.floating_dtypes(sizes=(32, 64)) | arrays.integer_dtypes() | arrays.unsigned_integer_dtypes()
ARRAYS = arrays.arrays(
    KINDS | arrays.boolean_dtypes() | arrays.unicode_string_dtypes() | arrays.byte_string_dtypes(),
    arrays.array_shapes(min_dims=0, min_side=0, max_side=4),
)
KEYS = st.text() | st.binary() | st.floats(allow_nan=False) | st.integers() | st.tuples(st.integers(), st.text())
TREES = st.recursive(
    SCALARS | ARRAYS,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(KEYS, inner)
        | st.sets(KEYS)
        | inner.map(lambda part: CompositeAccumulator(part, part))
        | inner.map(lambda part: Outcome(found=[part]))
    ),
    max_leaves=12,
)


def alike(one: Any, other: Any) -> bool:
    """Whether two trees are the same, types and bits included."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        flags = (one.flags.writeable, one.flags.f_contiguous) == (other.flags.writeable, other.flags.f_contiguous)
        return flags and (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
    if isinstance(one, float):
        return (math.isnan(one) and math.isnan(other)) or struct.pack("d", one) == struct.pack("d", other)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, dict):
        return alike(list(one), list(other)) and all(map(alike, one.values(), other.values()))
    if isinstance(one, (CompositeAccumulator, Outcome)):
        return alike(vars(one), vars(other))
    return bool(one == other)


@given(TREES)
def test_what_is_packed_comes_back(tree: Any) -> None:
    assert alike(deserialize(serialize(tree)), tree)


def test_moments_come_back_and_cannot_be_written_to() -> None:
    rows = np.random.default_rng(0).normal(size=(30, 3)) + 1e8
    before = Moments.from_array(rows)
    after = deserialize(serialize([before]))[0]
    for name in ("centre", "residual", "scatter", "minimum", "maximum", "decimals"):
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name))
        assert not getattr(after, name).flags.writeable
    np.testing.assert_array_equal(after.merge(before).scatter, before.merge(before).scatter)


def test_arrays_by_columns_and_scalars_of_numpy_keep_their_kinds() -> None:
    turned = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    sealed = np.arange(3)
    sealed.flags.writeable = False
    tree = [turned, sealed, turned[:, 1:], np.float32(0.1), np.int64(-3), np.bool_(True), np.array(2.5)]
    after = deserialize(serialize(tree))
    assert alike(after[:2], tree[:2])
    np.testing.assert_array_equal(after[2], tree[2])
    assert [type(value) for value in after[3:6]] == [np.float32, np.int64, np.bool_]
    assert after[3:] == tree[3:]


@pytest.mark.parametrize(
    "error",
    [
        SourceError("frame: a sentence.", ("--ignore", "x")),
        JobError("A sentence.", ("--by", "y")),
        RequestError("Another."),
        UndefinedError("No logarithm.", "price", "log"),
        ValueError("A plain one."),
    ],
)
def test_sentences_come_back_as_they_were_raised(error: Exception) -> None:
    after = deserialize(serialize(error))
    assert type(after) is type(error)
    assert (str(after), after.args, vars(after)) == (str(error), error.args, vars(error))


@pytest.mark.parametrize("thing", [object(), {"a": [lambda: 1]}, np.array([object()]), 1j, KeyError("x"), json])
def test_what_is_not_ours_is_not_serialize(thing: Any) -> None:
    with pytest.raises(SerializationError):
        serialize(thing)


@pytest.mark.parametrize(
    "tree",
    [
        {"object": ["os", "system", None]},
        {"object": ["subprocess", "Popen", {"dict": []}]},
        {"object": ["aspca.tables.serialization", "json.JSONDecoder", None]},
        {"object": ["aspca.tables.serialization", "import_module", None]},
        {"object": ["aspca_evil", "Thing", None]},
        {"object": ["builtins", "ValueError", None]},
        {"error": ["builtins", "OSError", [], {"dict": []}]},
        {"error": ["builtins", "ValueError.mro", [], {"dict": []}]},
        {"enum": ["aspca.tables.parts", "Outcome", "rows"]},
        {"error": ["aspca.tables.parts", "Outcome", [], {"dict": []}]},
    ],
)
def test_bytes_make_no_class_that_is_not_ours(tree: Any) -> None:
    text = json.dumps([tree, []]).encode()
    with pytest.raises(SerializationError):
        deserialize(serialize(None)[:16] + struct.pack("<Q", len(text)) + text)


def test_bytes_that_are_cut_short_are_refused() -> None:
    whole = serialize({"a": np.arange(9)})
    for length in range(len(whole)):
        with pytest.raises(SerializationError):
            deserialize(whole[:length])
    with pytest.raises(SerializationError):
        deserialize(whole + b"x")
