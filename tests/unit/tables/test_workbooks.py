"""Workbooks (.xlsx, .ods): every cell is what it is in the sheet, and what cannot be read is a sentence."""

from __future__ import annotations

import datetime
import random
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aspca.tables import ReadOptions, SourceError, open_source
from aspca.tables import workbook as workbook_module
from running.refusals import refusal

openpyxl = pytest.importorskip("openpyxl")
pytest.importorskip("python_calamine")

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
Book = Callable[..., Path]


@pytest.fixture
def book(tmp_path: Path) -> Book:
    """A workbook of sheets, each given by its rows."""

    def written(change: Callable[[Any], None] | None = None, name: str = "book.xlsx", **sheets: Sequence[Any]) -> Path:
        made = openpyxl.Workbook()
        made.remove(made.active)
        for title, rows in sheets.items():
            sheet = made.create_sheet(title)
            for row in rows:
                sheet.append(row)
        if change is not None:
            change(made)
        made.save(tmp_path / name)
        return tmp_path / name

    return written


def raw_xlsx(path: Path, sheet: str, **parts: bytes) -> Path:
    """An .xlsx file around the XML of its one sheet."""
    openpyxl.Workbook().save(path)
    with zipfile.ZipFile(path) as archive:
        content: dict[str, bytes | str] = {name: archive.read(name) for name in archive.namelist()}
    content["xl/worksheets/sheet1.xml"] = f'<worksheet xmlns="{MAIN}"><sheetData>{sheet}</sheetData></worksheet>'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in (content | parts).items():
            archive.writestr(name, data)
    return path


def raw_ods(path: Path, sheets: str) -> Path:
    """An .ods file around the XML of its sheets."""
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "table", "text")
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet", zipfile.ZIP_STORED)
        archive.writestr(
            "META-INF/manifest.xml",
            '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>',
        )
        archive.writestr(
            "content.xml",
            f"<office:document-content {spaces}><office:body><office:spreadsheet>{sheets}"
            "</office:spreadsheet></office:body></office:document-content>",
        )
    return path


def test_cells_keep_what_they_are(book: Book, read: Callable[..., Any]) -> None:
    day, moment = datetime.date(2024, 1, 31), datetime.datetime(2024, 2, 1, 12, 30, 15)
    path = book(S=[["n", "day", "at", "ok", "text"], [1.5, day, moment, True, "007"], [-2, day, moment, False, "12"]])
    names, kinds, values = read(path)
    assert names == ["n", "day", "at", "ok", "text"]
    assert kinds == ["number", "date", "date", "boolean", "number"]
    seconds = (datetime.datetime(2024, 1, 31) - datetime.datetime(1970, 1, 1)).total_seconds()
    assert values[:, 0].tolist() == [1.5, -2.0]
    assert values[0, 1] == seconds
    assert values[0, 2] == seconds + 86400 + 12.5 * 3600 + 15
    assert values[:, 3].tolist() == [1.0, 0.0]
    with open_source([str(path)]) as source:
        # As it stands in the sheet, so that it can be searched for.
        assert list(source.cells(["n", "day", "text"])) == [[("1.5", "2024-01-31", "007"), ("-2", "2024-01-31", "12")]]


def test_numbers_are_equal_to_the_bit(tmp_path: Path, read: Callable[..., Any]) -> None:
    bits = np.random.default_rng(7).integers(0, 2**64, 3000, dtype=np.uint64).view(np.float64)
    numbers = [*bits[np.isfinite(bits)].tolist(), 0.1 + 0.2, -0.0, 5e-324, 1.7976931348623157e308, 2.0**53 - 1, 1 / 3]
    cells = [f'<row r="{k}"><c r="A{k}"><v>{value!r}</v></c></row>' for k, value in enumerate(numbers, start=2)]
    header = '<row r="1"><c r="A1" t="str"><v>x</v></c></row>'
    path = raw_xlsx(tmp_path / "bits.xlsx", header + "".join(cells))
    _, _, values = read(path)
    assert values[:, 0].tobytes() == np.array(numbers).tobytes()
    rows = "".join(
        f'<table:table-row><table:table-cell office:value-type="float" office:value="{value!r}"/></table:table-row>'
        for value in numbers
    )
    path = raw_ods(tmp_path / "bits.ods", f'<table:table table:name="S">{rows}</table:table>')
    _, _, values = read(path, header=False)
    assert values[:, 0].tobytes() == np.array(numbers).tobytes()


def test_text_numbers_follow_the_decimal_sign_that_is_given(book: Book, read: Callable[..., Any]) -> None:
    path = book(S=[["a", "b"], ["0,5", 0.25], ["1,75", 3.5]])
    _, _, values = read(path, decimal=",")
    assert values.tolist() == [[0.5, 0.25], [1.75, 3.5]]
    # As in CSV, the texts tell it themselves; what is stored as a number says nothing about them.
    with open_source([str(path)]) as source:
        assert next(iter(source.batches(["a", "b"]))).values.tolist() == values.tolist()
        assert "commas stand before decimals in columns 'a'" in source.remarks[0]


def test_the_only_sheet_with_anything_in_it_is_read(book: Book, read: Callable[..., Any]) -> None:
    path = book(Sheet1=[], Data=[["a"], [1], [2]], Sheet3=[])
    assert read(path)[2].tolist() == [[1.0], [2.0]]


def test_one_of_several_sheets_is_named(book: Book, read: Callable[..., Any]) -> None:
    path = book(**{"first one": [["a"], [1]], "x'\"!;--": [["a"], [2]]})
    error = refusal(path)
    assert error.remedy == ("--table", "first one")
    assert str(error) == (f"{path}: the file holds 2 sheets, 'first one' and 'x\\'\"!;--'; name one by --table.")
    assert read(path, table=error.remedy[1])[2].tolist() == [[1.0]]
    assert read(path, table="x'\"!;--")[2].tolist() == [[2.0]]
    assert "there is no sheet 'other', but" in str(refusal(path, table="other"))


def test_rows_are_found_by_their_line_in_the_sheet(tmp_path: Path) -> None:
    sheet = openpyxl.Workbook()
    for cell, value in {"C4": "a", "D4": "b", "C5": 1, "D5": 2, "C8": 3, "D8": 4}.items():
        sheet.active[cell] = value
    sheet.save(tmp_path / "below.xlsx")
    with open_source([str(tmp_path / "below.xlsx")]) as source:
        assert [column.name for column in source.columns] == ["a", "b"]
        assert [source.locate(row) for row in (0, 1)] == [
            f"{tmp_path / 'below.xlsx'}: row 0 (line 5)",
            f"{tmp_path / 'below.xlsx'}: row 1 (line 8)",
        ]


def test_a_title_is_no_header(book: Book, read: Callable[..., Any]) -> None:
    path = book(S=[["Sales of the year"], [], ["a", "b", "c"], [1, 2, 3], [4, 5, 6], [7, 8, 9]])
    error = refusal(path)
    assert error.remedy == ("--table", "S!A3")
    assert "row 1 of the sheet 'S' holds 'Sales of the year' and no table" in str(error)
    names, _, values = read(path, table=error.remedy[1])
    assert (names, values.shape) == (["a", "b", "c"], (3, 3))
    names, _, values = read(path, table="S!B3:C5")
    assert (names, values.tolist()) == (["b", "c"], [[2.0, 3.0], [5.0, 6.0]])


def test_merged_cells_are_refused_in_the_table_only(book: Book, read: Callable[..., Any], tmp_path: Path) -> None:
    rows = [["title"], ["a", "b"], [1, 2], [3, 4]]
    path = book(lambda made: made["S"].merge_cells("A1:B1"), S=rows)
    assert read(path, table="S!A2")[2].tolist() == [[1.0, 2.0], [3.0, 4.0]]
    path = book(lambda made: made["S"].merge_cells("A3:A4"), name="inside.xlsx", S=[*rows[1:], [5, 6]])
    assert "merged cells in its table, A3:A4" in str(refusal(path))
    cell = '<table:table-cell office:value-type="float" office:value="1"{}/>'
    merged = cell.format(' table:number-columns-spanned="2"') + "<table:covered-table-cell/>"
    ods = f'<table:table table:name="S"><table:table-row>{2 * cell.format("")}</table:table-row>'
    ods += f"<table:table-row>{merged}</table:table-row></table:table>"
    assert "A2:B2" in str(refusal(raw_ods(tmp_path / "merged.ods", ods), header=False))


def test_a_cell_far_away_is_refused_before_memory_is_taken(book: Book) -> None:
    def far(made: Any) -> None:
        made["S"]["XFD1048576"] = 1

    assert "1,048,576 rows and 16,384 columns" in str(refusal(book(far, S=[["a"], [1]])))


def test_many_cells_without_an_address_are_counted(tmp_path: Path) -> None:
    row = "<row>" + 5000 * "<c><v>1</v></c>" + "</row>"
    path = raw_xlsx(tmp_path / "plain.xlsx", row + '<row r="1000000"><c><v>1</v></c></row>')
    assert "reaches over" in str(refusal(path))


@pytest.mark.parametrize(
    "row",
    [
        '<table:table-row><table:table-cell office:value-type="float" office:value="1" '
        'table:number-columns-repeated="999999999"/></table:table-row>',
        '<table:table-row table:number-rows-repeated="999999999"><table:table-cell office:value-type="float" '
        'office:value="1"/></table:table-row>',
        '<table:table-row table:number-rows-repeated="999999999"><table:table-cell/></table:table-row>'
        '<table:table-row><table:table-cell office:value-type="float" office:value="1"/></table:table-row>',
    ],
)
def test_repeated_cells_are_counted(row: str, tmp_path: Path) -> None:
    path = raw_ods(tmp_path / "repeated.ods", f'<table:table table:name="S">{row}</table:table>')
    assert "reaches over" in str(refusal(path))


def test_empty_cells_to_the_end_of_the_sheet_are_nothing(tmp_path: Path, read: Callable[..., Any]) -> None:
    """As LibreOffice writes every sheet."""
    cell = '<table:table-cell office:value-type="float" office:value="3"><text:p>3</text:p></table:table-cell>'
    rest = '<table:table-cell table:number-columns-repeated="16383"/>'
    end = rest.replace("16383", "16384")
    end = f'<table:table-row table:number-rows-repeated="1048575">{end}</table:table-row>'
    rows = f"<table:table-row>{cell}{rest}</table:table-row>{end}"
    path = raw_ods(tmp_path / "plain.ods", f'<table:table table:name="S">{rows}</table:table>')
    assert read(path, header=False)[2].tolist() == [[3.0]]


def test_bombs_are_refused(tmp_path: Path) -> None:
    path = raw_xlsx(tmp_path / "bomb.xlsx", "", **{"xl/media/zeros": bytes(70 << 20)})
    assert "may be a bomb" in str(refusal(path))
    # One that says that it is small.
    content = bytearray(raw_xlsx(path, "", **{"xl/media/zeros": bytes(4 << 20)}).read_bytes())
    claimed = (4 << 20).to_bytes(4, "little")
    assert content.count(claimed) == 2
    path.write_bytes(content.replace(claimed, (100).to_bytes(4, "little")))
    assert "damaged" in str(refusal(path))


def test_other_zip_archives_and_workbooks_are_named(tmp_path: Path) -> None:
    path = tmp_path / "data.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data.csv", "a\n1\n")
    assert "a zip archive and no workbook" in str(refusal(path))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/workbook.bin", "")
    assert "binary Excel workbook" in str(refusal(path))
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    assert "with a password" in str(refusal(path))


def test_damaged_workbooks_give_values_or_one_sentence(book: Book, tmp_path: Path) -> None:
    whole = book(S=[["a", "b"], *([k, k / 7] for k in range(30))]).read_bytes()
    dice = random.Random(3)  # noqa: S311  # no secret
    refused = []
    for trial in range(24):
        damaged = bytearray(whole[: dice.randrange(20, len(whole))] if trial % 3 == 0 else whole)
        for _ in range(dice.randrange(1, 6)):
            damaged[dice.randrange(len(damaged))] = dice.randrange(256)
        path = tmp_path / "damaged.xlsx"
        path.write_bytes(damaged)
        try:
            with open_source([str(path)]) as source:
                # Where nothing that matters was hit.
                assert [column.name for column in source.columns] == ["a", "b"]
        except SourceError as error:
            refused.append(str(error))
    assert len(refused) > 12
    assert not any("\n" in sentence for sentence in refused)


def test_a_package_that_is_not_there_is_named(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    path = book(S=[["a"], [1]])

    def absent(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(workbook_module, "import_module", absent)
    assert str(refusal(path)).endswith("which is not installed; run: pip install python-calamine.")


def test_a_table_of_one_file_is_not_named(tmp_path: Path) -> None:
    path = tmp_path / "plain.csv"
    path.write_text("a\n1\n")
    assert "leave out --table" in str(refusal(path, table="a"))


def test_sheets_of_another_program(tmp_path: Path, read: Callable[..., Any]) -> None:
    document = pytest.importorskip("odf.opendocument")
    from odf.table import Table, TableCell, TableRow
    from odf.text import P

    made, sheet = document.OpenDocumentSpreadsheet(), Table(name="S")
    for cells in (
        [("string", "n"), ("string", "day"), ("string", "ok")],
        [("float", "2.5"), ("date", "2024-01-31"), ("boolean", "true")],
        [("float", "-1"), ("date", "2024-02-01"), ("boolean", "false")],
    ):
        row = TableRow()
        for kind, value in cells:
            given = {} if kind == "string" else {"value" if kind == "float" else f"{kind}value": value}
            cell = TableCell(valuetype=kind, **given)
            cell.addElement(P(text=value))
            row.addElement(cell)
        sheet.addElement(row)
    made.spreadsheet.addElement(sheet)
    made.save(str(tmp_path / "made.ods"))
    names, kinds, values = read(tmp_path / "made.ods")
    assert (names, kinds) == (["n", "day", "ok"], ["number", "date", "boolean"])
    assert values[:, 0].tolist() == [2.5, -1.0]
    assert values[1, 1] - values[0, 1] == 86400.0
    assert values[:, 2].tolist() == [1.0, 0.0]


def test_words_for_missing_can_be_named(book: Book) -> None:
    path = book(S=[["a", "b"], [1.5, 2], [-999, 3], [2.5, "gone"]])
    with open_source([str(path)], ReadOptions(missing=("-999", "gone"))) as source:
        (batch,) = source.batches(["a", "b"])
    assert np.isnan(batch.values).tolist() == [[False, False], [True, False], [False, True]]


def test_integers_that_a_workbook_rounds_are_said(book: Book) -> None:
    path = book(S=[["account", "b"], *([10**17 + 8 * k, k % 7] for k in range(5))])
    with open_source([str(path)], ReadOptions()) as source:
        (remark,) = source.remarks
    assert "integers beyond 2^53 in 'account' may have lost their last digits" in remark
