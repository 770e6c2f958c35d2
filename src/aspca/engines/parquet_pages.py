"""Pages of Parquet files, compared with the checksums that stand in their headers: DuckDB does not look at them.

What no checksum covers cannot be noticed: the footer, and headers themselves but for sizes and numbers of values.
A header is a struct of Thrift's compact protocol: https://parquet.apache.org/docs/file-format/data-pages/checksumming/.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import BinaryIO, NamedTuple

# Numbers of the fields of a PageHeader, and of Thrift's types.
_SIZE, _CHECKSUM, _DATA, _DATA_V2 = 3, 4, 5, 8
_COUNT = 1
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
_NUMBERS = (4, 5, 6)
# Headers hold statistics, which may be texts of any length; more than this is none.
_LONGEST_HEADER = 1 << 24
_DEEPEST = 8
_CHUNK = 1 << 20


class Damaged(ValueError):
    """A page is not as it was written."""


class Page(NamedTuple):
    """Where a page's content begins, how long it is, its checksum, if it has one, and how many values it holds."""

    start: int
    size: int
    checksum: int | None
    n_values: int


def refuse_damaged_pages(file: BinaryIO, chunks: Iterable[tuple[int, int, int]]) -> None:
    """Raise `Damaged` if a page is not what its checksum says, or if there is none where one should be.

    Parameters
    ----------
    chunks : where each column's pages begin, how many bytes they take with their headers, and how many values they hold
    """
    for start, size, n_values in chunks:
        found = 0
        for page in pages(file, start, size):
            found += page.n_values
            if page.checksum is not None and _checksum(file, page) != page.checksum & 0xFFFFFFFF:
                raise Damaged("a checksum does not fit")
        if found != n_values:
            raise Damaged("not as many values as there should be")


def pages(file: BinaryIO, start: int, size: int) -> Iterator[Page]:
    """The pages of one column in one group of rows."""
    if start < 0 or size < 0:
        raise Damaged("a place before the beginning")
    place = start
    # Writers of old count the first header or do not, so that the last page may end a little later.
    while place < start + size:
        header = _Header(file, place)
        fields = header.struct()
        length = fields.get((_SIZE,), -1)
        if length < 0:
            raise Damaged("a page without a size")
        # A dictionary holds none of the column's own values.
        n_values = fields.get((_DATA, _COUNT), 0) + fields.get((_DATA_V2, _COUNT), 0)
        yield Page(header.place, length, fields.get((_CHECKSUM,)), n_values)
        place = header.place + length


def _checksum(file: BinaryIO, page: Page) -> int:
    file.seek(page.start)
    value, left = 0, page.size
    while left:
        part = file.read(min(left, _CHUNK))
        if not part:
            raise Damaged("cut short")
        value, left = zlib.crc32(part, value), left - len(part)
    return value


class _Header:
    """A reader of one header; `place` is where it has come to in the file."""

    def __init__(self, file: BinaryIO, place: int) -> None:
        self._file, self._end, self.place = file, place + _LONGEST_HEADER, place
        file.seek(place)

    def struct(self, depth: int = 0) -> dict[tuple[int, ...], int]:
        """The fields that are whole numbers, by their numbers from the outside in; all others are passed over."""
        if depth > _DEEPEST:
            raise Damaged("a header too deep")
        found: dict[tuple[int, ...], int] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._signed()
            kind = head & 15
            if kind in _NUMBERS:
                found[(number,)] = self._signed()
            elif kind == _STRUCT:
                found.update({(number, *inner): value for inner, value in self.struct(depth + 1).items()})
            elif kind not in (_TRUE, _FALSE):
                self._pass(kind, depth)
        return found

    def _pass(self, kind: int, depth: int) -> None:
        if kind in (_TRUE, _FALSE, _BYTE):
            # Inside a list a truth value is a byte.
            self._byte()
        elif kind in _NUMBERS:
            self._signed()
        elif kind == _DOUBLE:
            self._skip(8)
        elif kind == _BINARY:
            self._skip(self._varint())
        elif kind in (_LIST, _SET):
            head = self._byte()
            self._pass_all(head >> 4 if head >> 4 < 15 else self._varint(), (head & 15,), depth)
        elif kind == _MAP:
            count = self._varint()
            if count:
                kinds = self._byte()
                self._pass_all(count, (kinds >> 4, kinds & 15), depth)
        elif kind == _STRUCT:
            self.struct(depth + 1)
        else:
            raise Damaged("a header of no known kind")

    def _pass_all(self, count: int, kinds: tuple[int, ...], depth: int) -> None:
        if count > _LONGEST_HEADER or depth > _DEEPEST:
            raise Damaged("a header too long")
        for _ in range(count):
            for kind in kinds:
                self._pass(kind, depth + 1)

    def _byte(self) -> int:
        read = self._file.read(1)
        self.place += 1
        if not read or self.place > self._end:
            raise Damaged("a header without an end")
        return read[0]

    def _skip(self, count: int) -> None:
        self.place += count
        if self.place > self._end:
            raise Damaged("a header without an end")
        self._file.seek(self.place)

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise Damaged("a number too long")

    def _signed(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
