"""Plain files, which are all that the readers meet: streams and gzip files onto disk, in small pieces and with a cap;
text in any encoding as UTF-8 with one kind of line ending, the file itself where it is that."""

from __future__ import annotations

import codecs
import gzip
import re
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from aspca.engines.errors import SourceError
from aspca.engines.missing_words import EVERYWHERE
from aspca.engines.paths import Given
from aspca.harmless import for_terminal

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
# What texts are written in that are not UTF-8, the most frequent first (Windows' of western Europe, w3techs.com).
ENCODINGS = (
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1257"),
    *("cp932", "gb18030", "big5", "euc_kr", "euc_jp", "mac_roman", "latin_1"),
)
UNKNOWN_LETTER = "\N{REPLACEMENT CHARACTER}".encode()
LONGEST_SAMPLE = 65_536
# Shares of odd characters that charset-normalizer finds differ by this much between words of one language.
SAME_CHAOS = 0.05
GZIP = b"\x1f\x8b"
# A table packs to a tenth, one of hardly more than zeros to a hundredth; a bomb to a thousandth.
LARGEST_RATIO = 250
# Below this much unpacked text no ratio does harm.
HARMLESS_BYTES = 64 << 20
# Bytes that decide how a table in the text is read: quotes, signs in numbers, words for missing values.
SIGNS = frozenset(b'"_+' + "".join(EVERYWHERE).encode())
CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\x1b"))


def saved_stream(given: Given, folder: Path) -> Path:
    """What a stream delivers, as a file in `folder`: it can be read once, but kinds and values take two passes.

    Raises
    ------
    SourceError
        Standard input is closed.
    """
    target = folder / "stream"
    if given.path is not None:
        with given.path.open("rb") as stream:
            _copy(stream, target)
    elif sys.stdin is None or sys.stdin.closed:
        raise SourceError("Standard input is closed; send a table to it, or name a file.")
    else:
        _copy(sys.stdin.buffer, target)
    return target


def unpacked(path: Path, label: str, folder: Path) -> Path:
    """The text of a gzip file, as a file in `folder`.

    Raises
    ------
    SourceError
        Cut short, damaged, packed twice, or more than 64 MiB that are more than 250 times the packed size.
    """
    target = folder / "unpacked"
    most = max(HARMLESS_BYTES, LARGEST_RATIO * path.stat().st_size)
    written = 0
    try:
        with gzip.open(path, "rb") as packed, target.open("wb") as out:
            while chunk := packed.read(CHUNK):
                if not written and chunk.startswith(GZIP):
                    raise SourceError(f"{label}: this file is packed twice with gzip; unpack it once.")
                written += len(chunk)
                if written > most:
                    raise SourceError(
                        f"{label}: this gzip file unpacks to more than {LARGEST_RATIO} times its size and may be a "
                        "bomb; if you trust it, unpack it first and give the unpacked file."
                    )
                out.write(chunk)
    except EOFError:
        raise SourceError(f"{label}: this gzip file is cut short; copy or pack it anew.") from None
    except (gzip.BadGzipFile, zlib.error):
        raise SourceError(f"{label}: this gzip file is damaged; copy or pack it anew.") from None
    return target


def _copy(stream: IO[bytes], target: Path) -> None:
    with target.open("wb") as out:
        while chunk := stream.read(CHUNK):
            out.write(chunk)


@dataclass(frozen=True)
class PlainText:
    """A UTF-8 file with one kind of line ending, and what was seen on the way to it.

    Parameters
    ----------
    head : its first bytes
    encoding : that of the file
    notes : sentences on what was guessed about its letters
    signs, signs_of_first_line : which of the bytes `SIGNS` occur below the first line feed, and before it
    quotes : how many double quotes it has
    """

    path: Path
    head: bytes
    signs: frozenset[int]
    signs_of_first_line: frozenset[int]
    quotes: int
    encoding: str = "utf-8"
    notes: tuple[str, ...] = ()


def plain_text(path: Path, label: str, encoding: str | None, scratch: Path, likely: str | None = None) -> PlainText:
    """A UTF-8 file with the same text: `path` itself, or a copy in `scratch` that is made in small pieces.

    Without an `encoding` it is UTF-8, or what its byte order mark says, or the `likely` one, or the one that
    charset-normalizer finds.

    Raises
    ------
    SourceError
        Not text, not in this encoding, NUL characters, nothing but blanks, or a line beyond 2,000,000 bytes.
    """
    with path.open("rb") as file:
        head = file.read(4096)
    marked = next((found for mark, found in MARKS if head.startswith(mark)), None)
    name = encoding or marked or _utf16_without_mark(head)
    if name is None:
        _refuse_binary(head, label)
    try:
        seen, path = _decode(path, label, name or "utf-8", scratch)
    except _OtherEncoding:
        if name is not None:
            raise
        name = likely or detect_encoding(path)
        try:
            seen, path = _decode(path, label, name, scratch)
        except _OtherEncoding:
            # Every byte is a letter there.
            name = "latin-1"
            seen, path = _decode(path, label, name, scratch)
    notes = []
    if name is not None and name not in (encoding, marked):
        notes.append(f"{label}: the text is not UTF-8 and is read as {name}; give --encoding if letters look wrong.")
    if seen.nul_line:
        notes.append(f"{label}: line {seen.nul_line} holds a NUL character, which is read as an unknown letter.")
    if seen.mixed_endings:
        # Its first line may end before the first line feed.
        seen.signs |= seen.signs_of_first_line
        final = scratch / "lines"
        with final.open("wb") as out:
            for chunk in _unified(path):
                out.write(chunk)
        path = final
    signs, signs_of_first_line = frozenset(seen.signs), frozenset(seen.signs_of_first_line)
    return PlainText(path, seen.head, signs, signs_of_first_line, seen.quotes, name or "utf-8", tuple(notes))


class _OtherEncoding(SourceError):
    """The text is not in the encoding that was tried."""


def _decode(path: Path, label: str, encoding: str, scratch: Path) -> tuple[_Seen, Path]:
    """What was seen in a text of this encoding, and where it is as UTF-8."""
    seen = _Seen()
    with path.open("rb") as file:
        if codecs.lookup(encoding).name in ("utf-8", "utf-8-sig", "ascii"):
            _pass(file, label, "utf-8", seen, None)
            if not seen.nul_line:
                return seen, path
            # Nothing of it is left in the copy.
            file.seek(0)
            seen = _Seen()
        target = scratch / "text"
        with target.open("wb") as copy:
            _pass(file, label, encoding, seen, copy)
        return seen, target


def detect_encoding(path: Path) -> str:
    """The likely encoding of a text that is not UTF-8, by its lines that are not ASCII.

    Few letters do not tell the encodings of western Europe apart; the most frequent one is taken then.
    """
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        raise SourceError(
            f"{for_terminal(str(path))}: the text is not UTF-8; give its encoding by --encoding, or have it found by "
            "charset-normalizer: pip install 'aspca[cli]'."
        ) from None

    sample = b""
    with path.open("rb") as file:
        for line in file:
            if not line.isascii():
                sample += line[:LONGEST_SAMPLE]
            if len(sample) >= LONGEST_SAMPLE:
                break
    matches = from_bytes(sample, cp_isolation=list(ENCODINGS), threshold=0.3)
    best = min((match.chaos for match in matches), default=0.0)
    near = [match for match in matches if match.chaos <= best + SAME_CHAOS]
    names = [name for match in near for name in match.could_be_from_charset]
    return ENCODINGS[0] if not names or ENCODINGS[0] in names else str(near[0].encoding)


def _utf16_without_mark(head: bytes) -> str | None:
    even, odd = head[0::2].count(0), head[1::2].count(0)
    for zeros, others, name in ((odd, even, "utf-16-le"), (even, odd, "utf-16-be")):
        if zeros * 2 > 0.6 * len(head) > 0 and others == 0:
            return name
    return None


class _Seen:
    """What matters about a text, from its pieces: line endings, the length of lines, signs."""

    def __init__(self) -> None:
        self.pairs = self.feeds = self.returns = self.open_line = self.quotes = 0
        self.last = self.head = b""
        self.nul_line = 0
        self.anything = False
        self.signs = set[int]()
        self.signs_of_first_line = set[int]()

    def add(self, chunk: bytes, label: str) -> None:
        if not self.head:
            self._begin(chunk)
        else:
            self.signs.update(sign for sign in SIGNS - self.signs if sign in chunk)
        self.quotes += chunk.count(b'"')
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
        self.anything = self.anything or bool(chunk.strip(b" \t\r\n\xef\xbb\xbf"))

    def _begin(self, chunk: bytes) -> None:
        self.head = chunk[:64]
        # A first line that has no end here, or one that DuckDB does not see, counts with the rest.
        end = chunk.find(b"\n") + 1
        self.signs_of_first_line = set(SIGNS.intersection(chunk[:end]))
        self.signs = set(SIGNS.intersection(chunk[end:]))

    @property
    def line(self) -> int:
        """The line in which the next byte stands, from 1."""
        return 1 + self.feeds + self.returns - self.pairs

    @property
    def mixed_endings(self) -> bool:
        return ((self.feeds > self.pairs) + (self.returns > self.pairs) + (self.pairs > 0)) > 1


def _count(chunk: bytes, byte: bytes) -> int:
    """`chunk.count(byte)`, ten times as fast: most of a large file is looked through here."""
    return int(np.count_nonzero(np.frombuffer(chunk, dtype=np.uint8) == byte[0])) if byte in chunk else 0


def _pass(file: IO[bytes], label: str, encoding: str, seen: _Seen, copy: IO[bytes] | None) -> None:
    """Look through a text once, and write it to `copy`, if any, as UTF-8."""
    decoder = codecs.getincrementaldecoder(encoding)()
    while True:
        chunk = file.read(CHUNK)
        # ASCII is UTF-8 as it is, unless a character was left open before it.
        done = copy is None and chunk and chunk.isascii() and not decoder.getstate()[0]
        try:
            text = "" if done else decoder.decode(chunk, final=not chunk)
        except UnicodeError as error:
            raise _encoding_error(label, encoding, error, seen) from None
        plain = chunk if copy is None else text.encode("utf-8", errors="replace")
        if b"\0" in plain:
            seen.nul_line = seen.nul_line or seen.line + plain[: plain.find(b"\0")].count(b"\n")
            plain = plain.replace(b"\0", UNKNOWN_LETTER)
        if plain:
            seen.add(plain, label)
        if copy is not None:
            copy.write(plain)
        if not chunk:
            break
    if not seen.anything:
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


def _encoding_error(label: str, encoding: str, error: UnicodeError, seen: _Seen) -> SourceError:
    if not isinstance(error, UnicodeDecodeError):
        return _OtherEncoding(f"{label}: the file is not {encoding}; say which encoding it has.")
    if error.end == len(error.object) and "truncated" in error.reason:
        return SourceError(f"{label}: the file ends in the middle of a character; copy or export it anew.")
    piece = error.object[: error.start]
    line = seen.line + (piece.count(b"\n") if encoding == "utf-8" else piece.decode(encoding, "ignore").count("\n"))
    byte = error.object[error.start]
    sentence = f"{label}: line {line} holds the byte 0x{byte:02x}, which is not {encoding.upper()}"
    return _OtherEncoding(f"{sentence}; give another encoding, or none to have it found.")


def _refuse_binary(head: bytes, label: str) -> None:
    controls = sum(head.count(byte) for byte in CONTROLS)
    # A stray one is named with its line, further on.
    if controls > max(3, 0.02 * len(head)):
        raise SourceError(
            f"{label}: this is not a text file (its first bytes are {head[:4].hex(' ')}); "
            "give a CSV, Parquet, Arrow or JSON lines file."
        )
