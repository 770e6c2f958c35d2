"""Damaged Arrow and Parquet files from fixed seeds, read one after the other by a process that is meant to survive it.

Run as a script: arguments are a folder to write in, the first number, how many, and the step. Before each file its
number is printed, so that whoever waits knows which one ended the process; after it, what was said, or "read", or
"misread" where other values came out than were written though only bytes under a checksum were changed.
"""

from __future__ import annotations

import io
import random
import struct
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from aspca.pipeline.fit import moments_of
from aspca.pipeline.passes import Silent
from aspca.preparation import Preparation
from aspca.tables import SourceError, open_source
from aspca.tables.errors import JobError

N_ROWS = 300


def table() -> Any:
    rng = np.random.default_rng(0)
    words = [None if i % 17 == 3 else f"host {i % 11}" * (i % 4) for i in range(N_ROWS)]
    return pa.table(
        {
            "a": rng.normal(size=N_ROWS),
            "n": pa.array([None if i % 7 == 2 else i for i in range(N_ROWS)]),
            "words": words,
            "large": pa.array(words, pa.large_string()),
            "kind": pa.array(["x", "yy", "zzz"] * (N_ROWS // 3)).dictionary_encode(),
            "at": pa.array(np.arange(N_ROWS) * 10**6, pa.timestamp("us")),
            "yes": rng.random(N_ROWS) < 0.5,
            "exact": pa.array(range(N_ROWS), pa.decimal128(12, 2)),
            "view": pa.array(words, pa.string_view()),
            "bytes": pa.array([None if word is None else word.encode() for word in words], pa.binary()),
        }
    )


def parquet(**options: Any) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table(), buffer, row_group_size=128, data_page_size=512, **options)
    return buffer.getvalue()


def arrow(kind: str, compression: str | None) -> bytes:
    buffer = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression, unify_dictionaries=True)
    new = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
    with new(buffer, table().schema, options=options) as writer:
        for batch in table().to_batches(max_chunksize=128):
            writer.write_batch(batch)
    return buffer.getvalue()


def whole_files() -> list[tuple[str, bytes, bool]]:
    """The name, the content, and whether every value stands under a checksum."""
    return [
        ("plain.arrow", arrow("file", None), False),
        ("lz4.arrow", arrow("file", "lz4"), False),
        ("zstd.arrow", arrow("file", "zstd"), False),
        ("stream.arrows", arrow("stream", None), False),
        ("zstd.arrows", arrow("stream", "zstd"), False),
        ("snappy.parquet", parquet(), False),
        ("plain.parquet", parquet(compression="none", use_dictionary=False), False),
        ("checked.parquet", parquet(write_page_checksum=True), True),
        ("zstd.parquet", parquet(compression="zstd", data_page_version="2.0", write_page_checksum=True), True),
        ("gzip.parquet", parquet(compression="gzip", column_encoding="PLAIN", use_dictionary=False), False),
    ]


def flipped(data: bytearray, chance: random.Random) -> None:
    for _ in range(chance.choice([1, 1, 1, 3, 20])):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def random_bytes(data: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(data))
    length = min(chance.choice([1, 4, 16, 200]), len(data) - start)
    data[start : start + length] = chance.randbytes(length)


def cut(data: bytearray, chance: random.Random) -> None:
    del data[chance.randrange(len(data)) :]


def cut_inside(data: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(data))
    del data[start : start + chance.choice([1, 8, 64, 500])]


def blocks_swapped(data: bytearray, chance: random.Random) -> None:
    size = chance.choice([8, 64, 512])
    one, other = (chance.randrange(max(1, len(data) // size)) * size for _ in range(2))
    data[one : one + size], data[other : other + size] = data[other : other + size], data[one : one + size]


def whole_number(data: bytearray, chance: random.Random) -> None:
    """An aligned number, such as an offset or a length, becomes another one."""
    for _ in range(chance.choice([1, 1, 4])):
        form, size = chance.choice([("<i", 4), ("<q", 8)])
        place = chance.randrange(len(data) // size) * size
        value = struct.unpack_from(form, data, place)[0]
        changed = chance.choice(
            [-1, 0, 1, value + 1, value - 1, -value, value * 2, 2**31 - 1, 2**20, value + 2**16, value | 1 << 30]
        )
        limit = 1 << (8 * size - 1)
        struct.pack_into(form, data, place, max(-limit, min(limit - 1, changed)))


def offset(data: bytearray, chance: random.Random) -> None:
    """One of a row of growing numbers is out of line, wherever there is one."""
    numbers = np.frombuffer(bytes(data[: len(data) // 4 * 4]), dtype="<i4")
    steps = np.diff(numbers.astype(np.int64))
    rows = np.flatnonzero(
        (steps[:-2] >= 0) & (steps[1:-1] >= 0) & (steps[2:] > 0) & (numbers[:-3] >= 0) & (steps[2:] < 99)
    )
    if not rows.size:
        return flipped(data, chance)
    place = int(rows[chance.randrange(rows.size)]) + chance.randrange(4)
    struct.pack_into("<i", data, 4 * place, chance.choice([-1, -(2**31), 2**31 - 1, 10**6, 10**9, 0]))
    return None


def tail(data: bytearray, chance: random.Random) -> None:
    """The footer, where lengths and places stand."""
    place = len(data) - 1 - chance.randrange(min(len(data), 400))
    data[place] = chance.randrange(256)


DAMAGES = (flipped, random_bytes, cut, cut_inside, blocks_swapped, whole_number, offset, tail)
WHOLE = whole_files()


def damaged(number: int) -> tuple[str, bytes, bool]:
    """The name, the content, and whether a checksum tells it from the whole file."""
    name, content, checked = WHOLE[number % len(WHOLE)]
    chance = random.Random(number)  # noqa: S311
    data = bytearray(content)
    DAMAGES[number // len(WHOLE) % len(DAMAGES)](data, chance)
    return name, bytes(data), checked and only_under_checksums(content, bytes(data))


class Page(NamedTuple):
    start: int
    size: int
    checksum: int


def pages(whole: bytes) -> list[Page]:
    """The contents of all pages of a whole Parquet file."""
    metadata = pq.ParquetFile(io.BytesIO(whole)).metadata
    chunks = [
        metadata.row_group(i).column(j) for i in range(metadata.num_row_groups) for j in range(metadata.num_columns)
    ]
    found = []
    for chunk in chunks:
        file = io.BytesIO(whole)
        place = file.seek(min(place for place in (chunk.dictionary_page_offset, chunk.data_page_offset) if place))
        end = place + chunk.total_compressed_size
        while place < end:
            fields = thrift_struct(file)
            found.append(Page(file.tell(), fields[3], fields.get(4, 0)))
            place = file.seek(fields[3], io.SEEK_CUR)
    return found


def thrift_struct(file: io.BytesIO) -> dict[int, Any]:
    """The fields of a struct of Thrift's compact protocol that has what headers of pages have."""
    found: dict[int, Any] = {}
    number = 0
    while head := file.read(1)[0]:
        number += head >> 4
        match head & 15:
            case 1 | 2:
                found[number] = head & 15 == 1
            case 4 | 5 | 6:
                found[number] = (value := varint(file)) >> 1 ^ -(value & 1)
            case 8:
                found[number] = file.read(varint(file))
            case 12:
                found[number] = thrift_struct(file)
            case kind:
                raise AssertionError(kind)
    return found


def varint(file: io.BytesIO) -> int:
    byte = file.read(1)[0]
    return byte if byte < 128 else byte & 127 | varint(file) << 7


def only_under_checksums(whole: bytes, data: bytes) -> bool:
    """Whether a Parquet file differs from the whole one in the contents of pages alone, or not at all."""
    if len(data) != len(whole):
        return False
    covered = np.zeros(len(whole), dtype=bool)
    for page in pages(whole):
        covered[page.start : page.start + page.size] = True
    differ = np.frombuffer(whole, dtype=np.uint8) != np.frombuffer(data, dtype=np.uint8)
    return bool(covered[differ].all())


def values_of(path: Path) -> tuple[Any, ...]:
    """All that can be had of a file."""
    with open_source([str(path)]) as source:
        names = [column.name for column in source.columns]
        cells = [row for rows in source.cells(names, 100) for row in rows]
        assert len(cells) == source.count()
        numbers = [column.name for column in source.columns if column.kind != "text"]
        if numbers:
            try:
                assert moments_of(source, Preparation.identity(numbers), Silent()).n_rows == source.count()
            except JobError as error:
                if "has no value" not in str(error):
                    raise
        return tuple(cells)


def reading(path: Path, whole: tuple[Any, ...], checked: bool) -> str:
    try:
        values = values_of(path)
    except (SourceError, JobError) as error:
        return str(error)
    return "misread" if checked and values != whole else "read"


def main(folder: Path, first: int, count: int, step: int) -> None:
    whole = {}
    for name, content, _ in WHOLE:
        (folder / name).write_bytes(content)
        whole[name] = values_of(folder / name)
    for number in range(first, first + count * step, step):
        name, content, checked = damaged(number)
        print(number, name, end=" ", flush=True)
        (folder / name).write_bytes(content)
        print(reading(folder / name, whole[name], checked).replace("\n", "\\n"), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
