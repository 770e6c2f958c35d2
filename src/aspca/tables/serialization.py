"""What a pass found, as bytes and back: a tree in JSON, and behind it each array in NumPy's .npy format.

No pickle: bytes that come back from other machines make numbers, texts and arrays, and objects of classes of this
package, whose state is set without calling anything but their own `__setstate__`.
"""

from __future__ import annotations

import io
import json
import struct
from importlib import import_module
from typing import Any

import numpy as np

PACKAGE = "aspca"
_MAGIC = b"aspca result 1\n\0"


class SerializationError(ValueError):
    """Bytes that `serialize` did not make, or a thing that it cannot make bytes of."""


def serialize(thing: Any) -> bytes:
    """A tree of numbers, texts, arrays, collections and objects of this package as bytes.

    Each place of the tree is written for itself: what stands in two places comes back as two equal things. Arrays that
    cannot be written to come back so. An accumulator leaves behind what it only reads (`stays_here`).
    """
    buffers: list[bytes] = []
    tree = json.dumps([_encode(thing, buffers), [len(buffer) for buffer in buffers]], separators=(",", ":")).encode()
    return b"".join([_MAGIC, struct.pack("<Q", len(tree)), tree, *buffers])


def deserialize(data: bytes | bytearray | memoryview) -> Any:
    """What `serialize` made bytes of; SerializationError for anything else."""
    view = memoryview(data)
    begin = len(_MAGIC) + 8
    if len(view) < begin or view[: len(_MAGIC)] != _MAGIC:
        raise SerializationError("These bytes are no result of a pass.")
    end = begin + struct.unpack("<Q", view[len(_MAGIC) : begin])[0]
    try:
        tree, lengths = json.loads(bytes(view[begin:end]))
        buffers = []
        for length in lengths:
            buffers.append(view[end : end + length])
            end += length
    except (ValueError, TypeError) as error:
        raise SerializationError("These bytes are damaged.") from error
    if end != len(view):
        raise SerializationError("These bytes are cut short, or something follows them.")
    return _decode(tree, buffers)


def _encode(thing: Any, buffers: list[bytes]) -> Any:
    """None, truth values, numbers, texts and lists stand for themselves, {tag: ...} for all else."""
    kind = type(thing)
    if thing is None or kind in (bool, int, float, str):
        return thing
    if kind is list:
        return [_encode(item, buffers) for item in thing]
    if kind in (tuple, set):
        return {kind.__name__: [_encode(item, buffers) for item in thing]}
    if kind is dict:
        return {"dict": [[_encode(key, buffers), _encode(value, buffers)] for key, value in thing.items()]}
    if kind is bytes:
        buffers.append(thing)
        return {"bytes": len(buffers) - 1}
    if kind is np.ndarray or isinstance(thing, np.generic):
        return _encode_array(thing, buffers)
    name = [kind.__module__, kind.__qualname__]
    if not _is_allowed(*name):
        raise SerializationError(f"A {'.'.join(name)} cannot be sent; only objects of classes of {PACKAGE} can.")
    if isinstance(thing, BaseException):
        return {"error": [*name, _encode(list(thing.args), buffers), _encode(thing.__dict__, buffers)]}
    if isinstance(thing, tuple):
        return {"named": [*name, [_encode(item, buffers) for item in thing]]}
    state = thing.__getstate__()
    if isinstance(state, dict):
        left = getattr(kind, "stays_here", ())
        state = {key: value for key, value in state.items() if key not in left}
    return {"object": [*name, _encode(state, buffers)]}


def _encode_array(array: Any, buffers: list[bytes]) -> Any:
    file = io.BytesIO()
    try:
        np.lib.format.write_array(file, np.asarray(array), allow_pickle=False)
    except ValueError as error:
        raise SerializationError(
            f"An array of type {array.dtype} cannot be sent; it must hold plain values."
        ) from error
    buffers.append(file.getvalue())
    if not isinstance(array, np.ndarray):
        return {"scalar": len(buffers) - 1}
    return {"array": [len(buffers) - 1, array.flags.writeable]}


def _decode(tree: Any, buffers: list[memoryview]) -> Any:
    if isinstance(tree, list):
        return [_decode(item, buffers) for item in tree]
    if not isinstance(tree, dict):
        return tree
    ((tag, content),) = tree.items()
    match tag:
        case "tuple":
            return tuple(_decode(content, buffers))
        case "set":
            return set(_decode(content, buffers))
        case "dict":
            return {_decode(key, buffers): _decode(value, buffers) for key, value in content}
        case "bytes":
            return bytes(buffers[content])
        case "scalar":
            return _decode_array(buffers[content])[()]
        case "array":
            array = _decode_array(buffers[content[0]])
            array.flags.writeable = content[1]
            return array
    return _make(tag, _find_class(*content[:2]), _decode(content[2:], buffers))


def _decode_array(buffer: memoryview) -> Any:
    return np.lib.format.read_array(io.BytesIO(buffer), allow_pickle=False)


def _find_class(module: str, name: str) -> Any:
    found: Any = import_module(module) if _is_allowed(module, name) else None
    for step in name.split("."):
        found = getattr(found, step, None)
    if not isinstance(found, type) or not _is_allowed(found.__module__, found.__qualname__):
        raise SerializationError(f"There is no class {name} in {module} that a result may hold.")
    return found


def _make(tag: str, made: Any, content: list[Any]) -> Any:
    """An object, without its constructor, which may take other arguments than those that it keeps."""
    base = {"named": tuple, "error": BaseException, "object": object}.get(tag)
    if base is None or not issubclass(made, base) or (base is object and issubclass(made, (tuple, BaseException))):
        raise SerializationError("These bytes are damaged.")
    if tag == "named":
        return tuple.__new__(made, content[0])
    thing = made.__new__(made)
    if tag == "error":
        thing.args = tuple(content[0])
        thing.__dict__.update(content[1])
        return thing
    state = content[0]
    if hasattr(made, "__setstate__"):
        thing.__setstate__(state)
        return thing
    # As Python keeps states: a dict, or a pair of it and of what stands in slots.
    for part in state if isinstance(state, tuple) else (state,):
        for key, value in (part or {}).items():
            object.__setattr__(thing, key, value)
    return thing


def _is_allowed(module: str, name: str) -> bool:
    """Whether a class is one of this package, or that of plain sentences."""
    return module.partition(".")[0] == PACKAGE or (module, name) == ("builtins", "ValueError")
