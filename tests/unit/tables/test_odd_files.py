"""Odd but good text files: the values in them, by hand."""

from __future__ import annotations

import codecs
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aspca.tables import ReadOptions, open_source

nan = float("nan")
AB = ["a", "b"]
NUMBERS = ["number", "number"]
PAIR = [[1.0, 2.0], [3.0, 4.0]]
THREE = ["column_1", "column_2", "column_3"]
FRACTIONS = [[1.5, 2.5], [3.5, 4.5], [1.5, 2.5]]

# name, bytes, options, names, kinds, values
CASES: list[tuple[str, bytes, dict[str, Any], list[str], list[str], list[list[float]]]] = [
    ("endings.csv", b"a,b\r\n1,2\n3,4\r\n", {}, AB, NUMBERS, PAIR),
    ("spaces.txt", b"a b\n1 2\n3 4\n", {"delimiter": " "}, AB, NUMBERS, PAIR),
    ("quote.txt", b"a'b\n1'2\n3'4\n", {"delimiter": "'"}, AB, NUMBERS, PAIR),
    ("said-no-header.csv", b"1,2\n3,4\n", {"header": False}, ["column_1", "column_2"], NUMBERS, PAIR),
    ("years-found.csv", b"id,2020\n1,2\n3,4\n", {}, ["id", "2020"], NUMBERS, PAIR),
    ("first-missing.csv", b"NA,2\n3,4\n", {}, ["column_1", "column_2"], NUMBERS, [[nan, 2], [3, 4]]),
    ("pandas.csv", b",0\n1,2\n3,4\n", {}, ["column_1", "0"], NUMBERS, PAIR),
    ("pandas-bare.csv", b"0,1,2\n1,2,3\n", {}, THREE, ["number"] * 3, [[0, 1, 2], [1, 2, 3]]),
    ("pandas-decimals.csv", b"0,1\n1.5,2.5\n3.5,4.5\n1.5,2.5\n", {}, ["0", "1"], NUMBERS, FRACTIONS),
    ("quoted-spaced.csv", b'"a", "b,c"\n"1", "2"\n3, "4"\n', {}, ["a", "b,c"], NUMBERS, PAIR),
    ("padded.csv", b" a , b\n 1 , 2\n3 ,4\n", {}, AB, NUMBERS, PAIR),
    ("marked-rows.csv", codecs.BOM_UTF8 + b"1,2\n3,4\n", {}, ["column_1", "column_2"], NUMBERS, PAIR),
    ("utf16-big.csv", codecs.BOM_UTF16_BE + "a,b\n1,2\n3,4\n".encode("utf-16-be"), {}, AB, NUMBERS, PAIR),
    ("parts.csv.gz", gzip.compress(b"a,b\n1,2\n") + gzip.compress(b"3,4\n"), {}, AB, NUMBERS, PAIR),
    ("comma-rows.csv", b"1,5;2,5\n3,5;4,5\n", {}, ["column_1", "column_2"], NUMBERS, [[1.5, 2.5], [3.5, 4.5]]),
    ("comma-late.csv", b"a;b\n" + b"1;2\n" * 300 + b"1,5;2\n", {}, AB, NUMBERS, [[1, 2]] * 300 + [[1.5, 2]]),
    ("thousandths.csv", b"a;b\n1,234;1,5\n2,345;2,25\n", {}, AB, NUMBERS, [[1.234, 1.5], [2.345, 2.25]]),
    ("said-comma.csv", b'a,b\n"1,234",1\n"2,345",2\n', {"decimal": ","}, AB, NUMBERS, [[1.234, 1], [2.345, 2]]),
    ("comma-column.csv", b"value\n1,5\n2,5\n", {}, ["value"], ["number"], [[1.5], [2.5]]),
    ("numbers.csv", b"a,b\n+1,.5\n1.,-1e-3\n", {}, AB, NUMBERS, [[1, 0.5], [1, -0.001]]),
    ("missing.csv", b"a,b\n1,NA\n,2\nNaN,null\n?,5\n", {}, AB, NUMBERS, [[1, nan], [nan, 2], [nan, nan], [nan, 5]]),
    ("late-value.csv", b"a,b\n" + b"1,\n" * 300 + b"1,2.5\n", {}, AB, NUMBERS, [[1, nan]] * 300 + [[1, 2.5]]),
    ("truth.csv", b"a,b\ntrue,FALSE\nFalse,True\n", {}, AB, ["boolean"] * 2, [[1, 0], [0, 1]]),
    ("dates.csv", b"a,b\n1970-01-02,1\n1969-12-31,2\n", {}, AB, ["date", "number"], [[86400, 1], [-86400, 2]]),
    (
        "zones.csv",
        b"a\n1970-01-01T00:00:01Z\n1970-01-01 02:00:00+02\n1970-01-01 00:00:00.25\n",
        {},
        ["a"],
        ["date"],
        [[1], [0], [0.25]],
    ),
    ("one-cell.csv", b"5", {}, ["column_1"], ["number"], [[5]]),
    ("one-column.csv", b"a\n1\n2\n", {}, ["a"], ["number"], [[1], [2]]),
    ("one-row.csv", b"a,b,c\n1,2,3\n", {}, ["a", "b", "c"], ["number"] * 3, [[1, 2, 3]]),
    ("long-cell.csv", b"a,b\n1,2\n3," + b" " * 1_500_000 + b"4\n", {}, AB, NUMBERS, PAIR),
    ("sparse.jsonl", b'{"a":1}\n{"b":2.5}\n{"a":null,"b":3}\n', {}, AB, NUMBERS, [[1, nan], [nan, 2.5], [nan, 3]]),
    ("truth.ndjson", b'{"a":true}\n{"a":false}\n{}\n', {}, ["a"], ["boolean"], [[1], [0], [nan]]),
    ("json-inside", b'{"a":1,"b":2}\n{"a":3,"b":4}\n', {}, AB, NUMBERS, PAIR),
    ("lines16.jsonl", '{"a":1,"b":2}\n{"a":3,"b":4}\n'.encode("utf-16"), {}, AB, NUMBERS, PAIR),
]


@pytest.mark.parametrize(("name", "content", "options", "names", "kinds", "values"), CASES, ids=[c[0] for c in CASES])
def test_values(
    tmp_path: Path,
    read: Callable[..., Any],
    name: str,
    content: bytes,
    options: dict[str, Any],
    names: list[str],
    kinds: list[str],
    values: list[list[float]],
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    found_names, found_kinds, found = read(path, **options)
    assert (found_names, found_kinds) == (names, kinds)
    np.testing.assert_array_equal(found, np.array(values, dtype=np.float64))


def test_cells_are_as_the_file_has_them(tmp_path: Path) -> None:
    path = tmp_path / "cells.csv"
    path.write_text('id,when,label,ok,x\n007,2020-01-01,"a ""b""\nc",true,12345678901234567890\n,,,,\n')
    with open_source([str(path)]) as source:
        assert [column.kind for column in source.columns] == ["number", "date", "text", "boolean", "text"]
        assert [column.n_missing for column in source.columns] == [1] * 5
        (rows,) = source.cells(["label", "id", "when", "ok", "x", "id"])
    first = ('a "b"\nc', "007", "2020-01-01", True, "12345678901234567890", "007")
    assert rows == [first, (None,) * 6]


def test_remarks_say_why_a_column_is_text(tmp_path: Path) -> None:
    path = tmp_path / "remarks.csv"
    path.write_text('a,b,c,d\n1,"1,234",,x\n2,"2,345",,y\nz,"3,456",,z\ny,"4,567",,z\n')
    with open_source([str(path)], ReadOptions()) as source:
        assert {column.kind for column in source.columns} == {"text"}
        remedies = [(), ("--thousands", ","), (), ()]
        assert [column.remedy for column in source.columns] == remedies
        assert [column.remark for column in source.columns] == [
            "2 of 4 cells are not a number, the first 'z' in row 2 (line 4)",
            "the comma of '1,234' in row 0 (line 2) may stand before decimals or between thousands, and no other cell "
            "of the file tells: give --decimal , or --thousands ,",
            "it has no values",
            "",
        ]


def test_a_cell_that_looks_like_excels_note_is_a_row(tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text('{"a": "sep=;"}\n{"a": "sep=,"}\n{"a": "y"}\n')
    with open_source([str(tmp_path / "notes.jsonl")]) as source:
        assert source.take(["a"], [0, 1, 2]) == [("sep=;",), ("sep=,",), ("y",)]
        assert source.locate(0).endswith("row 0 (line 1)")


def test_the_encoding_of_json_lines_is_said_and_kept(tmp_path: Path) -> None:
    text = "".join(f'{{"town": "Zürich", "b": {row}}}\n' for row in range(20))
    (tmp_path / "towns.jsonl").write_bytes(text.encode("cp1252"))
    with open_source([str(tmp_path / "towns.jsonl")]) as source:
        assert source.take(["town"], [0]) == [("Zürich",)]
        assert any("is read as cp1252" in remark for remark in source.remarks)
        assert source.cell_format.encoding == "cp1252"
