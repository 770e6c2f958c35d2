"""Files that nobody should be given, as (name, bytes, options of the command).

Most are those of the reader's own tests, which say with which sentence each is refused: here it must reach the user.
"""

from __future__ import annotations

import gzip
import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

READER = Path(__file__).parents[1] / "unit" / "tables"


def _tests_of_reader(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"reader_{name}", READER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _as_words(options: dict[str, Any]) -> tuple[str, ...]:
    words: list[str] = []
    for name, value in options.items():
        words += ["--header" if value else "--no-header"] if name == "header" else [f"--{name}", value]
    return tuple(words)


_text, _binary = _tests_of_reader("test_bad_text"), _tests_of_reader("test_bad_binary")

# The reader refuses the file: name, bytes, options, sentence after "file: ".
UNREADABLE: list[tuple[str, bytes, tuple[str, ...], str]] = [
    *((name, content, _as_words(options), sentence) for name, content, options, sentence in _text.UNREADABLE),
    *((name, content, (), sentence) for name, content, sentence in _binary.CASES),
]
# It can be read, but column "a" does not hold numbers that can be used.
NOT_NUMBERS: list[tuple[str, bytes, tuple[str, ...]]] = [
    *((name, content, _as_words(options)) for name, content, options, _ in _text.NOT_NUMBERS),
    *((name, content, ()) for name, content, _ in _binary.NOT_NUMBERS),
]


def rows(n: int) -> bytes:
    return b"a,b,c\n" + b"".join(b"%d,%d,%d\n" % (i, 2 * i + i % 3, i * i % 7) for i in range(n))


# Files that can be read and whose numbers can be used, but not for this: and words of the sentence.
UNFIT: list[tuple[str, bytes, tuple[str, ...], int, str]] = [
    ("one-row.csv", b"a,b\n1,2\n", (), 1, "has 1 row, but at least 2 are needed"),
    ("one-cell.csv", b"5", (), 1, "has 1 row, but at least 2 are needed"),
    ("wide-row.csv", b",".join(b"c%d" % i for i in range(1200)) + b"\n" + b"1," * 1199 + b"1\n", (), 1, "has 1 row"),
    ("one-row.csv.gz", gzip.compress(b"a,b\n1,2\n"), (), 1, "has 1 row"),
    ("one-row.jsonl", b'{"a":1}\n', (), 1, "has 1 row"),
    ("blank.csv", b"a,b\n1,2\n3,\n5,6\n7,8\n", ("--no-allow-missing",), 2, "'b'"),
    ("huge.csv", b"a,b\n1,2\n2,1e200\n3,4\n", (), 2, "row 1 (line 3) has the value 1e+200 in column 'b'"),
    ("no-a.csv", rows(9), ("--id", "z"), 2, "--id: no-a.csv has no column 'z'"),
    ("near.csv", b"host name,b\nx,1\ny,2\n", ("--id", "hostname"), 2, "did you mean 'host name'?"),
    ("unlabelled.csv", b"a,l\n1,2\n2,3\n3,5\n", ("--label", "l"), 2, "column 'l' holds '2', '3', '5', of which one"),
    ("all-normal.csv", b"a,b,l\n1,2,ok\n2,4,ok\n3,6,ok\n", ("--label", "l"), 2, "holds 'ok' only"),
    ("few-labels.csv", b"a,b,l\n1,2,ok\n2,4,\n3,6,bad\n", ("--label", "l"), 2, "row 1 (line 3) has no label in column"),
    ("all-ignored.csv", rows(9), ("--ignore", "a", "--ignore", "b", "--ignore", "c"), 1, "no column of numbers left"),
    ("delimiter.csv", rows(9), ("--delimiter", ";"), 1, "delimiter.csv"),
    ("header.csv", b"a\n1\n", ("--no-header",), 1, "1 of 2 cells are not a number, the first 'a' in row 0 (line 1)"),
    ("encoding.csv", rows(9), ("--encoding", "klingon"), 2, "'klingon'"),
    ("utf16.csv", rows(9), ("--encoding", "utf-16"), 1, "utf16.csv"),
    ("too-many.csv", rows(9), ("--n-components", "4"), 1, "n_components must lie between 1 and 3"),
]
