"""Plain files, which are all that the readers meet: streams and gzip files onto disk, in small pieces and with a cap;
text in any encoding as UTF-8 with one kind of line ending, the file itself where it is that."""

from __future__ import annotations

import codecs
import gzip
import re
import shutil
import sys
import zlib
from contextlib import nullcontext
from pathlib import Path

import numpy as np

from aspca.escaping import for_terminal
from aspca.tables.cell_tests import EVERYWHERE
from aspca.tables.errors import SourceError
from aspca.tables.paths import Given

# Small enough to stay in the cache.
CHUNK = 1 << 18
# DuckDB keeps several lines in memory, so their length must have a bound.
LONGEST_LINE = 2_000_000
# The mark of UTF-32 begins with that of UTF-16, so it comes first.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# What texts are written in that are not UTF-8, the most frequent first (Windows' of western Europe, w3techs.com).
_ENCODINGS = (
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1257"),
    *("cp932", "gb18030", "big5", "euc_kr", "euc_jp", "mac_roman", "latin_1"),
)
GZIP = b"\x1f\x8b"
# A table packs to a tenth, one of hardly more than zeros to a hundredth; a bomb to a thousandth.
LARGEST_RATIO = 250
# Below this much unpacked text no ratio does harm.
HARMLESS_BYTES = 64 << 20
# Bytes that decide how a table in the text is read: quotes, signs in numbers, words for missing values.
_SIGNS = frozenset(b'"_+' + "".join(EVERYWHERE).encode())
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\x1b"))


def save_stream(given: Given, folder: Path) -> Path:
    """What a stream delivers, as a file in `folder`: it can be read once, but kinds and values take two passes."""
    if given.path is None and (sys.stdin is None or sys.stdin.closed):
        raise SourceError("Standard input is closed; send a table to it, or name a file.")
    target = folder / "stream"
    source = nullcontext(sys.stdin.buffer) if given.path is None else given.path.open("rb")
    with source as stream, target.open("wb") as out:
        shutil.copyfileobj(stream, out, CHUNK)
    return target


def unpack(path: Path, label: str, folder: Path) -> Path:
    """The text of a gzip file, as a file in `folder`. SourceError if it is cut short, damaged, packed twice, or more
    than 64 MiB that are more than 250 times its size."""
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


class PlainText:
    """A UTF-8 file with one kind of line ending, and what was seen on the way to it."""

    def __init__(self, path: Path) -> None:
        self.path, self.encoding = path, "utf-8"  # the encoding is that of the file it was made of
        self.notes: tuple[str, ...] = ()  # sentences on what was guessed about its letters
        self.head = self._last = b""  # its first bytes
        self.quotes = self.nul_line = self._pairs = self._feeds = self._returns = self._open_line = 0
        self.is_blank = True
        # Which of the bytes `_SIGNS` occur below the first line feed, and before it.
        self.signs, self.signs_of_first_line = set[int](), set[int]()

    def add(self, chunk: bytes, label: str) -> None:
        """The next piece of the text."""
        if self.head:
            self.signs.update(sign for sign in _SIGNS - self.signs if sign in chunk)
        else:
            self.head = chunk[:64]
            # A first line that has no end here, or one that DuckDB does not see, counts with the rest.
            end = chunk.find(b"\n") + 1
            self.signs_of_first_line = set(_SIGNS.intersection(chunk[:end]))
            self.signs = set(_SIGNS.intersection(chunk[end:]))
        first = re.search(rb"[\r\n]", chunk)
        if self._open_line + (first.start() if first else len(chunk)) > LONGEST_LINE:
            raise SourceError(
                f"{label}: line {self.line} is longer than {LONGEST_LINE:,} bytes; "
                "check the delimiter and the quotes, or shorten the cells."
            )
        ending = max(chunk.rfind(b"\n"), chunk.rfind(b"\r"))
        self._open_line = len(chunk) - ending - 1 if ending >= 0 else self._open_line + len(chunk)
        self.quotes += chunk.count(b'"')
        codes = np.frombuffer(chunk, dtype=np.uint8)  # counted ten times as fast as bytes are
        self._feeds += int(np.count_nonzero(codes == 10))
        self._returns += int(np.count_nonzero(codes == 13)) if b"\r" in chunk else 0
        self._pairs += chunk.count(b"\r\n") + (self._last == b"\r" and chunk[:1] == b"\n")
        self._last = chunk[-1:]
        self.is_blank = self.is_blank and not chunk.strip(b" \t\r\n\xef\xbb\xbf")

    @property
    def other_encoding(self) -> str | None:
        """The encoding of the file that it was made of, if that is not UTF-8."""
        return None if self.encoding == "utf-8" else self.encoding

    @property
    def line(self) -> int:
        """The line in which the next byte stands, from 1."""
        return 1 + self._feeds + self._returns - self._pairs

    def unify_endings(self, target: Path) -> None:
        """Write it to `target` with line feeds, if its lines end in several ways."""
        if (self._feeds > self._pairs) + (self._returns > self._pairs) + (self._pairs > 0) > 1:
            with self.path.open(encoding="utf-8") as text, target.open("w", encoding="utf-8", newline="\n") as out:
                shutil.copyfileobj(text, out, CHUNK)
            self.path = target
            # Its first line may end before the first line feed.
            self.signs |= self.signs_of_first_line


class _OtherEncodingError(SourceError):
    """The text is not in the encoding that was tried."""


def decode_text(path: Path, label: str, encoding: str | None, scratch: Path, likely: str | None = None) -> PlainText:
    """A UTF-8 file with the same text: `path` itself, or a copy in `scratch` that is made in small pieces.

    Without an `encoding` it is UTF-8, or what its byte order mark says, or the `likely` one, or the one that
    charset-normalizer finds. SourceError if it is no text, not in this encoding, or blank, or has a line beyond
    2,000,000 bytes.
    """
    with path.open("rb") as file:
        head = file.read(4096)
    marked = next((found for mark, found in _MARKS if head.startswith(mark)), None)
    name = encoding or marked or _utf16_without_mark(head)
    # A stray control character is named with its line, further on.
    if name is None and sum(head.count(byte) for byte in _CONTROLS) > max(3, 0.02 * len(head)):
        raise SourceError(
            f"{label}: this is not a text file (its first bytes are {head[:4].hex(' ')}); "
            "give a CSV, Parquet, Arrow or JSON lines file."
        )
    try:
        text = _decode(path, label, name or "utf-8", scratch)
    except _OtherEncodingError:
        if name is not None:
            raise
        name = likely or _detect_encoding(path)
        try:
            text = _decode(path, label, name, scratch)
        except _OtherEncodingError:
            # Every byte is a letter there.
            name = "latin-1"
            text = _decode(path, label, name, scratch)
    text.encoding = name or "utf-8"
    if name not in (None, encoding, marked):
        text.notes = (f"{label}: the text is not UTF-8 and is read as {name}; give --encoding if letters look wrong.",)
    if text.nul_line:
        nul = f"{label}: line {text.nul_line} holds a NUL character, which is read as an unknown letter."
        text.notes = (*text.notes, nul)
    text.unify_endings(scratch / "lines")
    return text


def _decode(path: Path, label: str, encoding: str, scratch: Path, copies: bool = False) -> PlainText:
    """The text of this encoding as UTF-8, looked through once: the file itself, if it is that and holds no NUL."""
    copies = copies or codecs.lookup(encoding).name not in ("utf-8", "utf-8-sig", "ascii")
    text = PlainText(scratch / "text" if copies else path)
    decoder = codecs.getincrementaldecoder(encoding if copies else "utf-8")()
    with path.open("rb") as file, text.path.open("wb") if copies else nullcontext() as copy:
        chunk = b"?"
        while chunk:
            chunk = file.read(CHUNK)
            # ASCII is UTF-8 as it is, unless a character was left open before it.
            done = copy is None and chunk and chunk.isascii() and not decoder.getstate()[0]
            try:
                letters = "" if done else decoder.decode(chunk, final=not chunk)
            except UnicodeError as error:
                raise _describe_misfit(label, encoding if copies else "utf-8", error, text.line) from None
            plain = chunk if copy is None else letters.encode("utf-8", errors="replace")
            if b"\0" in plain:
                text.nul_line = text.nul_line or text.line + plain[: plain.find(b"\0")].count(b"\n")
                plain = plain.replace(b"\0", "\N{REPLACEMENT CHARACTER}".encode())
            if plain:
                text.add(plain, label)
            if copy is not None:
                copy.write(plain)
    if text.is_blank:
        raise SourceError(f"{label}: the file is empty; it must hold at least one row.")
    return text if copies or not text.nul_line else _decode(path, label, encoding, scratch, copies=True)


def _describe_misfit(label: str, encoding: str, error: UnicodeError, line: int) -> SourceError:
    if not isinstance(error, UnicodeDecodeError):
        return _OtherEncodingError(f"{label}: the file is not {encoding}; say which encoding it has.")
    if error.end == len(error.object) and "truncated" in error.reason:
        return SourceError(f"{label}: the file ends in the middle of a character; copy or export it anew.")
    line += error.object[: error.start].decode(encoding, "ignore").count("\n")
    byte = error.object[error.start]
    sentence = f"{label}: line {line} holds the byte 0x{byte:02x}, which is not {encoding.upper()}"
    return _OtherEncodingError(f"{sentence}; give another encoding, or none to have it found.")


def _utf16_without_mark(head: bytes) -> str | None:
    even, odd = head[0::2].count(0), head[1::2].count(0)
    for zeros, others, name in ((odd, even, "utf-16-le"), (even, odd, "utf-16-be")):
        if zeros * 2 > 0.6 * len(head) > 0 and others == 0:
            return name
    return None


def _detect_encoding(path: Path) -> str:
    """The likely encoding of a text that is not UTF-8, by its lines that are not ASCII. Few letters do not tell the
    encodings of western Europe apart; the most frequent one is taken then."""
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
                sample += line[:65_536]
            if len(sample) >= 65_536:
                break
    matches = from_bytes(sample, cp_isolation=list(_ENCODINGS), threshold=0.3)
    best = min((match.chaos for match in matches), default=0.0)
    # Shares of odd characters differ by so much between words of one language.
    near = [match for match in matches if match.chaos <= best + 0.05]
    names = [name for match in near for name in match.could_be_from_charset]
    return _ENCODINGS[0] if not names or _ENCODINGS[0] in names else str(near[0].encoding)
