"""What a pass found, as bytes and back: a tree in JSON, and the arrays as they are behind it.

No pickle: bytes that come back from other machines make numbers, texts and arrays, and objects of classes of this
package, whose state is set without calling anything but their own `__setstate__`.
"""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Callable
from enum import Enum
from importlib import import_module
from typing import Any

import numpy as np

from aspca.moments.rows import Travelling

PACKAGE = "aspca"
_MAGIC = b"aspca parcel 1\n\0"
# Sentences that are raised by classes of Python's own.
_PLAIN_ERRORS: dict[str, type[Exception]] = {"ValueError": ValueError, "OSError": OSError}
_COLLECTIONS: dict[str, Callable[[list[Any]], Any]] = {"tuple": tuple, "set": set, "frozenset": frozenset}
_PAIRS: dict[str, Callable[[dict[Any, Any]], Any]] = {"dict": dict, "Counter": Counter}
_KINDS = "biufcSUmM"


class ParcelError(ValueError):
    """Bytes that are no parcel, or a thing that cannot be one."""


def packed(thing: Any) -> bytes:
    """A tree of numbers, texts, arrays, collections and objects of this package as bytes.

    Each place of the tree is packed for itself: what stands in two places comes back as two equal things. Arrays that
    cannot be written to come back so. A gathering leaves behind what it only reads (`Travelling`).

    Raises
    ------
    ParcelError
        Something in it is of another kind.
    """
    buffers: list[bytes] = []
    tree = json.dumps([_tree(thing, buffers), [len(buffer) for buffer in buffers]], separators=(",", ":")).encode()
    return b"".join([_MAGIC, struct.pack("<Q", len(tree)), tree, *buffers])


def unpacked(parcel: bytes | bytearray | memoryview) -> Any:
    """What `packed` made bytes of.

    Raises
    ------
    ParcelError
        It is no parcel, or is cut short, or names a class that is none of this package's.
    """
    view = memoryview(parcel)
    begin = len(_MAGIC) + 8
    if len(view) < begin or view[: len(_MAGIC)] != _MAGIC:
        raise ParcelError("These bytes are no parcel.")
    end = begin + struct.unpack("<Q", view[len(_MAGIC) : begin])[0]
    try:
        tree, lengths = json.loads(bytes(view[begin:end]))
        buffers = []
        for length in lengths:
            buffers.append(view[end : end + length])
            end += length
    except (ValueError, TypeError) as error:
        raise ParcelError("This parcel is damaged.") from error
    if end != len(view):
        raise ParcelError("This parcel is cut short, or something follows it.")
    return _thing(tree, buffers)


# ---- to a tree: None, truth values, numbers, texts and lists stand for themselves, {tag: ...} for all else


def _tree(thing: Any, buffers: list[bytes]) -> Any:
    kind = type(thing)
    if thing is None or kind in (bool, int, float, str):
        return thing
    if kind is list:
        return [_tree(item, buffers) for item in thing]
    if kind in (tuple, set, frozenset):
        return {kind.__name__: [_tree(item, buffers) for item in thing]}
    if kind in (dict, Counter):
        return {kind.__name__: [[_tree(key, buffers), _tree(value, buffers)] for key, value in thing.items()]}
    if kind in (bytes, bytearray):
        return {kind.__name__: _kept(bytes(thing), buffers)}
    if kind is np.ndarray or isinstance(thing, np.generic):
        return _array(thing, buffers)
    if isinstance(thing, BaseException) and (kind.__name__ in _PLAIN_ERRORS and kind.__module__ == "builtins"):
        return {"plain": [kind.__name__, _tree(list(thing.args), buffers)]}
    if not _ours(kind.__module__):
        raise ParcelError(f"A {kind.__module__}.{kind.__qualname__} cannot be packed; only classes of {PACKAGE} can.")
    name = [kind.__module__, kind.__qualname__]
    if isinstance(thing, Enum):
        return {"enum": [*name, thing.name]}
    if isinstance(thing, BaseException):
        return {"error": [*name, _tree(list(thing.args), buffers), _tree(thing.__dict__, buffers)]}
    if isinstance(thing, tuple):
        return {"named": [*name, [_tree(item, buffers) for item in thing]]}
    state = thing.__getstate__()
    if isinstance(thing, Travelling) and isinstance(state, dict):
        state = {key: value for key, value in state.items() if key not in kind.stays}
    return {"object": [*name, _tree(state, buffers)]}


def _kept(data: bytes, buffers: list[bytes]) -> int:
    buffers.append(data)
    return len(buffers) - 1


def _array(thing: Any, buffers: list[bytes]) -> Any:
    array = np.asarray(thing)
    if array.dtype.kind not in _KINDS:
        raise ParcelError(f"An array of type {array.dtype} cannot be packed; it must hold numbers, dates or texts.")
    if not isinstance(thing, np.ndarray):
        return {"scalar": [array.dtype.str, _kept(array.tobytes(), buffers)]}
    columns_first = array.flags.f_contiguous and not array.flags.c_contiguous
    place = _kept(array.tobytes("F" if columns_first else "C"), buffers)
    return {"array": [array.dtype.str, list(array.shape), columns_first, array.flags.writeable, place]}


# ---- and back


def _thing(tree: Any, buffers: list[memoryview]) -> Any:
    if isinstance(tree, list):
        return [_thing(item, buffers) for item in tree]
    if not isinstance(tree, dict):
        return tree
    ((tag, content),) = tree.items()
    if tag in _COLLECTIONS:
        return _COLLECTIONS[tag]([_thing(item, buffers) for item in content])
    if tag in _PAIRS:
        return _PAIRS[tag]({_thing(key, buffers): _thing(value, buffers) for key, value in content})
    if tag in ("bytes", "bytearray"):
        return bytes(buffers[content]) if tag == "bytes" else bytearray(buffers[content])
    if tag == "array":
        return _restored(buffers, *content)
    if tag == "scalar":
        return np.frombuffer(buffers[content[1]], dtype=content[0])[0]
    if tag == "plain":
        return _PLAIN_ERRORS[content[0]](*_thing(content[1], buffers))
    return _object(tag, _class(*content[:2]), [_thing(item, buffers) for item in content[2:]])


def _restored(
    buffers: list[memoryview], dtype: str, shape: list[int], columns_first: bool, writeable: bool, place: int
) -> Any:
    flat = np.frombuffer(buffers[place], dtype=dtype)
    # A copy: the array is to own its memory, and the bytes may go.
    array = np.empty(shape, dtype, order="F" if columns_first else "C")
    array[...] = flat.reshape(shape, order="F" if columns_first else "C")
    array.flags.writeable = writeable
    return array


def _class(module: str, name: str) -> Any:
    if not _ours(module):
        raise ParcelError(f"A parcel names a class of {module}, but only classes of {PACKAGE} are made.")
    found: Any = import_module(module)
    for step in name.split("."):
        found = getattr(found, step, None)
    if not isinstance(found, type) or not _ours(found.__module__):
        raise ParcelError(f"There is no class {name} in {module}.")
    return found


def _object(tag: str, made: Any, content: list[Any]) -> Any:
    if tag == "enum" and issubclass(made, Enum):
        return made[content[0]]
    if tag == "named" and issubclass(made, tuple):
        return tuple.__new__(made, content[0])
    if tag == "error" and issubclass(made, BaseException):
        # Not by its constructor, which may take other arguments than those that it keeps.
        error = made.__new__(made)
        error.args = tuple(content[0])
        error.__dict__.update(content[1])
        return error
    if tag != "object" or issubclass(made, (BaseException, tuple, Enum)):
        raise ParcelError("This parcel is damaged.")
    thing, state = made.__new__(made), content[0]
    if hasattr(made, "__setstate__"):
        thing.__setstate__(state)
        return thing
    # As Python keeps states: a dict, or a pair of it and of what stands in slots.
    for part in state if isinstance(state, tuple) else (state,):
        for key, value in (part or {}).items():
            object.__setattr__(thing, key, value)
    return thing


def _ours(module: str) -> bool:
    return module == PACKAGE or module.startswith(f"{PACKAGE}.")
