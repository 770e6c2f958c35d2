"""Every bad text file gives one sentence that names the file and the row, line or column at fault; a bad cell or row in
a good file is named, and the rest is read."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aspca.preparation.cell_format import BadCell
from aspca.tables import ReadOptions, SourceError, open_source

EMPTY = "the file is empty; it must hold at least one row."
ONLY_HEADER = "the file has a header but no rows; add rows, or say that it has no header if its one line is a row."
WIDTH = "every row needs one cell per column, so check its delimiters and quotes."
NESTED = "has a list or an object in column 'a'; every cell must be one value, so leave the key out or split it."
QUOTE = (
    "has a quote that is not closed, or text after a closing quote; close it, and write a quote inside a cell twice."
)
TOO_LONG = "is longer than 2,000,000 bytes; check the delimiter and the quotes, or shorten the cells."
NOT_TEXT = "give a CSV, Parquet, Arrow or JSON lines file."
DAMAGED = "this gzip file is damaged; copy or pack it anew."
NOT_UTF8, WRONG_LETTERS = "the text is not UTF-8 and is read as", "give --encoding if letters look wrong."
OBJECT = "every line must hold one object"
JUNK = np.random.default_rng(0).bytes(5000)
NOISE = b"a,b\n" + JUNK.hex().encode()

# Refused when the file is opened: name, bytes, options, sentence after "file: ".
UNREADABLE: list[tuple[str, bytes, dict[str, Any], str]] = [
    ("empty.csv", b"", {}, EMPTY),
    ("blank.csv", b"\n \n\n", {}, EMPTY),
    ("mark.csv", b"\xef\xbb\xbf", {}, EMPTY),
    ("empty.csv.gz", gzip.compress(b""), {}, EMPTY),
    ("empty.jsonl", b"", {}, EMPTY),
    ("header.csv", b"a,b\n", {}, ONLY_HEADER),
    ("header-unended.csv", b"a,b", {}, ONLY_HEADER),
    ("row-as-header.csv", b"1,2\n", {"header": True}, ONLY_HEADER),
    ("long.csv", b"a,b\n1,2\n3,4,5\n", {}, f"row 1 (line 3) has 3 cells, but there are 2 columns; {WIDTH}"),
    (
        "long-rows.csv",
        b"a,b\n" + b"1,2\n" * 50 + b"\n" + b"3,4,5\n" * 6,
        {},
        f"row 50 (line 53) has 3 cells, but there are 2 columns; {WIDTH}",
    ),
    ("huge-cell.csv", b"a,b\n1,2\n3," + b"9" * 3_000_000 + b"\n", {}, f"line 3 {TOO_LONG}"),
    ("huge-line.csv", b"a,b\n1,2\n" + b"3,4," * 2_500_000 + b"\n", {}, f"line 3 {TOO_LONG}"),
    (
        "huge-quoted.csv",
        b'a,b\n1,2\n3,"' + b"x\n" * 2_500_000 + b'"\n',
        {},
        "row 1 (line 3) has a cell of more than 4,000,000 characters, or a quote that is not closed; "
        "shorten the cell or close the quote.",
    ),
    ("open-quotes.csv", b'a,b\n1,"2,x\n3,"4,y\n5,6\n', {}, f"row 0 (line 2) {QUOTE}"),
    ("open-header.csv", b'a,"b\n1,2\n', {}, "the header has a quote that is not closed; close it."),
    ("swallowed.csv", b'"a\n "p"\nx\ntrue', {"header": True}, "the header has a quote that is not closed; close it."),
    ("cut.csv.gz", gzip.compress(NOISE)[:-2000], {}, "this gzip file is cut short; copy or pack it anew."),
    ("checksum.csv.gz", gzip.compress(b"a,b\n1,2\n")[:-8] + b"\0" * 8, {}, DAMAGED),
    ("not-gzip.csv.gz", b"\x1f\x8bnot gzip at all", {}, DAMAGED),
    (
        "bomb.csv.gz",
        gzip.compress(b"a\n" + b"0\n" * 50_000_000),
        {},
        "this gzip file unpacks to more than 250 times its size and may be a bomb; if you trust it, unpack it first "
        "and give the unpacked file.",
    ),
    (
        "twice.csv.gz",
        gzip.compress(gzip.compress(b"a\n1\n")),
        {},
        "this file is packed twice with gzip; unpack it once.",
    ),
    ("junk.csv", JUNK, {}, f"this is not a text file (its first bytes are {JUNK[:4].hex(' ')}); {NOT_TEXT}"),
    (
        "picture.csv",
        b"\x89PNG\r\n\x1a\n" + JUNK,
        {},
        f"this is not a text file (its first bytes are 89 50 4e 47); {NOT_TEXT}",
    ),
    (
        "half.csv",
        "a,b\n1,2\n".encode("utf-16")[:-1],
        {},
        "the file ends in the middle of a character; copy or export it anew.",
    ),
    (
        "ascii.csv",
        "name\ncaf\xe9\n".encode("cp1252"),
        {"encoding": "shift_jis"},
        "line 2 holds the byte 0xe9, which is not SHIFT_JIS; give another encoding, or none to have it found.",
    ),
    (
        "book.csv",
        b"PK\x03\x04xl",
        {},
        "this is a workbook or another zip archive that is damaged or cut short; copy or write it anew.",
    ),
    ("packed.csv", b"BZh91AY", {}, "this is packed with bzip2; unpack it first, or use gzip."),
    (
        "base.csv",
        b"SQLite format 3\0",
        {},
        "this is not an SQLite file, or it is damaged or cut short; copy or write it anew.",
    ),
    ("cut.jsonl", b'{"a":1}\n{"a":\n', {}, f"row 1 (line 2) is not a JSON object; {OBJECT}."),
    ("number.jsonl", b'{"a":1}\n\n3\n', {}, f"row 1 (line 3) is JSON but not an object; {OBJECT} of names and values."),
    (
        "list.json",
        b'[{"a":1},\n{"a":2}]\n',
        {},
        f"row 0 (line 1) begins a list; {OBJECT}, so write those of the list as lines.",
    ),
    ("nested.jsonl", b'{"a":1}\n{"a":[1]}\n', {}, f"row 1 (line 2) {NESTED}"),
    ("object.jsonl", b'{"a":{"b":1}}\n', {}, f"row 0 (line 1) {NESTED}"),
    ("deep.jsonl", b'{"a":' * 100_000 + b"\n", {}, f"row 0 (line 1) is not a JSON object; {OBJECT}."),
    ("repeated.jsonl", b'{"a":1,"a":2}\n', {}, "row 0 (line 1) has the key 'a' twice; every key may occur once."),
    ("keyless.jsonl", b"{}\n{}\n", {}, "the objects have no keys; every key is a column, and one is needed."),
    ("blank-key.jsonl", b'{"":1}\n', {}, "a key is blank; every column needs a name."),
    ("nul.jsonl", b'{"a":"\\u0000"}\n', {}, "row 0 (line 1) has a NUL character in column 'a'; remove it."),
]

# Opened, but column "a" cannot be read as numbers.
NOT_NUMBERS: list[tuple[str, bytes, dict[str, Any], str]] = [
    (
        "typos.csv",
        b"a,b\n" + b"1,2\n" * 54 + b"x,2\n" * 6,
        {},
        "column 'a' is not read: 6 of 60 cells are not a number, the first 'x' in row 54 (line 56).",
    ),
    (
        "typos-far.csv",
        b"a,b\n" + b"1,2\n" * 9790 + b"oops,2\n" * 210,
        {},
        "column 'a' is not read: 210 of 10,000 cells are not a number, the first 'oops' in row 9790 (line 9792).",
    ),
    (
        "half.jsonl",
        b'{"a":1}\n{"a":2}\n{"a":"x"}\n{"a":"y"}\n',
        {},
        "column 'a' is not read: 2 of 4 cells are not a number, the first 'x' in row 2 (line 3).",
    ),
    (
        "escape.csv",
        b"a\n1\n\x1b[31m\n",
        {},
        "column 'a' is not read: 1 of 2 cells are not a number, the first '\\x1b[31m' in row 1 (line 3).",
    ),
    (
        "words.csv",
        b"a,b\nfoo,1\nbar,2\n",
        {},
        "column 'a' holds text, in row 0 (line 2) for example 'foo'; numbers, dates or truth values are needed, "
        "so leave the column out.",
    ),
    (
        "february.csv",
        b"a\n2020-01-01\n2020-02-30\n",
        {},
        "column 'a' is not read: 1 of 2 cells are not a date, the first '2020-02-30' in row 1 (line 3).",
    ),
    (
        "truth.csv",
        b"a\ntrue\nFALSE\nmaybe\nno\n",
        {},
        "column 'a' is not read: 2 of 4 cells are not true or false, the first 'maybe' in row 2 (line 4).",
    ),
    (
        "mixed.csv",
        b"a;b\n1,5;1\n1.5;2\n",
        {},
        "column 'a' is not read: '1,5' in row 0 (line 2) has another decimal sign than other cells of the file, the "
        "point: write all with the same one, or give --decimal . or --decimal ,.",
    ),
    (
        "mixed-quoted.csv",
        b'a,b\n1.5,1\n"1,5",2\n',
        {},
        "column 'a' is not read: '1,5' in row 1 (line 3) has another decimal sign than other cells of the file, the "
        "point: write all with the same one, or give --decimal . or --decimal ,.",
    ),
    (
        "thousands.csv",
        b'a,b\n"1,234",1\n"2,345",2\n',
        {},
        "column 'a' is not read: the comma of '1,234' in row 0 (line 2) may stand before decimals or between "
        "thousands, and no other cell of the file tells: give --decimal , or --thousands ,.",
    ),
    (
        "said-point.csv",
        b"a;b\n1;1\n1,5;2\n",
        {"decimal": "."},
        "column 'a' is not read: '1,5' in row 1 (line 3) is no number with the decimal sign '.' that was given; "
        "correct it, or give --decimal , if that is right.",
    ),
    (
        "said-comma.csv",
        b"a;b\n1,5;1\n1.5;2\n",
        {"decimal": ","},
        "column 'a' is not read: '1.5' in row 1 (line 3) is no number with the decimal sign ',' that was given; "
        "correct it, or give --decimal . if that is right.",
    ),
    ("missing.csv", b"b,a\n1,\n2,NA\n", {}, "column 'a' has no values at all; leave it out."),
    (
        "infinite.csv",
        b"a,b\n1,2\ninf,3\n",
        {},
        "column 'a' is not read: 1 of 2 cells are not a number, the first 'inf' in row 1 (line 3).",
    ),
    (
        "infinite.jsonl",
        b'{"a":1}\n{"a":Infinity}\n',
        {},
        "column 'a' is not read: 1 of 2 cells are not a number, the first 'Infinity' in row 1 (line 2).",
    ),
]

nan = float("nan")
NUMBER, DAY = "a number", 86400.0
PADDED = (
    "of 2 rows have fewer cells than there are columns, the first of them row 1; their last cells count as missing."
)
STRAY = "quotes that are not closed, or have text behind them, are read as they stand in 1 row, the first of them row"
# Opened, with what is wrong said: name, bytes, values of column "a", bad cells, notes after "file: ".
ANSWERED: list[tuple[str, bytes, list[float], list[BadCell], list[str]]] = [
    ("typo.csv", b"a,b\n" + b"1,2\n" * 9 + b"x,2\n", [1.0] * 9 + [nan], [BadCell(9, "a", "x", NUMBER)], []),
    (
        "typo-far.csv",
        b"a,b\n" + b"1,2\n" * 50_000 + b"oops,2\n3,4\n",
        [1.0] * 50_000 + [nan, 3.0],
        [BadCell(50_000, "a", "oops", NUMBER)],
        [],
    ),
    ("typo.jsonl", b'{"a":1}\n{"a":2}\n{"a":"x"}\n', [1, 2, nan], [BadCell(2, "a", "x", NUMBER)], []),
    ("escape.csv", b"a\n1\n2\n\x1b[31m\n", [1, 2, nan], [BadCell(2, "a", "\x1b[31m", NUMBER)], []),
    ("underscores.csv", b"a\n1\n2\n2020_01\n", [1, 2, nan], [BadCell(2, "a", "2020_01", NUMBER)], []),
    ("inches.csv", b'a,b\n1,2\n3,4\n5" pipe,6\n', [1, 3, nan], [BadCell(2, "a", '5" pipe', NUMBER)], []),
    ("infinite.csv", b"a,b\n1,2\n3,4\ninf,3\n", [1, 3, nan], [BadCell(2, "a", "inf", NUMBER)], []),
    ("minus.csv", b"a,b\n1,2\n3,4\n-Infinity,3\n", [1, 3, nan], [BadCell(2, "a", "-Infinity", NUMBER)], []),
    ("beyond.csv", b"a,b\n1,2\n3,4\n1e999,3\n", [1, 3, nan], [BadCell(2, "a", "1e999", NUMBER)], []),
    (
        "nan.csv",
        b"a,b\n1,2\n3,4\n+nan,3\n",
        [1, 3, nan],
        [],
        ["taken for missing values: '+nan' 1 time in column 'a'."],
    ),
    (
        "nul.csv",
        b"a,b\n1,2\n3,\x004\n5,6\n",
        [1, 3, 5],
        [BadCell(1, "b", "\N{REPLACEMENT CHARACTER}4", NUMBER)],
        ["line 3 holds a NUL character, which is read as an unknown letter."],
    ),
    ("open-quote.csv", b'a,b\n1,2\n3,"4\n5,6\n', [1, 3, 5], [BadCell(1, "b", '"4', NUMBER)], [f"{STRAY} 1 (line 3)."]),
    (
        "open-quote-and-comma.csv",
        b'a,b\n1,2\n3,"4,x\n5,6\n7,"8\n9"\n',
        [1, nan, 5, 7],
        [BadCell(1, None, "", "quotes that are closed", 3), BadCell(3, "b", "8\n9", NUMBER)],
        [],
    ),
    (
        "ragged-quote.csv",
        b'a,b\n1\n3,"4\n5,6\n7,8\n',
        [nan, 3, 5, 7],
        [BadCell(0, None, "1", "2 cells, not 1", 2), BadCell(1, "b", '"4', NUMBER)],
        [f"{STRAY} 1 (line 3)."],
    ),
    ("decimal-sign.csv", b"a;b\n1.5;1\n2,5;2\n3.5;3\n", [1.5, nan, 3.5], [BadCell(1, "a", "2,5", NUMBER)], []),
    (
        "comma.csv",
        b"a;b\n0,5;1\n1,5;2\n2,5;3\nx;4\n",
        [0.5, 1.5, 2.5, nan],
        [BadCell(3, "a", "x", NUMBER)],
        ["commas stand before decimals in column 'a': '0,5' in row 0 (line 2) is 0.5; --decimal . if they do not."],
    ),
    ("date.csv", b"a\n1970-01-02\n1970-01-03\nsoon\n", [DAY, 2 * DAY, nan], [BadCell(2, "a", "soon", "a date")], []),
    (
        "february.csv",
        b"a\n1970-01-02\n2020-02-30\n1970-01-03\n",
        [DAY, nan, 2 * DAY],
        [BadCell(1, "a", "2020-02-30", "a date")],
        [],
    ),
    ("truth.csv", b"a\ntrue\nFALSE\nmaybe\n", [1, 0, nan], [BadCell(2, "a", "maybe", "true or false")], []),
    ("short.csv", b"a,b\n1,2\n3,4\n5\n", [1, 3, nan], [BadCell(2, None, "5", "2 cells, not 1", 4)], []),
    ("long.csv", b"a,b\n1,2\n3,4\n5,6,7\n", [1, 3, nan], [BadCell(2, None, "5,6,7", "2 cells, not 3", 4)], []),
    ("empty-ends.csv", b"a,b\n1,2\n3,4,,\n5,6,\n", [1, 3, 5], [], []),
    (
        "after-quote.csv",
        b'a,b\n1,2\n3,"4"5\n5,6\n',
        [1, 3, 5],
        [BadCell(1, "b", '"4"5', NUMBER)],
        [f"{STRAY} 1 (line 3)."],
    ),
    (
        "late.csv",
        b"a,b\n" + b"1,2\n" * 5000 + b"3\n",
        [1.0] * 5000 + [nan],
        [BadCell(5000, None, "3", "2 cells, not 1", 5002)],
        [],
    ),
    ("padded.csv", b"a,b\n1,2\n3\n", [1, 3], [], [f"1 {PADDED}"]),
    ("gaps.csv", b"a,b\n\n1,2\n\n3\n", [1, 3], [], [f"1 {PADDED}"]),
    ("quoted-lines.csv", b'b,a\n"1\n\n",2\n3\n', [2, nan], [], [f"1 {PADDED}"]),
    (
        "ragged-inches.csv",
        b'a,b\n1,2\n3,4\n2,6\n4,6\n5" pipe,6\n7\n',
        [1, 3, 2, 4, nan, nan],
        [BadCell(4, "a", '5" pipe', NUMBER), BadCell(5, None, "7", "2 cells, not 1", 7)],
        [],
    ),
    (
        "repeated.csv",
        b"a,b,a\n1,2,3\n",
        [1],
        [],
        ["names of columns occur more than once: 'a' in column 3 becomes 'a_2'."],
    ),
    (
        "repeated-more.csv",
        b"b,a,a,b,b\n1,2,3,4,5\n",
        [2],
        [],
        [
            "names of columns occur more than once: 'a' in column 3 becomes 'a_2', 'b' in column 4 becomes 'b_2' and "
            "'b' in column 5 becomes 'b_3'."
        ],
    ),
    ("blanks-clash.csv", b"column_2,,a\n1,2,3\n", [3], [], ["columns without a name are called 'column_2_2'."]),
    ("little.csv", "a,b\n1,2\n".encode("utf-16-le"), [1], [], [f"{NOT_UTF8} utf-16-le; {WRONG_LETTERS}"]),
    ("big.csv", "a,b\n1,2\n".encode("utf-16-be"), [1], [], [f"{NOT_UTF8} utf-16-be; {WRONG_LETTERS}"]),
    ("latin.csv", "name,a\ncaf\xe9,2\n".encode("latin-1"), [2], [], [f"{NOT_UTF8} cp1252; {WRONG_LETTERS}"]),
]


def ids(cases: Sequence[tuple[Any, ...]]) -> list[str]:
    return [case[0] for case in cases]


@pytest.mark.parametrize(("name", "content", "options", "sentence"), NOT_NUMBERS, ids=ids(NOT_NUMBERS))
def test_refused_as_numbers(tmp_path: Path, name: str, content: bytes, options: dict[str, Any], sentence: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with open_source([str(path)], ReadOptions(**options)) as source:
        # The same column is there to be read as cells.
        assert sum(len(rows) for rows in source.cells(["a"])) == source.count()
        with pytest.raises(SourceError) as caught:
            list(source.batches(["a"]))
    assert str(caught.value) == f"{path}: {sentence}"


@pytest.mark.parametrize(("name", "content", "values", "bad", "notes"), ANSWERED, ids=ids(ANSWERED))
def test_answered(
    tmp_path: Path, name: str, content: bytes, values: list[float], bad: list[BadCell], notes: list[str]
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with open_source([str(path)]) as source:
        found = np.concatenate([batch.values[:, 0] for batch in source.batches(["a"])])
        np.testing.assert_array_equal(found, values)
        assert next(column.n_missing for column in source.columns if column.name == "a") == np.isnan(found).sum()
        assert source.bad_cells == tuple(bad)
        assert source.remarks == tuple(f"{path}: {note}" for note in notes)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"delimiter": ",,"}, "The delimiter must be one character such as ',' or ';', not ',,'."),
        ({"decimal": "'"}, "The decimal sign must be '.' or ',', not \"'\"."),
        (
            {"format": "xls"},
            "The format must be one of csv, parquet, arrow, jsonl, xlsx, ods, sqlite, duckdb, not 'xls'.",
        ),
        (
            {"encoding": "klingon"},
            "The encoding 'klingon' is not known; use for example 'utf-8', 'utf-16' or 'latin-1'.",
        ),
        ({"encoding": "base64"}, "The encoding 'base64' is not known; use for example 'utf-8', 'utf-16' or 'latin-1'."),
    ],
)
def test_bad_options(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SourceError) as caught:
        ReadOptions(**options)
    assert str(caught.value) == sentence
