"""Text read in one pass is what the slow way finds, kind for kind and bit for bit; and so is what Python reads."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from aspca.moments import Moments
from aspca.pipeline.fit import moments_of
from aspca.pipeline.passes import Silent
from aspca.preparation import Preparation
from aspca.preparation.cell_format import BadCell
from aspca.tables import ReadOptions, Source, SourceError, csv_table, file_table, open_source
from aspca.tables.cell_tests import EVERYWHERE

N = 3000
Cells = Callable[[int], str]


def numbers(i: int) -> str:
    """Numbers of every length, some of which no float64 is."""
    rng = np.random.default_rng([1, i])
    digits = "".join(map(str, rng.integers(10, size=rng.integers(1, 25))))
    return [repr(float(rng.normal() * 10.0 ** rng.integers(-300, 300))), f"-{digits}.{digits[::-1]}", f" {digits}e-7 "][
        i % 3
    ]


COLUMNS: dict[str, Cells] = {
    "number": numbers,
    "gaps": lambda i: "" if i % 7 == 3 else "NA" if i % 7 == 5 else repr(i / 3),
    "nan": lambda i: "nan" if i == 2901 else str(i),
    "odd nan": lambda i: "+nan" if i == 2900 else "nan" if i == 2901 else str(i),
    "late": lambda i: "" if i < 500 else str(i),
    "nothing": lambda i: "",
    "truth": lambda i: ("true", "FALSE", "")[i % 3],
    "date": lambda i: f"2024-0{1 + i % 9}-{10 + i % 18} 12:00:{i % 60:02}.25+0{i % 9}",
    "text": lambda i: f"host-{i}" if i % 5 else "",
    "quoted": lambda i: f'a "b",\n{i}',
    "comma": lambda i: f"{i},{i % 1000:03}5",
    "thousands": lambda i: f"{1 + i},234",
    "typo": lambda i: "1O" if i == 2500 else str(i),
    "underscore": lambda i: "2020_01" if i == 2500 else str(i),
    "half date": lambda i: "soon" if i == 2500 else "2024-01-01",
    "half truth": lambda i: "perhaps" if i == 2500 else "true",
    "infinite": lambda i: "inf" if i == 2500 else "1",
}
TABLES = [
    ["number", "gaps", "nan", "late", "nothing", "truth", "date", "text", "quoted"],
    ["number"],
    ["text", "quoted"],
    ["number", "typo", "text", "gaps"],
    ["number", "underscore"],
    ["number", "half date", "half truth", "gaps"],
    ["comma", "number", "gaps"],
    ["thousands", "number"],
    ["number", "infinite", "late"],
    ["number", "odd nan"],
]


def write(path: Path, names: list[str]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(zip(*map(cells_of, names), strict=True))
    return path


@cache
def cells_of(name: str) -> tuple[str, ...]:
    """All cells of a column."""
    return tuple(COLUMNS[name](i) for i in range(N))


def everything(path: Path, size: int = 1000, **options: str) -> tuple[object, ...]:
    """All that a source tells: columns, rows, bad cells, and the bits of every column of numbers, or why it is none."""
    with open_source([str(path)], ReadOptions(**options)) as source:
        values: list[object] = []
        for column in source.columns:
            try:
                parts = [batch.values for batch in source.batches([column.name], size)]
                values.append(np.concatenate(parts).tobytes())
            except SourceError as error:
                values.append(str(error))
        return source.columns, source.count(), source.bad_cells, source.cell_format, source.remarks, values


# A point that is given and one that is found are read alike: where other signs stand beside it, both are tried.
SIGNED = (TABLES[0], *(names for names in TABLES if names[0] in ("comma", "thousands")))
CASES = [
    pytest.param(
        names,
        decimal,
        id=f"{' '.join(names)}-{decimal}",
        marks=[pytest.mark.long] if decimal == "." and names not in SIGNED else [],
    )
    for names in TABLES
    for decimal in (None, ".", ",")
]


@pytest.mark.parametrize(("names", "decimal"), CASES)
def test_the_same_by_the_slow_way(
    names: list[str], decimal: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "t.csv", names)
    options = {} if decimal is None else {"decimal": decimal}
    fast = everything(path, **options)
    monkeypatch.setattr(file_table, "WIDE", 0)
    assert everything(path, **options) == fast, "row by row, as wide tables are fetched"
    monkeypatch.setattr(csv_table, "read_in_one_pass", lambda *_: None)
    assert everything(path, **options) == fast, "kinds counted first, row by row"
    monkeypatch.undo()
    monkeypatch.setattr(csv_table, "read_in_one_pass", lambda *_: None)
    assert everything(path, **options) == fast, "kinds counted first"
    monkeypatch.setattr(csv_table, "keep_numbers", lambda known, *_: known)
    assert everything(path, **options) == fast, "and nothing kept"


def test_one_pass_is_taken_where_it_can_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[bool] = []
    original = csv_table.read_in_one_pass

    def watched(*given: object) -> file_table.FileTable | None:
        found = original(*given)  # type: ignore[arg-type]
        taken.append(found is not None)
        return found

    monkeypatch.setattr(csv_table, "read_in_one_pass", watched)
    for names in TABLES:
        everything(write(tmp_path / "t.csv", names))
    assert taken == [True, True, True, *[False] * 7]


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("row", [0, 1, 250, 2999])
@pytest.mark.parametrize("header", ["", "a_b,c\n"])
def test_no_number_has_an_underscore(row: int, header: str, ending: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    content = header + "".join(f"{'20_20' if i == row else i},{i}\n" for i in range(3000))
    path.write_text(content, newline=ending)
    with open_source([str(path)], ReadOptions(header=bool(header))) as source:
        assert [(column.kind, column.n_missing) for column in source.columns] == [("number", 1), ("number", 0)]
        assert source.bad_cells == (BadCell(row, source.columns[0].name, "20_20", "a number"),)
        assert source.locate(row) == f"{path}: row {row} (line {row + 1 + bool(header)})"
        values = np.concatenate([batch.values[:, 0] for batch in source.batches([source.columns[0].name])])
    np.testing.assert_array_equal(values, [np.nan if i == row else i for i in range(3000)])


PLACES = [
    pytest.param(row, header, ending, marks=[] if ending == "\n" and bool(row) == bool(header) else [pytest.mark.long])
    for row in (0, 2999)
    for header in ("", "a,b\n")
    for ending in ("\n", "\r")
]


@pytest.mark.parametrize("word", EVERYWHERE)
@pytest.mark.parametrize(("row", "header", "ending"), PLACES)
def test_every_word_for_a_missing_value(word: str, row: int, header: str, ending: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    content = header + "".join(f"{word if i == row else i},{i}\n" for i in range(3000))
    path.write_text(content, newline=ending)
    with open_source([str(path)], ReadOptions(header=bool(header))) as source:
        assert [(column.kind, column.n_missing) for column in source.columns] == [("number", 1), ("number", 0)]
        values = np.concatenate([batch.values for batch in source.batches([source.columns[0].name])])
    assert np.flatnonzero(np.isnan(values)).tolist() == [row]


def plain(cell: str) -> float:
    return np.nan if cell in ("", "NA") else float(cell)


def test_moments_bit_for_bit(tmp_path: Path) -> None:
    """Against Python's own reader and its floats, row by row."""
    names = ["gaps", "a", "b"]
    rng = np.random.default_rng(3)
    path = tmp_path / "t.csv"
    lines = [f"{COLUMNS['gaps'](i)},{float(rng.normal())!r},{rng.normal() * 1e-9 + 1e4:.14f}" for i in range(140_000)]
    path.write_text("\n".join([",".join(names), *lines]))
    rows = np.array([[plain(cell) for cell in row] for row in csv.reader(io.StringIO("\n".join(lines)))])
    twin = Moments.empty(2)
    for start in range(0, len(rows), 65536):
        twin = twin.update(rows[start : start + 65536, 1:])
    with open_source([str(path)]) as source:
        assert np.concatenate([batch.values for batch in source.batches(names)]).tobytes() == rows.tobytes()
        found = moments_of(source, Preparation.identity(["a", "b"]), Silent())
        assert source.columns[0].n_missing == int(np.isnan(rows[:, 0]).sum())
    for part in ("centre", "residual", "scatter", "minimum", "maximum"):
        assert getattr(found, part).tobytes() == getattr(twin, part).tobytes()


@pytest.mark.parametrize("filler", [40 * "x", '"one\n, two ""three"""', '"\n0,a,0\n1,b,0.5\n2,c,1\n"'])
def test_order_of_rows_in_a_file_of_many_buffers(filler: str, tmp_path: Path) -> None:
    """DuckDB may read it with several threads; some cells hold line feeds, quotes, or whole lines."""
    path = tmp_path / "t.csv"
    n = 600_000
    with path.open("w") as file:
        file.write("row,text,half\n")
        for start in range(0, n, 1000):
            file.writelines(f"{i},{filler if i % 3 else 'short'},{i / 2}\n" for i in range(start, start + 1000))
    assert path.stat().st_size >= 16_000_000
    with open_source([str(path)]) as source:
        at = 0
        for batch in source.batches(["row", "half"]):
            rows = np.arange(at, at + len(batch.values))
            np.testing.assert_array_equal(batch.values, np.column_stack([rows, rows / 2]))
            at += len(rows)
        assert at == source.count() == n
        cells = (cell for part in source.cells(["row"]) for (cell,) in part)
        assert all(cell == str(i) for i, cell in enumerate(cells))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers that cannot be kept are read from the text each time."""
    path = write(tmp_path / "t.csv", TABLES[0])
    expected = everything(path)
    original, tried = csv_table._write_numbers, list[bool]()

    def full(pieces: Iterator[object], columns: object, width: int, target: Path) -> object:
        target.symlink_to("/dev/full")
        written = original(pieces, columns, width, target)  # type: ignore[arg-type]
        tried.append(written is None and not target.is_symlink())
        return written

    monkeypatch.setattr(csv_table, "_write_numbers", full)
    assert everything(path) == expected
    assert tried == [True, True]


def kept_by(source: Source) -> Path:
    kept = source._tables[0].kept
    assert kept is not None
    return kept.path


def test_numbers_that_are_cut_short_or_gone(tmp_path: Path) -> None:
    with open_source([str(write(tmp_path / "t.csv", ["number", "gaps"]))]) as source:
        kept = kept_by(source)
        assert kept.stat().st_size == N * 2 * 8
        kept.write_bytes(kept.read_bytes()[:-8])
        with pytest.raises(SourceError, match=r"t\.csv: its numbers, .* cannot be read any more \(cut short\); leave"):
            list(source.batches(["gaps"]))
        kept.unlink()
        with pytest.raises(SourceError, match=r"cannot be read any more \(No such file or directory\); leave"):
            list(source.batches(["gaps"]))


@pytest.mark.parametrize(
    ("name", "content", "lines"),
    [
        ("t.csv", "a,b\n1,2\n3,4\n", [2, 3]),
        ("t.csv", "1,2\n3,4\n", [1, 2]),
        ("t.csv", "\n\nsep=;\na;b\n\n1;2\n\n\n3;4\n", [6, 9]),
        ("t.csv", 'a,"b\nb"\n1,"x\n\ny"\n2,z\n3,w', [3, 6, 7]),
        ("t.csv", "a\n1\n\n2\n", [2, 3, 4]),
        ("t.csv", "a,b\r1,2\r\r3,4\r", [2, 4]),
        ("t.csv", "a,b\r\n1,2\n3,4\r5,6", [2, 3, 4]),
        ("t.jsonl", '\n{"a": "x\\ny"}\n\n \n{"a": 2}\n', [2, 5]),
    ],
)
def test_lines_of_rows(name: str, content: str, lines: list[int], tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(content, newline="")
    with open_source([str(path)]) as source:
        assert source.count() == len(lines)
        places = [source.locate(row) for row in range(len(lines))]
        assert places == [f"{path}: row {row} (line {line})" for row, line in enumerate(lines)]
        with pytest.raises(IndexError, match=f"There are {len(lines)} rows, so there is no row {len(lines)}"):
            source.locate(len(lines))
