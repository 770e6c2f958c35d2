"""Whether every pass over a table saw the same rows: what is computed anew each time may have changed meanwhile.

A pass leaves two sums modulo 2^64 for each column that it read, over all values as bits: a plain one, which does not
depend on the order of rows, and one in which each value counts as often as its place, which does. Neither depends on
how rows were cut into batches. A change that keeps both would be a strange accident, and nobody's attack is meant.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from aspca.escaping import quoted
from aspca.tables.errors import SourceError

Bits = npt.NDArray[np.uint64]
_MODULUS = 1 << 64
# Stands for a missing value, cut to the width of its column; not zero, which is a value of many.
_MISSING = 0x5BD1E9955BD1E995


class SameRows:
    """What passes over one table saw; compared whenever one was read to its end."""

    def __init__(self, label: str) -> None:
        self.label = label
        self._lock = threading.Lock()
        self._n_rows: int | None = None
        self._sums: dict[str, tuple[int, int]] = {}
        self._trouble: str | None = None

    def watched(self, batches: Iterator[Any], names: Sequence[str]) -> Iterator[Any]:
        """The same record batches; what they hold in the columns `names` is remembered at their end."""
        n_rows, sums = 0, {name: _Sums() for name in names}
        for batch in batches:
            places = {name: index for index, name in enumerate(batch.schema.names)}
            counts = _counts(n_rows, batch.num_rows)
            for name, one in sums.items():
                one.add(batch.column(places[name]), counts)
            n_rows += batch.num_rows
            yield batch
        with self._lock:
            self._compare(n_rows, {name: (one.plain, one.placed) for name, one in sums.items()})

    def refuse_changed(self) -> None:
        """Raise SourceError if two passes saw different rows."""
        if self._trouble is not None:
            raise SourceError(f"{self.label}: {self._trouble}")

    def _compare(self, n_rows: int, sums: dict[str, tuple[int, int]]) -> None:
        changed, cure = "", ""
        if self._n_rows not in (None, n_rows):
            changed = f"its rows changed between two passes ({self._n_rows:,}, then {n_rows:,} rows)"
        for name, (plain, placed) in () if changed else sums.items():
            before = self._sums.get(name, (plain, placed))
            if plain != before[0]:
                changed = f"its rows changed between two passes (column {quoted(name)} holds other values)"
            elif placed != before[1]:
                changed = "its rows come in another order in each pass"
                cure = "sort it by a column that names rows, or "
            if changed:
                break
        # What was seen first is the reason for all else.
        if changed and self._trouble is None:
            self._trouble = f"{changed}, but several passes are needed; {cure}write it to a file first and read that."
        self._n_rows = n_rows if self._n_rows is None else self._n_rows
        self._sums = {**sums, **self._sums}


class _Sums:
    """The two sums of one column."""

    def __init__(self) -> None:
        self.plain = self.placed = self._n_bytes = 0

    def add(self, column: Any, counts: Bits) -> None:
        """Add the values of some rows, each of which counts so often by its place."""
        pa = import_module("pyarrow")
        if pa.types.is_dictionary(column.type):
            # Numbers of categories may be others in each batch.
            column = column.dictionary_decode()
        if pa.types.is_null(column.type) or pa.types.is_nested(column.type):
            return
        if pa.types.is_decimal(column.type):
            column = column.cast(pa.float64(), safe=False)
        elif pa.types.is_boolean(column.type):
            column = column.cast(pa.uint8())
        elif not pa.types.is_primitive(column.type):
            column = self._add_texts(column)
        width = column.type.bit_width
        if width in (8, 16, 32, 64):
            plain = column.view(getattr(pa, f"uint{width}")()).fill_null(_MISSING % (1 << width))
            self._add(plain.to_numpy(zero_copy_only=False).astype(np.uint64, copy=False), counts)

    def _add_texts(self, column: Any) -> Any:
        """Adds the letters of all texts, one after the other; what is left are their lengths."""
        whole = column.cast(import_module("pyarrow").large_binary())
        given = whole.drop_null()
        if len(given):
            _, offsets, letters = given.buffers()
            ends = np.frombuffer(offsets, dtype=np.int64)[given.offset : given.offset + len(given) + 1]
            if ends[-1] > ends[0]:
                found = np.frombuffer(letters, dtype=np.uint8)[ends[0] : ends[-1]]
                self._add(found.astype(np.uint64), _counts(self._n_bytes, len(found)))
                self._n_bytes += len(found)
        return import_module("pyarrow.compute").binary_length(whole)

    def _add(self, bits: Bits, counts: Bits) -> None:
        self.plain = (self.plain + int(np.add.reduce(bits))) % _MODULUS
        self.placed = (self.placed + int(np.dot(bits, counts))) % _MODULUS


def _counts(start: int, n: int) -> Bits:
    """How often values at the places from `start` on count."""
    return np.arange(start + 1, start + 1 + n, dtype=np.uint64)
