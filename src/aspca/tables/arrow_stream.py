"""Numbers out of DuckDB by the Arrow C stream interface: columns at full speed, and no pyarrow, which CSV does without.

The three structures are those of https://arrow.apache.org/docs/format/CStreamInterface.html, which are fixed for good.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from aspca.duckdb_session import run_interruptibly
from aspca.linalg.arrays import Floats, Ints

if TYPE_CHECKING:
    import duckdb

# Rows that are turned from columns at once: they stay in the cache.
TURNED_ROWS = 2048
# Rows of an array at most: half a batch of DuckDB's, so that its memory is used again and again.
MOST_ROWS = 65536


class _Array(ctypes.Structure):
    """ArrowArray: a record batch, or one of its columns."""


_Array._fields_ = [
    *((name, ctypes.c_int64) for name in ("length", "null_count", "offset", "n_buffers", "n_children")),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
    ("private_data", ctypes.c_void_p),
]


class _Stream(ctypes.Structure):
    """ArrowArrayStream."""

    _fields_ = (
        ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)),
        ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)),
        ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)),
        ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("private_data", ctypes.c_void_p),
    )


_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


def number_batches(
    cursor: duckdb.DuckDBPyConnection, query: str, parameters: list[Any]
) -> Iterator[tuple[Floats, Ints]]:
    """The rows of a query whose q columns are all DOUBLE, as values (m, q), C-contiguous, NaN for NULL, and how many of
    each column are NULL (q,); duckdb.Error or RuntimeError where the query fails, at once or further on."""
    relation = run_interruptibly(cursor, cursor.sql, query, params=parameters)
    # The capsule owns the stream, and releases it.
    capsule = run_interruptibly(cursor, relation.__arrow_c_stream__)
    stream = _Stream.from_address(_pointer_of(capsule, b"arrow_array_stream"))
    address = ctypes.addressof(stream)
    while True:
        batch = _Array()
        if run_interruptibly(cursor, stream.get_next, address, ctypes.addressof(batch)):
            raise RuntimeError((stream.get_last_error(address) or b"the query failed").decode(errors="replace"))
        if not batch.release:
            return
        try:
            for start in range(0, batch.length, MOST_ROWS):
                yield _turned(batch, start, min(MOST_ROWS, batch.length - start))
        finally:
            batch.release(ctypes.addressof(batch))


def _turned(batch: _Array, start: int, n_rows: int) -> tuple[Floats, Ints]:
    """Some rows of a record batch; nothing of its memory is kept."""
    columns = [_column(batch.children[index].contents, start, n_rows) for index in range(batch.n_children)]
    values = np.empty((n_rows, batch.n_children))
    for begin in range(0, n_rows, TURNED_ROWS):
        rows = slice(begin, begin + TURNED_ROWS)
        np.stack([column[rows] for column, _ in columns], axis=1, out=values[rows])
    return values, np.array([nulls for _, nulls in columns], dtype=np.intp)


def _column(array: _Array, start: int, length: int) -> tuple[Floats, int]:
    """Values of a column, from `start` on, and how many of them are NULL; a view where none is."""
    first = array.offset + start
    values = np.frombuffer((ctypes.c_double * (first + length)).from_address(array.buffers[1]))[first:]
    if array.null_count == 0 or not array.buffers[0]:
        return values, 0
    bits = np.frombuffer((ctypes.c_uint8 * ((first + length + 7) // 8)).from_address(array.buffers[0]), dtype=np.uint8)
    given = np.unpackbits(bits, count=first + length, bitorder="little")[first:]
    return np.where(given, values, np.nan), length - int(np.count_nonzero(given))
