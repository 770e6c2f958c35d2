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
_UNSIGNED = {8: "uint8", 16: "uint16", 32: "uint32", 64: "uint64"}


class SameRows:
    """What passes over one table saw; compared whenever one was read to its end.

    Parameters
    ----------
    label : what sentences call the table
    ordered : whether rows must come in the same order each time, as their numbers and what is read beside them need
    """

    def __init__(self, label: str, *, ordered: bool = True) -> None:
        self.label, self.ordered = label, ordered
        self._lock = threading.Lock()
        self._n_rows: int | None = None
        self._sums: dict[str, tuple[int, int]] = {}
        self._trouble: str | None = None

    def watched(self, batches: Iterator[Any], names: Sequence[str]) -> Iterator[Any]:
        """The same record batches; what they hold in the columns `names` is remembered at their end."""
        n_rows = 0
        sums = {name: _Sums() for name in names}
        for batch in batches:
            places = {name: index for index, name in enumerate(batch.schema.names)}
            counts = _counts(n_rows, batch.num_rows)
            for name, one in sums.items():
                one.add(batch.column(places[name]), counts)
            n_rows += batch.num_rows
            yield batch
        self._seen(n_rows, {name: (one.plain, one.placed) for name, one in sums.items()})

    def refuse_changed(self) -> None:
        """Raise SourceError if two passes saw different rows."""
        if self._trouble is not None:
            raise SourceError(f"{self.label}: {self._trouble}")

    def _seen(self, n_rows: int, sums: dict[str, tuple[int, int]]) -> None:
        with self._lock:
            if self._n_rows is not None and n_rows != self._n_rows:
                self._say(f"its rows changed between two passes ({self._n_rows:,}, then {n_rows:,} rows)", "")
            for name, (plain, placed) in sums.items():
                before = self._sums.get(name)
                if before is not None and plain != before[0]:
                    self._say(f"its rows changed between two passes (column {quoted(name)} holds other values)", "")
                elif before is not None and placed != before[1] and self.ordered:
                    self._say("its rows come in another order in each pass", "sort it by a column that names rows, or ")
            self._n_rows = n_rows if self._n_rows is None else self._n_rows
            self._sums = {**sums, **self._sums}

    def _say(self, what: str, cure: str) -> None:
        # What was seen first is the reason for all else.
        self._trouble = self._trouble or (
            f"{what}, but several passes are needed; {cure}write it to a file first and read that."
        )


class _Sums:
    """The two sums of one column."""

    def __init__(self) -> None:
        self.plain = self.placed = self._n_bytes = 0

    def add(self, column: Any, counts: Bits) -> None:
        """Add the values of some rows, each of which counts so often by its place."""
        pa = import_module("pyarrow")

        kind = column.type
        if pa.types.is_dictionary(kind):
            # Numbers of categories may be others in each batch.
            column = column.dictionary_decode()
            kind = column.type
        if pa.types.is_null(kind) or pa.types.is_nested(kind):
            return
        if pa.types.is_decimal(kind):
            column = column.cast(pa.float64(), safe=False)
        elif pa.types.is_boolean(kind):
            column = column.cast(pa.uint8())
        elif not pa.types.is_primitive(kind):
            column = self._texts(column)
        elif kind.bit_width not in _UNSIGNED:
            return
        self._add(_bits(column), counts)

    def _texts(self, column: Any) -> Any:
        """Adds the letters of all texts, one after the other; what is left are their lengths."""
        pa, pc = import_module("pyarrow"), import_module("pyarrow.compute")

        whole = column.cast(pa.large_binary())
        given = whole.drop_null()
        if len(given):
            _, offsets, letters = given.buffers()
            ends = np.frombuffer(offsets, dtype=np.int64)[given.offset : given.offset + len(given) + 1]
            if ends[-1] > ends[0]:
                found = np.frombuffer(letters, dtype=np.uint8)[ends[0] : ends[-1]]
                self._add(found.astype(np.uint64), _counts(self._n_bytes, len(found)))
                self._n_bytes += len(found)
        return pc.binary_length(whole)

    def _add(self, bits: Bits, counts: Bits) -> None:
        self.plain = (self.plain + int(np.add.reduce(bits))) % _MODULUS
        self.placed = (self.placed + int(np.dot(bits, counts))) % _MODULUS


def _counts(start: int, n: int) -> Bits:
    """How often values at the places from `start` on count."""
    return np.arange(start + 1, start + 1 + n, dtype=np.uint64)


def _bits(column: Any) -> Bits:
    """The values as they are stored, one number for each."""
    pa = import_module("pyarrow")

    width = column.type.bit_width
    plain = column.view(getattr(pa, _UNSIGNED[width])())
    if plain.null_count:
        plain = plain.fill_null(_MISSING % (1 << width))
    values: Bits = plain.to_numpy(zero_copy_only=False)
    return values if width == 64 else values.astype(np.uint64)
