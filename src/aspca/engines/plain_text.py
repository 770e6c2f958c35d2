"""From bytes in any encoding to a UTF-8 file with one kind of line ending: the file itself where it is one."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from aspca.engines.errors import SourceError

# Small enough to stay in the cache.
CHUNK = 1 << 18
# DuckDB keeps several lines in memory, so their length must have a bound.
LONGEST_LINE = 2_000_000
# The mark of UTF-32 begins with that of UTF-16, so it comes first.
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\x1b"))


def plain_text(path: Path, label: str, encoding: str | None, scratch: Path) -> Path:
    """A UTF-8 file with the same text: `path` itself, or a copy in `scratch` that is made in small pieces.

    Raises
    ------
    SourceError
        Not text, not in this encoding, NUL characters, nothing but blanks, or a line beyond 2,000,000 bytes.
    """
    with path.open("rb") as file:
        head = file.read(4096)
    name = encoding or next((found for mark, found in MARKS if head.startswith(mark)), None) or "utf-8"
    is_utf8 = codecs.lookup(name).name in ("utf-8", "utf-8-sig", "ascii")
    if encoding is None and is_utf8:
        _refuse_binary(head, label)
    endings = _Endings()
    copy = None if is_utf8 else scratch / "text"
    _pass(path, label, "utf-8" if is_utf8 else name, endings, copy)
    if endings.are_mixed:
        final = scratch / "lines"
        with final.open("wb") as out:
            for chunk in _unified(copy or path):
                out.write(chunk)
        return final
    return copy or path


class _Endings:
    """Counts line endings and watches the length of lines, over pieces of a file."""

    def __init__(self) -> None:
        self.pairs = self.feeds = self.returns = self.open_line = 0
        self.last = b""
        self.seen = False

    def add(self, chunk: bytes, label: str) -> None:
        feeds, returns = _count(chunk, b"\n"), _count(chunk, b"\r")
        pairs = (chunk.count(b"\r\n") if returns else 0) + (self.last == b"\r" and chunk[:1] == b"\n")
        first = re.search(rb"[\r\n]", chunk)
        if self.open_line + (first.start() if first else len(chunk)) > LONGEST_LINE:
            raise SourceError(
                f"{label}: line {self.line} is longer than {LONGEST_LINE:,} bytes; "
                "check the delimiter and the quotes, or shorten the cells."
            )
        ending = max(chunk.rfind(b"\n"), chunk.rfind(b"\r"))
        self.open_line = len(chunk) - ending - 1 if ending >= 0 else self.open_line + len(chunk)
        self.pairs, self.feeds, self.returns = self.pairs + pairs, self.feeds + feeds, self.returns + returns
        self.last = chunk[-1:]
        self.seen = self.seen or bool(chunk.strip(b" \t\r\n\xef\xbb\xbf"))

    @property
    def line(self) -> int:
        """The line in which the next byte stands, from 1."""
        return 1 + self.feeds + self.returns - self.pairs

    @property
    def are_mixed(self) -> bool:
        return ((self.feeds > self.pairs) + (self.returns > self.pairs) + (self.pairs > 0)) > 1


def _count(chunk: bytes, byte: bytes) -> int:
    """`chunk.count(byte)`, ten times as fast: most of a large file is looked through here."""
    return int(np.count_nonzero(np.frombuffer(chunk, dtype=np.uint8) == byte[0])) if byte in chunk else 0


def _pass(path: Path, label: str, encoding: str, endings: _Endings, copy: Path | None) -> None:
    decoder = codecs.getincrementaldecoder(encoding)()
    out = copy.open("wb") if copy else None
    try:
        with path.open("rb") as file:
            while True:
                chunk = file.read(CHUNK)
                # ASCII is UTF-8 as it is, unless a character was left open before it.
                done = out is None and chunk and chunk.isascii() and not decoder.getstate()[0]
                try:
                    text = "" if done else decoder.decode(chunk, final=not chunk)
                except UnicodeError as error:
                    raise _encoding_error(label, encoding, error, endings) from None
                plain = chunk if out is None else text.encode("utf-8", errors="replace")
                if (nul := plain.find(b"\0")) >= 0:
                    endings.add(plain[:nul], label)
                    raise SourceError(
                        f"{label}: line {endings.line} holds a NUL character, which text never does; "
                        "export the table anew as text."
                    )
                if plain:
                    endings.add(plain, label)
                if out is not None:
                    out.write(plain)
                if not chunk:
                    break
    finally:
        if out is not None:
            out.close()
    if not endings.seen:
        raise SourceError(f"{label}: the file is empty; it must hold at least one row.")


def _unified(path: Path) -> Iterator[bytes]:
    """The bytes of a file with every line ending written as a single line feed."""
    with path.open("rb") as file:
        kept = b""
        while chunk := file.read(CHUNK):
            chunk = kept + chunk
            kept = b"\r" if chunk.endswith(b"\r") else b""
            yield chunk.removesuffix(kept).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        yield b"\n" if kept else b""


def _encoding_error(label: str, encoding: str, error: UnicodeError, endings: _Endings) -> SourceError:
    if not isinstance(error, UnicodeDecodeError):
        return SourceError(f"{label}: the file is not {encoding}; say which encoding it has.")
    if error.end == len(error.object) and "truncated" in error.reason:
        return SourceError(f"{label}: the file ends in the middle of a character; copy or export it anew.")
    piece = error.object[: error.start]
    line = endings.line + (piece.count(b"\n") if encoding == "utf-8" else piece.decode(encoding, "ignore").count("\n"))
    byte = error.object[error.start]
    cure = "give its encoding, for example 'latin-1'" if encoding == "utf-8" else "give another encoding"
    return SourceError(f"{label}: line {line} holds the byte 0x{byte:02x}, which is not {encoding.upper()}; {cure}.")


def _refuse_binary(head: bytes, label: str) -> None:
    even, odd = head[0::2].count(0), head[1::2].count(0)
    for zeros, others, name in ((odd, even, "utf-16-le"), (even, odd, "utf-16-be")):
        if zeros * 2 > 0.6 * len(head) > 0 and others == 0:
            raise SourceError(
                f"{label}: this seems to be UTF-16 without a byte order mark; give its encoding, here '{name}'."
            )
    controls = sum(head.count(byte) for byte in CONTROLS)
    # A stray one is named with its line, further on.
    if controls > max(3, 0.02 * len(head)):
        raise SourceError(
            f"{label}: this is not a text file (its first bytes are {head[:4].hex(' ')}); "
            "give a CSV, Parquet, Arrow or JSON lines file."
        )
